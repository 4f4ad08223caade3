from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webloom.parsing.feeds.salary import salary
from webloom.parsing.job_posting import Salary

TEXTS = [
    ("$85,000 - $100,000 per year", 85000, 100000, "USD", "year"),
    ("80k–90k EUR", 80000, 90000, "EUR", None),  # noqa: RUF001
    ("80-90k €", 80000, 90000, "EUR", None),
    ("£12.50/hour", 12.5, 12.5, "GBP", "hour"),
    ("1.200,00 €", 1200, 1200, "EUR", None),
    ("EUR 55.000 - 65.000 p.a.", 55000, 65000, "EUR", "year"),
    ("45 000 - 50 000 EUR brut/an", 45000, 50000, "EUR", "year"),
    ("CHF 90'000 to 110'000 per annum", 90000, 110000, "CHF", "year"),
    ("15,5 €/h", 15.5, 15.5, "EUR", "hour"),
    ("$25 - $30 an hour", 25, 30, "USD", "hour"),
    ("Up to £50k per annum", None, 50000, "GBP", "year"),
    ("bis zu 70.000 €", None, 70000, "EUR", None),
    ("ab 2.500 Euro monatlich", 2500, None, "EUR", "month"),
    ("$120K+", 120000, None, "USD", None),
    ("R$ 5.000,00 por mês", 5000, 5000, "BRL", "month"),
    ("A$95,000", 95000, 95000, "AUD", None),
    ("₹ 6,00,000 - 8,00,000", 600000, 800000, "INR", None),
    ("12-15 LPA", 1200000, 1500000, None, "year"),
    ("3000 zł / mies.", 3000, 3000, "PLN", "month"),
    ("$60,000 plus 401k", 60000, 60000, "USD", None),
    ("£30,000 - £35,000 + 25 days holiday", 30000, 35000, "GBP", None),
    ("$100,000 - $80,000", 80000, 100000, "USD", None),
    ("100000", 100000, 100000, None, None),
    ("USD 120000.00 - 140000.00 YEAR", 120000, 140000, "USD", "year"),
    ("50 000 € m/w/d", 50000, 50000, "EUR", None),
    ("от 100 000 до 150 000 руб. в месяц", 100000, 150000, "RUB", "month"),  # noqa: RUF001
    ("до 60 тыс. руб.", None, 60000, "RUB", None),  # noqa: RUF001
    ("20000 - 30000 грн", 20000, 30000, "UAH", None),
    ("od 5000 do 7000 zł", 5000, 7000, "PLN", None),
    ("25 000 - 30 000 Kč/měsíc", 25000, 30000, "CZK", "month"),
    ("年収400万円〜600万円", 4000000, 6000000, "JPY", "year"),
    ("月薪 20k-40k", 20000, 40000, None, "month"),
    ("R25 000 - R30 000 per month", 25000, 30000, "ZAR", "month"),
    ("60.000 € Jahresgehalt", 60000, 60000, "EUR", "year"),
    ("RM 3,000", 3000, 3000, "MYR", None),
    ("2080 hours at $25", 25, 25, "USD", "hour"),
    ("Competitive", None, None, None, None),
    ("40 hours per week", None, None, None, None),
    ("0", None, None, None, None),
    ("9" * 400, None, None, None, None),
]


@pytest.mark.parametrize(("text", "low", "high", "currency", "period"), TEXTS)
def test_a_text_is_understood_and_kept(
    text: str, low: float | None, high: float | None, currency: str | None, period: str | None
) -> None:
    expected = Salary(min=low, max=high, currency=currency, period=period, text=text)
    assert salary(text=text) == expected


def test_fields_go_before_the_text() -> None:
    found = salary(
        text="up to 90k a month", low="50000", high="60,000.50", currency="eur", period="YEAR"
    )
    assert found == Salary(
        min=50000, max=60000.5, currency="EUR", period="year", text="up to 90k a month"
    )


def test_a_currency_beside_a_bare_number_belongs_to_it() -> None:
    found = salary(text="50000", currency="GBP", period="per annum")
    assert found == Salary(min=50000, max=50000, currency="GBP", period="year", text="50000")


def test_no_numbers_and_no_text_are_no_salary() -> None:
    assert salary(text=None, low="n/a", high="0", currency="EUR") is None
    assert salary(text=None, low="0.001") is None
    assert salary(text=None) is None


@given(st.text(max_size=80) | st.from_regex(r"[\d.,k$€ /-]{1,30}", fullmatch=True))
def test_any_text_gives_amounts_that_a_database_takes(text: str) -> None:
    found = salary(text=text, low=text, high=text, currency=text, period=text)
    if found is not None:
        for amount in (found.min, found.max):
            assert amount is None or 0 < amount < 1e12
