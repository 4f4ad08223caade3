"""HTML -> a tree, unless the markup is made to hurt.

Lexbor takes time that is quadratic in the attributes of one tag and in the depth of the tree.
Both are looked at before it begins; pages that people write are far from either bound.
"""

from __future__ import annotations

import re
from typing import Final

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, SelectolaxError

from webloom.domain.errors import PageUnreadable

MAX_CHARACTERS: Final = 16 * 1024 * 1024
_MAX_TAGS: Final = 500_000
_FEW_TAGS: Final = 20_000  # they take less than a second however deep they are
_MAX_DEPTH: Final = 1000
_MAX_ATTRIBUTES: Final = 500

_TAG: Final = re.compile(r"<(/?)([a-z][^\s/>]*)", re.IGNORECASE)
_TOO_MANY_ATTRIBUTES: Final = re.compile(
    r"<[a-zA-Z][^\s/>]*+"
    r"""(?:[\s/]*+[^\s>"'=/]++(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s"'>]++))?+)"""
    f"{{{_MAX_ATTRIBUTES + 1}}}"
)
# Elements that end themselves, or that the next of their kind ends.
_SHALLOW: Final = frozenset(
    re.findall(
        r"\w+",
        "area base br col embed hr img input link meta param source track wbr p li dt dd option"
        " optgroup tr td th tbody thead tfoot caption colgroup rb rt rp html head body",
    )
)


def parse_markup(text: str) -> LexborHTMLParser:
    """The tree as a browser that runs scripts builds it: what is in noscript is no element."""
    if len(text) > MAX_CHARACTERS:
        raise too_long(text)
    tags = text.count("<")
    if tags > _MAX_TAGS:
        raise PageUnreadable(
            f"the page has {tags:,} tags, more than the {_MAX_TAGS:,} that are read"
        )
    if tags > _FEW_TAGS and _depth(text) > _MAX_DEPTH:
        raise PageUnreadable(f"the page's elements are nested more than {_MAX_DEPTH} deep")
    if _has_too_many_attributes(text):
        raise PageUnreadable(f"a tag of the page has more than {_MAX_ATTRIBUTES} attributes")
    try:
        return LexborHTMLParser(text, options=LexborDocumentOptions.WO_EVENTS, scripting=True)
    except SelectolaxError as error:  # it reads any text that it has the memory for
        raise MemoryError from error


def too_long(text: str) -> PageUnreadable:
    return PageUnreadable(
        f"the page has {len(text):,} characters, more than the {MAX_CHARACTERS:,} that are read"
    )


def _depth(text: str) -> int:
    """At most so deep is the tree, scripts taken for markup too."""
    is_open: dict[str, int] = {}
    depth = deepest = 0
    for end, name in _TAG.findall(text):
        name = name.lower()
        if name in _SHALLOW:
            continue
        if not end:
            is_open[name] = is_open.get(name, 0) + 1
            depth += 1
            deepest = max(deepest, depth)
        elif is_open.get(name):
            is_open[name] -= 1
            depth -= 1
    return deepest


def _has_too_many_attributes(text: str) -> bool:
    at = 0
    while found := _TOO_MANY_ATTRIBUTES.search(text, at):
        if text.rfind("<script", 0, found.start()) <= text.rfind("</script", 0, found.start()):
            return True
        at = text.find("</script", found.start())  # what a script compares may look like a tag
        if at < 0:
            break
    return False
