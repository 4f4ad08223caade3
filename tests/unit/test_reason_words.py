"""Reasons as people read them, and the one format for prices and times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from webloom.domain.price import Availability
from webloom.domain.reason import (
    READABLE,
    AvailabilityReason,
    PageReason,
    PriceReason,
    Reason,
    TextReason,
)
from webloom.domain.reason_words import LONGEST_SENTENCE, sentences
from webloom.domain.shown import shown_price, shown_time


def price(
    current: str,
    previous: str | None = None,
    currency: str | None = "EUR",
    below: str | None = None,
) -> PriceReason:
    return PriceReason(
        current=Decimal(current),
        previous=None if previous is None else Decimal(previous),
        currency=currency,
        below=None if below is None else Decimal(below),
    )


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        (price("79.99", "84.2"), "the price fell by 5 % to 79.99 EUR"),
        (price("1.5", "1"), "the price rose by 50 % to 1.50 EUR"),
        (price("80", "90.00", None), "the price fell by 11.11 % to 80"),
        (price("5", "0"), "the price rose to 5.00 EUR"),
        (price("1E+3", "2000", "JPY"), "the price fell by 50 % to 1,000 JPY"),
        (price("0.005", "0.01"), "the price fell by 50 % to 0.005 EUR"),
        (price("30", "1", "USD"), "the price rose by 2,900 % to 30.00 USD"),
        (
            price("79", "100", below="80"),
            "the price fell by 21 % to 79.00 EUR, below 80.00 EUR",
        ),
        (price("79", below="80"), "the price is 79.00 EUR, below 80.00 EUR"),
        (price("79", "79"), "the price is 79.00 EUR"),
        (
            AvailabilityReason(previous=None, current=Availability.PRE_ORDER),
            "it can be ordered in advance now",
        ),
        (TextReason(phrases=("Straße", "sale")), 'text was added that contains "Straße", "sale"'),
        (PageReason(), "the page changed"),
    ],
)
def test_each_reason_is_a_sentence(reason: Reason, sentence: str) -> None:
    assert sentences([reason]) == [sentence]


@pytest.mark.parametrize("current", READABLE)
def test_each_availability_that_can_be_read_has_its_words(current: Availability) -> None:
    reason = AvailabilityReason(previous=Availability.UNKNOWN, current=current)
    assert sentences([reason, PageReason()])[1] == "the page changed"


def test_a_sentence_is_never_long() -> None:
    [sentence] = sentences([TextReason(phrases=("x" * 80,) * 10)])
    assert len(sentence) == LONGEST_SENTENCE


@pytest.mark.parametrize(
    ("amount", "currency", "shown"),
    [
        ("15", "EUR", "15.00 EUR"),
        ("1299.5", "EUR", "1,299.50 EUR"),
        ("79999", "INR", "79,999.00 INR"),
        ("0.125", "USD", "0.125 USD"),
        ("1500", "JPY", "1,500 JPY"),
        ("0.5", "JPY", "0.50 JPY"),
        ("15.00", None, "15"),
        ("15.5", None, "15.50"),
        ("1E+15", "EUR", "1,000,000,000,000,000.00 EUR"),
    ],
)
def test_a_price_has_the_decimals_of_its_currency(
    amount: str, currency: str | None, shown: str
) -> None:
    assert shown_price(Decimal(amount), currency) == shown


def test_a_time_has_its_zone() -> None:
    moment = datetime(2026, 3, 1, 14, 0, 5, 999_000, tzinfo=UTC)
    assert shown_time(moment) == "2026-03-01 14:00:05 UTC"
    assert shown_time(moment.astimezone(timezone(timedelta(hours=2)))) == "2026-03-01 14:00:05 UTC"
