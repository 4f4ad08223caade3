"""Responses to lists of pages to watch."""

from __future__ import annotations

import msgspec

from webloom.application.entry_state import EntryState
from webloom.application.watch.import_watches import Imported, Judged
from webloom.domain.watch import WatchConfig
from webloom.entrypoints.api.bulk import BulkProgress
from webloom.entrypoints.api.watch_schemas import ScheduleBody
from webloom.parsing.target_url import shown_target
from webloom.parsing.watch_list import ListKind


class ListRefusal(msgspec.Struct, kw_only=True):
    entry: str
    reason: str


class WatchesImported(msgspec.Struct, kw_only=True):
    """Results for the entries of a list."""

    added: int
    known: int  # left out, as `skipKnown` asks
    refused: int
    refusals: list[ListRefusal]  # the first 100


class ImportStopped(BulkProgress, kw_only=True):
    """The last line of an import that could not continue. The entries that are done are stored."""

    detail: str


class NoteCount(msgspec.Struct, kw_only=True):
    """Something of a backup that is not carried over, and how many entries have it."""

    note: str
    count: int


class ListedPages(msgspec.Struct, kw_only=True):
    """The watch that an entry of a list would become."""

    url: str  # the first of them
    pages: int
    schedule: ScheduleBody
    enabled: bool
    tags: list[str]
    targets: list[str]  # without what is secret in them


class ListedEntry(msgspec.Struct, kw_only=True):
    name: str
    state: EntryState
    reason: str | None  # why it is refused; the name of the watch or entry that has its page
    watch: ListedPages | None  # null: it is refused
    notes: list[str]  # what can't be carried over


class WatchListPreview(msgspec.Struct, kw_only=True):
    """What importing a list would do."""

    kind: ListKind
    total: int
    new: int
    known: int  # pages that are watched already
    repeated: int  # pages that come earlier in the list
    refused: int
    entries: list[ListedEntry]  # in the order of the list; the first 500 of each state
    notes: list[str]  # what can't be carried over from the list as a whole
    note_counts: list[NoteCount] = msgspec.field(name="noteCounts")  # of all entries


def imported_response(imported: Imported) -> WatchesImported:
    return WatchesImported(
        added=imported.added,
        known=imported.known,
        refused=imported.refused,
        refusals=[refusal_of(each) for each in imported.refusals],
    )


def refusal_of(judged: Judged) -> ListRefusal:
    return ListRefusal(entry=judged.label, reason=judged.reason or "")


def listed_entry(judged: Judged) -> ListedEntry:
    config = judged.config
    return ListedEntry(
        name=judged.label if config is None else config.name,
        state=judged.state,
        reason=judged.reason,
        watch=None if config is None else _listed_pages(config),
        notes=[str(each) for each in judged.notes],
    )


def _listed_pages(config: WatchConfig) -> ListedPages:
    return ListedPages(
        url=config.urls[0],
        pages=len(config.urls),
        schedule=msgspec.convert(config.schedule, ScheduleBody, from_attributes=True),
        enabled=config.enabled,
        tags=config.tags,
        targets=[shown_target(each.url) for each in config.targets],
    )
