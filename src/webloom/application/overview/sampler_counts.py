"""What was done in each of the last sixty minutes, from totals that only grow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from webloom.domain.import_run import ImportRun
from webloom.domain.watch import WatchRun
from webloom.ports.heartbeats import SeenProcess

MINUTES = 60
HOUR = timedelta(minutes=MINUTES)
INVENTORY, IMPORTS, WATCH = "inventory", "imports", "watch"
DONE, FAILED = "done", "failed"
HANDLED = "handled"

Name = tuple[str, str]  # a pipeline and DONE or FAILED; HANDLED and a queue


class Counts:
    """Growth is counted in the minute in which it is noticed. What grew before the first poll is
    unknown; but a run that had ended by then is counted at its end."""

    def __init__(self, since: datetime) -> None:
        self.since = since
        self._minutes: dict[Name, Counter[datetime]] = {}
        self._processes = _Totals()
        self._imports = _Totals()
        self._watches = _Totals()

    def see_processes(self, seen: Iterable[SeenProcess], now: datetime) -> None:
        """All that are alive. One that is new since the last poll counts from 0."""
        found = {each.heartbeat.process_id: each.heartbeat for each in seen}
        for process_id, beat in found.items():
            totals = {(HANDLED, queue): count for queue, count in beat.handled.items()}
            totals |= {(INVENTORY, DONE): beat.completed, (INVENTORY, FAILED): beat.failed}
            self._add(self._processes.growth(process_id, totals), now)
        self._processes.keep_only(found)

    def see_imports(self, runs: Iterable[ImportRun], now: datetime) -> None:
        """Those that have changed since the last poll; at first, of the last hour."""
        self._see_runs(
            self._imports,
            {each.run_id: _Run(each.counts.total, each.counts.failed, each) for each in runs},
            IMPORTS,
            now,
        )

    def missing_watches(self, found: Container[str]) -> list[str]:
        """Runs that were in progress at the last poll and are not in `found`; those missing for
        longest first."""
        return [run_id for run_id in self._watches.running if run_id not in found]

    def see_watches(
        self, runs: Iterable[WatchRun], now: datetime, lost: Iterable[str] = ()
    ) -> None:
        """Those that started since the last poll, and those of `missing_watches` that still exist;
        `lost` no longer do."""
        for run_id in lost:
            self._watches.running.pop(run_id, None)
        self._see_runs(
            self._watches,
            {each.run_id: _Run(each.tally.processed, each.tally.failed, each) for each in runs},
            WATCH,
            now,
        )

    def minutes(self, name: Name, now: datetime) -> list[tuple[datetime, int]]:
        """The last sixty, or those since the first poll, oldest first; the last is in progress."""
        current = _minute(now)
        begin = current - timedelta(minutes=MINUTES - 1)
        if name[0] not in (IMPORTS, WATCH):
            begin = min(current, max(begin, _minute(self.since)))
        counted = self._minutes.get(name, Counter())
        length = (current - begin) // timedelta(minutes=1) + 1
        listed = (begin + timedelta(minutes=number) for number in range(length))
        return [(minute, counted[minute]) for minute in listed]

    def rate(self, name: Name, now: datetime, minutes: int) -> float:
        """Per minute, over the last `minutes` or as many as are known; but at least over one."""
        listed = self.minutes(name, now)[-minutes:]
        begin = max(self.since, listed[0][0])
        spent = max(now - begin, timedelta(minutes=1)) / timedelta(minutes=1)
        return round(sum(count for _, count in listed) / spent, 1)

    def _see_runs(
        self, known: _Totals, found: dict[str, _Run], pipeline: str, now: datetime
    ) -> None:
        for run_id, (all_, failed, run) in found.items():
            totals = {(pipeline, DONE): all_ - failed, (pipeline, FAILED): failed}
            if known.is_empty and run.finished_at is not None:
                known.keep(run_id, totals)
                self._add(totals, run.finished_at)
            else:
                self._add(known.growth(run_id, totals), now)
            known.running.pop(run_id, None)  # to the end of the line
            if run.finished_at is None:
                known.running[run_id] = None
        known.keep_only(found.keys() | known.running.keys())

    def _add(self, growth: Mapping[Name, int], at: datetime) -> None:
        for name, count in growth.items():
            if count > 0:
                minutes = self._minutes.setdefault(name, Counter())
                minutes[_minute(at)] += count
                oldest = max(minutes) - HOUR
                for old in [each for each in minutes if each <= oldest]:
                    del minutes[old]


class _Run(NamedTuple):
    processed: int
    failed: int
    run: ImportRun | WatchRun


class _Totals:
    """The latest totals of each process or run."""

    def __init__(self) -> None:
        self.is_empty = True  # until the first poll is over
        self.running: dict[str, None] = {}  # runs in progress, those missing for longest first
        self._known: dict[str, dict[Name, int]] = {}

    def growth(self, owner: str, totals: dict[Name, int]) -> dict[Name, int]:
        start = totals if self.is_empty else {}
        before = self._known.get(owner, start)
        self.keep(owner, totals)
        return {name: total - before.get(name, 0) for name, total in totals.items()}

    def keep(self, owner: str, totals: dict[Name, int]) -> None:
        self._known[owner] = totals

    def keep_only(self, owners: Iterable[str]) -> None:
        """At the end of a poll. The others will not be seen again."""
        self.is_empty = False
        self._known = {each: self._known[each] for each in owners if each in self._known}


def _minute(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0)
