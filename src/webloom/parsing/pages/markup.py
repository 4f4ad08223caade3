"""HTML -> a tree, unless the markup is hostile.

Lexbor takes time that is quadratic in the attributes of one tag and in the depth of the tree.
Both are looked at before it begins; pages that people write are far from either bound. What hides
from the quick look is left to the limit on CPU time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from heapq import merge
from typing import Final

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, SelectolaxError

from webloom.domain.errors import PageUnreadable

MAX_CHARACTERS: Final = 16 * 1024 * 1024
_MAX_TAGS: Final = 500_000
_FEW_TAGS: Final = 20_000  # they take less than a second however deep they are
_MAX_DEPTH: Final = 1000
_MAX_ATTRIBUTES: Final = 500
_LONG: Final = 2 * _MAX_ATTRIBUTES  # bytes of a tag with that many, after its first letter
_SHORTEST_TAG: Final = 3  # bytes

_TAG: Final = re.compile(rb"<(/?)([a-z][^\s/>]*)", re.IGNORECASE)
_TAG_START: Final = re.compile(b"<[a-zA-Z]")
_TOO_MANY_ATTRIBUTES: Final = re.compile(
    rb"<[a-zA-Z][^\s/>]*+"
    rb"""(?:[\s/]*+[^\s>"'=/]++(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s"'>]++))?+)"""
    b"{%d}" % (_MAX_ATTRIBUTES + 1)
)
# Elements that end themselves, or that the next of their kind ends.
_SHALLOW: Final = frozenset(
    b"area base br col embed hr img input link meta param source track wbr p li dt dd option"
    b" optgroup tr td th tbody thead tfoot caption colgroup rb rt rp html head body".split()
)


def parse_markup(text: str, utf8: bytes | None = None) -> LexborHTMLParser:
    """The tree as a browser that runs scripts builds it: noscript has no elements. Quicker
    with the text in UTF-8, where that is at hand."""
    if len(text) > MAX_CHARACTERS:
        raise too_long(text)
    markup = text.encode("utf-8", "ignore") if utf8 is None else utf8  # lone surrogates are ignored
    tags = markup.count(b"<") if len(markup) > _FEW_TAGS * _SHORTEST_TAG else 0
    if tags > _MAX_TAGS:
        raise PageUnreadable(
            f"the page has {tags:,} tags, more than the {_MAX_TAGS:,} that are read"
        )
    if tags > _FEW_TAGS and _depth(markup) > _MAX_DEPTH:
        raise PageUnreadable(f"the page's elements are nested more than {_MAX_DEPTH} deep")
    if _has_too_many_attributes(markup):
        raise PageUnreadable(f"a tag of the page has more than {_MAX_ATTRIBUTES} attributes")
    try:
        return LexborHTMLParser(markup, options=LexborDocumentOptions.WO_EVENTS, scripting=True)
    except SelectolaxError as error:  # it reads any text that it has the memory for
        raise MemoryError from error


def too_long(text: str) -> PageUnreadable:
    return PageUnreadable(
        f"the page has {len(text):,} characters, more than the {MAX_CHARACTERS:,} that are read"
    )


def _depth(markup: bytes) -> int:
    """At most so deep is the tree, scripts taken for markup too."""
    is_open: dict[bytes, int] = {}
    depth = deepest = 0
    for end, name in _TAG.findall(markup):
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


def _has_too_many_attributes(markup: bytes) -> bool:
    """Looks at long tags only: those with no > for long, and those with > in their values, but no <
    for long. A tag that soon has both in its values is not noticed."""
    at = 0
    for start in merge(_starts_before_long_run(markup), _starts_of_long_tags(markup)):
        if start < at:
            continue
        if not _TOO_MANY_ATTRIBUTES.match(markup, start):
            at = markup.find(b">", start)  # no other tag begins before
        elif markup.rfind(b"<script", 0, start) <= markup.rfind(b"</script", 0, start):
            return True
        else:  # what a script compares may look like a tag
            at = markup.find(b"</script", start)
        if at < 0:
            break
    return False


def _starts_of_long_tags(markup: bytes) -> Iterator[int]:
    for before, end in _long_runs(markup, b">"):
        first = markup.find(b"<", before, end - _LONG)  # seldom any: most long runs are scripts
        if first >= 0 and (start := _TAG_START.search(markup, first, end - _LONG)):
            yield start.start()


def _starts_before_long_run(markup: bytes) -> Iterator[int]:
    for start, _ in _long_runs(markup, b"<"):
        if _TAG_START.match(markup, start):
            yield start


def _long_runs(markup: bytes, mark: bytes) -> Iterator[tuple[int, int]]:
    """Where the next of two marks is far away, and where it is; both ends of the page count."""
    far = _LONG + 2  # with < and the first letter of a tag
    at = 0
    while at + far <= len(markup):
        nearest = markup.rfind(mark, at + 1, at + far)
        if nearest >= 0:  # all between are nearer still
            at = nearest
            continue
        following = markup.find(mark, at + far)
        following = following if following >= 0 else len(markup)
        yield at, following
        at = following
