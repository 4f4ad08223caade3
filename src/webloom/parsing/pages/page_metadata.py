"""A page's metadata in the form in which it is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from selectolax.lexbor import LexborHTMLParser

from webloom.parsing.html_tree.elements import Elements
from webloom.parsing.html_tree.structured import Structured
from webloom.parsing.pages.addresses import Base, linked_of
from webloom.parsing.pages.page_text import one_line
from webloom.parsing.words import words

_MAX_TITLE: Final = 500
_MAX_LINE: Final = 2000
_MAX_HEADINGS: Final = 200
_MAX_OPEN_GRAPH: Final = 60
_MAX_ITEMS: Final = 30
_MAX_ITEM_BYTES: Final = 64 * 1024  # of all items of one kind, as JSON

_DATES: Final = ("article:published_time", "og:article:published_time", "og:published_time")
_DATE_METAS: Final = words("date dc.date dcterms.created pubdate publish_date datepublished")
_AUTHOR_METAS: Final = words("author article:author dc.creator parsely-author twitter:creator")


def title_of(
    tree: LexborHTMLParser, structured: Structured, elements: Elements | None = None
) -> str | None:
    node = (tree.head or tree).css_first("title") or tree.css_first("body > title")
    if node is not None and (title := one_line(node.text_lexbor())):
        return title[:_MAX_TITLE]
    if title := one_line(structured.open_graph.get("og:title", "")):
        return title[:_MAX_TITLE]
    return heading_of(elements or Elements(tree)) or None


def heading_of(elements: Elements) -> str:
    """The first of the highest rank; empty where there is none."""
    headings = elements.of("h1")
    return one_line(headings[0].text_lexbor())[:_MAX_TITLE] if headings else ""


def headings_of(elements: Elements) -> list[str]:
    headings = elements.of("h1", "h2", "h3", "h4", "h5", "h6")[:_MAX_HEADINGS]
    lines = (one_line(node.text_lexbor()[:_MAX_LINE]) for node in headings)
    return [line[:_MAX_TITLE] for line in lines if line]


def language_of(tree: LexborHTMLParser, structured: Structured) -> str | None:
    """A language tag as in RFC 5646, as far as the page is right about it."""
    html = tree.css_first("html")
    said = (html.attrs.sget("lang") or html.attrs.sget("xml:lang")) if html is not None else ""
    metas = structured.metas
    said = said or metas.get("language", "") or structured.open_graph.get("og:locale", "")
    tag = said.strip().replace("_", "-")[:35]
    return tag if tag and tag.replace("-", "").isalnum() else None


def read_metadata(
    tree: LexborHTMLParser,
    structured: Structured,
    base: Base,
    language: str | None,
    elements: Elements | None = None,
) -> dict[str, Any]:
    """Only what the page has."""
    elements = elements or Elements(tree)
    open_graph, metas = structured.open_graph, structured.metas
    canonical, feeds = linked_of(elements, base)
    found = {
        "description": _line(metas.get("description") or open_graph.get("og:description")),
        "canonical": canonical,
        "language": language,
        "author": _line(_author(structured)),
        "publishedAt": _line(_published_at(tree, structured, elements)),
        "openGraph": dict(list(open_graph.items())[:_MAX_OPEN_GRAPH]),
        "jsonLd": _within_bounds(structured.json_ld),
        "microdata": _within_bounds(structured.microdata),
        "feeds": feeds,
        "headings": headings_of(elements),
    }
    return {name: value for name, value in found.items() if value}


def _line(text: str | None) -> str | None:
    return (one_line(text)[:_MAX_LINE] or None) if text else None


def _author(structured: Structured) -> str | None:
    for name in _AUTHOR_METAS:
        if said := structured.metas.get(name) or structured.open_graph.get(name):
            return said
    for node in (*structured.json_ld, *structured.microdata):
        author = node.get("author")
        first = author[0] if isinstance(author, list) and author else author
        named = first.get("name") if isinstance(first, Mapping) else first
        if isinstance(named, str):
            return named
    return None


def _published_at(tree: LexborHTMLParser, structured: Structured, elements: Elements) -> str | None:
    said: Iterable[Any] = (
        *(structured.open_graph.get(name) for name in _DATES),
        *(node.get("datePublished") for node in structured.json_ld),
        *(node.get("datePosted") for node in structured.json_ld),
        *(node.get("datePublished") for node in structured.microdata),
        *(structured.metas.get(name) for name in _DATE_METAS),
    )
    for date in said:
        if isinstance(date, str) and date:
            return date
    if not elements.places("time"):
        return None
    time = tree.css_first("article time[datetime], time[pubdate][datetime]")
    return time.attrs.sget("datetime") if time is not None else None


def _within_bounds(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first items that fit; one that is too large by itself is left out."""
    kept, left = [], _MAX_ITEM_BYTES
    for item in items[:_MAX_ITEMS]:
        size = len(msgspec.json.encode(item))
        if size <= left:
            kept.append(item)
            left -= size
    return kept
