"""What was seen in a page: for a person, and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console

from webloom.domain.page import PageType
from webloom.domain.price import Price
from webloom.domain.shown import shown_price
from webloom.entrypoints.cli.output import (
    counted,
    json_line,
    json_text,
    plain,
    shortened,
    show_table,
    table,
)

if TYPE_CHECKING:
    from webloom.parsing.pages.page import PageReading

_TEXT_LINES = 20
_LONGEST_LINE = 200  # characters
_MOST_NAMES = 12  # of headings, feeds and types


@dataclass(frozen=True, kw_only=True, slots=True)
class Inspected:
    source: str  # as given
    url: str | None
    status_code: int | None  # None: it was not fetched
    reading: PageReading


def print_json(inspected: Inspected) -> None:
    reading = inspected.reading
    parsed = reading.parsed
    json_line(
        {
            "input": json_text(inspected.source),
            "url": inspected.url,
            "status": inspected.status_code,
            "title": parsed.title,
            "text": parsed.text,
            "images": parsed.images,
            "links": parsed.links,
            "metadata": parsed.metadata,
            "classification": reading.classification,
            "price": reading.price,
            "availability": reading.availability,
            "snapshotHash": reading.snapshot_hash,
            "needsJavascript": reading.needs_javascript,
        }
    )


def print_json_error(source: str, error: str) -> None:
    json_line({"input": json_text(source), "error": json_text(error)})


def show(inspected: Inspected, to: Console, *, is_one_of_many: bool) -> None:
    """For people. All of it is untrusted text."""
    reading = inspected.reading
    if is_one_of_many:
        to.print(f"[bold cyan]{plain(shortened(inspected.source))}[/]", soft_wrap=True)
    to.print(f"[bold]{plain(reading.parsed.title or 'without a title')}[/]", soft_wrap=True)
    if inspected.url is not None:
        status = "" if inspected.status_code is None else f"{inspected.status_code}  "
        to.print(f"{status}{plain(inspected.url)}", soft_wrap=True)
    to.print()
    _show_facts(reading, to)
    _show_text(reading.parsed.text, to)
    if is_one_of_many:
        to.print()


def _show_facts(reading: PageReading, to: Console) -> None:
    parsed, metadata = reading.parsed, reading.parsed.metadata
    facts = table("", "", heading=False)
    for name, value in (
        ("type", _type(reading)),
        ("javascript", reading.needs_javascript),
        ("price", "none" if reading.price is None else _price(reading.price)),
        ("availability", reading.availability.replace("_", " ")),
        ("language", metadata.get("language")),
        ("canonical", metadata.get("canonical")),
        ("description", metadata.get("description")),
        ("author", metadata.get("author")),
        ("published", metadata.get("publishedAt")),
        ("structured", _some(_types(metadata))),
        ("headings", _some(metadata.get("headings", ()))),
        ("feeds", _some(metadata.get("feeds", ()))),
        ("has", f"{counted(len(parsed.images), 'image')}, {counted(len(parsed.links), 'link')}"),
        ("hash", reading.snapshot_hash),
    ):
        if value:
            facts.add_row(f"[bold]{name}[/]", plain(shortened(str(value), 600)))
    show_table(facts, to)


def _type(reading: PageReading) -> str:
    classification = reading.classification
    if reading.needs_javascript and classification.type is PageType.OTHER:
        return "unknown"
    shown = f"{classification.type.replace('_', ' ')}, {classification.confidence:.0%}"
    return ": ".join(filter(None, (shown, "; ".join(classification.reasons))))


def _price(price: Price) -> str:
    shown = shown_price(price.current, price.currency)
    unit = "" if price.currency else " of an unknown currency"
    listed = price.list
    reduced = "" if listed is None else f", reduced from {shown_price(listed, price.currency)}"
    return f"{shown}{unit}{reduced} ({price.source})"


def _types(metadata: dict[str, Any]) -> Iterable[str]:
    """What the page calls itself in JSON-LD and microdata, each once."""
    found: dict[str, None] = {}
    for item in (*metadata.get("jsonLd", ()), *metadata.get("microdata", ())):
        named = item.get("@type") if isinstance(item, dict) else None
        for each in named if isinstance(named, list) else [named]:
            if isinstance(each, str):
                found[each] = None
    return found


def _some(names: Iterable[str]) -> str:
    names = list(names)
    more = len(names) - _MOST_NAMES
    shown = [shortened(name, _LONGEST_LINE) for name in names[:_MOST_NAMES]]
    return " · ".join(shown + ([f"{more:,} more"] if more > 0 else []))


def _show_text(text: str, to: Console) -> None:
    lines = text.split("\n", _TEXT_LINES)
    more = f", the first {_TEXT_LINES} lines" if len(lines) > _TEXT_LINES else ""
    to.print()
    to.print(f"[bold]Text[/]  {counted(len(text), 'character')}{more}")
    for line in lines[:_TEXT_LINES]:
        to.print(plain(shortened(line, _LONGEST_LINE)), soft_wrap=True)
