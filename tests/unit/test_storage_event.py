"""Messages of `storage-agent` as other programs send them."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webloom.domain.errors import EventRefused
from webloom.domain.reason import PriceReason
from webloom.domain.storage_event import Place, StorageEvent, next_number
from webloom.domain.watch import RunStatus
from webloom.parsing.storage_event import MOST_PARSED, canonical, encoded, event_of

NOW = datetime(2026, 11, 15, tzinfo=UTC)
MESSAGE: dict[str, Any] = {
    "jobId": "abc123",
    "url": "https://example.com/product/5",
    "parsed": {
        "title": "iPhone 13",
        "text": "...",
        "images": ["https://example.com/a.jpg"],
        "links": [],
        "metadata": {"a.b": 1.5, "$c": None},
    },
    "classification": {"type": "product", "confidence": 0.92},
    "diff": {"textChanged": True, "images": {"added": [], "removed": []}},
    "price": {"current": 79999, "previous": 82000, "changePercent": -2.56, "currency": "INR"},
    "snapshotHash": "1be6fa09",
    "version": 3,
    "ts": 1712345678910,
}


def read(**changes: Any) -> StorageEvent:
    return event_of(msgspec.json.encode(MESSAGE | changes), received=NOW)


def without(*names: str) -> StorageEvent:
    message = {name: value for name, value in MESSAGE.items() if name not in names}
    return event_of(msgspec.json.encode(message), received=NOW)


def test_the_message_as_it_was_asked_for() -> None:
    event = read()
    assert (event.watch_id, event.url) == ("abc123", "https://example.com/product/5")
    assert (event.claimed, event.snapshot_hash, event.ts) == (3, "1be6fa09", 1712345678910)
    assert event.parsed == MESSAGE["parsed"]
    assert event.price is not None
    assert event.price.current == Decimal(79999)
    assert event.price.change_percent == Decimal("-2.56")
    assert event.price.is_change
    assert event.is_change
    assert event.problems == []


def test_reasons_are_worded_whatever_alerts_are_sent_with_them() -> None:
    """So processes of the previous version, which read alerts only, say the same."""
    price = {"kind": "price", "previous": 82000, "current": 79999.5, "currency": "INR"}
    event = read(reasons=[price], alerts=["cheaper!"])
    [reason] = event.reasons
    assert isinstance(reason, PriceReason)
    assert (reason.previous, reason.current) == (Decimal(82000), Decimal("79999.5"))
    assert event.alerts == ["the price fell by 2.44 % to 79,999.50 INR"]


@pytest.mark.parametrize("reasons", [None, [], "x", [{"kind": "unknown"}, {"kind": "page"}]])
def test_without_usable_reasons_alerts_are_as_they_were_sent(reasons: Any) -> None:
    event = read(reasons=reasons, alerts=["cheaper!"])
    assert (event.reasons, event.alerts) == ([], ["cheaper!"])
    assert bool(event.problems) is bool(reasons)


@pytest.mark.parametrize("name", sorted(set(MESSAGE) - {"jobId", "url"}))
def test_any_field_may_be_missing_or_null(name: str) -> None:
    missing, null = without(name), read(**{name: None})
    assert missing == null
    assert missing.problems == []


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"jobId": None}, "jobId is missing"),
        ({"jobId": ""}, "jobId is missing"),
        ({"jobId": ["a"]}, "jobId is not a text"),
        ({"jobId": "a\nb"}, "control character"),
        ({"jobId": "a" * 201}, "longer than 200"),
        ({"url": None}, "url is missing"),
        ({"url": 5}, "url is not a text"),
        ({"url": "example.com/a"}, "must begin with http"),
        ({"url": "javascript:alert(1)"}, "must begin with http"),
        ({"url": "http://"}, "url: "),
        ({"parsed": {"text": "x" * MOST_PARSED}}, "is the limit"),
        ({"more": "x" * 12_000_000}, "is the limit"),
    ],
)
def test_what_is_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(EventRefused, match=reason):
        read(**changes)


HOSTILE = [
    b"1e5000",
    b"1e999999999",
    b"1e-999999999",
    b"1e999999999999999999",
    b"1e99999999999999999999999999",
    b"9" * 5000,
    b"0." + b"1" * 5000,
]


@pytest.mark.parametrize("number", HOSTILE)
@pytest.mark.parametrize(
    "field",
    [
        b'"ts": %b',
        b'"version": %b',
        b'"price": {"current": %b}',
        b'"price": {"current": 1, "previous": %b}',
        b'"price": {"current": 1, "changePercent": %b}',
        b'"price": {"current": 1, "list": %b}',
        b'"price": %b',
        b'"availability": %b',
    ],
)
def test_a_huge_number_is_a_problem_or_refused(field: bytes, number: bytes) -> None:
    body = b'{"jobId": "j", "url": "http://e.example/", ' + field % number + b"}"
    try:
        event = event_of(body, received=NOW)
    except EventRefused:
        return
    assert all(len(each) < 200 for each in event.problems)
    for amount in (
        () if event.price is None else (event.price.current, event.price.change_percent or 0)
    ):
        assert len(f"{Decimal(amount):f}") < 40


@pytest.mark.parametrize("name", ["parsed", "diff", "classification"])
def test_what_is_nested_too_deeply_is_refused(name: str) -> None:
    deep: Any = []
    for _ in range(58):
        deep = [deep]
    read(**{name: {"x": deep}})
    with pytest.raises(EventRefused, match="nested more than 61 levels deep"):
        read(**{name: {"x": [deep, [[deep]]]}})


@pytest.mark.parametrize("body", [b"", b"[]", b"nonsense", b"\xff", b"{" + b'"a":[' * 50_000])
def test_an_invalid_message_is_refused(body: bytes) -> None:
    with pytest.raises(EventRefused, match="not a message of a page"):
        event_of(body, received=NOW)


@pytest.mark.parametrize(
    ("price", "problem"),
    [
        ({"current": "call us"}, "price.current 'call us' is not an amount"),
        ({"current": -5}, "price.current '-5' is not an amount"),
        ({"current": "NaN"}, "price.current 'NaN' is not an amount"),
        ({"current": 10**30}, "is not an amount"),
        ([1, 2, 3], "is not an amount"),
        (True, "is not an amount"),
    ],
)
def test_a_price_that_is_none_costs_only_itself(price: Any, problem: str) -> None:
    event = read(price=price)
    assert event.price is None
    assert event.parsed is not None
    assert problem in event.problems[0]


def test_amounts_are_decimals_digit_by_digit() -> None:
    body = encoded(MESSAGE | {"price": {"current": Decimal("1299.10"), "previous": "1e3"}})
    assert b'"current":1299.10' in body
    price = event_of(body, received=NOW).price
    assert price is not None
    assert (price.current, price.previous) == (Decimal("1299.1"), Decimal(1000))
    assert price.change_percent == Decimal("29.91")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"parsed": "text"}, "parsed is not an object"),
        ({"parsed": {"text": ["a"]}}, "parsed.text is not a text"),
        ({"parsed": {"images": "a.jpg"}}, "parsed.images is not a list"),
        ({"diff": "yes"}, "diff is not an object"),
        ({"version": -1}, "version '-1'"),
        ({"version": "three"}, "version 'three'"),
        ({"ts": "yesterday"}, "ts 'yesterday'"),
        ({"ts": -1}, "ts '-1'"),
        ({"availability": "maybe"}, "availability 'maybe'"),
        ({"runStatus": "done"}, "runStatus 'done'"),
        ({"runStatus": 1}, "runStatus '1'"),
    ],
)
def test_an_unusable_part_is_reported_as_a_problem(changes: dict[str, Any], problem: str) -> None:
    assert problem in read(**changes).problems[0]


@pytest.mark.parametrize(
    ("status", "closes"),
    [("completed", RunStatus.COMPLETED), ("failed", RunStatus.FAILED), ("in_progress", None)],
)
def test_an_event_may_say_how_its_run_ended(status: str, closes: RunStatus | None) -> None:
    event = read(runId="r", runStatus=status)
    assert (event.closes_run, event.problems) == (closes, [])


def test_a_run_that_an_event_opens_is_in_progress_and_a_day_of_events_is_not() -> None:
    assert read(runId="r").opening_status is RunStatus.IN_PROGRESS
    assert read().opening_status is RunStatus.COMPLETED


def test_keys_and_counts_are_of_the_event_and_not_of_its_delivery() -> None:
    early, late = read(), event_of(msgspec.json.encode(MESSAGE), received=NOW.replace(year=2027))
    for name in ("snapshot_key", "price_key", "counted_as", "counting_run"):
        assert getattr(early, name) == getattr(late, name)
    stampless = [
        without("ts"),
        event_of(
            msgspec.json.encode({k: v for k, v in MESSAGE.items() if k != "ts"}),
            received=NOW.replace(month=12),
        ),
    ]
    assert len({each.snapshot_key for each in stampless}) == 1
    assert len({each.price_key for each in stampless}) == 1


def test_another_version_hash_or_page_is_another_snapshot() -> None:
    keys = {
        read().snapshot_key,
        read(version=4).snapshot_key,
        read(snapshotHash="other").snapshot_key,
        read(url="https://example.com/product/6").snapshot_key,
        read(jobId="abc124").snapshot_key,
    }
    assert len(keys) == 5
    assert read(ts=1).snapshot_key == read().snapshot_key
    assert read(version=None, ts=1).snapshot_key != read(version=None, ts=2).snapshot_key


def test_a_check_that_is_made_again_brings_the_price_of_its_version_once() -> None:
    assert read(runId="r", ts=1).price_key == read(runId="r", ts=2).price_key
    assert read(runId="r", ts=1).price_key != read(runId="r", ts=1, version=4).price_key
    assert read(ts=1).price_key != read(ts=2).price_key


def test_without_a_hash_equal_content_has_one() -> None:
    assert without("snapshotHash").snapshot_hash == without("snapshotHash", "ts").snapshot_hash
    other = read(snapshotHash=None, parsed={"text": "b"})
    assert other.snapshot_hash != without("snapshotHash").snapshot_hash


def test_a_run_counts_a_page_once_and_a_day_each_event() -> None:
    assert read(runId="r", ts=1).counted_as == read(runId="r", ts=2, version=9).counted_as
    assert read(ts=1).counted_as != read(ts=2).counted_as
    assert read(runId="r").counting_run == "r"
    assert read().counting_run == "abc123:2024-04-05"


@given(
    st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5), st.sampled_from("abc")), max_size=12)
)
def test_numbers_grow_along_the_places_and_keep_what_is_free(
    found: set[tuple[int, int, str]],
) -> None:
    places = sorted(Place(*each) for each in found)
    before = 0
    for place in places:
        number = next_number(place.claimed, before)
        assert number > before
        assert number == place.claimed or number == before + 1
        before = number


def test_the_same_content_is_the_same_bytes() -> None:
    assert canonical({"a": 1, "b": [Decimal("1.50")]}) == canonical(
        {"b": [Decimal("1.50")], "a": 1}
    )
