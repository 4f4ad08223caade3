"""Watches that are added as the API describes them, one by one or as the entries of a list."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import msgspec

from webloom.application.watch.import_watches import Candidate
from webloom.application.watch.manage_watches import ManageWatches
from webloom.domain.watch import Watch
from webloom.entrypoints.api.watch_schemas import READ_ONLY, AddWatchBody, config_of
from webloom.parsing.changedetection.backup import BEGINNING
from webloom.parsing.list_entry import Entry
from webloom.parsing.watch_list import MOST_ENTRIES, WatchList, read_archive, read_watch_list

MOST_MEMBERS = 3 * MOST_ENTRIES  # of an archive in memory


async def add_watch(manage: ManageWatches, body: AddWatchBody) -> Watch:
    """Raises WatchRefused."""
    watch, _ = await manage.add(**_settings(body))
    return watch


@dataclass(frozen=True, slots=True)
class Candidates:
    """The entries of a list, made lazily each time that they are iterated over."""

    entries: WatchList

    def __iter__(self) -> Iterator[Candidate]:
        """Raises FeedUnreadable."""
        return map(_candidate, self.entries)


def read_list(content: bytes) -> WatchList:
    """Raises FeedUnreadable with a sentence for the person who gave it."""
    if content.startswith(BEGINNING):
        return read_archive(BytesIO(content), most_members=MOST_MEMBERS)
    return read_watch_list(content)


def _candidate(entry: Entry) -> Candidate:
    """Read-only fields of an exported watch are ignored."""
    given = {name: value for name, value in entry.given.items() if name not in READ_ONLY}
    refused, settings = entry.refused, {}
    if refused is None:
        try:
            settings = _settings(msgspec.convert(given, AddWatchBody))
        except msgspec.ValidationError as error:
            refused = str(error)
    return Candidate(
        label=_shown(entry),
        settings=settings,
        refused=refused,
        notes=entry.notes,
        is_foreign=entry.is_foreign,
    )


def _settings(body: AddWatchBody) -> dict[str, Any]:
    """As ManageWatches.config takes them."""
    given = config_of(body)
    if body.url is not None:
        given["urls"] = [body.url, *given["urls"]]
    return given


def exported(watch: Watch) -> dict[str, Any]:
    """The entry of a list that adds the watch again, secrets included."""
    body = msgspec.convert(watch.config, AddWatchBody, from_attributes=True)
    return msgspec.to_builtins(body)  # type: ignore[no-any-return]  # a struct becomes a dict


def _shown(entry: Entry) -> str:
    """The text, name or URL that a user recognises the entry by."""
    given = entry.given
    urls = given.get("urls")
    first = urls[0] if isinstance(urls, list) and urls else None
    return str(entry.written or given.get("name") or given.get("url") or first)[:200]
