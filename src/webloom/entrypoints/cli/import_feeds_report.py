"""Progress and results of `webloom import`: bars or lines meanwhile, a table at the end, or a line
for each run where the terminal is too narrow for a table."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Table

from webloom.domain.feed import Feed
from webloom.domain.import_run import ImportRun, Phase
from webloom.entrypoints.cli.failures import print_failures
from webloom.entrypoints.cli.output import NARROW, counted, plain, show_table, table, visible

SAY_SECONDS = 10.0
LONGEST_NAME = 22
COLUMNS = (
    "feed", "status", "total", "new", "updated", "unchanged", "duplicate", "failed", "closed",
    "repaired", "seconds",
)  # fmt: skip


@dataclass(kw_only=True)
class Report:
    console: Console  # for progress
    ended: dict[str, ImportRun] = field(default_factory=dict)  # by run id, in the order they ended
    left_out: list[Feed] = field(default_factory=list)  # they were removed meanwhile
    _open: dict[str, ImportRun] = field(default_factory=dict)
    _followed: set[str] = field(default_factory=set)  # runs that others carry out
    _since: dict[str, tuple[float, int]] = field(default_factory=dict)  # time and records at first
    _said: dict[str, tuple[Phase, float]] = field(default_factory=dict)  # without a terminal
    _bar: Progress | None = None
    _tasks: dict[str, TaskID] = field(default_factory=dict)

    def say(self, text: str) -> None:
        self.console.print(plain(text), soft_wrap=True)

    def leave_out(self, feed: Feed) -> None:
        self.left_out.append(feed)
        self.say(f"{feed.config.name}: was removed meanwhile, and is left out")

    def begin(self, run: ImportRun) -> None:
        self._open[run.run_id] = run

    def lose(self, run: ImportRun) -> None:
        del self._open[run.run_id]

    def follow(self, run: ImportRun, *, lease: float) -> None:
        if run.run_id not in self._followed:
            self._followed.add(run.run_id)
            self.say(
                f"{run.source_name}: another process is importing it already: following that "
                f"run, and taking over after {lease:g} s without a sign of life"
            )

    def carry_out(self, run: ImportRun, *, is_left: bool) -> None:
        self._followed.discard(run.run_id)
        if is_left:
            self.say(f"{run.source_name}: resuming an unfinished run")

    def change(self, run: ImportRun) -> None:
        self._open[run.run_id] = run
        self._since.setdefault(run.run_id, (time.monotonic(), run.counts.total))
        if self._bar is not None:
            self._show(self._bar, run)
        else:
            self._say_if_news(run)

    def finish(self, run: ImportRun) -> None:
        self.change(run)
        del self._open[run.run_id]
        self.ended[run.run_id] = run
        if self._bar is None:
            self.say(f"{run.source_name}: {run.status}{f': {run.error}' if run.error else ''}")

    def interrupted(self) -> None:
        for run in self._open.values():
            if run.run_id in self._followed:
                self.say(f"interrupted: {run.source_name} is imported by the other process")
                continue
            self.say(
                f"interrupted: {run.source_name} was given back after "
                f"{counted(run.reading.fetched, 'record')}. `webloom import {run.feed_id}` "
                "continues with it, and so does a scheduler"
            )

    @contextmanager
    def progress(self) -> Iterator[None]:
        """A bar for each run on a terminal, otherwise a line from time to time."""
        if not self.console.is_terminal:
            yield
            return
        with Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=12),
            TextColumn("{task.fields[words]}", markup=False),
            console=self.console,
        ) as bar:
            self._bar = bar
            try:
                yield
            finally:
                self._bar = None

    def _show(self, bar: Progress, run: ImportRun) -> None:
        if run.run_id not in self._tasks:
            self._tasks[run.run_id] = bar.add_task(_name(run), total=None, words="")
        done, total = _extent(run)
        bar.update(self._tasks[run.run_id], completed=done, total=total, words=self._few_words(run))

    def _say_if_news(self, run: ImportRun) -> None:
        now, phase = time.monotonic(), run.reading.phase
        said, at = self._said.get(run.run_id, (None, now))
        if phase in (Phase.WAITING, Phase.FINISHED):
            return
        if phase is not said or now - at >= SAY_SECONDS:
            self._said[run.run_id] = phase, now
            self.say(f"{run.source_name}: {self._words(run)}")

    def _words(self, run: ImportRun) -> str:
        phase, counts = run.reading.phase, run.counts
        size = _size(run) if phase is Phase.READING else ""
        if not run.reading.fetched:
            return f"{phase}{size}"
        return (
            f"{phase}{size}, {counted(run.reading.fetched, 'record')}: {counts.new:,} new, "
            f"{counts.updated:,} updated, {counts.unchanged:,} unchanged, "
            f"{counts.failed:,} failed{self._speed(run)}"
        )

    def _few_words(self, run: ImportRun) -> str:
        """What fits beside a bar on 80 columns; the summary has the rest."""
        phase, fetched = run.reading.phase, run.reading.fetched
        state = run.status if phase is Phase.FINISHED else phase
        if not fetched:
            return str(state)
        failed = f", {run.counts.failed:,} failed" if run.counts.failed else ""
        return f"{state}, {counted(fetched, 'record')}{failed}{self._speed(run)}"

    def _speed(self, run: ImportRun) -> str:
        since, before = self._since[run.run_id]
        seconds, done = time.monotonic() - since, run.counts.total - before
        return f", {done / seconds:,.0f}/s" if seconds >= 1 and done else ""

    def summary(self, to: Console) -> None:
        show_runs(self.ended.values(), to)
        for run in self.ended.values():
            _print_trouble(run, to)


def _extent(run: ImportRun) -> tuple[int, int | None]:
    """How far the bar goes, and its length: bytes of the feed, then batches that are stored."""
    reading = run.reading
    match reading.phase:
        case Phase.READING:
            return reading.bytes_read, reading.bytes_total
        case Phase.STORING:
            return run.processed_batches, reading.published
        case Phase.CLOSING | Phase.FINISHED:
            return 1, 1
        case _:
            return 0, None


def _name(run: ImportRun) -> str:
    """The end of a long URL says more than its beginning."""
    name = visible(run.source_name)
    if len(name) <= LONGEST_NAME:
        return name
    return f"…{name[-LONGEST_NAME:]}" if name == run.source_url else f"{name[:LONGEST_NAME]}…"


def _size(run: ImportRun) -> str:
    read, total = run.reading.bytes_read / 1e6, run.reading.bytes_total
    return f" {read:.2f} MB" if total is None else f" {read:.2f} of {total / 1e6:.2f} MB"


def show_runs(runs: Iterable[ImportRun], to: Console) -> None:
    if to.width >= NARROW:
        show_table(_table(runs), to)
        return
    for run in runs:
        to.print(plain(_line(run)), soft_wrap=True)


def _table(runs: Iterable[ImportRun]) -> Table:
    shown = table(*COLUMNS)
    for column in shown.columns[2:]:
        column.justify = "right"
    for run in runs:
        shown.add_row(plain(run.source_name), *_row(run))
    return shown


def _line(run: ImportRun) -> str:
    """Only what is not zero."""
    status, _, *numbers, seconds = _row(run)
    named = zip(numbers, COLUMNS[3:-1], strict=True)
    counts = ", ".join(f"{number} {name}" for number, name in named if number != "0")
    records = counted(run.counts.total, "record")
    return f"{run.source_name}: {status}, {records} in {seconds} s{counts and f': {counts}'}"


def _row(run: ImportRun) -> list[str]:
    """What the columns after the feed have."""
    numbers = (
        run.counts.total,
        *run.counts,
        run.closed_jobs,
        sum(run.reading.repairs.values()),
    )
    seconds = "-" if run.duration_ms is None else f"{run.duration_ms / 1000:.1f}"
    status = f"{run.status}, unmodified" if run.reading.is_unmodified else str(run.status)
    return [status, *(f"{each:,}" for each in numbers), seconds]


def _print_trouble(run: ImportRun, to: Console) -> None:
    if run.error is None and not run.counts.failed:
        return
    reason = f": {run.error}" if run.error else ""
    to.print(f"\n{plain(f'{run.source_name} ({run.run_id}){reason}')}", soft_wrap=True)
    print_failures(run.failure_reasons, run.failures, to)
