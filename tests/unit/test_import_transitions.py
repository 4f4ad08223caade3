"""How an import run and its feed change, also where only one half of a pair is written."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webloom.domain.feed import Feed, FeedConfig, LastFetch
from webloom.domain.import_run import (
    OTHER_REASONS,
    Counts,
    Failure,
    ImportRun,
    Phase,
    Reading,
    RunStatus,
    Tally,
)
from webloom.domain.import_transitions import (
    NOT_HANDLED,
    End,
    Ending,
    FeedState,
    NewRun,
    Note,
    Renew,
    RunHead,
    RunState,
    Settle,
    Stale,
    Sums,
    Take,
    cancel,
    choice,
    complete,
    edited,
    end,
    is_held,
    may_have_batches,
    note,
    reasons_of,
    reasons_of_run,
    removed_feed,
    renew,
    settle,
)
from webloom.domain.import_transitions import claim as decide_claim
from webloom.domain.import_transitions import start as decide_start
from webloom.domain.lease import Lease
from webloom.stores.primitives import Now

WALL = datetime(2026, 5, 1, 12, tzinfo=UTC)
LATER = WALL + timedelta(hours=1)
NOW = 1000.0
SETTLED = Settle(None)
NEW = NewRun(run_id="run", trigger="manual", batch_size=200, concurrency=4)


def at(seconds: float = 0.0, *, hours: int = 1) -> Now:
    """So many seconds after the start on the timeline, and hours on the wall clock."""
    moment = WALL + timedelta(hours=hours)
    return Now(wall=moment, expiry=moment, timeline=NOW + seconds)


def feed(**changes: Any) -> FeedState:
    made = Feed(
        feed_id="feed",
        config=FeedConfig(url="http://feed.example/", name="Feed"),
        created_at=WALL,
        updated_at=WALL,
        next_run_at=WALL,
    )
    return FeedState(feed=replace(made, **changes), revision=3)


def start(
    before: FeedState | None, run: RunState | None = None, **changes: Any
) -> tuple[FeedState | None, RunState | None, ImportRun | Stale | None]:
    new = replace(NEW, **changes)
    return decide_start(before, run, new, Now(wall=WALL, expiry=LATER, timeline=NOW))


def pair(**changes: Any) -> tuple[FeedState, RunState]:
    """A feed, and its run that has just begun."""
    first, second, _ = start(feed(), **changes)
    assert first is not None
    assert second is not None
    return first, second


def claim(run: RunState | None, take: Take, now: Now) -> tuple[RunState | None, RunState | None]:
    after, _, (claimed, _) = decide_claim(run, None, take, now)
    return after, claimed


def closed(run: RunState, sums: Sums | None = None, **ending: Any) -> RunState:
    event = End(run.token, read(), Ending(**ending), sums or Sums(), closed_jobs=0)
    after, _, _ = end(run, None, event, at(2))
    assert after is not None
    return after


def read(**changes: Any) -> Reading:
    usual: dict[str, Any] = {"phase": Phase.STORING, "all_published": True}
    return Reading(**usual | changes)


# Start


def test_a_run_begins_with_the_feed_that_names_it() -> None:
    first, second, answer = start(feed(), trigger="retry", retry_of="another")
    assert first is not None
    assert second is not None
    assert answer == second.run
    assert (first.feed.active_run_id, first.begun) == ("run", second)
    assert (second.lease, second.token, second.revision, second.started) == (None, 0, 3, NOW)
    run = second.run
    assert (run.status, run.trigger, run.retry_of) == (RunStatus.RUNNING, "retry", "another")
    assert (run.started_at, run.updated_at) == (WALL, LATER)


def test_a_producer_can_claim_a_run_as_it_starts() -> None:
    _, run = pair(owner="me", lease=15.0)
    assert run.lease == Lease("me", 1, NOW + 15)


@pytest.mark.parametrize("next_run_at", [None, LATER])
def test_a_feed_that_is_not_due_is_left_alone(next_run_at: datetime | None) -> None:
    before = feed(next_run_at=next_run_at)
    assert start(before, due=WALL) == (before, None, None)
    assert start(before)[2] is not None, "unless a person asks for it"


def test_the_same_start_again_returns_its_run() -> None:
    first, second = pair()
    assert start(first, second) == (first, second, second.run)
    free = settle(closed(second), first, SETTLED, at())[1]
    ended_run = closed(second)
    assert start(free, ended_run) == (free, ended_run, ended_run.run)
    assert start(None) == (None, None, None)


def test_a_run_that_only_its_feed_knows_is_stored() -> None:
    first, second = pair()
    assert start(first, None, run_id="another") == (first, second, second.run)
    assert complete(first, None, None, at()) == (first, second, second)


def test_a_feed_whose_run_is_unknown_becomes_free() -> None:
    before = feed(active_run_id="gone")
    after, run, answer = start(before)
    assert after == feed()
    assert (run, answer) == (None, Stale(None))


def test_a_run_that_has_ended_has_to_be_settled_before_the_next() -> None:
    first, second = pair()
    run = closed(second)
    assert start(first, run, run_id="another") == (first, run, Stale("run"))


# Claims


def test_one_producer_at_a_time_holds_a_run() -> None:
    _, run = pair()
    after, mine = claim(run, Take("me", 10.0), at())
    assert after == mine is not None
    assert (mine.token, is_held(mine, 1)) == (1, True)
    assert claim(mine, Take("you", 11.0), at(9)) == (mine, None)
    taken, yours = claim(mine, Take("you", 10.0), at(10))
    assert taken == yours
    assert yours is not None
    assert (yours.token, is_held(yours, 1)) == (2, False)


def test_the_owners_own_claim_keeps_its_token_until_its_lease_expires() -> None:
    _, run = pair(owner="me", lease=10.0)
    again, _ = claim(run, Take("me", 10.0), at(9))
    assert again is not None
    assert again.lease == Lease("me", 1, NOW + 19)
    late, _ = claim(run, Take("me", 10.0), at(10))
    assert late is not None
    assert late.lease == Lease("me", 2, NOW + 20)


def test_a_claim_that_expired_is_valid_until_somebody_else_claims_the_run() -> None:
    _, run = pair(owner="me", lease=10.0)
    after, is_valid = renew(run, Renew(1, 100.0), at())
    assert is_valid
    assert after is not None
    assert after.lease == Lease("me", 1, NOW + 100)
    assert renew(run, Renew(2, 100.0), at()) == (run, False)
    assert renew(None, Renew(1, 1.0), at()) == (None, False)
    over = closed(run)
    assert renew(over, Renew(1, 100.0), at()) == (over, False)
    assert claim(over, Take("you", 10.0), at(100)) == (over, None)


def test_runs_are_chosen_by_owner_age_and_host() -> None:
    heads = [
        RunHead("held", Lease("you", 1, NOW + 1), False, "a"),
        RunHead("busy", None, False, "busy"),
        RunHead("cancelled", None, True, "busy"),
        RunHead("expired", Lease("you", 1, NOW), False, "a"),
        RunHead("mine", Lease("me", 1, NOW + 1), False, "busy"),
    ]

    def chosen(**options: Any) -> list[str]:
        return choice(heads, owner="me", now=NOW, **options)

    assert chosen() == ["mine", "busy", "cancelled", "expired"]
    assert chosen(busy_hosts=["busy"]) == ["mine", "cancelled", "expired"]
    assert chosen(busy_hosts=["busy"], run_id="busy") == ["busy"]
    assert chosen(run_id="held") == chosen(run_id="unknown") == []


def test_a_claim_shows_what_is_known_of_a_removed_feed() -> None:
    _, run = pair()
    shown = removed_feed(run.run)
    assert (shown.feed_id, shown.config.url, shown.config.name) == (
        "feed",
        "http://feed.example/",
        "Feed",
    )
    assert (shown.config.enabled, shown.active_run_id, shown.next_run_at) == (False, None, None)


# Progress


def test_progress_is_counted_and_moves_the_date_only_when_it_differs() -> None:
    _, run = pair(owner="me", lease=10.0)
    sums = Sums(counts=Counts(new=2, failed=1), batches=1, reasons={"why": 1})
    event = Note(1, read(fetched=5, duplicates=1, failed=1), sums)
    after, shown = note(run, event, at(hours=2))
    assert after is not None
    assert after.run == shown is not None
    assert shown.counts == Counts(new=2, duplicate=1, failed=2)
    assert (shown.processed_batches, shown.updated_at) == (1, LATER + timedelta(hours=1))
    assert note(after, event, at(hours=3)) == (after, shown)
    assert note(run, event._replace(token=2), at()) == (run, None)
    assert note(None, event, at()) == (None, None)


def test_what_others_counted_since_the_last_write_is_a_difference() -> None:
    _, run = pair(owner="me", lease=10.0)
    others = Tally(Counts(new=3), 1)
    counted = replace(run.run, counts=Counts(new=3), processed_batches=1, third_party=others)
    seen = replace(run, run=counted)
    event = Note(1, run.run.reading, Sums())
    after, _ = note(seen, event, at())
    assert after is not None
    assert (after.noted, after.run.counts) == (others, Counts(new=3))
    assert note(after, event, at())[0] is after


def test_a_run_can_be_asked_to_end_once() -> None:
    _, run = pair()
    after, shown = cancel(run, None, at())
    assert after is not None
    assert shown is not None
    assert shown.cancel_requested
    assert cancel(after, None, at()) == (after, shown)
    over = closed(run)
    assert cancel(over, None, at()) == (over, over.run)
    assert cancel(None, None, at()) == (None, None)


# End


def test_a_run_ends_for_the_producer_that_holds_it() -> None:
    _, run = pair(owner="me", lease=10.0)
    event = End(1, read(fetched=3), Ending(next_run_at=LATER), Sums(counts=Counts(new=2)), 4)
    after, _, shown = end(run, None, event, at(2.5))
    assert after is not None
    assert after.run == shown is not None
    assert (shown.status, shown.counts) == (RunStatus.PARTIAL, Counts(new=2, failed=1))
    assert (shown.finished_at, shown.duration_ms, shown.closed_jobs) == (LATER, 2500, 4)
    assert (after.is_closed, after.ending, after.token) == (True, event.ending, 1)
    assert end(after, None, event._replace(token=9), at(9)) == (after, None, shown)
    assert end(run, None, event._replace(token=0), at()) == (run, None, None)
    assert end(None, None, event, at()) == (None, None, None)


def test_a_run_with_all_its_batches_frees_its_feed_as_it_ends() -> None:
    first, second = pair()
    event = End(0, read(), Ending(next_run_at=LATER), Sums(), 0)
    run, after, shown = end(second, first, event, at())
    assert (run, after, shown) == settle(run, first, SETTLED, at())
    assert after is not None
    assert (after.feed.active_run_id, after.feed.next_run_at) == (None, LATER)
    assert end(run, first, event, at(9)) == (run, after, shown), "its feed was not written"
    assert end(run, after, event, at(9)) == (run, after, shown), "made again"


def test_a_run_whose_feed_was_not_fetched_frees_its_feed_as_it_ends() -> None:
    first, second = pair()
    event = End(0, Reading(phase=Phase.FETCHING), Ending(error="no answer"), Sums(), 0)
    run, after, _ = end(second, first, event, at())
    assert run is not None
    assert after is not None
    assert (run.run.status, after.feed.last_status) == (RunStatus.FAILED, RunStatus.FAILED)
    assert (after.feed.active_run_id, after.feed.failures) == (None, 1)


def test_the_end_that_another_program_has_set_stays() -> None:
    _, run = pair()
    theirs = replace(run.run, status=RunStatus.PARTIAL, finished_at=WALL, duration_ms=7)
    after = closed(replace(run, run=theirs))
    assert (after.run.status, after.run.finished_at) == (RunStatus.PARTIAL, WALL)
    assert after.run.duration_ms == 7


def test_a_finished_run_frees_its_feed() -> None:
    first, second = pair()
    fetch = LastFetch(etag="e")
    run = closed(second, error="no answer", next_run_at=LATER, last_fetch=fetch)
    _, after, shown = settle(run, first, SETTLED, at())
    assert after is not None
    assert shown == run.run
    assert after.begun is None
    assert after.feed == replace(
        first.feed,
        active_run_id=None,
        last_run_id="run",
        last_status=RunStatus.FAILED,
        last_error="no answer",
        last_run_at=LATER,
        failures=1,
        next_run_at=LATER,
        last_fetch=fetch,
    )
    assert settle(run, after, SETTLED, at()) == (run, after, shown), "made again"
    assert settle(run, None, SETTLED, at()) == (run, None, shown), "its feed was removed"


def test_an_edit_during_the_run_stands() -> None:
    first, second = pair()
    config = replace(first.feed.config, name="New name")
    changed = edited(first, config, next_run_at=WALL, now=LATER)
    run = closed(second, next_run_at=LATER, last_fetch=LastFetch(etag="e"))
    _, after, _ = settle(run, changed, SETTLED, at())
    assert after is not None
    assert (after.feed.config, after.feed.next_run_at) == (config, WALL)
    assert (after.feed.last_fetch, after.feed.active_run_id) == (LastFetch(), None)


def test_batches_that_came_while_a_run_ended_are_counted() -> None:
    first, second = pair()
    event = End(0, read(fetched=4, published=2), Ending(), Sums(counts=Counts(new=1), batches=1), 0)
    run, waiting, _ = end(second, first, event, at())
    assert waiting == first, "its feed waits"
    sums = Sums(counts=Counts(new=4), batches=2)
    counted, after, shown = settle(run, first, Settle(sums), at())
    assert shown is not None
    assert (shown.status, shown.counts) == (RunStatus.COMPLETED, Counts(new=4))
    assert after is not None
    assert after.feed.last_status is RunStatus.COMPLETED
    assert settle(counted, after, Settle(Sums()), at()) == (counted, after, shown), "rows expire"


def test_a_late_batch_changes_the_status_that_the_feed_shows() -> None:
    first, second = pair()
    event = End(0, read(fetched=1), Ending(error="cancelled"), Sums(), 0)
    run, _, _ = end(second, None, event, at())
    _, free, _ = settle(run, first, SETTLED, at())
    assert free is not None
    assert free.feed.last_status is RunStatus.FAILED
    late = Sums(counts=Counts(new=1), batches=1)
    _, after, _ = settle(run, free, Settle(late), at())
    assert after is not None
    assert after.feed.last_status is RunStatus.PARTIAL


def test_a_run_that_its_producer_has_not_closed_keeps_its_feed() -> None:
    first, second = pair()
    assert settle(second, first, SETTLED, at()) == (second, first, second.run)
    theirs = replace(second, run=replace(second.run, status=RunStatus.COMPLETED))
    assert settle(theirs, first, SETTLED, at()) == (theirs, first, theirs.run)
    _, after, _ = settle(theirs, first, Settle(None, is_abandoned=True), at())
    assert after is not None
    assert (after.feed.active_run_id, after.feed.next_run_at) == (None, WALL)


@given(
    has_feed=st.booleans(),
    active=st.sampled_from([None, "run", "another"]),
    has_begun=st.booleans(),
    run=st.sampled_from(["none", "running", "closed", "ended by others"]),
)
def test_every_half_done_pair_is_completed(
    has_feed: bool, active: str | None, has_begun: bool, run: str
) -> None:
    """Whatever is found, a few calls lead to a running run, or say that there is no such feed."""
    _, begun = pair()
    states: dict[str, RunState | None] = {
        "none": None,
        "running": begun,
        "closed": closed(begun),
        "ended by others": replace(begun, run=replace(begun.run, status=RunStatus.FAILED)),
    }
    runs = {} if (state := states[run]) is None else {"run": state}
    before = replace(feed(active_run_id=active), begun=begun if has_begun else None)
    current: FeedState | None = before if has_feed else None
    for _ in range(3):
        key = (current.feed.active_run_id if current else None) or "next"
        current, second, answer = start(current, runs.get(key), run_id="next")
        if second is not None:
            runs[key] = second
        if not isinstance(answer, Stale):
            break
        if answer.run_id is not None:
            abandoned = Settle(None, is_abandoned=True)
            _, current, _ = settle(runs[answer.run_id], current, abandoned, at())
    if not has_feed:
        assert answer is None
        return
    assert isinstance(answer, ImportRun)
    assert answer.status is RunStatus.RUNNING
    assert current is not None
    assert current.feed.active_run_id == answer.run_id
    assert runs[answer.run_id].run == answer


# The ledger


def test_records_beyond_the_failures_that_are_shown_have_the_last_reason() -> None:
    failures = [Failure(reason=each, sample="") for each in ("a", "b", "a")]
    assert reasons_of(failures, 3) == {"a": 2, "b": 1}
    assert reasons_of(failures, 5) == {"a": 4, "b": 1}
    assert reasons_of([], 2) == {NOT_HANDLED: 2}


def test_what_failed_for_other_reasons_than_the_most_frequent_is_counted_together() -> None:
    assert reasons_of_run({"a": 4, OTHER_REASONS: 1}, 7) == {"a": 4, OTHER_REASONS: 3}
    assert reasons_of_run({"a": 4}, 4) == {"a": 4}


@pytest.mark.parametrize(
    ("reading", "expected"),
    [
        pytest.param(Reading(phase=Phase.FETCHING), False, id="not fetched yet"),
        pytest.param(
            Reading(phase=Phase.FETCHING, content_hash="h"), True, id="an earlier producer read it"
        ),
        pytest.param(Reading(phase=Phase.READING), True, id="being read"),
    ],
)
def test_batches_exist_only_after_the_feed_is_fetched(reading: Reading, expected: bool) -> None:
    assert may_have_batches(reading) is expected
