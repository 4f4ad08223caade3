"""Changes of import runs as Server-Sent Events.

A change is seen by its time in the store, whichever process made it. Times of changes can become
visible late, so every poll looks back a little and skips what was sent. Progress of a run is sent
at every other poll only: what listeners cost is the sending.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from datetime import UTC, datetime, timedelta

import msgspec

from webloom.domain.import_run import ImportRun
from webloom.entrypoints.api.import_schemas import import_log
from webloom.entrypoints.api.live import MOST_PENDING, Live, Poller
from webloom.ports.import_runs import ListedRuns, RunFilter

POLL_SECONDS = 0.2
LOOK_BACK = timedelta(seconds=15)  # as long as a store may take to choose a new primary
PAGE = 500

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
_encoder = msgspec.json.Encoder()


def event_of(run: ImportRun) -> bytes:
    position = (run.updated_at - _EPOCH) // timedelta(microseconds=1)
    return b"id: %d\nevent: import_log\ndata: %b\n\n" % (position, _encoder.encode(import_log(run)))


def moment_of(position: str) -> datetime | None:
    """None: it is not the id of an event."""
    if not (position.isascii() and position.isdigit() and len(position) <= 16):
        return None
    return _EPOCH + timedelta(microseconds=int(position))


class LiveRuns(Live):
    def __init__(self, store: ListedRuns, stopping: asyncio.Event) -> None:
        super().__init__(stopping)
        self._store = store
        self._poller = _Poller(store, stopping)

    def events(self, since: datetime | None) -> AsyncGenerator[bytes, None]:
        """Changes since then; None: the runs that are running, then changes from now on."""
        return self.listen([self._poller], self._first(since))

    async def _first(self, since: datetime | None) -> AsyncIterator[bytes]:
        if since is None:
            for run in await self._store.changed(None, limit=MOST_PENDING):
                yield event_of(run)
            return
        async for run in _changed(self._store, since - LOOK_BACK):
            yield event_of(run)


class _Poller(Poller):
    def __init__(self, store: ListedRuns, stopping: asyncio.Event) -> None:
        super().__init__("import logs", POLL_SECONDS, stopping)
        self._store = store
        self.reset()

    def reset(self) -> None:
        self._since: datetime | None = None
        self._sent: dict[str, ImportRun] = {}
        self._skips_progress = False

    async def poll(self) -> float:
        if self._since is None:
            self._since = await self._latest_change()
        runs = {run.run_id: run async for run in _changed(self._store, self._since - LOOK_BACK)}
        self._sent = {run_id: self._sent[run_id] for run_id in runs if run_id in self._sent}
        for run_id, run in runs.items():
            before = self._sent.get(run_id)
            if run == before or (self._skips_progress and _is_progress(before, run)):
                continue
            self._sent[run_id] = run
            self.offer(run_id, event_of(run))
        if not self._skips_progress:  # else the next poll has to see what was skipped
            self._since = max([self._since, *(run.updated_at for run in runs.values())])
        self._skips_progress = not self._skips_progress
        return 0.0

    async def _latest_change(self) -> datetime:
        """Or an earlier one, by the clock of changes; all changes from now on are later."""
        page = await self._store.page(RunFilter(), offset=0, limit=1)
        return page.runs[0].updated_at if page.runs else _LONG_AGO


async def _changed(store: ListedRuns, since: datetime) -> AsyncIterator[ImportRun]:
    while True:
        runs = await store.changed(since, limit=PAGE)
        for run in runs:
            yield run
        if len(runs) < PAGE or runs[-1].updated_at <= since:
            return
        since = runs[-1].updated_at


def _is_progress(before: ImportRun | None, run: ImportRun) -> bool:
    return before is not None and (before.status, before.cancel_requested) == (
        run.status,
        run.cancel_requested,
    )
