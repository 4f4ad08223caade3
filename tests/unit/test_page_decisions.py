"""Rules about pages that both stores share."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from webloom.domain.change_log import LoggedChange, earliest
from webloom.domain.errors import EventRefused
from webloom.domain.page_check import Checked, Validators, check_of
from webloom.domain.price_history import PriceRecord, summarize
from webloom.domain.retention import (
    PruneGoal,
    Retention,
    is_storage_full,
    prune_goal,
    relief,
    storage_full,
)
from webloom.domain.storage_event import (
    EventPrice,
    StorageEvent,
    previous_number,
    with_first_time,
)
from webloom.domain.watch import Outcome
from webloom.stores import page_contents
from webloom.stores.page_contents import decoded, encoded

MIB = 1 << 20
AT = datetime(2026, 3, 1, tzinfo=UTC)
EVENT = StorageEvent(job_id="j", url="https://a.test/", snapshot_hash="h", ts=1000)


def record(price: str, currency: str | None = "EUR", ts: int = 0) -> PriceRecord:
    return PriceRecord(
        job_id="j",
        url="https://a.test/",
        price=Decimal(price),
        currency=currency,
        change_percent=None,
        timestamp=ts,
        version=None,
    )


def test_prices_are_summarized_in_the_latest_currency() -> None:
    records = [record("3"), record("3"), record("9", "USD"), record("2"), record("7")]
    summary = summarize(records)
    assert summary is not None
    assert (summary.records, summary.currency) == (4, "EUR")
    assert [summary.minimum, summary.median, summary.maximum] == [
        Decimal(2),
        Decimal(3),
        Decimal(7),
    ]
    assert summary.last is records[0]
    assert summary.last_change is records[1]
    assert summarize([]) is None


def test_prices_that_stay_have_no_last_change() -> None:
    summary = summarize([record("3"), record("3.00")])
    assert summary is not None
    assert summary.last_change is None


def test_a_median_between_two_amounts_keeps_all_digits() -> None:
    small, large = "0.00000000000000000001", "100000000000000000000"
    summary = summarize([record(small), record(large)])
    assert summary is not None
    assert summary.median == Decimal("50000000000000000000.000000000000000000005")


@pytest.mark.parametrize(
    ("used", "options", "goal"),
    [
        pytest.param(100, {}, None, id="the budget is not passed"),
        pytest.param(101, {}, PruneGoal(90, 100), id="to nine tenths; pending logs to the budget"),
        pytest.param(80, {"excess": 30}, PruneGoal(50, 100), id="pending logs stay"),
        pytest.param(200, {"excess": 5}, PruneGoal(90, 100), id="the lower of both counts"),
        pytest.param(
            80,
            {"is_database_full": True},
            PruneGoal(80 - MIB, 80 - MIB),
            id="all that is superseded can go from a database that is full",
        ),
    ],
)
def test_pruning_has_a_goal(used: int, options: dict[str, Any], goal: PruneGoal | None) -> None:
    assert prune_goal(used, 100, **options) == goal


def test_a_large_database_is_relieved_by_a_part_of_it() -> None:
    assert relief(100 * MIB) == 5 * MIB


def test_storage_is_full_when_nothing_superseded_is_left() -> None:
    assert not is_storage_full(100, 0, budget=100)
    assert not is_storage_full(101, 1, budget=100)
    assert is_storage_full(101, 0, budget=100)
    assert "101 bytes, and the budget is 100" in str(storage_full(101, 100))


def test_a_version_without_content_is_known_as_long_as_anything_refers_to_it() -> None:
    assert Retention().emptied_versions == 90
    assert Retention(prices=0, change_logs=0).emptied_versions == 1


def test_an_event_without_a_time_takes_that_of_its_first_delivery() -> None:
    untimed = replace(EVENT, has_ts=False)
    assert with_first_time(untimed, 1, 2).ts == 1
    assert with_first_time(untimed, None, 2).ts == 2
    assert with_first_time(untimed, None, None) is untimed
    assert with_first_time(EVENT, 1, 2) is EVENT
    assert EVENT.rank < untimed.rank


def test_a_change_is_compared_with_the_version_before_or_the_number_before() -> None:
    assert previous_number(7, 3) == 3
    assert previous_number(7, 0) == 6


def test_a_change_log_is_of_the_earliest_event() -> None:
    known = LoggedChange(5, 5, "known", is_pending=True, is_keyed=False)
    assert earliest(known, LoggedChange(5, 5, "same", is_pending=True)) is known
    assert earliest(known, LoggedChange(4, 5, "new", is_pending=False)) == known._replace(
        rank=4, content="new", is_pending=False
    )
    moved = earliest(known, LoggedChange(4, 4, "new", is_pending=False))
    assert moved.is_keyed, "another change may have had its old time"


def test_a_change_that_is_in_a_batch_is_not_reported_again() -> None:
    notified = LoggedChange(5, 5, "known", is_pending=False, batch="b")
    again = earliest(notified, LoggedChange(4, 5, "new", is_pending=True))
    assert (again.content, again.is_pending, again.batch) == ("new", False, "b")


def test_of_one_price_the_lowest_claimed_version_counts() -> None:
    priced = replace(EVENT, price=EventPrice(current=Decimal(1)))
    ranks = [replace(priced, claimed=claimed).price_rank for claimed in (1, 2, 10)]
    assert ranks == sorted(ranks)


def test_the_last_check_counts_and_at_one_moment_what_was_stored() -> None:
    first = Checked(job_id="j", url="u", run_id="r", at=AT, outcome=Outcome.CHANGED)
    others = [replace(first, outcome=each) for each in (Outcome.UNCHANGED, Outcome.FAILED)]
    later = replace(others[1], at=AT + timedelta(milliseconds=1))
    assert sorted([later, first, *others], key=lambda each: each.order) == [
        *reversed(others),
        first,
        later,
    ]


def test_an_event_is_a_check_that_brings_its_validators() -> None:
    assert check_of(EVENT).validators is None
    seen = check_of(replace(EVENT, validators={"etag": "e", "bodyHash": "b"}))
    assert seen.validators == Validators(etag="e", body_hash="b")
    assert (seen.outcome, seen.at) == (Outcome.CHANGED, datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))


def test_content_that_is_no_json_or_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(value: object) -> bytes:
        raise TypeError("not even then")

    with pytest.raises(EventRefused, match="can't be stored as JSON"):
        encoded({"what": object()}, with_surrogates=refuse)
    with pytest.raises(EventRefused, match="not even then"):
        encoded({"text": "\ud800"}, with_surrogates=refuse)
    monkeypatch.setattr(page_contents, "LARGEST_CONTENT", 10)
    with pytest.raises(EventRefused, match="and 10 is the limit"):
        encoded({"text": "x" * 10}, with_surrogates=refuse)


def test_a_lone_surrogate_is_read_back() -> None:
    assert decoded(b'{"text": "\\ud800"}') == {"text": "\ud800"}
