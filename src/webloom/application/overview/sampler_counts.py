"""What was done in each of the last sixty minutes, from totals that only grow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from datetime import datetime, timedelta

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
    """Growth is counted in the minute in which it is noticed. What grew before the first look is
    not known; but a run that had ended by then is counted at its end."""

    def __init__(self, since: datetime) -> None:
        self.since = since
        self._minutes: dict[Name, Counter[datetime]] = {}
        self._processes = _Totals()
        self._imports = _Totals()
        self._watches = _Totals()
        self._running: set[str] = set()  # imports
        self._running_watches: dict[str, None] = {}  # runs, the longest unheard of first

    def see_processes(self, seen: Iterable[SeenProcess], now: datetime) -> None:
        """All that live. One that is new since the last look counts from 0."""
        found = {each.heartbeat.process_id: each.heartbeat for each in seen}
        for process_id, beat in found.items():
            totals = {(HANDLED, queue): count for queue, count in beat.handled.items()}
            totals |= {(INVENTORY, DONE): beat.completed, (INVENTORY, FAILED): beat.failed}
            self._add(self._processes.growth(process_id, totals), now)
        self._processes.looked(found.keys())

    def see_imports(self, runs: Iterable[ImportRun], now: datetime) -> None:
        """Those that have changed since the last look; at first, of the last hour."""
        found = {run.run_id: run for run in runs}
        for run_id, run in found.items():
            counts = run.counts
            totals = {
                (IMPORTS, DONE): counts.total - counts.failed,
                (IMPORTS, FAILED): counts.failed,
            }
            self._see_run(self._imports, run_id, totals, run.finished_at, now)
            if run.finished_at is None:
                self._running.add(run_id)
            else:
                self._running.discard(run_id)
        self._imports.looked(found.keys() | self._running)

    def unheard_watches(self, heard: Container[str]) -> list[str]:
        """Runs that went on at the last look and are not in `heard`; the longest unheard of
        first."""
        return [run_id for run_id in self._running_watches if run_id not in heard]

    def see_watches(
        self, runs: Iterable[WatchRun], now: datetime, lost: Iterable[str] = ()
    ) -> None:
        """Those that started since the last look, and of `unheard_watches` those that are there;
        `lost` are not any more."""
        found = {run.run_id: run for run in runs}
        for run_id, run in found.items():
            tally = run.tally
            totals = {(WATCH, DONE): tally.processed - tally.failed, (WATCH, FAILED): tally.failed}
            self._see_run(self._watches, run_id, totals, run.finished_at, now)
        for run_id in (*lost, *found):
            self._running_watches.pop(run_id, None)
        self._running_watches |= {
            run_id: None for run_id, run in found.items() if run.finished_at is None
        }
        self._watches.looked(found.keys() | self._running_watches.keys())

    def minutes(self, name: Name, now: datetime) -> list[tuple[datetime, int]]:
        """The last sixty, or those since the first look, the oldest first; the last is going on."""
        current = _minute(now)
        begin = current - timedelta(minutes=MINUTES - 1)
        if name[0] not in (IMPORTS, WATCH):
            begin = min(current, max(begin, _minute(self.since)))
        counted = self._minutes.get(name, Counter())
        length = (current - begin) // timedelta(minutes=1) + 1
        listed = (begin + timedelta(minutes=number) for number in range(length))
        return [(minute, counted[minute]) for minute in listed]

    def rate(self, name: Name, now: datetime, minutes: int) -> float:
        """Per minute, over the last so many or as long as is known; but at least over one."""
        listed = self.minutes(name, now)[-minutes:]
        begin = max(self.since, listed[0][0])
        spent = max(now - begin, timedelta(minutes=1)) / timedelta(minutes=1)
        return round(sum(count for _, count in listed) / spent, 1)

    def _see_run(
        self,
        known: _Totals,
        run_id: str,
        totals: dict[Name, int],
        finished_at: datetime | None,
        now: datetime,
    ) -> None:
        if known.is_empty and finished_at is not None:
            known.keep(run_id, totals)
            self._add(totals, finished_at)
        else:
            self._add(known.growth(run_id, totals), now)

    def _add(self, growth: Mapping[Name, int], at: datetime) -> None:
        for name, count in growth.items():
            if count > 0:
                minutes = self._minutes.setdefault(name, Counter())
                minutes[_minute(at)] += count
                oldest = max(minutes) - HOUR
                for old in [each for each in minutes if each <= oldest]:
                    del minutes[old]


class _Totals:
    """The latest of each process or run."""

    def __init__(self) -> None:
        self.is_empty = True  # nobody has looked
        self._known: dict[str, dict[Name, int]] = {}

    def growth(self, owner: str, totals: dict[Name, int]) -> dict[Name, int]:
        start = totals if self.is_empty else {}
        before = self._known.get(owner, start)
        self.keep(owner, totals)
        return {name: total - before.get(name, 0) for name, total in totals.items()}

    def keep(self, owner: str, totals: dict[Name, int]) -> None:
        self._known[owner] = totals

    def looked(self, owners: Iterable[str]) -> None:
        """The others are not heard of again."""
        self.is_empty = False
        self._known = {each: self._known[each] for each in owners if each in self._known}


def _minute(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0)
