"""The port `Inbox` over change logs; a backend adds its queries."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, TypeAlias

from webloom.domain.inbox import (
    WAITING,
    Decision,
    InboxState,
    Range,
    Triage,
    decided,
    entry_id,
    key_of,
    waiting_ranges,
)
from webloom.domain.listing import Count, counted_to
from webloom.domain.storage_event import milliseconds_of, moment_of
from webloom.ports.dump import WholeLog
from webloom.ports.inbox import InboxEntry, InboxFilter
from webloom.stores.cursors import page_of, values_of
from webloom.stores.page_items import change_log

Row: TypeAlias = int | str  # what a backend knows a change log by


class Place(NamedTuple):
    """Of an entry that waits."""

    at: int
    row: Row


class Logged(NamedTuple):
    """What a decision needs of a change log."""

    ts: int
    triage: Triage | None


class Asked(NamedTuple):
    wanted: Decision
    now: int


class Listed(NamedTuple):
    log: WholeLog
    previous: int  # version
    is_muted: bool


class StoredInbox(ABC):
    row_kind: type[int] | type[str]

    @abstractmethod
    async def _waiting(
        self, chosen: Range, watch_id: str | None, *, limit: int, before: Place | None
    ) -> list[Place]:
        """The latest first."""

    @abstractmethod
    async def _count_waiting(self, chosen: Range, watch_id: str | None, *, most: int) -> int:
        """Counting stops behind `most`."""

    @abstractmethod
    async def _latest(
        self, state: InboxState | None, watch_id: str | None, *, limit: int, cursor: str | None
    ) -> tuple[list[Row], str | None]:
        """Entries by the time of their change, with the cursor of the next page; of those that have
        this state, or any, and at most MOST_SCANNED change logs. Raises BadCursor."""

    @abstractmethod
    async def _count_latest(
        self, state: InboxState | None, watch_id: str | None, *, most: int
    ) -> Count:
        """Of what `_latest` lists."""

    @abstractmethod
    async def _read(self, rows: Sequence[Row]) -> list[Listed]:
        """Those that are still there, in this order."""

    @abstractmethod
    async def _decide(self, keys: Sequence[str], asked: Asked) -> list[bool]:
        """Write what `decide` says; whether each key is that of an entry."""

    async def entries(
        self, chosen: InboxFilter, *, now: datetime, limit: int, cursor: str | None = None
    ) -> tuple[list[InboxEntry], str | None]:
        time = milliseconds_of(now)
        if chosen.state in WAITING:
            before = None if cursor is None else Place(*values_of(cursor, int, self.row_kind))
            lists = await asyncio.gather(
                *(
                    self._waiting(each, chosen.watch_id, limit=limit + 1, before=before)
                    for each in waiting_ranges(chosen.state, time)
                )
            )
            found = {place for places in lists for place in places}
            page, following = page_of(sorted(found, reverse=True), limit, tuple)
            rows = [place.row for place in page]
        else:
            rows, following = await self._latest(
                chosen.state, chosen.watch_id, limit=limit, cursor=cursor
            )
        entries = [_entry(each, time) for each in await self._read(rows)]
        return [each for each in entries if chosen.state in (None, each.state)], following

    async def count(self, chosen: InboxFilter, *, now: datetime, most: int) -> Count:
        if chosen.state in WAITING:
            count = 0
            for each in waiting_ranges(chosen.state, milliseconds_of(now)):
                if count <= most:
                    count += await self._count_waiting(each, chosen.watch_id, most=most - count)
            return counted_to(most, count)
        return await self._count_latest(chosen.state, chosen.watch_id, most=most)

    async def decide(self, ids: Sequence[str], wanted: Decision, *, now: datetime) -> list[str]:
        keys = {key: each for each in ids if (key := key_of(each)) is not None}
        are_there = await self._decide([*keys], Asked(wanted, milliseconds_of(now)))
        there = {keys[key] for key, is_there in zip(keys, are_there, strict=True) if is_there}
        return [each for each in dict.fromkeys(ids) if each not in there]


def decide(log: Logged | None, asked: Asked) -> tuple[Logged | None, bool]:
    """The change log with the decision, and whether it is in the inbox."""
    if log is None or log.triage is None:
        return log, False
    triage = decided(log.triage, asked.wanted, ts=log.ts, now=asked.now)
    return (log if triage is log.triage else log._replace(triage=triage)), True


def _entry(listed: Listed, now: int) -> InboxEntry:
    log = listed.log
    assert log.triage is not None  # noqa: S101 - only such are listed
    state = log.triage.state_at(now)
    until = log.triage.at if state is InboxState.SNOOZED else None
    return InboxEntry(
        entry_id=entry_id(log.key),
        change=change_log(log, listed.previous),
        state=state,
        snoozed_until=None if until is None else moment_of(until),
        is_muted=listed.is_muted,
    )
