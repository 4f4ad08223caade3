"""Lists of pages to watch: URLs line by line, OPML, or JSON. Entries are counted before they
are decoded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from webloom.domain.errors import FeedUnreadable
from webloom.parsing.json_limits import JsonLimits, JsonTooLarge, refuse_too_large
from webloom.parsing.opml import read_opml

MOST_ENTRIES = 10_000
MOST_LINES = 10 * MOST_ENTRIES  # with comments
_LIST = JsonLimits(values=1_000_000, items=MOST_ENTRIES, called="entries", items_level=2)
_ENTRY = JsonLimits(values=50_000)
_OPML_URLS = ("htmlurl", "url", "xmlurl")
_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*+")
_FILLED_LINE = re.compile(rb"[^\s][^\r\n]*+")


class _Listing(msgspec.Struct):
    """An object that may have a list in it."""

    data: msgspec.Raw = msgspec.Raw(b"null")
    watches: msgspec.Raw = msgspec.Raw(b"null")


_listings = msgspec.json.Decoder(_Listing | list[msgspec.Raw])
_lists = msgspec.json.Decoder(list[msgspec.Raw] | str | float | bool | _Listing | None)
_entries = msgspec.json.Decoder(str | dict[str, Any])

# What a watch is made of: `url`, and `name` or more where it is given.
Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class WatchList:
    """JSON entries are decoded lazily."""

    _given: Sequence[Entry | msgspec.Raw]

    def __len__(self) -> int:
        return len(self._given)

    def __iter__(self) -> Iterator[Entry]:
        """Raises FeedUnreadable."""
        for each in self._given:
            yield _entry(each) if isinstance(each, msgspec.Raw) else each


def read_watch_list(content: bytes) -> WatchList:
    """Raises FeedUnreadable with a sentence for the person who gave it."""
    found = _START.match(content)
    start = content[found.end() : found.end() + 1] if found else b""
    if start == b"<":
        outlines = read_opml(content, _OPML_URLS)
        return WatchList([{"url": each.url, "name": each.name[:200]} for each in outlines])
    entries = _from_json(content) if start in (b"[", b"{") else WatchList(_from_lines(content))
    if not entries:
        raise FeedUnreadable("the list is empty")
    return entries


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
    entries = WatchList(found)
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
    return {"url": given} if isinstance(given, str) else given


def _from_lines(content: bytes) -> list[Entry]:
    entries: list[Entry] = []
    for number, line in enumerate(_FILLED_LINE.finditer(content)):
        if number == MOST_LINES:
            raise FeedUnreadable(f"the list has more than {MOST_LINES:,} lines: split it")
        try:
            url = line[0].decode().removeprefix("\ufeff").strip()
        except UnicodeDecodeError as error:
            raise FeedUnreadable("the list is not UTF-8 text") from error
        if url and not url.startswith("#"):
            if len(entries) == MOST_ENTRIES:
                raise FeedUnreadable(f"the list has more than {MOST_ENTRIES:,} entries: split it")
            entries.append({"url": url})
    return entries
