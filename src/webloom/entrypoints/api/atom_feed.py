"""Changes of watched pages as an Atom feed (RFC 4287).

All content is plain text. Ids survive a renumbering of versions, and are unique even for changes of
the same millisecond.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from xml.etree import ElementTree

import msgspec

from webloom.diffs.forms import unified_lines
from webloom.diffs.shown import text_of
from webloom.diffs.text_diff import TextDiff
from webloom.domain.errors import UrlRefused
from webloom.domain.reason_words import THE_PAGE_CHANGED
from webloom.domain.storage_event import moment_of
from webloom.parsing.web_url import normalise
from webloom.ports.page_history import ChangeLog

CONTENT_TYPE = "application/atom+xml; charset=utf-8"
_ATOM = "http://www.w3.org/2005/Atom"
_IDS = uuid.UUID("0f9d5a52-6c0a-5d0e-9a86-6f2f3f1d6f0b")  # the namespace of their ids
_LAST_MOMENT = 253_402_300_799_999  # the last year that a date can have is 9999
_LONGEST_TITLE = 300
_MOST_LINES = 100
_LONGEST_LINE = 500
_UNFIT = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # for XML 1.0


def atom_feed(
    changes: Sequence[ChangeLog],  # the latest first
    *,
    title: str,
    self_url: str,  # where the feed is served
    watch_id: str | None,  # None: of all watches
    names: Mapping[str, str],  # of watches, by their ids
) -> bytes:
    feed = ElementTree.Element("feed", xmlns=_ATOM)
    _add(feed, "id", _id("watch", watch_id) if watch_id is not None else _id("all"))
    _add(feed, "title", title)
    _add(feed, "updated", _moment(max((each.timestamp for each in changes), default=0)))
    _add(feed, "link", rel="self", type="application/atom+xml", href=self_url)
    _add(ElementTree.SubElement(feed, "author"), "name", "Webloom")
    for each in changes:
        _add_entry(feed, each, names.get(each.watch_id, each.watch_id))
    return (
        f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(feed, "unicode")}'.encode()
    )


def _add_entry(feed: ElementTree.Element, change: ChangeLog, name: str) -> None:
    entry = ElementTree.SubElement(feed, "entry")
    _add(entry, "id", _entry_id(change))
    headline = next(iter(change.sentences), THE_PAGE_CHANGED)
    _add(entry, "title", f"{name}: {headline}"[:_LONGEST_TITLE])
    _add(entry, "updated", _moment(change.timestamp))
    with suppress(UrlRefused):  # a page of another program's events may have any name
        _add(entry, "link", rel="alternate", href=normalise(change.url))
    _add(entry, "category", term=name)
    _add(entry, "content", "\n".join(_lines(change)), type="text")


def _entry_id(change: ChangeLog) -> str:
    """Entries of earlier versions have no key, and keep the ids that readers know."""
    key = () if change.key is None else (change.key,)
    return _id("change", change.watch_id, change.url, str(change.timestamp), *key)


def _lines(change: ChangeLog) -> Iterator[str]:
    yield change.url
    yield f"Version {change.previous} became version {change.current}."
    yield from change.sentences
    lines = _diff(change.changes.get("text"))
    if lines:
        yield ""
        yield from (line[:_LONGEST_LINE] for line in lines[:_MOST_LINES])
    if len(lines) > _MOST_LINES:
        yield "…"


def _diff(text: object) -> list[str]:
    """Empty for an event of another program whose changes have another form."""
    try:
        diff = msgspec.convert(text, TextDiff)
    except msgspec.ValidationError:
        return []
    lines = unified_lines(diff, old_name="", new_name="")
    return text_of(islice(lines, 2, _MOST_LINES + 3)).splitlines()  # without both sides' names


def _add(parent: ElementTree.Element, tag: str, text: str = "", **attributes: str) -> None:
    fit = {name: _fit(value) for name, value in attributes.items()}
    element = ElementTree.SubElement(parent, tag, fit)
    if text:
        element.text = _fit(text)


def _fit(text: str) -> str:
    return _UNFIT.sub("\ufffd", text)


def _id(*parts: str) -> str:
    joined = "\0".join(parts).encode(errors="replace").decode()
    return uuid.uuid5(_IDS, joined).urn


def _moment(timestamp: int) -> str:
    return moment_of(min(max(timestamp, 0), _LAST_MOMENT)).isoformat(timespec="milliseconds")
