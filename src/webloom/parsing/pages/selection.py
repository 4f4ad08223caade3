"""The parts of a page that its watch compares."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

import re2  # type: ignore[import-untyped]  # the package has no types
from lxml import etree, html  # type: ignore[import-untyped]  # the package has no types
from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from webloom.domain.errors import PageUnreadable
from webloom.domain.page import Selection
from webloom.parsing.pages.markup import parse_markup
from webloom.parsing.pages.page_text import one_line

MAX_SELECTORS: Final = 50
_MAX_SELECTOR: Final = 1000  # characters; of a pattern too
_MAX_DEPTH: Final = 8
_MAX_STRINGS: Final = 10_000  # that an XPath finds
_MAX_FOR_XPATH: Final = 4 * 1024 * 1024  # characters of markup
_MAX_REGEX_MEMORY: Final = 4 * 1024 * 1024
_MAX_REGEX_STEPS: Final = 500_000  # of all patterns together; that takes a second to compile
_MARK: Final = "webloom-found"  # an attribute of the elements that an XPath finds


def check_selection(selection: Selection) -> None:
    """Raises ValueError with a sentence that names what is wrong."""
    for name in ("keep", "drop", "ignore_text", "ignore_pattern"):
        values: list[str] = getattr(selection, name)
        if len(values) > MAX_SELECTORS:
            raise ValueError(f"{name} has {len(values)} entries, more than {MAX_SELECTORS}")
        for value in values:
            if not value.strip():
                raise ValueError(f"{name} has an empty entry")
            if len(value) > _MAX_SELECTOR:
                raise ValueError(
                    f"{name} has an entry of {len(value)} characters, more than {_MAX_SELECTOR}"
                )
    for selector in (*selection.keep, *selection.drop):
        if _is_xpath(selector):
            if _depth_of(selector) > _MAX_DEPTH:  # each level multiplies the work
                raise ValueError(f"{selector!r} has brackets more than {_MAX_DEPTH} deep")
            _evaluate(_compiled_xpath(selector), html.fromstring("<p></p>"), selector)
        else:
            _css(parse_markup("<p></p>"), [selector])
    _check_patterns(selection.ignore_pattern)


def _check_patterns(patterns: Sequence[str]) -> None:
    steps = 0
    try:
        for pattern in patterns:
            steps += _compile(pattern).programsize
            if steps > _MAX_REGEX_STEPS:
                raise ValueError("all patterns together are too large")
    finally:
        re2.purge()  # it would keep megabytes of each, although a check never searches


def _depth_of(xpath: str) -> int:
    """Of its brackets, outside of strings."""
    depth = deepest = 0
    quote = ""
    for each in xpath:
        if quote:
            quote = "" if each == quote else quote
        elif each in "'\"":
            quote = each
        elif each in "[(":
            depth += 1
            deepest = max(deepest, depth)
        elif each in "])":
            depth -= 1
    return deepest


def drop(tree: LexborHTMLParser, selectors: Sequence[str]) -> LexborHTMLParser:
    """The tree without what the selectors find; a selector may find nothing."""
    if marked := [selector for selector in selectors if _is_xpath(selector)]:
        tree, _ = _mark(tree, marked)
    for node in _found(tree, selectors):
        if node.tag not in ("html", "body"):
            node.decompose(recursive=False)
    return tree


def keep(
    tree: LexborHTMLParser, selectors: Sequence[str]
) -> tuple[LexborHTMLParser, list[LexborNode], list[str]]:
    """The tree, what is found in it, in its order and nothing twice, and the strings found.

    Raises PageUnreadable when a selector finds nothing: a part that comes and goes is not a change.
    """
    strings: list[str] = []
    if marked := [selector for selector in selectors if _is_xpath(selector)]:
        tree, strings = _mark(tree, marked, must_find=True)
    for selector in selectors:
        if not _is_xpath(selector) and not _css(tree, [selector]):
            raise _finds_nothing(selector)
    return tree, _outermost(_found(tree, selectors)), strings


def choose_lines(text: str, selection: Selection) -> str:
    """The lines that count, in the order in which they are compared."""
    if not (
        selection.ignore_text
        or selection.ignore_pattern
        or selection.sort_lines
        or selection.unique_lines
    ):
        return text
    lines: Iterable[str] = text.split("\n") if text else []
    if ignored := [one_line(part).casefold() for part in selection.ignore_text]:
        lines = [line for line in lines if not _contains(line.casefold(), ignored)]
    for pattern in map(_compiled_pattern, selection.ignore_pattern):
        lines = [line for line in lines if not pattern.search(line)]
    if selection.unique_lines:
        lines = dict.fromkeys(lines)
    return "\n".join(sorted(lines) if selection.sort_lines else lines)


def _contains(line: str, parts: list[str]) -> bool:
    return any(part in line for part in parts)


def _is_xpath(selector: str) -> bool:
    return selector.lstrip().startswith(("/", "(", "xpath:"))


def _found(tree: LexborHTMLParser, selectors: Sequence[str]) -> list[LexborNode]:
    """One query for all of them, so that what they find is in the order of the page."""
    queries = [selector for selector in selectors if not _is_xpath(selector)]
    if len(queries) < len(selectors):
        queries.append(f"[{_MARK}]")
    return _css(tree, queries) if queries else []


def _css(tree: LexborHTMLParser, selectors: Sequence[str]) -> list[LexborNode]:
    try:
        return tree.css(", ".join(selectors))
    except SelectolaxError:
        raise ValueError(f"the CSS selector {', '.join(selectors)!r} is not valid") from None


def _outermost(nodes: Sequence[LexborNode]) -> list[LexborNode]:
    """Those that are within no other. Each ancestor is passed once, however many are below it."""
    found = set(nodes)
    is_within: dict[LexborNode, bool] = {}
    for node in nodes:
        passed = []
        parent = node.parent
        while parent is not None and parent not in is_within and parent not in found:
            passed.append(parent)
            parent = parent.parent
        within = parent is not None and (parent in found or is_within[parent])
        is_within.update(dict.fromkeys((*passed, node), within))
    return [node for node in nodes if not is_within[node]]


def _mark(
    tree: LexborHTMLParser, selectors: Sequence[str], *, must_find: bool = False
) -> tuple[LexborHTMLParser, list[str]]:
    """The tree, parsed again, with what the XPaths find marked; and the strings that they find."""
    for node in tree.css(f"[{_MARK}]"):
        del node.attrs[_MARK]
    source = tree.html or ""
    if len(source) > _MAX_FOR_XPATH:
        raise PageUnreadable(
            f"the page has {len(source):,} characters, too many for XPath; use a CSS selector"
        )
    document = _document(source)
    strings: list[str] = []
    for selector in selectors:
        elements, texts = _evaluate(_compiled_xpath(selector), document, selector)
        if must_find and not elements and not texts:
            raise _finds_nothing(selector)
        for element in elements:
            element.set(_MARK, "")
        strings += texts
    return parse_markup(etree.tostring(document, encoding="unicode", method="html")), strings


def _document(source: str) -> html.HtmlElement:
    parser = html.HTMLParser(
        no_network=True, huge_tree=False, remove_comments=True, remove_pis=True, recover=True
    )
    try:
        return html.document_fromstring(source, parser=parser)
    except (etree.ParserError, ValueError):
        raise PageUnreadable("the page has no markup that XPath could search") from None


@lru_cache(maxsize=256)
def _compiled_xpath(selector: str) -> etree.XPath:
    expression = selector.strip().removeprefix("xpath:").strip()
    try:
        return etree.XPath(expression, regexp=False, smart_strings=False)
    except (etree.XPathError, ValueError) as error:
        raise ValueError(f"the XPath {selector!r} is not valid: {error}") from None


def _evaluate(
    xpath: etree.XPath, document: html.HtmlElement, selector: str
) -> tuple[list[html.HtmlElement], list[str]]:
    """The elements that it finds, and as lines the other values: attributes, texts, numbers."""
    try:
        found: Any = xpath(document)
    except etree.XPathError as error:
        raise ValueError(f"the XPath {selector!r} is not valid: {error}") from None
    if isinstance(found, bool | float):
        return [], [str(found).removesuffix(".0").lower()]
    values = [found] if isinstance(found, str) else found[:_MAX_STRINGS]
    elements = [value for value in values if isinstance(value, etree._Element)]
    lines = (one_line(value) for value in values if isinstance(value, str))
    return elements, [line for line in lines if line]


@lru_cache(maxsize=256)
def _compiled_pattern(pattern: str) -> Any:
    return _compile(pattern)


def _compile(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_REGEX_MEMORY
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        said = error.args[0] if error.args else ""
        reason = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
        raise ValueError(f"the pattern {pattern!r} is not valid: {reason}") from None


def _finds_nothing(selector: str) -> PageUnreadable:
    return PageUnreadable(f"the selector {selector!r} finds nothing on the page")
