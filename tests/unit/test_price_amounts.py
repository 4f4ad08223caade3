# ruff: noqa: RUF001  prices are written with dashes and letters that look alike
from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webloom.parsing.prices.amounts import Amount, amounts_in, machine_amount, read_amount
from webloom.parsing.prices.currencies import currency_of, regional_currencies

WRITTEN = [
    ("1.299,00", "1299.00", None),
    ("1 299,00", "1299.00", None),
    ("1\u00a0299,00", "1299.00", None),
    ("1\u202f299,00 €", "1299.00", "EUR"),
    ("10,99", "10.99", None),
    ("1'299.–", "1299", None),
    ("1’299.50 CHF", "1299.50", "CHF"),
    ("₹79,999", "79999", "INR"),
    ("1,29,999.00", "129999.00", None),
    ("kr 1 299:-", "1299", "SEK"),
    ("1 299 kr/st", "1299", "SEK"),
    ("1.299 €", "1299", "EUR"),
    ("1.299.000 €", "1299000", "EUR"),
    ("Rs 23.450", "23450", "INR"),
    ("¥1,200", "1200", "JPY"),
    ("US$ 5", "5", "USD"),
    ("US$12.00", "12.00", "USD"),
    ("R$ 1.234,56", "1234.56", "BRL"),
    ("S/ 89.90", "89.90", "PEN"),
    ("CHF 12.-", "12", "CHF"),
    ("99,-€", "99", "EUR"),
    ("12€99", "12.99", "EUR"),
    ("12 € 99", "12.99", "EUR"),
    ("1299.0000", "1299.0000", None),
    ("$.99", "0.99", "USD"),
    ("0.999", "0.999", None),
    ("KD 12.500", "12.500", "KWD"),
    ("$ 12.00 CAD", "12.00", "CAD"),
    ("Price:€12.50", "12.50", "EUR"),
    ("(EUR 12)", "12", "EUR"),
    ("12,99€/Stk", "12.99", "EUR"),
    ("99,95 € *", "99.95", "EUR"),
    ("44 890 тг.", "44890", "KZT"),
    ("502,20 б.р.", "502.20", "BYN"),
    ("173,34 Lei", "173.34", "RON"),
    ("3 990 Kč", "3990", "CZK"),
    ("10 000 Ft", "10000", "HUF"),
    ("٩٩ ر.س", "99", "SAR"),
    ("NT$ 2,320", "2320", "TWD"),
    ("294 元", "294", "CNY"),
    ("１，２００円", "1200", "JPY"),
    ("1.837, 32 €", "1837.32", "EUR"),
    ("1.837,\u00a032 €", "1837.32", "EUR"),
    ("1,837. 32", "1837.32", None),
    ("119. 95", "119.95", None),
    ("119, 95 €", "119.95", "EUR"),
    ("ab 119, 95 €", "119.95", "EUR"),
    ("$ 119. 95", "119.95", "USD"),
    ("1 837, 32 Kč", "1837.32", "CZK"),
    ("Now only 1.837, 32 € instead of more", "1837.32", "EUR"),
    ("As low as EUR 1,837. 32 with your card", "1837.32", "EUR"),
]


@pytest.mark.parametrize(("text", "value", "currency"), WRITTEN, ids=[row[0] for row in WRITTEN])
def test_amounts_are_read_as_shops_write_them(text: str, value: str, currency: str | None) -> None:
    assert read_amount(text) == Amount(Decimal(value), currency)


TWO_NUMBERS = [
    ("1, 2 or 3", ["1", "2", "3"], "a list of digits"),
    ("1, 20 or 30", ["1", "20", "30"], "a list"),
    ("10, 20, 30", ["10", "20", "30"], "a longer list"),
    ("sizes 38, 40", ["38", "40"], "a list behind a word"),
    ("Room 119. 95 guests were there", ["119", "95"], "two sentences"),
    ("We sold 1,837. 32 are left", ["1837", "32"], "two sentences, and no currency"),
    ("119. 95%", ["119"], "a share"),
    ("119. 9", ["119", "9"], "one digit"),
    ("119. 955", ["119", "955"], "three digits"),
    ("5. 12,50", ["5", "12.50"], "another number with cents"),
]


@pytest.mark.parametrize(
    ("text", "values"), [row[:2] for row in TWO_NUMBERS], ids=[row[2] for row in TWO_NUMBERS]
)
def test_a_space_divides_numbers_of_a_list_or_a_sentence(text: str, values: list[str]) -> None:
    assert [amount.value for amount in amounts_in(text)] == list(map(Decimal, values))


def test_cents_behind_a_space_are_read_in_a_field_for_machines() -> None:
    assert machine_amount("119. 95") == machine_amount("119. 95", "EUR") == Decimal("119.95")
    assert machine_amount("1.837, 32 €", "EUR") == Decimal("1837.32")


NO_PRICE = [
    ("call us", "no number"),
    ("Preis auf Anfrage", "no number"),
    ("", "nothing"),
    ("0,00 €", "nothing to pay"),
    ("0", "nothing to pay"),
    ("-5 €", "less than nothing"),
    ("-$5.00", "less than nothing"),
    ("20% off", "a share"),
    ("€ 2,99 / 100 g", "of a weight"),
    ("(12,50 €/kg)", "of a weight"),
    ("9,99 € pro Monat", "of a month"),
    ("$12/mo", "of a month"),
    ("12x de R$ 99,90", "one of twelve payments"),
    ("iPhone15", "part of a name"),
    ("9" * 400, "too long for an amount"),
]


@pytest.mark.parametrize(("text", "_why"), NO_PRICE, ids=[row[0][:20] for row in NO_PRICE])
def test_other_numbers_are_not_taken_for_a_price(text: str, _why: str) -> None:
    assert read_amount(text) is None


def test_all_amounts_of_a_text_come_in_its_order() -> None:
    text = "Was $20.00 now $15.00, 12x de $1.50"
    assert [one.value for one in amounts_in(text)] == [Decimal("20.00"), Decimal("15.00")]


def test_a_number_without_currency_gives_way_to_one_with_it() -> None:
    assert [one.value for one in amounts_in("2 for 15 €")] == [Decimal(15)]


@pytest.mark.parametrize("text", ["10 - 20 €", "€10 – €20", "10,00 € bis 20,00 €"])
def test_the_low_end_of_a_range_is_marked(text: str) -> None:
    low, high = amounts_in(text)
    assert (low.value, low.currency, low.range_from) == (Decimal(10), "EUR", True)
    assert (high.value, high.range_from) == (Decimal(20), False)


def test_an_amount_written_twice_is_not_a_range() -> None:
    assert [one.range_from for one in amounts_in("599 kr - 599 kr", ["SEK"])] == [False, False]


def test_in_a_text_of_many_numbers_only_amounts_with_a_currency_count() -> None:
    assert amounts_in("1 " * 200) == []
    assert amounts_in("9 € for " + "1 " * 200) == [Amount(Decimal(9), "EUR")]
    sizes = " ".join(map(str, range(1, 12)))
    assert amounts_in(f"Size {sizes} only 49,90 €") == [Amount(Decimal("49.90"), "EUR")]


def test_a_sign_belongs_to_the_number_it_stands_at() -> None:
    assert amounts_in("Piano 73 €1.599,00") == [Amount(Decimal("1599.00"), "EUR")]


MACHINE = [
    (1299, None, "1299"),
    (12.5, "EUR", "12.5"),
    (0.1, "EUR", "0.1"),
    ("1299.0000", "EUR", "1299.0000"),
    ("10,99", "EUR", "10.99"),
    ("1.299,00", "EUR", "1299.00"),
    ("1 299,00", "EUR", "1299.00"),
    ("1.299", "EUR", "1299"),
    ("12.500", "KWD", "12.500"),
    ("€ 12,50", None, "12.50"),
    ("1.5E3", "USD", "1500"),
    (24.99, "CLP", "24990"),  # 24.990 pesos, that a program took for a decimal number
    ("24990", "CLP", "24990"),
    (0, "EUR", None),
    (-1, "EUR", None),
    (True, "EUR", None),
    (None, "EUR", None),
    ([], "EUR", None),
    (1e300, "EUR", None),
    (float("nan"), "EUR", None),
    ("call us", "EUR", None),
]


@pytest.mark.parametrize(("value", "currency", "amount"), MACHINE)
def test_amounts_for_machines(value: object, currency: str | None, amount: str | None) -> None:
    assert machine_amount(value, currency) == (Decimal(amount) if amount else None)


SHARED_SIGNS = [
    ("$", "https://shop.example/", None, "USD"),
    ("$", "https://www.shop.cl/x", None, "CLP"),
    ("$", "https://shop.com.au/", "en", "AUD"),
    ("$", "https://shop.example/", "es-MX", "MXN"),
    ("$", "https://shop.example/en-ca/lamp", "en", "CAD"),
    ("$", "https://shop.example/ar/lamp", "ar", "USD"),
    ("kr", "https://shop.example/", "da", "DKK"),
    ("kr", "https://shop.no/", None, "NOK"),
    ("kr.", "https://shop.example/", None, "DKK"),
    ("¥", "https://shop.cn/", None, "CNY"),
    ("Rs", "https://shop.com.pk/", "en", "PKR"),
    ("元", "https://shop.com.tw/", "zh", "TWD"),
    ("руб.", "https://shop.by/", "ru", "BYN"),
    ("eur", "https://shop.example/", None, "EUR"),
    ("top", "https://shop.example/", None, None),
    ("nonsense", "http://[", None, None),
]


@pytest.mark.parametrize(("sign", "url", "language", "currency"), SHARED_SIGNS)
def test_a_shared_sign_is_decided_by_where_the_page_is_from(
    sign: str, url: str, language: str | None, currency: str | None
) -> None:
    assert currency_of(sign, regional_currencies(url, language)) == currency


@given(st.text(max_size=500))
def test_no_text_raises_and_amounts_are_above_zero(text: str) -> None:
    for amount in amounts_in(text):
        assert 0 < amount.value < 10**12


@given(st.decimals(min_value="0.01", max_value="9999999", places=2))
def test_every_amount_is_read_back_in_every_locale(amount: Decimal) -> None:
    english = f"{amount:,}"
    for text in (
        english,
        english.replace(",", "'"),
        english.replace(",", " ").replace(".", ","),
        english.replace(",", "_").replace(".", ",").replace("_", "."),
    ):
        assert read_amount(f"{text} €") == Amount(amount, "EUR"), text
