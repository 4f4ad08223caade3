"""How records are judged, how a run ends, and when a feed is due."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webloom.domain.feed import FeedConfig, failures_after, next_run
from webloom.domain.import_run import (
    MOST_REASONS,
    Counts,
    Known,
    Mark,
    RunStatus,
    Verdict,
    count,
    judge,
    merged_reasons,
    status_at_end,
)

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
CONFIG = FeedConfig(url="http://feed.example/", name="Feed")
HERE, SAME_RUN, BEFORE = Mark("run", 3), Mark("run", 2), Mark("earlier", 3)


def known(created: Mark, changed: Mark, content: str = "hash", *, is_open: bool = True) -> Known:
    return Known(content_hash=content, created_by=created, changed_by=changed, is_open=is_open)


@pytest.mark.parametrize(
    ("stored", "verdict"),
    [
        pytest.param(None, Verdict.INSERT, id="never seen"),
        pytest.param(known(BEFORE, BEFORE), Verdict.UNCHANGED, id="it is the same"),
        pytest.param(known(BEFORE, BEFORE, "old"), Verdict.UPDATE, id="its content differs"),
        pytest.param(known(BEFORE, BEFORE, is_open=False), Verdict.UPDATE, id="it is back"),
        pytest.param(known(HERE, HERE), Verdict.WAS_NEW, id="this batch has inserted it"),
        pytest.param(known(BEFORE, HERE), Verdict.WAS_UPDATED, id="this batch has changed it"),
        pytest.param(known(SAME_RUN, SAME_RUN), Verdict.DUPLICATE, id="another batch inserted it"),
        pytest.param(known(BEFORE, SAME_RUN, "x"), Verdict.DUPLICATE, id="another changed it"),
    ],
)
def test_a_record_is_judged_by_what_is_stored(stored: Known | None, verdict: Verdict) -> None:
    assert judge(stored, "hash", HERE) is verdict


@given(
    created=st.sampled_from([HERE, SAME_RUN, BEFORE]),
    changed=st.sampled_from([HERE, SAME_RUN, BEFORE]),
    content=st.sampled_from(["hash", "old"]),
    is_open=st.booleans(),
)
def test_a_batch_that_comes_again_counts_as_the_first_time(
    created: Mark, changed: Mark, content: str, is_open: bool
) -> None:
    """Whatever was written of it, and no matter who else works on it."""
    stored = known(created, changed, content, is_open=is_open)
    first = judge(stored, "hash", HERE)
    written = stored
    if first is Verdict.UPDATE:
        written = stored._replace(content_hash="hash", changed_by=HERE, is_open=True)
    assert count({first: 1}) == count({judge(written, "hash", HERE): 1})


@pytest.mark.parametrize(
    ("counts", "error", "status"),
    [
        (Counts(), None, RunStatus.COMPLETED),
        (Counts(new=3, unchanged=2, duplicate=1), None, RunStatus.COMPLETED),
        (Counts(new=3, failed=1), None, RunStatus.PARTIAL),
        (Counts(failed=4), None, RunStatus.FAILED),
        (Counts(), "no answer", RunStatus.FAILED),
        (Counts(unchanged=1), "breaks off", RunStatus.PARTIAL),
    ],
)
def test_the_status_at_the_end_says_how_the_run_went(
    counts: Counts, error: str | None, status: RunStatus
) -> None:
    assert status_at_end(counts, error=error) is status


def test_reasons_beyond_the_most_are_counted_together() -> None:
    many = {f"reason {n}": 1 for n in range(3 * MOST_REASONS)}
    merged = merged_reasons({}, many)
    assert sum(merged.values()) == 3 * MOST_REASONS
    assert len(merged) == MOST_REASONS + 1
    again = merged_reasons(merged, {"reason 0": 2, "new": 1})
    assert again["reason 0"] == 3
    assert again["other reasons"] == merged["other reasons"] + 1


def due(config: FeedConfig = CONFIG, failures: int = 0, **more: float) -> timedelta:
    moment = next_run(
        config, now=NOW, usual_minutes=60, failures=failures, jitter=more.pop("jitter", 0.0), **more
    )
    assert moment is not None
    return moment - NOW


def test_a_feed_is_due_after_its_own_interval_or_the_usual_one() -> None:
    assert due() == timedelta(minutes=60)
    assert due(replace(CONFIG, interval_minutes=5)) == timedelta(minutes=5)


def test_feeds_that_ran_together_are_spread_out() -> None:
    assert due(jitter=1.0) == timedelta(minutes=65)
    assert due(replace(CONFIG, interval_minutes=10), jitter=0.5) == timedelta(minutes=10.5)


def test_a_paused_feed_is_never_due() -> None:
    config = replace(CONFIG, enabled=False)
    assert next_run(config, now=NOW, usual_minutes=60, failures=0, jitter=0.0) is None


def test_failures_back_off_up_to_a_day_and_the_feed_is_not_given_up() -> None:
    waits = [due(failures=n) for n in range(1, 40)]
    assert waits[:3] == [timedelta(hours=2), timedelta(hours=4), timedelta(hours=8)]
    assert set(waits[5:]) == {timedelta(hours=24)}
    weekly = replace(CONFIG, interval_minutes=7 * 24 * 60)
    assert due(weekly, failures=9) == timedelta(days=7), "backing off never means more often"


def test_a_server_that_asks_for_a_pause_gets_it_within_reason() -> None:
    assert due(failures=1, retry_after=3 * 3600.0) == timedelta(hours=3)
    assert due(failures=1, retry_after=1e9) == timedelta(hours=24)


@pytest.mark.parametrize(
    ("before", "status", "is_cancelled", "after"),
    [
        (0, RunStatus.FAILED, False, 1),
        (3, RunStatus.FAILED, False, 4),
        (3, RunStatus.PARTIAL, False, 0),
        (3, RunStatus.COMPLETED, False, 0),
        (0, RunStatus.FAILED, True, 0),
        (3, RunStatus.PARTIAL, True, 3),
    ],
)
def test_failures_in_a_row_are_the_feeds_and_not_a_persons(
    before: int, status: RunStatus, is_cancelled: bool, after: int
) -> None:
    assert failures_after(before, status, is_cancelled=is_cancelled) == after
