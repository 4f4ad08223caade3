"""Text of a feed that is fit to be stored and shown.

What a feed calls a description is HTML, HTML that was escaped once more, or plain text, and nothing
says which. Markup is recognised by tags that HTML has; all else is plain text and keeps its
characters. Whatever leaves this module starts no script, not even where plain text is shown as
HTML.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from html import unescape
from typing import Final

import nh3

from webloom.parsing.feeds.memo import Frequent
from webloom.parsing.words import words

LONGEST_DESCRIPTION: Final = 1_000_000  # characters
_LOOKED_AT: Final = 3 * LONGEST_DESCRIPTION  # of what may be HTML
MOST_TAGS: Final = 10_000  # nesting costs the square of its depth

_ITEMS = words("li dt dd")
_WITHIN = {"li": words("li ul ol"), "dt": words("dt dd dl"), "dd": words("dt dd dl")}
_HEADINGS = words("h1 h2 h3 h4 h5 h6")
_BLOCKS = {*_ITEMS, *_HEADINGS, *words("p ul ol dl blockquote pre hr div section article")}
_REMEMBERED: Final = 100  # tags of a text whose order was seen before
_MOST_TEMPLATES: Final = 3

_SIMPLE = words(
    "p br b strong i em u s ul ol li dl dt dd h1 h2 h3 h4 h5 h6 blockquote pre code hr "
    "sub sup small mark del ins div span section article"
)
_TAGS: Final = {
    *_SIMPLE,
    *words("a img table thead tbody tfoot tr th td caption figure figcaption abbr cite q"),
}
_DROPPED: Final = set(
    words(
        "script style iframe frame frameset object embed applet noscript noembed noframes "
        "template svg "
        "math select textarea button audio video canvas title"
    )
)
_OTHER: Final = words(
    "html head body form input label fieldset option font center big tt strike header footer "
    "main nav aside address meta link base picture source time"
)
_KNOWN = "|".join(sorted({*_TAGS, *_DROPPED, *_OTHER}, key=len, reverse=True))

_TAG = re.compile(rf"</?(?:\w+:)?(?:{_KNOWN})(?:\s[^<>]*|/)?>", re.IGNORECASE)
_DANGER = re.compile(
    r"<(?:script|svg|iframe|img|math|style|object|embed)[\s/>]|<[^<>]*[\s/\"']on\w+\s*="
    r"|<!--|<!\[CDATA\[",
    re.IGNORECASE,
)
_ANY_TAG = re.compile(r"<[^>]*>")
_PROPER_TAG = re.compile(r'<([a-z][a-z0-9]*)((?: [a-z-]+="[^"<>]*")+)>')
_IGNORED = r'(?: (?:class|id|target|rel|style)="[^"<>]*")*'
_LINK = rf'{_IGNORED} href="(https?://[^\s"<>`\\]+)"{_IGNORED}'
_WEB_LINK = re.compile(_LINK)
_LINK_TAG: Final = '<a href="%s" rel="nofollow noopener">'
_STRIPPED = re.compile(r"</?[a-zA-Z!?][^<>]*(?:>|$)")
_BLOCK = re.compile(r"</?(?:p|br|div|li|ul|ol|h[1-6]|tr|td|th|table|hr)\b[^<>]*>", re.IGNORECASE)
_SILENT = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|$)|<!--.*?(?:-->|$)", re.DOTALL | re.I)
_PREFIXED = re.compile(r"(</?)[A-Za-z]\w*:(?=[a-z])")
_ENTITY = re.compile(r"&(?:#\d+|#[xX][0-9a-fA-F]+|[a-zA-Z]\w+);")
_WITH_HANDLER = re.compile(r"<[a-z][^<>]*[\s/\"']on\w+\s*=[^<>]*>?", re.IGNORECASE)
_BLANK_LINES = re.compile(r"\n{3,}")
_REFUSED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")

_OPENING: Final = {f"<{tag}>": f"</{tag}>" for tag in _SIMPLE if tag not in ("br", "hr")}
_EMPTY: Final = frozenset({"<br>", "<br/>", "<br />", "<hr>", "<hr/>", "<hr />"})
_PAIRS: Final = {**_OPENING, "<a>": "</a>"}
_PARTNERS: Final = {**_PAIRS, **{end: beginning for beginning, end in _PAIRS.items()}}
_PLAIN: Final = {*_OPENING, *_PAIRS.values(), *_EMPTY}


def is_html(text: str) -> bool:
    """Whether it has markup that HTML knows, or that a browser would act on."""
    return "<" in text and (_TAG.search(text) is not None or _DANGER.search(text) is not None)


def scrub(text: str) -> str:
    """Without characters that databases refuse: NUL, other controls, lone surrogates."""
    return _REFUSED.sub("", text)


def one_line(text: str) -> str:
    """Entities resolved, no markup, no line breaks."""
    if "&" in text and ";" in text and _ENTITY.search(text):
        text = unescape(text)
    if "<" in text:
        if "<![CDATA[" in text:  # once more within itself
            text = text.replace("<![CDATA[", "").replace("]]>", "")
        if is_html(text):
            text = unescape(_without_tags(text))
    return " ".join(text.split())


def plain(text: str) -> str:
    """HTML as text; for samples, and for markup with too many tags to clean."""
    if "<" in text:
        text = _STRIPPED.sub("", _BLOCK.sub("\n", _SILENT.sub("", text)))
    return unescape(text) if "&" in text else text


def _without_tags(text: str) -> str:
    text = _TAG.sub("", _BLOCK.sub(" ", _SILENT.sub("", text)))
    return _WITH_HANDLER.sub("", text)


def cleaner(base_url: str | None) -> Callable[[str], str]:
    """What makes HTML harmless. Relative links begin from `base_url`; without it they go."""
    rules = nh3.Cleaner(
        tags=_TAGS,
        clean_content_tags=_DROPPED,
        attributes={
            "a": {"href", "title"},
            "img": {"src", "alt", "width", "height"},
            "td": {"colspan", "rowspan"},
            "th": {"colspan", "rowspan"},
        },
        link_rel="nofollow noopener",
        url_schemes={"http", "https", "mailto", "tel"},
        url_relative=("rewrite_with_base", base_url) if base_url else "deny",
    )

    return lambda text: rules.clean(text).strip()


class Markup:
    """Makes HTML harmless where it is written as usual: as many ends as beginnings of each tag,
    links to the web, attributes that don't matter.

    The descriptions of a feed are often written by one template. Tags that came often enough in
    the same order become an expression of their own, which looks at a text in one step.
    """

    def __init__(self) -> None:
        self._templates: list[_Template] = []
        self._orders = Frequent()  # of tags

    def simplified(self, text: str) -> str | None:
        """None: a case for the real cleaner, which takes five times as long."""
        for template in self._templates:
            if (simple := template.simplified(text)) is not None:
                return simple
        tags = _ANY_TAG.findall(text, 0, text.rfind(">") + 1)  # no search for a missing end
        if len(tags) != text.count("<") or len(tags) > MOST_TAGS:
            return None
        kinds: dict[str, str] = {}
        for tag in set(tags) - _PLAIN:
            bare = _bare(tag)
            if bare is None:
                return None
            text = text.replace(tag, bare)
            kinds[tag] = "<a>" if bare[:3] == "<a " else bare
        kinded = [kinds.get(tag, tag) for tag in tags] if kinds else tags
        are_paired = _are_paired if len(tags) <= _REMEMBERED else _are_paired.__wrapped__
        if not are_paired(tuple(kinded)):
            return None
        if (
            self._orders.left
            and len(tags) <= _REMEMBERED
            and len(self._templates) < _MOST_TEMPLATES
        ):
            order = tuple("<a>" if kinds.get(tag) == "<a>" else tag for tag in tags)
            if self._orders.came_often(order):
                self._templates.append(_Template(order))
        return text


class _Template:
    """Of texts with the same tags, but for the addresses of links; their order is one that needs
    no cleaning."""

    def __init__(self, order: tuple[str, ...]) -> None:
        tags: list[str] = []
        # Groups of the expression with what they become. A link has two, and is rebuilt.
        self._odd: list[tuple[int, str | None]] = []
        groups = 0
        for tag in order:
            if tag == "<a>":
                tags.append(f"(<a{_LINK}>)")
                self._odd.append((groups + 1, None))
                groups += 2
            elif tag in _PLAIN:
                tags.append(re.escape(tag))
            else:
                tags.append(f"({re.escape(tag)})")
                self._odd.append((groups + 1, _bare(tag)))
                groups += 1
        self._whole = re.compile("[^<]*+".join(["", *tags, ""]))

    def simplified(self, text: str) -> str | None:
        found = self._whole.fullmatch(text)
        if found is None:
            return None
        pieces: list[str] = []
        at = 0
        for group, bare in self._odd:
            start, end = found.span(group)
            pieces += text[at:start], _LINK_TAG % found[group + 1] if bare is None else bare
            at = end
        return "".join((*pieces, text[at:])) if at else text


@lru_cache(maxsize=500)
def _are_paired(tags: tuple[str, ...]) -> bool:
    """Whether each is closed where it should be, and stands where HTML lets it stand: a parser
    would move the others. Postings of one feed are often written by one template."""
    open_now: list[str] = []
    for tag in tags:
        name = tag.strip("</>")
        if tag.startswith("</"):
            if not open_now or open_now.pop() != name:
                return False
            continue
        if name in _BLOCKS and "p" in open_now:
            return False
        if name in _HEADINGS and open_now and open_now[-1] in _HEADINGS:
            return False
        if name in _WITHIN:
            around = next((each for each in reversed(open_now) if each in _WITHIN[name]), None)
            if around in _ITEMS:
                return False
        if name == "a" and "a" in open_now:
            return False
        if tag in _PARTNERS:
            open_now.append(name)
    return not open_now


def _bare(tag: str) -> str | None:
    """A start tag with what is kept of it, if it is written as it should be."""
    parts = _PROPER_TAG.fullmatch(tag)
    if parts is None:
        return None
    name, attributes = parts[1], parts[2]
    if name != "a":
        return f"<{name}>" if f"<{name}>" in _OPENING else None
    link = _WEB_LINK.fullmatch(attributes)
    return None if link is None else _LINK_TAG % link[1]


def description(text: str, clean: Callable[[str], str], markup: Markup) -> str:
    """Sanitised HTML, or plain text with its characters intact."""
    if "<" not in text and "&" not in text:
        return _tidy(text)
    text = text[:_LOOKED_AT]
    if "<" in text and len(text) <= LONGEST_DESCRIPTION:
        simple = markup.simplified(text)
        if simple is not None:
            return simple.strip()
    if "<![CDATA[" in text:
        text = text.replace("<![CDATA[", "").replace("]]>", "")
    if not is_html(text):
        if "&" in text and _ENTITY.search(text):
            text = unescape(text)
        if not is_html(text):
            return _tidy(text)
    if ":" in text:
        text = _PREFIXED.sub(r"\1", text)
    if text.count("<") > MOST_TAGS:
        return _tidy(plain(text).replace("<", " "))
    cleaned = _clean_within(text.strip(), clean)
    if "<" not in cleaned and "&" in cleaned and not is_html(unescaped := unescape(cleaned)):
        return unescaped  # nothing of the markup is left, so that it is plain text
    return cleaned


def _clean_within(text: str, clean: Callable[[str], str]) -> str:
    if len(text) > LONGEST_DESCRIPTION:
        text = _cut_html(text, LONGEST_DESCRIPTION)
    cleaned = clean(text)
    while len(cleaned) > LONGEST_DESCRIPTION:
        text = _cut_html(text, len(text) * LONGEST_DESCRIPTION // len(cleaned) * 9 // 10)
        cleaned = clean(text)
    return cleaned


def _cut_html(text: str, limit: int) -> str:
    """Before a tag or an entity that the limit would cut through."""
    text = text[:limit]
    opened = text.rfind("<")
    if opened > text.rfind(">"):
        text = text[:opened]
    started = text.rfind("&", -12)
    if started > text.rfind(";"):
        text = text[:started]
    return text


def _tidy(text: str) -> str:
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\n" in text:
        text = "\n".join(map(str.rstrip, text.split("\n")))
        if "\n\n\n" in text:
            text = _BLANK_LINES.sub("\n\n", text)
    text = text.strip()
    if len(text) > LONGEST_DESCRIPTION:
        text = cut(text, LONGEST_DESCRIPTION)
    return text


def cut(text: str, limit: int) -> str:
    """At most so many characters, ending with a whole word where one ends nearby."""
    if len(text) <= limit:
        return text
    text = text[: limit - 1]
    end = text.rfind(" ", limit - 100)
    return (text[:end] if end > 0 else text) + "…"
