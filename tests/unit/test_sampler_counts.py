"""What was done in each minute, from totals that were seen now and then."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from webloom.application.overview.sampler_counts import (
    DONE,
    FAILED,
    HANDLED,
    IMPORTS,
    INVENTORY,
    WATCH,
    Counts,
)
from webloom.domain.import_run import Counts as Records
from webloom.domain.import_run import ImportRun, Phase, Reading
from webloom.domain.import_run import RunStatus as ImportStatus
from webloom.domain.watch import RunStatus, Tally, WatchRun
from webloom.ports.heartbeats import Heartbeat, SeenProcess

START = datetime(2026, 11, 15, 12, 0, 30, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
QUEUE = "metadata_queue"


def process(
    process_id: str, handled: int, completed: int = 0, failed: int = 0, queue: str = QUEUE
) -> SeenProcess:
    beat = Heartbeat(
        process_id=process_id,
        role="worker",
        host="here",
        pid=1,
        slots=4,
        in_flight=0,
        completed=completed,
        retried=0,
        failed=failed,
        started_at=START,
        handled={queue: handled},
    )
    return SeenProcess(heartbeat=beat, age=0.0)


def imported(run_id: str, records: Records, *, ended: datetime | None = None) -> ImportRun:
    return ImportRun(
        run_id=run_id,
        feed_id="feed",
        source_url="https://a.test/",
        source_name="A",
        status=ImportStatus.RUNNING if ended is None else ImportStatus.COMPLETED,
        trigger="manual",
        started_at=START,
        updated_at=START,
        batch_size=200,
        concurrency=4,
        reading=Reading(phase=Phase.READING),
        counts=records,
        finished_at=ended,
    )


def watched(run_id: str, tally: Tally, *, ended: datetime | None = None) -> WatchRun:
    return WatchRun(
        run_id=run_id,
        watch_id="watch",
        status=RunStatus.IN_PROGRESS if ended is None else RunStatus.COMPLETED,
        trigger="manual",
        started_at=START,
        updated_at=START,
        finished_at=ended,
        tally=tally,
    )


def counted(counts: Counts, kind: str, what: str, now: datetime) -> list[int]:
    return [count for _, count in counts.minutes((kind, what), now)]


# Processes.


def test_what_a_process_did_before_the_first_look_is_not_counted() -> None:
    counts = Counts(START)
    counts.see_processes([process("old", 100, completed=80, failed=5)], START)
    assert counted(counts, HANDLED, QUEUE, START) == [0]
    counts.see_processes([process("old", 103, completed=81, failed=7)], START)
    assert counted(counts, HANDLED, QUEUE, START) == [3]
    assert counted(counts, INVENTORY, DONE, START) == [1]
    assert counted(counts, INVENTORY, FAILED, START) == [2]


def test_a_process_that_comes_later_counts_from_nothing() -> None:
    counts = Counts(START)
    counts.see_processes([], START)
    counts.see_processes([process("new", 4), process("other", 5)], START)
    counts.see_processes([process("new", 5), process("other", 5)], START + MINUTE)
    assert counted(counts, HANDLED, QUEUE, START + MINUTE) == [9, 1]


def test_a_queue_that_a_known_process_begins_to_serve_counts_from_nothing() -> None:
    counts = Counts(START)
    counts.see_processes([process("one", 7)], START)
    both = replace(process("one", 7).heartbeat, handled={QUEUE: 7, "import-feed": 2})
    counts.see_processes([SeenProcess(heartbeat=both, age=0)], START)
    assert counted(counts, HANDLED, "import-feed", START) == [2]


def test_only_the_last_sixty_minutes_are_kept() -> None:
    counts = Counts(START)
    counts.see_processes([process("one", 0)], START)
    for minute in range(200):
        counts.see_processes([process("one", minute + 1)], START + minute * MINUTE)
    now = START + 199 * MINUTE
    reported = counts.minutes((HANDLED, QUEUE), now)
    assert [count for _, count in reported] == [1] * 60
    assert reported[0][0] == datetime(2026, 11, 15, 14, 20, tzinfo=UTC)
    assert reported[-1][0] == datetime(2026, 11, 15, 15, 19, tzinfo=UTC)
    assert len(counts._minutes[HANDLED, QUEUE]) == 60
    assert counted(counts, HANDLED, QUEUE, now + 59 * MINUTE) == [1] + [0] * 59
    assert counted(counts, HANDLED, QUEUE, now + 60 * MINUTE) == [0] * 60


def test_a_wall_clock_that_jumps_back_breaks_nothing() -> None:
    counts = Counts(START)
    counts.see_processes([process("one", 0)], START)
    counts.see_processes([process("one", 3)], START - 10 * MINUTE)
    assert counted(counts, HANDLED, QUEUE, START - 10 * MINUTE) == [3]
    assert counts.rate((HANDLED, QUEUE), START - 10 * MINUTE, 5) == 3.0


def test_the_rate_is_over_the_time_that_is_known() -> None:
    counts = Counts(START)
    of_queue = (HANDLED, QUEUE)
    counts.see_processes([process("one", 0)], START)
    counts.see_processes([process("one", 30)], START + MINUTE / 2)
    assert counts.rate(of_queue, START + MINUTE / 2, 5) == 30.0  # over a minute at least
    assert counts.rate(of_queue, START + 2 * MINUTE, 5) == 15.0
    counts.see_processes([process("one", 120)], START + 4 * MINUTE)
    assert counts.rate(of_queue, START + 4 * MINUTE, 5) == 30.0
    assert counts.rate(of_queue, START + 9 * MINUTE, 5) == 0.0


# Runs.


def test_an_import_is_counted_as_it_grows() -> None:
    counts = Counts(START)
    counts.see_imports([imported("before", Records(new=50))], START)
    assert sum(counted(counts, IMPORTS, DONE, START)) == 0
    growing = Records(new=51, updated=2, unchanged=3, duplicate=4, failed=5)
    counts.see_imports([imported("before", growing), imported("later", Records(new=7))], START)
    assert counted(counts, IMPORTS, DONE, START)[-1] == 1 + 2 + 3 + 4 + 7
    assert counted(counts, IMPORTS, FAILED, START)[-1] == 5
    counts.see_imports([], START)  # nothing has changed for a while
    counts.see_imports([imported("before", growing, ended=START)], START + MINUTE)
    assert counted(counts, IMPORTS, DONE, START + MINUTE)[-2:] == [17, 0]


def test_runs_that_ended_before_the_first_look_are_counted_at_their_end() -> None:
    counts = Counts(START)
    ended, long_ago = START - 10 * MINUTE, START - 70 * MINUTE
    counts.see_imports(
        [
            imported("one", Records(new=5, failed=1), ended=ended),
            imported("old", Records(new=9), ended=long_ago),
        ],
        START,
    )
    counts.see_watches([watched("one", Tally(processed=4, failed=3), ended=ended)], START)
    for kind, done, failed in ((IMPORTS, 5, 1), (WATCH, 1, 3)):
        assert counted(counts, kind, DONE, START) == [0] * 49 + [done] + [0] * 10
        assert counted(counts, kind, FAILED, START) == [0] * 49 + [failed] + [0] * 10


def test_a_run_that_was_seen_to_its_end_is_counted_once() -> None:
    counts = Counts(START)
    counts.see_watches([], START)
    for processed, ended in ((2, None), (4, None), (4, START), (4, START)):
        run = watched("one", Tally(processed=processed, failed=1), ended=ended)
        counts.see_watches([run], START)
    assert counted(counts, WATCH, DONE, START)[-1] == 3
    assert counted(counts, WATCH, FAILED, START)[-1] == 1


def test_ended_imports_are_forgotten_and_running_ones_are_not() -> None:
    counts = Counts(START)
    counts.see_imports([], START)
    counts.see_imports(
        [imported("ended", Records(new=1), ended=START), imported("running", Records(new=1))], START
    )
    counts.see_imports([], START)
    assert counts._imports._known.keys() == {"running"}
    counts.see_imports([imported("running", Records(new=3))], START)
    assert counted(counts, IMPORTS, DONE, START)[-1] == 1 + 3


def test_a_running_watch_run_is_queried_until_it_ends_or_is_gone() -> None:
    counts = Counts(START)
    first = [watched(run_id, Tally(processed=5)) for run_id in ("a", "b", "c")]
    counts.see_watches([*first, watched("over", Tally(processed=1), ended=START)], START)
    assert counts.missing_watches({"b": None}) == ["a", "c"]
    counts.see_watches([watched("a", Tally(processed=7))], START, lost=["b"])
    assert counts.missing_watches(()) == ["c", "a"]  # the longest missing first
    counts.see_watches([watched("c", Tally(processed=6), ended=START)], START)
    counts.see_watches([watched("a", Tally(processed=9), ended=START)], START)
    assert counts.missing_watches(()) == []
    assert counted(counts, WATCH, DONE, START)[-1] == 1 + 2 + 1 + 2
    assert counts._watches._known.keys() == {"a"}
