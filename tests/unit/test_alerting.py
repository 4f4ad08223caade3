"""Which reasons to notify people a change has, by the watch's thresholds."""

from __future__ import annotations

from decimal import Decimal

import pytest

from webloom.domain.alerting import reasons_to_notify
from webloom.domain.price import Availability
from webloom.domain.reason import (
    LONGEST_PHRASE,
    MOST_PHRASES,
    AvailabilityReason,
    PageReason,
    PriceReason,
    Reason,
    TextReason,
)
from webloom.domain.storage_event import EventPrice
from webloom.domain.watch import Thresholds

ANY = Thresholds()


def price(current: str, previous: str | None = None) -> EventPrice:
    return EventPrice(
        current=Decimal(current),
        previous=None if previous is None else Decimal(previous),
        currency="EUR",
    )


def moved(current: str, previous: str | None, below: str | None = None) -> PriceReason:
    return PriceReason(
        previous=None if previous is None else Decimal(previous),
        current=Decimal(current),
        currency="EUR",
        below=None if below is None else Decimal(below),
    )


def reasons(
    thresholds: Thresholds,
    *,
    text: str = "",
    is_change: bool = True,
    price: EventPrice | None = None,
    was: Availability | None = None,
    now: Availability | None = None,
) -> list[Reason]:
    return reasons_to_notify(
        thresholds,
        added_text=text,
        is_change=is_change,
        price=price,
        previous_availability=was,
        availability=now,
    )


def test_without_thresholds_every_change_is_notified() -> None:
    assert reasons(ANY) == [PageReason()]
    assert reasons(ANY, is_change=False) == []


def test_a_change_of_price_or_stock_is_named() -> None:
    assert reasons(
        ANY,
        price=price("79.99", "84.2"),
        was=Availability.OUT_OF_STOCK,
        now=Availability.IN_STOCK,
    ) == [
        moved("79.99", "84.2"),
        AvailabilityReason(previous=Availability.OUT_OF_STOCK, current=Availability.IN_STOCK),
    ]


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (None, Availability.IN_STOCK),
        (Availability.UNKNOWN, Availability.IN_STOCK),
        (Availability.IN_STOCK, Availability.UNKNOWN),
        (Availability.IN_STOCK, Availability.IN_STOCK),
    ],
)
def test_an_unread_availability_is_not_a_change(
    was: Availability | None, now: Availability
) -> None:
    assert reasons(ANY, is_change=False, was=was, now=now) == []


def test_text_is_looked_for_in_what_was_added_whatever_the_case() -> None:
    thresholds = Thresholds(text_contains=["Straße", "sale", "absent"])
    assert reasons(thresholds, text="A SALE in the STRASSE") == [
        TextReason(phrases=("Straße", "sale"))
    ]
    assert reasons(thresholds, text="nothing of it") == []


def test_of_the_phrases_that_are_found_a_few_are_kept_and_their_beginnings() -> None:
    phrases = [f"{number:03}" + "x" * 500 for number in range(100)]
    [reason] = reasons(Thresholds(text_contains=phrases), text="\n".join(phrases))
    assert reason == TextReason(
        phrases=tuple(each[:LONGEST_PHRASE] for each in phrases[:MOST_PHRASES])
    )


@pytest.mark.parametrize(
    ("given", "is_notified", "why"),
    [
        (price("79.99", "85"), True, "it fell below"),
        (price("79", "79.99"), True, "it fell further: not only once"),
        (price("79.99"), True, "it is below where it was first seen"),
        (price("79.99", "79.99"), False, "the price is not what changed"),
        (price("80", "85"), False, "the limit itself is not below it"),
        (price("85", "79"), False, "it rose above"),
        (None, False, "there is no price"),
    ],
)
def test_a_price_below_the_limit(given: EventPrice | None, is_notified: bool, why: str) -> None:
    assert bool(reasons(Thresholds(price_below=Decimal(80)), price=given)) == is_notified, why


@pytest.mark.parametrize(
    ("given", "is_notified", "why"),
    [
        (price("95", "100"), True, "exactly so much, down"),
        (price("105", "100"), True, "exactly so much, up"),
        (price("95.004", "100"), False, "rounded it would be enough"),
        (price("5", "0"), True, "from nothing to something"),
        (price("5"), False, "nothing to compare with"),
        (price("5", "5"), False, "no change"),
    ],
)
def test_a_price_that_moved_far_enough(given: EventPrice, is_notified: bool, why: str) -> None:
    thresholds = Thresholds(price_change_percent=Decimal(5))
    assert bool(reasons(thresholds, price=given)) == is_notified, why


def test_two_thresholds_of_the_price_make_one_reason() -> None:
    thresholds = Thresholds(price_below=Decimal(80), price_change_percent=Decimal(5))
    assert reasons(thresholds, price=price("79", "100")) == [moved("79", "100", below="80")]
    assert reasons(thresholds, price=price("80", "100")) == [moved("80", "100")]


def test_with_thresholds_other_changes_are_not_notified() -> None:
    assert reasons(Thresholds(price_below=Decimal(1)), price=price("2", "3")) == []
