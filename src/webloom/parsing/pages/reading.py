"""The body of a response -> what is seen in the page, or PageUnreadable.

bytes -> text -> tree -> structured data -> price, availability
                   |--> metadata, images, links, feeds, need of JavaScript
                   |--> signs -> classification
                   '--> selection -> text -> hash
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from decimal import Decimal
from typing import Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from webloom.domain.errors import PageUnreadable
from webloom.domain.page import Classification, PageType, Selection
from webloom.domain.price import Availability, Price
from webloom.parsing.html_tree.elements import Elements
from webloom.parsing.html_tree.structured import read_structured
from webloom.parsing.pages.addresses import Base, feed_links_of, images_in, links_in
from webloom.parsing.pages.classify import classify
from webloom.parsing.pages.documents import document_text, kind_of
from webloom.parsing.pages.javascript import needs_javascript
from webloom.parsing.pages.markup import MAX_CHARACTERS, parse_markup, too_long
from webloom.parsing.pages.page import FeedLink, Kind, PageReading, ParsedPage
from webloom.parsing.pages.page_metadata import (
    heading_of,
    language_of,
    read_metadata,
    title_of,
)
from webloom.parsing.pages.page_text import drop_unseen, find_surroundings, text_of
from webloom.parsing.pages.selection import choose_lines, drop, keep
from webloom.parsing.pages.signs import (
    Signs,
    card_count,
    small_source,
    split_url,
    tree_signs,
    types_in,
)
from webloom.parsing.pages.walls import classify_status
from webloom.parsing.prices.finder import find_offer
from webloom.parsing.text_decoding import Decoded, decode, media_type

_MAX_BYTES: Final = 4 * MAX_CHARACTERS
_MAX_TEXT: Final = 5_000_000  # characters
_SHOWN: Final = 10_000  # characters of text that signs are looked for in


def read_page(
    body: bytes,
    *,
    url: str,
    status_code: int,
    content_type: str | None,
    selection: Selection,
) -> PageReading:
    """Raises PageUnreadable; ValueError for a selection that `check_selection` refuses."""
    if len(body) > _MAX_BYTES:
        raise PageUnreadable(f"the page has {len(body):,} bytes, more than the {_MAX_BYTES:,} read")
    decoded = decode(body, content_type)
    if decoded is None:
        called = media_type(content_type) or "nothing"
        raise PageUnreadable(f"what was fetched is not text; the site calls it {called}")
    kind = kind_of(decoded.text, content_type)
    has_selectors = bool(selection.keep or selection.drop)
    if kind is Kind.HTML or (kind is Kind.XML and has_selectors):
        return _read_html(decoded, url, status_code, selection)
    return _read_document(decoded.text, kind, status_code, selection)


def _read_html(page: Decoded, url: str, status_code: int, selection: Selection) -> PageReading:
    tree = parse_markup(page.text, page.utf8)
    elements = Elements(tree)
    structured = read_structured(tree, elements)
    language = language_of(tree, structured)
    price, availability = find_offer(
        tree, structured, url=url, language=language, elements=elements
    )
    base = Base(tree, url)
    title, heading = title_of(tree, structured, elements), heading_of(elements)
    metadata = read_metadata(tree, structured, base, language, elements)
    feed_links = feed_links_of(elements, base) if "feeds" in metadata else []
    seen = tree_signs(tree, elements)
    without_scripts = needs_javascript(tree, elements)

    tree = drop(tree, selection.drop) if selection.drop else tree
    tree, kept = _kept(tree, selection.keep) if selection.keep else (tree, None)
    if selection.drop or selection.keep:
        elements = Elements(tree)
    source = elements if kept is None else kept.nodes
    images, links = images_in(source, base), links_in(source, base)
    drop_unseen(tree, elements)
    kept_text = kept.text() if kept is not None else None
    main_text, main_length = _main_text(tree)

    host, path = split_url(url)
    types, product_count = types_in(structured)
    classification = classify(
        Signs(
            status_code=status_code,
            host=host,
            path=path,
            title=title or "",
            heading=heading,
            text=main_text[:_SHOWN].lower(),
            main_length=main_length,
            card_count=card_count(tree, seen),
            source=small_source(page.text, main_length),
            types=types,
            product_count=product_count,
            open_graph_type=structured.open_graph.get("og:type", "").lower(),
            generator=structured.metas.get("generator", ""),
            price=price,
            is_empty=not page.text or page.text.isspace(),
            tree=seen,
        )
    )
    selected = main_text
    if without_scripts and classification.type is PageType.OTHER:
        classification = replace(classification, confidence=0.0, reasons=[without_scripts])
    if not classification.type.is_content:
        price, availability = None, Availability.UNKNOWN  # what a wall says is not of the product
        without_scripts = None
    elif kept is not None:
        if kept.missing is not None:
            raise kept.missing
        selected = kept_text or ""
    return _reading(
        ParsedPage(
            title=title,
            text=choose_lines(selected, selection),
            images=images,
            links=links,
            metadata=metadata,
        ),
        classification,
        price,
        availability,
        feed_links=feed_links,
        needs_javascript=without_scripts,
    )


def _read_document(text: str, kind: Kind, status_code: int, selection: Selection) -> PageReading:
    if len(text) > MAX_CHARACTERS:
        raise too_long(text)
    title, lines = document_text(text, kind)
    refused = classify_status(status_code)
    if selection.keep and refused is None:
        raise PageUnreadable(f"selectors find parts of HTML and XML, and this is {kind}")
    return _reading(
        ParsedPage(title=title, text=choose_lines(lines, selection)),
        refused
        or Classification(type=PageType.OTHER, confidence=1.0, reasons=[f"{kind}, not a page"]),
        None,
        Availability.UNKNOWN,
        kind=kind,
    )


class _Kept(NamedTuple):
    nodes: list[LexborNode]
    strings: list[str]
    missing: PageUnreadable | None  # a selector that finds nothing; as on a wall

    def text(self) -> str:
        texts = [text_of(node.html or "") for node in self.nodes]
        return "\n".join(filter(None, [*texts, *self.strings]))


def _kept(tree: LexborHTMLParser, selectors: list[str]) -> tuple[LexborHTMLParser, _Kept]:
    try:
        tree, nodes, strings = keep(tree, selectors)
    except PageUnreadable as missing:
        return tree, _Kept([], [], missing)
    return tree, _Kept(nodes, strings, None)


def _main_text(tree: LexborHTMLParser) -> tuple[str, int]:
    surroundings = find_surroundings(tree)
    for node in surroundings.nodes:
        node.decompose(recursive=False)
    body = tree.body if tree.body is not None else tree.root
    return text_of(body.html or "") if body is not None else "", surroundings.main_length


def _reading(
    parsed: ParsedPage,
    classification: Classification,
    price: Price | None,
    availability: Availability,
    *,
    kind: Kind = Kind.HTML,
    feed_links: list[FeedLink] | None = None,
    needs_javascript: str | None = None,
) -> PageReading:
    if len(parsed.text) > _MAX_TEXT:
        raise PageUnreadable(
            f"the text of the page has {len(parsed.text):,} characters, more than {_MAX_TEXT:,};"
            " keep a part of it with a selector"
        )
    return PageReading(
        parsed=parsed,
        classification=classification,
        price=price,
        availability=availability,
        snapshot_hash=_hash(parsed.text, price, availability),
        kind=kind,
        feed_links=feed_links or [],
        needs_javascript=needs_javascript,
    )


def _hash(text: str, price: Price | None, availability: Availability) -> str:
    """Where a price was found, and how many zeros it is written with, is not a change."""
    amounts = (_plain(price.current), _plain(price.list), price.currency or "") if price else ()
    seen = "\x00".join((text, availability, *amounts))
    return hashlib.blake2b(seen.encode(), digest_size=16).hexdigest()


def _plain(amount: Decimal | None) -> str:
    return "" if amount is None else format(amount.normalize(), "f")
