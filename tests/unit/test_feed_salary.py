# ruff: noqa: RUF001  the letters of many languages look alike
"""Pay: as text for people, and in fields of its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unit.feed_postings import job, json_job
from webloom.parsing.feeds.salary import salary
from webloom.parsing.job_posting import Salary

TEXTS = [
    ("$85,000 - $100,000 per year", 85000, 100000, "USD", "year"),
    ("80k–90k EUR", 80000, 90000, "EUR", None),
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
    ("от 100 000 до 150 000 руб. в месяц", 100000, 150000, "RUB", "month"),
    ("до 60 тыс. руб.", None, 60000, "RUB", None),
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
    ("от 250 000 тенге", 250000, None, "KZT", None),
    ("15000-25000元/月", 15000, 25000, "CNY", "month"),
    ("5000 zl miesięcznie", 5000, 5000, "PLN", "month"),
    ("Horaire de 12.5 Euros", 12.5, 12.5, "EUR", "hour"),
    ("1.500 € mensili", 1500, 1500, "EUR", "month"),
    ("2500 reais mensais", 2500, 2500, "BRL", "month"),
    ("€ 28.000 annui", 28000, 28000, "EUR", "year"),
    ("$1,000 sign-on bonus; $22 - $24 per hour", 22, 24, "USD", "hour"),
    ("$60,000 + bonus", 60000, 60000, "USD", None),
    ("20-EUR - 30-EUR/h", 20, 30, "EUR", "hour"),
    ("SEK 40 000/mån", 40000, 40000, "SEK", "month"),
    ("35-45k€ / an", 35000, 45000, "EUR", "year"),
    ("£25k + bonus", 25000, 25000, "GBP", None),
    ("$90,000+", 90000, None, "USD", None),
    ("45-55 T€", 45000, 55000, "EUR", None),
    # Hours, contract lengths, grades and other numbers beside the pay, or without any
    ("40 hours", None, None, None, None),
    ("5000 hours", None, None, None, None),
    ("36-40 uur", None, None, None, None),
    ("• 36 - 40 hour week", None, None, None, None),
    ("20 000 hours", None, None, None, None),
    ("6,000 - 8,000 month", 6000, 8000, None, "month"),
    ("7 to 8 years", None, None, None, None),
    ("140000 YEAR", 140000, 140000, None, "year"),
    ("$20 hour", 20, 20, "USD", "hour"),
    ("EUR 3000 month", 3000, 3000, "EUR", "month"),
    ("37.5 hours per week, £30,000 per annum", 30000, 30000, "GBP", "year"),
    ("$45,000 - $55,000 (40 hours/week)", 45000, 55000, "USD", None),
    ("38,5 Stunden/Woche, 3.200 € im Monat", 3200, 3200, "EUR", "month"),
    ("12 month contract, £400 per day", 400, 400, "GBP", "day"),
    ("Grade 7 - £30,000", 30000, 30000, "GBP", None),
    ("Band 6: £35,392 to £42,618 per annum", 35392, 42618, "GBP", "year"),
    ("2 positions, 15 € per hour", 15, 15, "EUR", "hour"),
    ("€1 - €100000", 1, 100000, "EUR", None),
    ("30 days holiday, £50k", 50000, 50000, "GBP", None),
    ("per day £50", 50, 50, "GBP", "day"),
]


@pytest.mark.parametrize(("text", "low", "high", "currency", "period"), TEXTS)
def test_pay_in_a_text_is_understood_and_the_text_kept(
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


def test_a_salary_needs_a_number_or_a_text() -> None:
    assert salary(text=None, low="n/a", high="0", currency="EUR") is None
    assert salary(text=None, low="0.001") is None
    assert salary(text=None) is None


@given(st.text(max_size=80) | st.from_regex(r"[\d.,k$€ /-]{1,30}", fullmatch=True))
def test_any_text_gives_amounts_that_a_database_takes(text: str) -> None:
    found = salary(text=text, low=text, high=text, currency=text, period=text)
    if found is not None:
        for amount in (found.min, found.max):
            assert amount is None or 0 < amount < 1e12


# Fields of a record


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        (
            "<salary><amount>4000</amount><currency>USD</currency><period>month</period></salary>",
            Salary(min=4000, max=4000, currency="USD", period="month", text="4000"),
        ),
        ("<salary_range><min>10</min><max>20</max></salary_range>", Salary(min=10, max=20)),
        (
            "<salary><salary_min>10</salary_min><salary_max>12</salary_max>"
            "<salary_currency>EUR</salary_currency></salary>",
            Salary(min=10, max=12, currency="EUR"),
        ),
        (
            '<salary periodicity="year" currency="€">90 000</salary>',
            Salary(min=90000, max=90000, currency="EUR", period="year", text="90 000"),
        ),
    ],
)
def test_the_fields_of_pay_are_put_together(inner: str, expected: Salary) -> None:
    assert job(inner).salary == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"annualSalaryMin": 50000, "annualSalaryMax": 70000, "salaryCurrency": "EUR"},
            Salary(min=50000, max=70000, currency="EUR", period="year"),
        ),
        (
            {
                "PositionRemuneration": [
                    {"MinimumRange": "18.5", "MaximumRange": "24", "RateIntervalCode": "PH"}
                ]
            },
            Salary(min=18.5, max=24, period="hour"),
        ),
    ],
    ids=["the period in a name", "the period as a code"],
)
def test_the_fields_of_pay_in_json_are_put_together(
    fields: dict[str, object], expected: Salary
) -> None:
    assert json_job(**fields).salary == expected


@pytest.mark.parametrize(
    ("inner", "period"),
    [
        ("<hourly_rate>25</hourly_rate>", "hour"),
        ("<daily_rate>£400</daily_rate>", "day"),
        ("<monthlySalary>3000</monthlySalary>", "month"),
        ("<annual_salary>50000</annual_salary>", "year"),
        ("<annualSalaryMin>50000</annualSalaryMin><annualSalaryMax>9</annualSalaryMax>", "year"),
        ("<Pay><SalaryAnnual>145000</SalaryAnnual></Pay>", "year"),
        ("<hourly_rate>25</hourly_rate><salary_period>day</salary_period>", "day"),
        # The pay is another field's, which does not say what it is for.
        ("<salary>50000</salary><hourly_rate>25</hourly_rate>", None),
    ],
)
def test_the_name_of_an_amount_gives_its_period(inner: str, period: str | None) -> None:
    found = job(inner).salary
    assert found is not None
    assert found.period == period


@pytest.mark.parametrize(
    ("pay", "currency"),
    [
        ("<country>CA</country><salary>22,50 $ / heure</salary>", "CAD"),
        ("<country>Australia</country><salary>$90,000</salary>", "AUD"),
        ("<country>Canada</country><salary>US$90,000</salary>", "USD"),
        ("<country>CA</country><salary>90,000</salary><currency>USD</currency>", "USD"),
        ("<country>US</country><salary>$90,000</salary>", "USD"),
        ("<salary>$90,000</salary>", "USD"),
        ("<country>CA</country><salary>€90,000</salary>", "EUR"),
    ],
)
def test_the_country_decides_which_dollar_is_meant(pay: str, currency: str) -> None:
    found = job(pay).salary
    assert found is not None
    assert found.currency == currency
