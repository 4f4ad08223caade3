"""What a watch's thresholds make of a change."""

from __future__ import annotations

from decimal import Decimal

import pytest

from webloom.application.watch.alerts import alerts
from webloom.domain.price import Availability
from webloom.domain.storage_event import EventPrice
from webloom.domain.watch import Thresholds

ANY = Thresholds()


def price(current: str, previous: str | None = None, currency: str | None = "EUR") -> EventPrice:
    return EventPrice(
        current=Decimal(current),
        previous=None if previous is None else Decimal(previous),
        currency=currency,
    )


def sentences(
    thresholds: Thresholds,
    *,
    text: str = "",
    is_change: bool = True,
    price: EventPrice | None = None,
    was: Availability | None = None,
    now: Availability | None = None,
) -> list[str]:
    return alerts(
        thresholds,
        added_text=text,
        is_change=is_change,
        price=price,
        previous_availability=was,
        availability=now,
    )


def test_without_thresholds_every_change_is_an_alert() -> None:
    assert sentences(ANY) == ["the page changed"]
    assert sentences(ANY, is_change=False) == []


def test_a_change_of_price_or_stock_is_named() -> None:
    assert sentences(
        ANY,
        price=price("79.99", "84.2"),
        was=Availability.OUT_OF_STOCK,
        now=Availability.IN_STOCK,
    ) == ["the price fell by 5 % to 79.99 EUR", "it is in stock now"]


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
    assert sentences(ANY, is_change=False, was=was, now=now) == []


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (price("1.5", "1"), "the price rose by 50 % to 1.50 EUR"),
        (price("80", "90.00", None), "the price fell by 11.11 % to 80"),
        (price("5", "0"), "the price rose to 5 EUR"),
        (price("1E+3", "2000"), "the price fell by 50 % to 1000 EUR"),
        (price("0.005", "0.01"), "the price fell by 50 % to 0.005 EUR"),
    ],
)
def test_sentences_have_plain_amounts(given: EventPrice, sentence: str) -> None:
    assert sentences(ANY, price=given) == [sentence]


def test_text_is_looked_for_in_what_was_added_whatever_the_case() -> None:
    thresholds = Thresholds(text_contains=["Straße", "sale", "absent"])
    assert sentences(thresholds, text="A SALE in the STRASSE") == [
        'text was added that contains "Straße", "sale"'
    ]
    assert sentences(thresholds, text="nothing of it") == []


@pytest.mark.parametrize(
    ("given", "is_alert", "why"),
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
def test_a_price_below_the_limit(given: EventPrice | None, is_alert: bool, why: str) -> None:
    assert bool(sentences(Thresholds(price_below=Decimal(80)), price=given)) == is_alert, why


@pytest.mark.parametrize(
    ("given", "is_alert", "why"),
    [
        (price("95", "100"), True, "exactly so much, down"),
        (price("105", "100"), True, "exactly so much, up"),
        (price("95.004", "100"), False, "rounded it would be enough"),
        (price("5", "0"), True, "from nothing to something"),
        (price("5"), False, "nothing to compare with"),
        (price("5", "5"), False, "no change"),
    ],
)
def test_a_price_that_moved_far_enough(given: EventPrice, is_alert: bool, why: str) -> None:
    thresholds = Thresholds(price_change_percent=Decimal(5))
    assert bool(sentences(thresholds, price=given)) == is_alert, why


def test_two_thresholds_of_the_price_make_one_sentence() -> None:
    thresholds = Thresholds(price_below=Decimal(80), price_change_percent=Decimal(5))
    assert sentences(thresholds, price=price("79", "100")) == [
        "the price fell by 21 % to 79 EUR, below 80 EUR"
    ]


def test_with_thresholds_other_changes_are_not_alerts() -> None:
    assert sentences(Thresholds(price_below=Decimal(1)), price=price("2", "3")) == []
