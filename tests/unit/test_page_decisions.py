"""Rules about pages that both stores share."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from msgspec import structs

from webloom.domain.change_log import LoggedChange, earliest
from webloom.domain.errors import EventRefused
from webloom.domain.page_check import Checked, Validators, check_of
from webloom.domain.page_parts import latest, parts_of
from webloom.domain.price_history import PriceRecord, curve, summarize
from webloom.domain.retention import (
    Prunable,
    PruneGoal,
    Retention,
    is_storage_full,
    outlives,
    prune_goal,
    prune_steps,
    relief,
    storage_full,
)
from webloom.domain.storage_event import (
    EventPrice,
    Place,
    StorageEvent,
    previous_number,
    price_rank,
    renumbered,
    with_first_time,
)
from webloom.domain.watch import Outcome
from webloom.ports.dump import PagePart, WholePrice, WholeVersion
from webloom.stores import page_contents
from webloom.stores.page_contents import decoded, encoded
from webloom.stores.page_items import log_of
from webloom.stores.whole import merged

MIB = 1 << 20
AT = datetime(2026, 3, 1, tzinfo=UTC)
EVENT = StorageEvent(watch_id="j", url="https://a.test/", snapshot_hash="h", ts=1000)


def record(price: str, currency: str | None = "EUR", ts: int = 0) -> PriceRecord:
    return PriceRecord(
        watch_id="j",
        url="https://a.test/",
        price=Decimal(price),
        currency=currency,
        change_percent=None,
        timestamp=ts,
        version=None,
    )


def part(value: Any, ts: int, claimed: int = 0) -> PagePart[Any]:
    return PagePart(place=Place(ts, claimed, "h"), value=value)


def test_prices_are_summarized_in_the_latest_currency() -> None:
    records = [record("3"), record("3"), record("9", "USD"), record("2"), record("7")]
    summary = summarize(records, now=0)
    assert summary is not None
    assert (summary.records, summary.currency) == (4, "EUR")
    assert [summary.minimum, summary.median, summary.maximum] == [
        Decimal(2),
        Decimal(3),
        Decimal(7),
    ]
    assert summary.last is records[0]
    assert summary.last_change is records[1]
    assert summarize([], now=0) is None


def test_prices_that_stay_have_no_last_change() -> None:
    summary = summarize([record("3"), record("3.00")], now=0)
    assert summary is not None
    assert summary.last_change is None


def test_a_median_between_two_amounts_keeps_all_digits() -> None:
    small, large = "0.00000000000000000001", "100000000000000000000"
    summary = summarize([record(small), record(large)], now=0)
    assert summary is not None
    assert summary.median == Decimal("50000000000000000000.000000000000000000005")


@pytest.mark.parametrize(
    ("today", "lowest"),
    [
        pytest.param(85, "2", id="of all, while they are recent"),
        pytest.param(179, "2", id="in force for a day of the last ninety"),
        pytest.param(180, "5", id="replaced ninety days ago"),
        pytest.param(300, "9", id="the last one is in force until today"),
    ],
)
def test_the_lowest_price_of_ninety_days_counts_while_it_is_in_force(
    today: int, lowest: str
) -> None:
    prices = {200: "9", 110: "9", 90: "5", 0: "2"}
    day = 86_400_000
    records = [record(price, ts=ts * day) for ts, price in prices.items()]
    summary = summarize([each for each in records if each.timestamp < today * day], now=today * day)
    assert summary is not None
    assert summary.recent_minimum.price == Decimal(lowest)


def test_a_curve_of_many_changes_keeps_lows_highs_and_the_last_of_each_interval() -> None:
    saw = [record(str(100 + n % 7), ts=n) for n in range(10_000)]
    saw[4321] = record("1", ts=4321)
    saw[8765] = record("999", ts=8765)
    saw[0] = record("50", ts=-1_000_000)  # in force for long: it takes no interval of the others
    found = curve(saw[::-1], since=0, most=100)
    assert (found.records, found.is_thinned) == (9_999, True)
    assert 90 <= len(found.points) <= 100
    assert {saw[0], saw[4321], saw[8765], saw[-1]} <= set(found.points)
    assert found.points == sorted(found.points, key=lambda each: each.timestamp)


def test_a_curve_has_one_currency_and_no_repeated_prices() -> None:
    given = [record(price, ts=ts) for ts, price in enumerate(["3", "3.0", "4", "3"])]
    dollars = record("9", "USD", ts=1)
    found = curve([given[3], given[2], dollars, given[1], given[0]], since=None, most=4)
    assert (found.currency, found.records, found.is_thinned) == ("EUR", 4, False)
    assert found.points == [given[0], given[2], given[3]]
    assert curve([], since=None, most=4).points == []


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


def test_what_no_notification_waits_for_goes_first() -> None:
    *steps, last = prune_steps(PruneGoal(90, 100))
    assert steps == [
        (Prunable.CONTENTS, 90),
        (Prunable.CHANGE_LOGS, 90),
        (Prunable.PRICES, 90),
        (Prunable.EMPTIED_VERSIONS, 90),
    ]
    assert last == (Prunable.PENDING_CHANGE_LOGS, 100)


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


def test_versions_behind_a_new_one_are_numbered_again() -> None:
    versions = [("new", 0, 0), ("a", 4, 0), ("b", 5, 9), ("c", 12, 0)]
    assert list(renumbered(versions, 4)) == [
        ("new", 0, 5),
        ("a", 4, 6),
        ("b", 5, 9),
        ("c", 12, 12),  # what was between them has expired
    ]
    assert list(renumbered(versions[3:], 9, can_fall=True)) == [("c", 12, 10)]


@pytest.mark.parametrize(
    ("expires", "newer", "expected"),
    [(5, None, False), (None, 5, False), (5, 6, False), (6, 6, True)],
)
def test_a_version_that_outlives_the_newer_one_is_no_delta(
    expires: int | None, newer: int | None, expected: bool
) -> None:
    assert outlives(expires, newer) is expected


def test_a_full_storage_refuses_new_content_and_new_prices() -> None:
    content = replace(EVENT, parsed={})
    price = replace(EVENT, price=EventPrice(current=Decimal(1)))
    for has_content, has_price in ((True, False), (False, True)):
        assert not EVENT.needs_room(has_content=has_content, has_price=has_price)
        assert content.needs_room(has_content=has_content, has_price=has_price) is not has_content
        assert price.needs_room(has_content=has_content, has_price=has_price) is not has_price


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


def test_of_two_change_logs_with_one_place_the_stored_one_stays() -> None:
    event = replace(EVENT, is_change=True, changes={"to": "here"})
    here = log_of(event, "0" * 32, AT)
    new = structs.replace(here, changes={"to": "new"}, is_pending=True)
    assert merged(here, new) == here
    earlier = structs.replace(new, place=Place(1, 0, "h"))
    assert merged(here, earlier).changes == new.changes


def test_of_one_price_the_lowest_claimed_version_counts() -> None:
    ranks = [price_rank(claimed, "key", "EUR", None) for claimed in (1, 2, 10)]
    assert ranks == sorted(ranks)


def test_an_event_has_the_parts_that_it_names() -> None:
    assert parts_of(EVENT) == {}
    assert parts_of(replace(EVENT, availability="", classification={})) == {
        "classification": {},
        "availability": "",
    }


@pytest.mark.parametrize(
    ("known", "new", "is_new"),
    [
        pytest.param(None, part("a", 1), True, id="nothing is known"),
        pytest.param(part("a", 1), None, False, id="nothing is new"),
        pytest.param(part("a", 1), part("b", 2), True, id="later"),
        pytest.param(part("b", 2), part("a", 1), False, id="earlier"),
        pytest.param(part("a", 1, 2), part("b", 1, 3), True, id="a higher version"),
        pytest.param(part("a", 1), part("b", 1), False, id="of one place the first stays"),
        pytest.param(
            part(EventPrice(current=Decimal(9)), 1),
            part(EventPrice(current=Decimal("10.0")), 1),
            True,
            id="of one place the highest price counts",
        ),
        pytest.param(
            part(EventPrice(current=Decimal(10)), 1),
            part(EventPrice(current=Decimal("10.0")), 1),
            False,
            id="the same price stays",
        ),
    ],
)
def test_the_latest_part_of_a_page_counts(
    known: PagePart[Any] | None, new: PagePart[Any] | None, is_new: bool
) -> None:
    assert latest(known, new) is (new if is_new else known)


def test_a_loaded_version_never_changes_the_content_that_is_there() -> None:
    here = WholeVersion(
        key="0" * 32,
        watch_id="j",
        url="u",
        number=1,
        place=Place(2, 0, "h"),
        content={"text": "here"},
        expires_at=AT,
    )
    new = structs.replace(here, place=Place(1, 0, "h"), content={"text": "new"}, expires_at=None)
    assert merged(here, new) == structs.replace(here, place=new.place)
    assert merged(structs.replace(here, content=None), new) == new
    assert merged(here, structs.replace(new, content=None)) == structs.replace(
        here, place=new.place
    )


def test_a_loaded_price_keeps_the_time_that_is_there_and_the_lowest_rank() -> None:
    here = WholePrice(
        key="0" * 32,
        watch_id="j",
        url="u",
        ts=5,
        price=Decimal(1),
        currency="EUR",
        change_percent=None,
        claimed=2,
        version_key="b" * 32,
        expires_at=None,
    )
    lower = structs.replace(here, ts=9, claimed=1, version_key="a" * 32, expires_at=AT)
    assert merged(here, lower) == structs.replace(lower, ts=5)
    assert merged(lower, here) == lower


def test_the_last_check_counts_and_at_one_moment_what_was_stored() -> None:
    first = Checked(watch_id="j", url="u", run_id="r", at=AT, outcome=Outcome.CHANGED)
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
