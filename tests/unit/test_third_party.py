"""What workers of other programs count in a run, and how it ends then."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webloom.domain.import_run import (
    NEVER_STORED,
    NOTHING,
    Counts,
    Failure,
    ImportRun,
    Phase,
    Reading,
    RunStatus,
    Tally,
)
from webloom.domain.third_party import NO_REASON, at_end, counted, counted_by_others

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
OURS, THEIRS = Failure(reason="no title", sample="ours"), Failure(reason="no link", sample="theirs")
SOME = st.integers(min_value=0, max_value=10**6)
COUNTS = st.builds(Counts, SOME, SOME, SOME, SOME, SOME)
TALLIES = st.builds(Tally, COUNTS, SOME)


def run(
    fetched: int = 10, published: int = 2, failures: tuple[Failure, ...] = (), **fields: Any
) -> ImportRun:
    reading = Reading(
        phase=Phase.STORING,
        fetched=fetched,
        published=published,
        all_published=True,
        failures=list(failures),
    )
    usual: dict[str, Any] = {
        "run_id": "run",
        "feed_id": "feed",
        "source_url": "http://feed.example/",
        "source_name": "Feed",
        "status": RunStatus.RUNNING,
        "trigger": "manual",
        "started_at": NOW,
        "updated_at": NOW,
        "batch_size": 5,
        "concurrency": 1,
        "reading": reading,
        "counts": Counts(),
    }
    return ImportRun(**usual | fields)


def shared(theirs: Counts, batches: int = 2, **fields: Any) -> ImportRun:
    return run(counts=theirs, third_party=Tally(theirs, batches), **fields)


@given(own=TALLIES, theirs=TALLIES)
def test_what_is_shown_beyond_what_webloom_wrote_is_theirs(own: Tally, theirs: Tally) -> None:
    shown = Tally(own.counts.plus(theirs.counts), own.batches + theirs.batches)
    assert counted_by_others(shown, own) == theirs


def test_a_run_of_an_earlier_version_was_counted_by_webloom_alone() -> None:
    assert counted_by_others(Tally(Counts(new=5), 1), None) == NOTHING


def test_a_counter_that_somebody_lowered_takes_nothing_away() -> None:
    shown, written = Tally(Counts(new=1, failed=4), 0), Tally(Counts(new=3, failed=1), 2)
    assert counted_by_others(shown, written) == Tally(Counts(failed=3), 0)


@given(before=TALLIES, later=TALLIES, theirs=TALLIES)
def test_what_they_counted_stays_however_often_webloom_counts_its_own(
    before: Tally, later: Tally, theirs: Tally
) -> None:
    """As a store does it: read, count the ledger again, write both."""
    shown = Tally(before.counts.plus(theirs.counts), before.batches + theirs.batches)
    others = counted_by_others(shown, before)
    read = run(counts=shown.counts, processed_batches=shown.batches, third_party=others)
    own = replace(read, counts=later.counts, processed_batches=later.batches)
    new = counted(read, own)
    assert new.counts == later.counts.plus(theirs.counts)
    assert new.processed_batches == later.batches + theirs.batches
    assert counted_by_others(Tally(new.counts, new.processed_batches), later) == theirs


def test_failures_that_they_added_are_kept_behind_ours_with_their_reasons() -> None:
    theirs = Tally(Counts(failed=3), 1)
    read = run(failures=(OURS,), third_party=theirs)
    read = replace(read, failures=[OURS, THEIRS, THEIRS])
    own = replace(read, counts=Counts(failed=1), failures=[OURS], failure_reasons={OURS.reason: 1})
    new = counted(read, own)
    assert new.failures == [OURS, THEIRS, THEIRS]
    assert new.failure_reasons == {OURS.reason: 1, THEIRS.reason: 2, NO_REASON: 1}
    assert sum(new.failure_reasons.values()) == new.counts.failed
    again = counted(new, own)
    assert (again.failures, again.failure_reasons) == (new.failures, new.failure_reasons)


def test_without_others_what_was_never_stored_has_failed() -> None:
    ended = at_end(run(counts=Counts(new=4)), None)
    assert (ended.status, ended.counts) == (RunStatus.PARTIAL, Counts(new=4, failed=6))
    assert ended.failure_reasons == {NEVER_STORED: 6}


@pytest.mark.parametrize(
    ("theirs", "error"),
    [
        pytest.param(Counts(new=6, updated=4), None, id="they counted all"),
        pytest.param(
            Counts(new=6),
            "the workers of another program counted 6 records of 10",
            id="they leave out what has not changed",
        ),
        pytest.param(
            Counts(new=6, updated=9),
            "the workers of another program counted 15 records of 10: some batch was counted twice",
            id="one of them was killed",
        ),
    ],
)
def test_their_counters_stand_and_the_run_says_where_they_do_not_add_up(
    theirs: Counts, error: str | None
) -> None:
    ended = at_end(shared(theirs, status=RunStatus.COMPLETED), None)
    assert (ended.counts, ended.reading.fetched) == (theirs, 10)
    assert (ended.status, ended.error) == (RunStatus.COMPLETED, error)


@pytest.mark.parametrize(
    ("theirs", "failed", "error", "status"),
    [
        (RunStatus.COMPLETED, 0, None, RunStatus.COMPLETED),
        (RunStatus.COMPLETED, 1, None, RunStatus.PARTIAL),
        (RunStatus.COMPLETED, 0, "the feed breaks off", RunStatus.PARTIAL),
        (RunStatus.PARTIAL, 0, None, RunStatus.PARTIAL),
        (RunStatus.FAILED, 0, None, RunStatus.FAILED),
        (RunStatus.RUNNING, 0, None, RunStatus.COMPLETED),
        (RunStatus.RUNNING, 10, None, RunStatus.FAILED),
    ],
)
def test_the_worse_of_two_ends_stands(
    theirs: RunStatus, failed: int, error: str | None, status: RunStatus
) -> None:
    counts = Counts(new=10 - failed, failed=failed)
    assert at_end(shared(counts, status=theirs), error).status is status


def test_a_run_that_somebody_ended_without_counting_says_so() -> None:
    ended = at_end(run(status=RunStatus.COMPLETED), None)
    assert ended.status is RunStatus.COMPLETED
    assert ended.error == "the workers of another program counted 0 records of 10"


def test_a_cancelled_run_only_says_that() -> None:
    ended = at_end(shared(Counts(new=3), cancel_requested=True), "cancelled")
    assert (ended.status, ended.error) == (RunStatus.PARTIAL, "cancelled")
