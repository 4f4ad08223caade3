"""How runs start and end, without a store; each decision also on a pair that is half written."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from webloom.domain.page_check import Checked
from webloom.domain.schedule import Schedule
from webloom.domain.storage_event import StorageEvent, moment_of
from webloom.domain.watch import (
    EVENTS,
    MOST_FAILURES,
    Begun,
    LastRun,
    Metrics,
    Outcome,
    PageFailure,
    RunHead,
    RunStatus,
    Tally,
    Watch,
    WatchConfig,
    WatchRun,
    edited,
)
from webloom.domain.watch_run import (
    LEDGER_KEPT,
    NOT_READ,
    Counted,
    NewRun,
    NextRun,
    PageOutcome,
    RunState,
    Started,
    closed,
    counting,
    ended,
    entered,
    freed,
    last_run_noted,
    latest,
    ledger_until,
    removed,
    repaired,
    started,
    with_counts,
)
from webloom.stores.primitives import Now

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
LATER = NOW + HOUR
EXPIRY = NOW + timedelta(days=14)
URLS = ["https://shop.test/1", "https://shop.test/2"]
CONFIG = WatchConfig(name="shop", urls=URLS, schedule=Schedule(every_minutes=60))
IDLE = Watch(watch_id="w", config=CONFIG, created_at=NOW, updated_at=NOW, next_run_at=NOW)
NEW = NewRun(run_id="r", trigger="schedule", due=NOW)
BUSY = replace(IDLE, active_run_id="r", begun=Begun("r", "schedule", NOW))
RUN = WatchRun(
    run_id="r",
    watch_id="w",
    status=RunStatus.IN_PROGRESS,
    trigger="schedule",
    started_at=NOW,
    updated_at=NOW,
    pages_total=2,
)
RUNNING = RunState(run=RUN, unchecked=URLS)
EVENT = StorageEvent(watch_id="w", url=URLS[0], snapshot_hash="h", ts=2000)
NAMED = replace(EVENT, run_id="r")
CHECKED = Checked(watch_id="w", url=URLS[0], run_id="r", at=NOW, outcome=Outcome.FAILED)
ONE = Tally(processed=1)


def over(status: RunStatus = RunStatus.COMPLETED, **changes: Any) -> RunState:
    run = replace(RUN, status=status, finished_at=LATER, tally=Tally(processed=2, changes=1))
    return replace(RunState(run=run, next_run=NextRun(LATER + HOUR, NOW)), **changes)


# Count


OF_DAY = "w:1970-01-01"


@pytest.mark.parametrize(
    ("run", "by_event", "by_check"),
    [
        (None, "r", None),  # an event opens its run, a check is of one that was started
        (RunHead("w", "schedule", RunStatus.IN_PROGRESS), "r", "r"),
        (RunHead("w", "schedule", RunStatus.COMPLETED), None, None),
        (RunHead("w", EVENTS, RunStatus.IN_PROGRESS), "r", "r"),
        (RunHead("w", EVENTS, RunStatus.COMPLETED), "r", "r"),  # they come in any order
        (RunHead("another", EVENTS, RunStatus.IN_PROGRESS), OF_DAY, None),
        (RunHead("another", "manual", RunStatus.COMPLETED), OF_DAY, None),
    ],
)
def test_which_run_counts_a_page(
    run: RunHead | None, by_event: str | None, by_check: str | None
) -> None:
    of_event, of_check = counting("w", NAMED, run), counting("w", CHECKED, run)
    assert (of_event and of_event.run_id, of_check and of_check.run_id) == (by_event, by_check)
    is_of_events = run is None or run.trigger == EVENTS or run.watch_id == "another"
    for page in (of_event, of_check):
        assert page is None or page.is_of_events == is_of_events
    assert of_event is None or (of_event.event is not None) == is_of_events
    if of_event and of_check:
        assert of_event.key == of_check.key, "a page counts once"


def test_what_a_run_counts_of_a_page() -> None:
    ours = RunHead("w", "schedule", RunStatus.IN_PROGRESS)
    change = replace(NAMED, is_change=True, parsed={"title": "x"})
    page = counting("w", change, ours)
    assert page == ("r", NAMED.counted_as, PageOutcome(Outcome.CHANGED), None, None, False)
    opened = counting("w", replace(change, run_id=None), None)
    assert opened is not None
    assert opened.event == replace(NAMED, run_id=None), "without its content"
    for error, reason in (("gone", "gone"), (None, NOT_READ)):
        page = counting("w", replace(CHECKED, error=error), ours)
        assert page is not None
        assert (page.outcome.outcome, page.error) == (Outcome.FAILED, reason)
    page = counting("w", replace(CHECKED, outcome=Outcome.UNCHANGED, error="unused"), ours)
    assert page is not None
    assert page.error is None


def test_a_ledger_outlives_its_run() -> None:
    assert ledger_until(RUNNING) is None
    assert ledger_until(over()) == LATER + LEDGER_KEPT
    short = Counted(EVENT, ONE, HOUR)
    state, _ = with_counts(None, short, Now(NOW, NOW, 0.0))
    assert state is not None
    assert ledger_until(state) == state.expires_at == NOW + LEDGER_KEPT


# Start


def test_a_run_starts_with_its_watch() -> None:
    watch, run, answer = started(IDLE, None, NEW, NOW)
    assert (watch, run, answer) == (BUSY, RUNNING, Started(RUN))
    assert watch is not None
    assert watch.begun == BUSY.begun


def test_a_start_that_wrote_only_the_watch_is_completed_with_the_same_run() -> None:
    watch, run, answer = started(BUSY, None, replace(NEW, run_id="other"), LATER)
    assert (watch, run, answer) == (BUSY, RUNNING, Started(RUN))
    assert repaired(BUSY, None) == (BUSY, RUNNING)


@pytest.mark.parametrize(
    ("watch", "active", "answer"),
    [
        (None, None, Started(None)),
        (replace(IDLE, is_external=True), None, Started(None)),
        (replace(IDLE, next_run_at=LATER), None, Started(None)),  # another scheduler was faster
        (replace(IDLE, next_run_at=None), None, Started(None)),  # paused
        (BUSY, RUNNING, Started(RUN)),
        (IDLE, over(), Started(over().run)),  # the same start again, after its end
    ],
)
def test_a_start_that_changes_nothing(
    watch: Watch | None, active: RunState | None, answer: Started
) -> None:
    assert started(watch, active, NEW, NOW) == (watch, active, answer)


def test_a_start_on_demand_ignores_the_schedule() -> None:
    watch, run, _ = started(replace(IDLE, next_run_at=None), None, replace(NEW, due=None), NOW)
    assert watch is not None
    assert (watch.active_run_id, run) == ("r", RUNNING)


@pytest.mark.parametrize("active", [None, over()], ids=["missing", "over"])
def test_a_watch_whose_active_run_is_gone_or_over_is_freed_first(active: RunState | None) -> None:
    stray = replace(IDLE, active_run_id="r")
    watch, run, answer = started(stray, active, NEW, NOW)
    assert watch is not None
    assert (watch.active_run_id, run, answer) == (None, active, Started(None, is_freed=True))


# End


def test_pages_without_an_outcome_count_as_failed_at_the_end() -> None:
    counted = replace(RUNNING, run=replace(RUN, tally=Tally(processed=1)), unchecked=URLS[1:])
    next_run = NextRun(LATER, NOW)
    state = ended(counted, now=LATER, next_run=next_run, expires_at=EXPIRY)
    assert state.run.tally == Tally(processed=2, failed=1)
    assert (state.run.status, state.run.finished_at) == (RunStatus.PARTIAL, LATER)
    assert [each.url for each in state.run.failures] == URLS[1:]
    assert (state.next_run, state.expires_at, state.unchecked) == (next_run, EXPIRY, ())
    assert ended(state, now=LATER + HOUR, next_run=None, expires_at=NOW) is state, "once"


def test_failures_are_bounded_and_a_clock_that_went_back_gives_no_negative_duration() -> None:
    many = [f"https://shop.test/{number}" for number in range(MOST_FAILURES + 5)]
    state = replace(RUNNING, unchecked=many)
    state = ended(state, now=NOW - HOUR, next_run=None, expires_at=EXPIRY)
    assert (state.run.tally.failed, len(state.run.failures)) == (len(many), MOST_FAILURES)
    assert state.run.finished_at == NOW


def test_a_watch_is_free_and_has_counted_its_run() -> None:
    watch = freed(replace(BUSY, failures=3, metrics=Metrics(pages_processed=5)), over())
    assert (watch.active_run_id, watch.begun) == (None, None)
    assert (watch.last_run_id, watch.last_status) == ("r", RunStatus.COMPLETED)
    assert (watch.last_run_at, watch.failures, watch.next_run_at) == (LATER, 0, LATER + HOUR)
    assert watch.metrics == Metrics(pages_processed=7, changes=1)
    assert freed(watch, over()) is watch, "once"
    tied_again = replace(watch, active_run_id="r")
    assert freed(tied_again, over()) == watch, "it has counted"


def test_failed_runs_in_a_row_are_counted() -> None:
    assert freed(replace(BUSY, failures=3), over(RunStatus.FAILED)).failures == 4
    assert freed(replace(BUSY, failures=3), over(RunStatus.PARTIAL)).failures == 0


@pytest.mark.parametrize(
    ("watch", "next_run_at"),
    [
        (replace(BUSY, next_run_at=LATER), LATER),  # edited meanwhile
        (replace(BUSY, config=replace(CONFIG, enabled=False)), None),  # paused meanwhile
        (replace(BUSY, config=replace(CONFIG, enabled=False), next_run_at=LATER), None),
    ],
)
def test_what_an_edit_has_set_while_a_run_ended_stands(
    watch: Watch, next_run_at: datetime | None
) -> None:
    assert freed(watch, over()).next_run_at == next_run_at


@pytest.mark.parametrize("watch", [IDLE, replace(BUSY, active_run_id="other")])
def test_another_run_leaves_a_watch_alone(watch: Watch) -> None:
    assert freed(watch, over()) is watch
    assert freed(BUSY, RUNNING) is BUSY


def test_the_run_of_a_removed_watch_ends() -> None:
    for active in (RUNNING, None):  # its document may be missing yet
        state = removed(BUSY, active, now=LATER, expires_at=EXPIRY)
        assert state is not None
        assert (state.run.status, state.run.finished_at) == (RunStatus.FAILED, LATER)
    assert removed(IDLE, None, now=LATER, expires_at=EXPIRY) is None
    assert removed(BUSY, over(), now=LATER, expires_at=EXPIRY) == over()


# Runs of events


def of_events(**changes: Any) -> RunState:
    run = replace(RUN, trigger=EVENTS, tally=Tally(processed=2, failed=1))
    return RunState(run=replace(run, **changes), last_event_at=LATER)


def test_a_run_of_events_closes_with_the_given_status_or_that_of_its_pages() -> None:
    assert closed(of_events()).run.status is RunStatus.PARTIAL
    state = closed(of_events(), RunStatus.FAILED)
    assert (state.run.status, state.run.finished_at) == (RunStatus.FAILED, LATER)
    assert closed(state, RunStatus.COMPLETED) is state, "once"
    assert closed(RUNNING) is RUNNING, "a run of ours ends otherwise"


def counted(state: RunState | None, *events: StorageEvent, tally: Tally = ONE) -> RunState:
    for event in events:
        state, _ = with_counts(state, Counted(event, tally, EXPIRY - NOW), Now(NOW, NOW, 0.0))
    assert state is not None
    return state


def test_the_first_event_opens_its_run() -> None:
    named = counted(None, replace(EVENT, run_id="r"))
    assert (named.run.run_id, named.run.watch_id, named.run.trigger) == ("r", "w", EVENTS)
    assert (named.run.status, named.run.finished_at) == (RunStatus.IN_PROGRESS, None)
    assert (named.run.started_at, named.last_event_at) == (moment_of(2000), moment_of(2000))
    assert (named.run.tally, named.expires_at) == (ONE, EXPIRY)
    assert counted(None, EVENT).run.status is RunStatus.COMPLETED, "of its day"
    check = Counted(None, ONE, HOUR)
    assert with_counts(None, check, Now(NOW, NOW, 0.0)) == (None, None), "a check opens none"
    assert with_counts(RUNNING, check, Now(NOW, NOW, 0.0)) == (RUNNING, None), "it is ours"


def test_events_in_any_order_make_the_same_run() -> None:
    runs = [
        counted(None, *(replace(EVENT, ts=ts) for ts in order))
        for order in itertools.permutations([3000, 1000, 2000])
    ]
    assert all(run == runs[0] for run in runs)
    assert (runs[0].run.started_at, runs[0].run.finished_at) == (moment_of(1000), moment_of(3000))


def test_an_event_may_close_its_run_and_late_ones_still_count() -> None:
    closing = replace(EVENT, run_id="r", closes_run=RunStatus.PARTIAL)
    state = counted(None, replace(EVENT, run_id="r"), closing)
    assert (state.run.status, state.run.finished_at) == (RunStatus.PARTIAL, moment_of(2000))
    state = counted(state, replace(closing, ts=3000, closes_run=RunStatus.FAILED))
    assert state.run.status is RunStatus.PARTIAL, "it stays closed"
    assert state.run.finished_at == moment_of(3000)


def test_counters_of_a_run_of_events_only_grow_except_failures() -> None:
    state = counted(None, EVENT, tally=Tally(processed=3, failed=2, changes=1))
    late = counted(state, EVENT, tally=Tally(processed=2, failed=1))
    assert late.run.tally == Tally(processed=3, failed=1, changes=1)
    loaded = replace(state, carried=Tally(processed=10))
    assert counted(loaded, EVENT).run.tally == Tally(processed=11, changes=1)


def test_an_external_watch_shows_the_run_with_the_latest_event() -> None:
    external = replace(IDLE, is_external=True)
    watch = last_run_noted(external, closed(of_events()))
    assert (watch.last_run_id, watch.last_status) == ("r", RunStatus.PARTIAL)
    assert watch.last_run_at == LATER
    assert last_run_noted(watch, closed(of_events())) is watch
    assert last_run_noted(IDLE, closed(of_events())) is IDLE, "ours shows those that it ends"


def test_which_of_two_runs_of_events_is_the_last() -> None:
    opened = LastRun("r", RunStatus.IN_PROGRESS, LATER)
    is_closed = opened._replace(status=RunStatus.PARTIAL)
    other = LastRun("s", RunStatus.COMPLETED, NOW)
    assert latest(None, other) == other
    assert latest(other, opened) == opened
    assert latest(opened, other) == opened
    assert latest(opened, is_closed) == is_closed
    assert latest(is_closed, opened) == is_closed, "a late event does not open it again"


# Pages


FAILED = PageOutcome(Outcome.FAILED)
UNCHANGED = PageOutcome(Outcome.UNCHANGED)
CHANGED = PageOutcome(Outcome.CHANGED)


@pytest.mark.parametrize(
    ("known", "new", "stands"),
    [
        (None, FAILED, FAILED),
        (FAILED, UNCHANGED, UNCHANGED),
        (UNCHANGED, FAILED, UNCHANGED),
        (CHANGED, UNCHANGED, CHANGED),
        (UNCHANGED, CHANGED._replace(is_price_change=True), CHANGED._replace(is_price_change=True)),
        (UNCHANGED._replace(is_price_change=True), CHANGED, CHANGED._replace(is_price_change=True)),
    ],
)
def test_of_two_outcomes_of_a_page_the_better_counts(
    known: PageOutcome | None, new: PageOutcome, stands: PageOutcome
) -> None:
    entry = entered(known, new, None)
    assert (known if entry is None else entry.outcome) == stands
    assert (entry is None) == (known == stands)
    assert stands.tally.processed == 1


def test_why_a_page_failed_is_kept_until_its_outcome_is_a_better_one() -> None:
    failure = PageFailure(url=URLS[0], reason="no answer")
    assert entered(None, FAILED, failure) == (FAILED, failure, Tally(processed=1, failed=1))
    assert entered(FAILED, FAILED, failure) is None
    assert entered(FAILED, CHANGED, None) == (CHANGED, None, Tally(failed=-1, changes=1))
    assert entered(CHANGED, FAILED, failure) is None


# Edits


def test_an_edit_moves_the_next_run_only_with_the_schedule() -> None:
    renamed = edited(IDLE, replace(CONFIG, name="x"), now=LATER, next_run_at=LATER)
    assert (renamed.next_run_at, renamed.updated_at) == (NOW, LATER)
    paused = edited(IDLE, replace(CONFIG, enabled=False), now=LATER, next_run_at=None)
    assert paused.next_run_at is None
