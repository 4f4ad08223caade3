"""The beginning of a feed: what it is, where its document begins, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from webloom.domain.errors import FeedUnreadable
from webloom.parsing.feeds import json_items
from webloom.parsing.feeds.element import Head
from webloom.parsing.feeds.entities import References
from webloom.parsing.feeds.repairs import JUNK, Repairs
from webloom.parsing.feeds.urls import joined

HEAD_SIZE = 64 * 1024
_LONGEST_VALUE = 2000

_DECLARATION = re.compile(r"<\?xml[\s?]", re.IGNORECASE)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_CDATA = re.compile(r"<!\[CDATA\[(.*?)(?:\]\]>|\Z)", re.DOTALL)
_INSTRUCTION = re.compile(r"<\?[^<>]*+>")
_DOCTYPE = re.compile(r"""<!DOCTYPE\s++([\w.:-]++)((?:[^<>\["']++|"[^"]*+"|'[^']*+')*+)""", re.I)
_TAG = re.compile(r"""<(/?)([^\W\d][\w.:-]*+)((?:[^<>"'/]++|/(?!>)|"[^"<]*+"|'[^'<]*+')*+)(/?)>""")
_NAMESPACE = re.compile(r"""xmlns(?::([\w.-]+))?\s*=\s*["']([^"']*)["']""", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""(?<![\w.:-])([\w.:-]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)')""")
_SPACED = re.compile(r"<(?:\s++|(?=/))(/?)\s*+([^\W\d][\w.:-]*+)\s*+>")  # < title>, </ title>
_MOST_ATTRIBUTES = 2000  # that are remembered
_ENTITY = re.compile(
    r"""<!ENTITY\s+([\w.-]+)\s+(?:"(&\#[xX]?[0-9a-fA-F]+;|[^"&%<]{0,40})"|'(&\#[xX]?[0-9a-fA-F]+;"""
    r"""|[^'&%<]{0,40})')\s*>""",
    re.VERBOSE,
)
_FEED_ROOT = re.compile(r"<(?:rss|feed|rdf:RDF|source|jobs)[\s>]", re.IGNORECASE)
_HTML_NAMES = "html head body div p br b font table script style span a center title meta h1 h2 pre"
_HTML = frozenset(re.findall(r"\w+", _HTML_NAMES))
_REFUSED = (
    "The feed declares entities of its own in its DOCTYPE, which can be used to attack its readers;"
    " it is refused."
)


@dataclass(slots=True)
class Prolog:
    """What stands before the root element, and the beginning of what follows."""

    head: Head
    is_json: bool = False
    entities: dict[str, str] = field(default_factory=dict)  # declared, one character or word each
    has_dtd: bool = False  # it names one that is elsewhere; it is not fetched


def read_prolog(raw: bytes, repairs: Repairs) -> Prolog:
    """Of the first HEAD_SIZE bytes. Raises FeedUnreadable if it is not a feed, or refused."""
    text = raw.decode("utf-8", "replace")
    if not text.strip():
        raise FeedUnreadable("The answer is empty; a feed without postings has a root element.")
    if json_items.beginning(text) is not None:
        return Prolog(Head("json", {}, []), is_json=True)
    start = _beginning(text)
    if text[:start].strip() or (start and _DECLARATION.match(text, start)):
        repairs.note(JUNK)
    prolog = Prolog(Head("", {}, []))
    text = _after_doctype(_COMMENT.sub("", text[start:]), prolog)
    _read_elements(text, prolog.head)
    root = prolog.head.root
    if not root:
        raise FeedUnreadable("The answer is neither XML nor JSON, so it is not a feed.")
    if root in _HTML:
        raise FeedUnreadable(
            "The answer is a web page (HTML), not a feed; the address may ask for a login, or have"
            " moved."
        )
    return prolog


def _beginning(text: str) -> int:
    """Where the document begins: some servers put warnings, comments or blanks before it."""
    declaration = _DECLARATION.search(text)
    if declaration is not None:
        before = _COMMENT.sub("", text[: declaration.start()])
        if all(tag[2].lower() in _HTML for tag in _TAG.finditer(before)):
            return declaration.start()
    bracket = text.find("<")
    tag = _TAG.search(_COMMENT.sub(lambda found: " " * len(found[0]), text))
    if tag is not None and tag[2].lower() in _HTML and tag[2].lower() not in ("html", "head"):
        root = _FEED_ROOT.search(text)
        if root is not None:
            return root.start()
    return max(bracket, 0)


def _after_doctype(text: str, prolog: Prolog) -> str:
    doctype = _DOCTYPE.search(text)
    first = _TAG.search(text)
    if doctype is None or (first is not None and first.start() < doctype.start()):
        return text
    if doctype[1].lower() == "html" and not _FEED_ROOT.search(text):
        prolog.head.root = "html"
        return ""
    prolog.has_dtd = bool(re.search(r"\b(?:SYSTEM|PUBLIC)\b", doctype[2]))
    if not text.startswith("[", doctype.end()):
        return text[doctype.end() :]
    end = re.compile(r"\]\s*>").search(text, doctype.end())
    if end is None:
        raise FeedUnreadable("The DOCTYPE of the feed does not end; it is refused.")
    subset = text[doctype.end() + 1 : end.start()]
    harmless = {name: a or b for name, a, b in _ENTITY.findall(subset)}
    if subset.upper().count("<!ENTITY") != len(harmless) or "%" in subset:
        raise FeedUnreadable(_REFUSED)
    characters = References(Repairs())
    prolog.entities = {
        name: characters.resolve(value) if "&" in value else value
        for name, value in harmless.items()
    }
    return text[end.end() :]


def _read_elements(text: str, head: Head) -> None:
    text = _INSTRUCTION.sub("", text)
    sections: list[str] = []

    def put_aside(found: re.Match[str]) -> str:
        sections.append(found[1])
        return f"\0{len(sections) - 1}\0"

    text = _SPACED.sub(r"<\1\2>", _CDATA.sub(put_aside, text))
    references = References(Repairs())
    bases = _Bases()
    opened: list[str] = []
    previous: re.Match[str] | None = None
    for tag in _TAG.finditer(text):
        name = tag[2].lower()
        if tag[1]:
            if name in opened:
                while opened.pop() != name:
                    pass
            if previous is not None and previous[2].lower() == name and _is_outside(opened):
                value = text[previous.end() : tag.start()]
                value = references.resolve(value) if "&" in value else value
                value = re.sub("\0(\\d+)\0", lambda found: sections[int(found[1])], value).strip()
                if len(value) <= _LONGEST_VALUE:
                    head.elements.setdefault(name, value)
            previous = None
            continue
        if not head.names:
            head.root = name.rpartition(":")[2]
        head.names.append(name)
        if tag[3]:
            for prefix, uri in _NAMESPACE.findall(tag[3]):
                head.namespaces.setdefault(prefix.lower(), uri)
            attributes = {
                key.lower(): references.resolve(value) if "&" in value else value
                for key, a, b in _ATTRIBUTE.findall(tag[3])
                if (value := (a or b).strip())
            }
            local = name.rpartition(":")[2]
            bases.take(local, attributes, opened)
            if len(head.attributes) < _MOST_ATTRIBUTES:
                head.attributes.setdefault(local, set()).update(attributes)
        previous = None
        if not tag[4]:
            opened.append(name)
            previous = tag
    head.base = bases.best(head.elements)


class _Bases:
    """Where the relative links of a feed begin: xml:base says it; else the page that the feed is
    of is taken, which is more often right than the feed's own address."""

    def __init__(self) -> None:
        self._declared = ""
        self._page = ""
        self._own = ""

    def take(self, local: str, attributes: dict[str, str], opened: list[str]) -> None:
        """`opened` are the elements around it."""
        if not opened or (len(opened) == 1 and local == "channel"):
            self._declared = joined(self._declared, attributes.get("xml:base", ""))
        elif local == "link" and _is_outside(opened):
            href, rel = attributes.get("href", ""), attributes.get("rel", "alternate").lower()
            if rel == "self":
                self._own = self._own or href
            elif rel == "alternate":
                self._page = self._page or href

    def best(self, elements: Mapping[str, str]) -> str:
        page = elements.get("link") or self._page
        return self._declared or joined(self._own, page)


def _is_outside(opened: list[str]) -> bool:
    """Whether the parent is the root or its channel."""
    return len(opened) == 1 or (len(opened) == 2 and opened[1].rpartition(":")[2] == "channel")
