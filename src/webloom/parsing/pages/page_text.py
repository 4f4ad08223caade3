"""The text of a page as a person reads it, one block a line.

A tree's own serialisation is cut at its tags: it is well-formed, and that is many times faster
than a walk over the nodes.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from webloom.parsing.html_tree.elements import Elements
from webloom.parsing.words import words

_BREAK: Final = "\x1e"
_CELL: Final = "\x1f"
_CELL_SEPARATOR: Final = " | "
_BLOCKS: Final = (
    "address article aside blockquote body br button caption center dd details dialog dir div dl dt"
    " fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 header hgroup hr html"
    " legend li listing main menu nav ol optgroup option p pre search section select summary table"
    " tbody textarea tfoot thead tr ul xmp"
)
_SEPARATORS: Final = {
    **{prefix + name: _BREAK for name in _BLOCKS.split() for prefix in ("", "/")},
    "td": _CELL,
    "th": _CELL,
}
_PREFORMATTED: Final = {"pre": 1, "/pre": -1, "textarea": 1, "/textarea": -1}
_TAG: Final = re.compile("<!--.*?-->|<([^ >]*)[^>]*>", re.DOTALL)  # or a comment, without a name
# Control characters, spaces of no width, soft hyphens, marks of direction: invisible.
_INVISIBLE: Final = re.compile("[\x00-\x08\x0e-\x1b\x7f\u200b\u200e\u200f\u2060\ufeff\u00ad\u180e]")

_CONTAINERS: Final = frozenset(
    ("div", "section", "form", "center", "table", "tbody", "tr", "td", "ul", "main")
)

_NEVER_SEEN: Final = words(
    "title script style template noscript svg iframe object embed canvas audio video datalist "
    "noembed noframes"
)
_HIDING_STYLE: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_TAGS_AROUND: Final = frozenset(("nav", "header", "footer", "aside"))
_ROLES_AROUND: Final = frozenset(
    ("navigation", "banner", "contentinfo", "search", "menu", "menubar", "complementary")
)
_TAGS_OF_CONTENT: Final = frozenset(("h1", "main", "article"))
_ITEMS_OF_CONTENT: Final = frozenset(("price", "offers", "articleBody"))
_AROUND_OR_CONTENT: Final = "nav, header, footer, aside, [role], h1, main, article, [itemprop]"
# Of the id and class of an element, lower case.
_FRAME_NAME: Final = re.compile(
    r"(cookie|consent|gdpr|onetrust|didomi|usercentrics|privacy-?banner)"
    r"|menu|nav|breadcrumb|side-?bar|footer|header|skip-|toolbar"
)
_MAX_ROLES: Final = 2000
_MAX_FRAME: Final = 300  # elements of the outer frame of a page that are looked at one by one
_LINK_SHARE: Final = 0.6  # of a menu's characters that are in links
_TOO_LITTLE: Final = 200  # characters of main text that are not much beside the whole


@dataclass(frozen=True, kw_only=True, slots=True)
class Surroundings:
    """What is on every page of a site: menus, header, footer, cookie banner."""

    nodes: Sequence[LexborNode]
    main_length: int  # characters of what is left without them, about


def text_of(html: str) -> str:
    """The lines of serialised markup. White space of any kind and amount is one space."""
    pieces = _TAG.split(html)  # a text, the name of a tag, a text, ...
    names = pieces[1::2]
    if not _PREFORMATTED.keys().isdisjoint(names):
        _break_preformatted(pieces)
    separator = _SEPARATORS.get
    pieces[1::2] = [separator(name, "") for name in names]
    return _unescape(_visible_lines("".join(pieces).replace("&nbsp;", " ")))


def plain_lines(text: str) -> str:
    """The lines of text without markup, as `text_of` makes them."""
    return _visible_lines(text.replace("\r\n", "\n").replace("\n", _BREAK))


def one_line(text: str) -> str:
    return " ".join(_INVISIBLE.sub("", text).split())


def drop_unseen(tree: LexborHTMLParser, elements: Elements | None = None) -> None:
    """Take out what a browser does not show; the head with it."""
    elements = elements or Elements(tree)
    dialogs = [node for node in elements.of("dialog") if "open" not in node.attrs]
    start = next(iter(elements.places("body")), 0)  # what is in the head goes with it
    unseen = [elements.nodes[place] for place in elements.places(*_NEVER_SEEN) if place > start]
    for node in (*elements.of("head"), *unseen, *dialogs):
        node.decompose(recursive=False)
    body = tree.body
    if body is None:
        return
    whole = -1
    for node in tree.css("[hidden], [style*=none i], [style*=hidden i]"):
        attributes = node.attrs
        if "hidden" not in attributes and not _HIDING_STYLE.search(attributes.sget("style")):
            continue
        if node.tag in ("html", "body", "main"):
            continue  # shown as soon as a script has run
        if whole < 0:
            whole = len(body.text_lexbor())
        if len(node.text_lexbor()) * 2 < whole:
            node.decompose(recursive=False)


def find_surroundings(tree: LexborHTMLParser) -> Surroundings:
    """Nothing, where without them nearly nothing would be left."""
    body = tree.body
    if body is None:
        return Surroundings(nodes=[], main_length=0)
    found: dict[LexborNode, int] = {}
    marked = tree.css(_AROUND_OR_CONTENT)
    content = _with_content(marked)
    for node in [each for each in marked if _is_around(each)][:_MAX_ROLES]:
        if not _is_within(node, found) and (length := _length_around(node, content)):
            found[node] = length
    frame = deque([body])
    seen = 0
    while frame and seen < _MAX_FRAME:
        for node in frame.popleft().iter():
            seen += 1
            if node.tag not in _CONTAINERS or node in found:
                continue
            if length := _length_of_frame(node, content):
                found[node] = length
            else:
                frame.append(node)
    outermost = {node: length for node, length in found.items() if not _is_within(node, found)}
    whole = _visible_length(body)
    left = whole - sum(outermost.values())
    if left < _TOO_LITTLE and left * 4 < whole:
        return Surroundings(nodes=[], main_length=whole)
    return Surroundings(nodes=list(outermost), main_length=left)


def _is_around(node: LexborNode) -> bool:
    return node.tag in _TAGS_AROUND or node.attrs.sget("role") in _ROLES_AROUND


def _with_content(nodes: Iterable[LexborNode]) -> set[int]:
    """The addresses of the nodes that are content, and of all around them."""
    found: set[int] = set()
    for node in filter(_is_content, nodes):
        around: LexborNode | None = node
        while around is not None and (address := around.mem_id) not in found:
            found.add(address)
            around = around.parent
    return found


def _is_content(node: LexborNode) -> bool:
    attributes = node.attrs
    return (
        node.tag in _TAGS_OF_CONTENT
        or attributes.sget("role") == "main"
        or attributes.sget("itemprop") in _ITEMS_OF_CONTENT
    )


def _length_around(node: LexborNode, content: set[int]) -> int:
    """How long its text is; 0 when it is part of the content."""
    if node.mem_id in content or not (length := _visible_length(node)):
        return 0
    if node.tag in ("header", "footer", "aside"):
        parent = node.parent
        while parent is not None and parent.tag != "body":
            if parent.tag in ("article", "main", "section"):
                return length if _is_mostly_links(node, length) else 0
            parent = parent.parent
    return length


def _length_of_frame(node: LexborNode, content: set[int]) -> int:
    """How long its text is, when it is a menu or a cookie banner by its name; else 0."""
    is_named, is_banner = _is_frame(f"{node.id or ''} {node.attrs.sget('class')}")
    if not is_named or node.mem_id in content or not (length := _visible_length(node)):
        return 0
    return length if is_banner or _is_mostly_links(node, length) else 0


@lru_cache(maxsize=4096)  # pages of one site have the same names
def _is_frame(name: str) -> tuple[bool, bool]:
    """Whether it is the name of a menu or banner, and whether of a cookie banner."""
    named = _FRAME_NAME.search(name.lower())
    return named is not None, named is not None and named[1] is not None


def _is_mostly_links(node: LexborNode, length: int) -> bool:
    links = "".join([link.text_lexbor() for link in node.css("a")])
    return _without_space(links) >= length * _LINK_SHARE


def _is_within(node: LexborNode, others: dict[LexborNode, int]) -> bool:
    parent = node.parent
    while parent is not None:
        if parent in others:
            return True
        parent = parent.parent
    return False


def _visible_length(node: LexborNode) -> int:
    return _without_space(node.text_lexbor())


def _without_space(text: str) -> int:
    return len(text) - text.count(" ") - text.count("\n") - text.count("\t")


def _break_preformatted(pieces: list[str]) -> None:
    depth = 0
    for at in range(1, len(pieces), 2):
        depth += _PREFORMATTED.get(pieces[at], 0)
        if depth > 0:
            pieces[at + 1] = pieces[at + 1].replace("\n", _BREAK)


def _unescape(text: str) -> str:
    if "&" not in text:
        return text
    for escaped, character in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        text = text.replace(escaped, character)
    return text


def _visible_lines(text: str) -> str:
    lines = "\n".join(_lines(text))
    if _INVISIBLE.search(lines):  # looked for here because the lines are far shorter than the text
        return "\n".join(_lines(_INVISIBLE.sub("", text)))
    return lines


def _lines(text: str) -> Iterable[str]:
    for line in filter(None, map(str.strip, text.split(_BREAK))):
        if _CELL in line:
            cells = (" ".join(cell.split()) for cell in line.split(_CELL))
            yield _CELL_SEPARATOR.join(filter(None, cells))
        else:
            yield " ".join(line.split())
