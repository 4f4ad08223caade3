"""Reasons as plain data: as they are stored and sent, and as anyone may send them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec
import pytest

from webloom.domain.price import Availability
from webloom.domain.reason import (
    LONGEST_PHRASE,
    MOST_PHRASES,
    MOST_REASONS,
    AvailabilityReason,
    PageReason,
    PriceReason,
    Reason,
    TextReason,
)
from webloom.parsing.reasons import plain_reasons, reasons_of, stored_reasons
from webloom.parsing.storage_event import encoded

EACH: list[Reason] = [
    PriceReason(
        previous=Decimal("84.2"), current=Decimal("79.99"), currency="EUR", below=Decimal(80)
    ),
    PriceReason(previous=None, current=Decimal(5), currency=None),
    AvailabilityReason(previous=None, current=Availability.PRE_ORDER),
    TextReason(phrases=("sale", "Straße")),
    PageReason(),
]
PRICE: dict[str, Any] = {"kind": "price", "previous": 10, "current": 9, "currency": "EUR"}
STOCK = {"kind": "availability", "previous": "in_stock", "current": "out_of_stock"}
PAGE = {"kind": "page"}


def test_each_reason_comes_back_from_a_store_and_from_a_message() -> None:
    stored = msgspec.json.decode(msgspec.json.encode(stored_reasons(EACH)))
    assert reasons_of(stored) == EACH
    sent = msgspec.json.Decoder(float_hook=Decimal).decode(
        encoded({"reasons": plain_reasons(EACH)})
    )
    assert reasons_of(sent["reasons"]) == EACH


def test_a_reason_says_what_changed_from_what_to_what_and_by_how_much() -> None:
    assert plain_reasons(EACH[:1]) == [
        {
            "kind": "price",
            "previous": Decimal("84.2"),
            "current": Decimal("79.99"),
            "currency": "EUR",
            "changePercent": Decimal("-5.00"),
            "below": Decimal(80),
        }
    ]


@pytest.mark.parametrize(
    "odd",
    [
        None,
        "the price fell",
        {},
        {"kind": "a kind of the next version"},
        {"kind": ["price"]},
        {"kind": "price"},
        PRICE | {"current": "call us"},
        PRICE | {"current": -1},
        PRICE | {"previous": "x"},
        PRICE | {"below": Decimal("1e400")},
        PRICE | {"current": True},
        STOCK | {"current": "unknown"},
        STOCK | {"current": []},
        STOCK | {"previous": "sold"},
        {"kind": "text"},
        {"kind": "text", "phrases": []},
        {"kind": "text", "phrases": "sale"},
        {"kind": "text", "phrases": ["sale", 5]},
        {"kind": "text", "phrases": ["x"] * (MOST_PHRASES + 1)},
    ],
)
def test_what_can_not_be_used_is_left_out_and_noted(odd: Any) -> None:
    problems: list[str] = []
    assert reasons_of([odd, PAGE], problems=problems) == [PageReason()]
    assert problems == ["reasons[0] is unusable"]
    assert reasons_of([odd, PAGE], alerts=["two things happened"]) == []


def test_only_a_few_reasons_are_read() -> None:
    problems: list[str] = []
    assert len(reasons_of([PAGE] * 10_000, problems=problems)) == MOST_REASONS
    assert problems == [f"there are more than {MOST_REASONS} reasons"]


@pytest.mark.parametrize("odd", [5, "page", {"kind": "page"}, True])
def test_what_is_not_a_list_is_noted(odd: Any) -> None:
    problems: list[str] = []
    assert reasons_of(odd, problems=problems) == []
    assert problems == ["reasons is not a list"]


def test_texts_are_short_and_of_one_line() -> None:
    given = {"kind": "text", "phrases": ["a\r\nb\u2028\u202e\0\ud800" + "x" * 1000]}
    assert reasons_of([given]) == [TextReason(phrases=("a  b    " + "x" * (LONGEST_PHRASE - 8),))]
    [price] = reasons_of([PRICE | {"currency": "E\nR"}])
    assert isinstance(price, PriceReason)
    assert price.currency == "E R"
    [price] = reasons_of([PRICE | {"currency": "x" * 1000}])
    assert isinstance(price, PriceReason)
    assert price.currency is None


def test_by_how_much_is_computed_whatever_is_sent() -> None:
    [price] = reasons_of([PRICE | {"changePercent": 500}])
    assert isinstance(price, PriceReason)
    assert price.change_percent == Decimal(-10)
