"""Lists of pages to watch: addresses line by line, OPML, JSON, or a backup of changedetection.io.
Entries are counted before they are decoded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, BinaryIO

import msgspec

from webloom.domain.errors import FeedUnreadable, UrlRefused
from webloom.parsing.changedetection.backup import Backup, read_backup
from webloom.parsing.json_limits import JsonLimits, JsonTooLarge, refuse_too_large
from webloom.parsing.list_entry import Entry, Note
from webloom.parsing.opml import PAGE_URLS, read_opml
from webloom.parsing.typed_address import url_meant

MOST_ENTRIES = 10_000
MOST_LINES = 10 * MOST_ENTRIES  # with comments
_LIST = JsonLimits(values=1_000_000, items=MOST_ENTRIES, called="entries", items_level=2)
_ENTRY = JsonLimits(values=50_000)
_OPML_URLS = (*PAGE_URLS, "xmlurl")
_GZIP = b"\x1f\x8b"
_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*+")
_FILLED_LINE = re.compile(rb"[^\s][^\r\n]*+")


class _Listing(msgspec.Struct):
    """An object that may have a list in it."""

    data: msgspec.Raw = msgspec.Raw(b"null")
    watches: msgspec.Raw = msgspec.Raw(b"null")


_listings = msgspec.json.Decoder(_Listing | list[msgspec.Raw])
_lists = msgspec.json.Decoder(list[msgspec.Raw] | str | float | bool | _Listing | None)
_entries = msgspec.json.Decoder(str | dict[str, Any])


class ListKind(StrEnum):
    LINES = "lines"
    OPML = "opml"
    JSON = "json"
    CHANGEDETECTION = "changedetection"


@dataclass(frozen=True, slots=True)
class WatchList:
    """Entries of JSON and backups are decoded lazily."""

    kind: ListKind
    _given: Sequence[Entry | msgspec.Raw] | Backup
    notes: list[Note] = field(default_factory=list)  # on all of it

    def __len__(self) -> int:
        return len(self._given)

    def __iter__(self) -> Iterator[Entry]:
        """Raises FeedUnreadable."""
        for each in self._given:
            yield _entry(each) if isinstance(each, msgspec.Raw) else each


def read_watch_list(content: bytes) -> WatchList:
    """All but archives. Raises FeedUnreadable with a sentence for the person who gave it."""
    if content.startswith(_GZIP):
        raise FeedUnreadable("the list is compressed with gzip: unpack it first")
    found = _START.match(content)
    start = content[found.end() : found.end() + 1] if found else b""
    if start == b"<":
        return WatchList(ListKind.OPML, _from_opml(content))
    if start in (b"[", b"{"):
        entries = _from_json(content)
    else:
        entries = WatchList(ListKind.LINES, _from_lines(content))
    if not entries:
        raise FeedUnreadable("the list is empty")
    return entries


def read_archive(file: BinaryIO, *, most_members: int) -> WatchList:
    """Raises FeedUnreadable. The file must stay open; only a part of it is read into memory."""
    backup = read_backup(file, most_members=most_members)
    return WatchList(ListKind.CHANGEDETECTION, backup, backup.notes)


def _from_opml(content: bytes) -> list[Entry]:
    return [
        Entry(given={"url": each.url, "name": each.name[:200], "tags": list(each.tags)})
        for each in read_opml(content, _OPML_URLS)
    ]


def _from_json(content: bytes) -> WatchList:
    content = content.removeprefix(b"\xef\xbb\xbf")
    try:
        refuse_too_large(content, _LIST)
        found = _listings.decode(content)
        if isinstance(found, _Listing):
            found = _in_object(found) or [msgspec.Raw(content)]
    except JsonTooLarge as error:
        raise FeedUnreadable(f"the list has {error}: split it") from error
    except (msgspec.DecodeError, UnicodeError) as error:
        raise FeedUnreadable(f"the list is not JSON: {error}") from error
    entries = WatchList(ListKind.JSON, found)
    for _ in entries:  # one that is wrong is found before the first is used
        pass
    return entries


def _in_object(found: _Listing) -> list[msgspec.Raw]:
    for raw in (found.data, found.watches):
        value = _lists.decode(raw)
        if isinstance(value, list) and value:
            return value
        if value:
            raise FeedUnreadable("the list is not an array of URLs or watches")
    return []


def _entry(raw: msgspec.Raw) -> Entry:
    try:
        refuse_too_large(bytes(raw), _ENTRY)
        given = _entries.decode(raw)
    except JsonTooLarge as error:
        raise FeedUnreadable(f"an entry of the list has {error}") from error
    except msgspec.ValidationError as error:
        raise FeedUnreadable(
            "the list has an entry that is neither a URL nor a watch: "
            f"{bytes(raw)[:100].decode(errors='replace')}"
        ) from error
    except (msgspec.DecodeError, UnicodeError) as error:
        raise FeedUnreadable(f"the list is not JSON: {error}") from error
    return Entry(given={"url": given} if isinstance(given, str) else given)


def _from_lines(content: bytes) -> list[Entry]:
    entries: list[Entry] = []
    for number, line in enumerate(_FILLED_LINE.finditer(content)):
        if number == MOST_LINES:
            raise FeedUnreadable(f"the list has more than {MOST_LINES:,} lines: split it")
        try:
            text = line[0].decode().removeprefix("\ufeff").strip()
        except UnicodeDecodeError as error:
            raise FeedUnreadable("the list is not UTF-8 text") from error
        if text and not text.startswith("#"):
            if len(entries) == MOST_ENTRIES:
                raise FeedUnreadable(f"the list has more than {MOST_ENTRIES:,} entries: split it")
            entries.append(_typed(text))
    return entries


def _typed(address: str) -> Entry:
    """Without a scheme it gets https."""
    try:
        return Entry(given={"url": url_meant(address)}, written=address)
    except UrlRefused as error:
        return Entry(given={}, written=address, refused=str(error))
