"""Does the text of a page appear only when a browser runs its scripts?"""

from __future__ import annotations

import re
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from webloom.parsing.html_tree.elements import TEXT, Elements
from webloom.parsing.pages.page_text import one_line, text_of

_MUCH: Final = 500  # characters to read that a page without its content hardly has
_LITTLE: Final = 200  # such as the name of the site, and "Loading …"
_NOTHING: Final = 20
_LARGE_SCRIPT: Final = 2000  # characters in the page itself, more than a counter of visitors has
_MAX_TEXTS: Final = 1000  # pieces of text that are looked at
_MAX_DEPTH: Final = 100
_MAX_NOSCRIPTS: Final = 100
_MAX_MARKUP: Final = 2000  # characters of a noscript element
_MAX_MESSAGE: Final = 120
_MOUNTS: Final = (
    "#root, #app, #__next, #__nuxt, #___gatsby, #svelte, #react-root, #app-root, #main-app,"
    " #application, #mount, app-root, [ng-app], [data-reactroot]"
)
_ASKS: Final = re.compile(r"java\s?script", re.IGNORECASE)
_UNSEEN: Final = frozenset(("head", "title", "script", "style", "template", "noscript", "svg"))
_DATA: Final = re.compile(r"json|template|text/(?!javascript)", re.IGNORECASE)  # types of scripts


def needs_javascript(tree: LexborHTMLParser, elements: Elements) -> str | None:
    """A sentence with the reason; None for a page that has its text, or has no scripts."""
    readable = _readable(elements)
    if len(readable) >= _MUCH:
        return None
    count, size = _scripts(elements)
    if not count:
        return None
    reason = _reason(tree, elements, readable)
    if reason is None and len(readable) <= _NOTHING and (size >= _LARGE_SCRIPT or count > 1):
        scripts = "script" if count == 1 else f"{count} scripts"
        reason = f"without its {scripts} there is nothing to read"
    if reason is None:
        return None
    return (
        f"The text of this page appears only with JavaScript, which Webloom does not run: {reason}."
    )


def _reason(tree: LexborHTMLParser, elements: Elements, readable: str) -> str | None:
    for node in elements.of("noscript")[:_MAX_NOSCRIPTS]:
        # The parser leaves its markup as text.
        if _ASKS.search(message := one_line(text_of(node.text_lexbor()[:_MAX_MARKUP]))):
            return f"it says “{message[:_MAX_MESSAGE].rstrip(' .')}”"
    if len(readable) > _LITTLE:
        return None
    if _ASKS.search(readable):
        return f"it says “{one_line(readable)[:_MAX_MESSAGE].rstrip(' .')}”"
    for mount in tree.css(_MOUNTS)[:20]:
        if len(one_line(_text_in(mount))) <= _NOTHING:
            name = mount.attrs.sget("id")
            shown = f"#{one_line(name)[:40]}" if name else f"<{mount.tag}>"
            return f"its element {shown} is empty until a script fills it"
    return None


def _readable(elements: Elements) -> str:
    """The beginning of what a reader sees, scripts not run."""
    found: list[str] = []
    length = 0
    for place in elements.places(TEXT)[:_MAX_TEXTS]:
        node = elements.nodes[place]
        if _is_unseen(node):
            continue
        text = one_line(node.text_lexbor()[:_MUCH])
        found.append(text)
        length += len(text) + 1
        if length > _MUCH:
            break
    return " ".join(found)


def _is_unseen(node: LexborNode) -> bool:
    above = node.parent
    for _ in range(_MAX_DEPTH):
        if above is None:
            return False
        if above.tag in _UNSEEN:
            return True
        above = above.parent
    return False


def _text_in(mount: LexborNode) -> str:
    """Without scripts and the like, which are often inside."""
    texts = (
        node.text_lexbor()[:_MUCH]
        for node, _ in zip(mount.traverse(include_text=True), range(_MAX_TEXTS), strict=False)
        if node.tag == TEXT and not _is_unseen(node)
    )
    return " ".join(texts)


def _scripts(elements: Elements) -> tuple[int, int]:
    """How many run, and the size of those in the page itself."""
    count = size = 0
    for node in elements.of("script")[:_MAX_TEXTS]:
        attributes = node.attributes
        if _DATA.search(attributes.get("type") or ""):
            continue
        count += 1
        if "src" not in attributes:
            size += len(node.text_lexbor())
    return count, size
