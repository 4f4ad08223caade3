"""Lists of pages to watch: URLs line by line, OPML, or JSON."""

from __future__ import annotations

from io import StringIO
from typing import Any

import msgspec

from webloom.domain.errors import FeedUnreadable
from webloom.parsing.opml import read_opml

MOST_ENTRIES = 10_000
_OPML_URLS = ("htmlurl", "url", "xmlurl")


def read_watch_list(content: bytes) -> list[dict[str, Any]]:
    """For each entry what a watch is made of: `url`, and `name` or more where it is given.

    Raises FeedUnreadable with a sentence for the person who gave it.
    """
    start = content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if start == b"<":
        return [
            {"url": each.url, "name": each.name[:200]} for each in read_opml(content, _OPML_URLS)
        ]
    entries = _from_json(content) if start in (b"[", b"{") else _from_lines(content)
    if not entries:
        raise FeedUnreadable("the list is empty")
    return entries


def _from_json(content: bytes) -> list[dict[str, Any]]:
    try:
        found = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise FeedUnreadable(f"the list is not JSON: {error}") from error
    if isinstance(found, dict):
        found = found.get("data") or found.get("watches") or [found]
    if not isinstance(found, list):
        raise FeedUnreadable("the list is no array of URLs or watches")
    if len(found) > MOST_ENTRIES:
        raise _too_many()
    return [_entry(each) for each in found]


def _entry(given: Any) -> dict[str, Any]:
    if isinstance(given, str):
        return {"url": given}
    if isinstance(given, dict):
        return given
    raise FeedUnreadable(f"the list has an entry that is neither a URL nor a watch: {given!r:.100}")


def _from_lines(content: bytes) -> list[dict[str, Any]]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FeedUnreadable("the list is not UTF-8 text") from error
    entries: list[dict[str, Any]] = []
    # One at a time, as there may be millions.
    for line in map(str.strip, StringIO(text, newline=None)):
        if line and not line.startswith("#"):
            if len(entries) == MOST_ENTRIES:
                raise _too_many()
            entries.append({"url": line})
    return entries


def _too_many() -> FeedUnreadable:
    return FeedUnreadable(f"the list has more than {MOST_ENTRIES:,} entries: split it")
