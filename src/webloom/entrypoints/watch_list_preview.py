"""What importing a list of pages would do. Nothing is stored."""

from __future__ import annotations

from collections import Counter

from webloom.application.entry_state import EntryState
from webloom.application.watch.import_watches import ImportWatches
from webloom.entrypoints.api.watch_import_schemas import (
    ListedEntry,
    NoteCount,
    WatchListPreview,
    listed_entry,
)
from webloom.entrypoints.watch_entries import Candidates
from webloom.parsing.watch_list import WatchList

MOST_LISTED = 500  # entries of each state; all are counted


async def preview_list(
    importing: ImportWatches, entries: WatchList, *, most_listed: int = MOST_LISTED
) -> WatchListPreview:
    """Raises StoreUnavailable."""
    counts: Counter[EntryState] = Counter()
    notes: Counter[str] = Counter()
    listed: list[ListedEntry] = []
    async for batch in importing.judge(Candidates(entries)):
        for judged in batch:
            counts[judged.state] += 1
            notes.update({each.what for each in judged.notes})
            if counts[judged.state] <= most_listed:
                listed.append(listed_entry(judged))
    return WatchListPreview(
        kind=entries.kind,
        total=len(entries),
        entries=listed,
        notes=[str(each) for each in entries.notes],
        note_counts=[NoteCount(note=note, count=count) for note, count in notes.most_common()],
        **{state.value: counts[state] for state in EntryState},
    )
