"""What a decision makes of an entry, and which of two decisions counts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from webloom.domain.inbox import (
    COUNTED_DAYS,
    Decision,
    InboxState,
    Muting,
    Triage,
    arrived,
    day_of,
    decided,
    entry_id,
    key_of,
    latest_muting,
    latest_triage,
    muted,
    with_unread,
)
from webloom.domain.storage_event import milliseconds_of, moment_of

TS, NOW = 1_000, 50_000
UNREAD, SNOOZED, DONE, MUTED = InboxState
NEW = arrived(TS, is_muted=False)


def to(state: InboxState, until: int | None = None) -> Decision:
    return Decision(state=state, until=None if until is None else moment_of(until))


def at(state: InboxState, place: int | None, decided_at: int | None = NOW) -> Triage:
    return Triage(state=state, at=place, decided_at=decided_at)


@pytest.mark.parametrize(
    ("known", "wanted", "after"),
    [
        pytest.param(NEW, to(UNREAD), NEW, id="it is unread"),
        pytest.param(NEW, to(DONE), at(DONE, None), id="it no longer waits"),
        pytest.param(at(DONE, None, 5), to(DONE), at(DONE, None, 5), id="done stays as it was"),
        pytest.param(at(DONE, None), to(UNREAD), at(UNREAD, TS, NOW + 1), id="back in its place"),
        pytest.param(arrived(TS, is_muted=True), to(UNREAD), at(UNREAD, TS), id="muted by mistake"),
        pytest.param(NEW, to(SNOOZED, 60_000), at(SNOOZED, 60_000), id="its place is its time"),
        pytest.param(
            at(SNOOZED, 60_000), to(SNOOZED, 60_000), at(SNOOZED, 60_000), id="the same time"
        ),
        pytest.param(
            at(SNOOZED, 60_000, 5), to(SNOOZED, 70_000), at(SNOOZED, 70_000), id="longer"
        ),
        pytest.param(at(SNOOZED, 60_000, 5), to(UNREAD), at(UNREAD, TS), id="woken early"),
        pytest.param(at(SNOOZED, NOW, 5), to(UNREAD), at(SNOOZED, NOW, 5), id="it came back"),
        pytest.param(at(SNOOZED, NOW, 5), to(DONE), at(DONE, None), id="came back, and is done"),
    ],
)  # fmt: skip
def test_a_decision(known: Triage, wanted: Decision, after: Triage) -> None:
    assert decided(known, wanted, ts=TS, now=NOW) == after
    assert decided(after, wanted, ts=TS, now=NOW) is after


@pytest.mark.parametrize(("state", "until"), [(SNOOZED, None), (DONE, NOW), (UNREAD, NOW)])
def test_only_what_is_snoozed_has_a_time(state: InboxState, until: int | None) -> None:
    with pytest.raises(ValueError, match="snoozed until"):
        to(state, until)


def test_a_later_decision_counts_although_the_clock_was_set_back() -> None:
    first = decided(NEW, to(DONE), ts=TS, now=NOW)
    second = decided(first, to(UNREAD), ts=TS, now=NOW - 10_000)
    assert latest_triage(first, second) == latest_triage(second, first) == second
    silent = muted(None, is_muted=True, now=NOW)
    loud = muted(silent, is_muted=False, now=NOW - 10_000)
    assert latest_muting(silent, loud) == latest_muting(loud, silent) == loud


def test_of_two_stores_the_one_with_a_decision_counts() -> None:
    done = at(DONE, None)
    assert latest_triage(NEW, done) == latest_triage(done, NEW) == done
    assert latest_triage(None, NEW) == latest_triage(NEW, None) == NEW
    assert latest_triage(NEW, arrived(TS, is_muted=True)) == NEW
    assert latest_triage(None, None) is None


def test_muting_a_page_again_changes_nothing() -> None:
    assert muted(None, is_muted=False, now=NOW) is None
    known = Muting(is_muted=True, decided_at=5)
    assert muted(known, is_muted=True, now=NOW) is known


def test_an_id_leads_back_to_its_change_log() -> None:
    key = "0f9d5a526c0a5d0e9a866f2f3f1d6f0b"
    assert key_of(entry_id(key)) == key
    for other in ("", key, f"feed-{key}", f"page-{key}0", f"page-{key.upper()}", f"page-{key}\n"):
        assert key_of(other) is None


def test_what_went_unread_is_known_for_thirty_days() -> None:
    now = datetime(2026, 3, 31, 23, 59, tzinfo=UTC)
    today = day_of(now)
    first = today - COUNTED_DAYS + 1
    days = {first - 1: 7, first: 5, today: 1}
    assert with_unread(days, now, 2) == {first: 5, today: 3}
    assert with_unread({}, now, 0) == {}
    assert with_unread(days, now + timedelta(minutes=1), 1) == {today: 1, today + 1: 1}
    assert day_of(moment_of(milliseconds_of(now))) == today
