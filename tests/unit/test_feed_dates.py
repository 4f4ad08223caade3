from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webloom.parsing.feeds.dates import parse_date

NOON = "2024-03-12T12:00:00"
READ = [
    ("Tue, 12 Mar 2024 12:00:00 +0000", NOON, "RFC 822 as it should be"),
    ("Tue, 12 Mar 2024 12:00:00 GMT", NOON, "named UTC"),
    ("Tue, 12 Mar 2024 13.00.00 +0100", NOON, "dots in the time"),
    ("12.03.2024 12.00", NOON, "dots in both"),
    ("2024-03-12 12.00.00", NOON, "dots in the time only"),
    ("12 Μαρτίου 2024 12:00", NOON, "Greek"),
    ("12 Kas\u0131m 2024", "2024-11-12T00:00:00", "an i without its dot"),
    ("12 desember 2024", "2024-12-12T00:00:00", "Norwegian, Indonesian"),
    ("Tue, 12 Mar 2024 14:00:00 +0200", NOON, "an offset"),
    ("Tue, 12 Mar 2024 14:00:00 +02:00", NOON, "an offset with a colon"),
    ("Tue,12 Mar 2024 12:00:00 Z", NOON, "no blank behind the comma"),
    ("Mon, 12 Mar 2024 12:00:00 GMT", NOON, "the wrong weekday"),
    ("12 Mar 2024 12:00:00 GMT", NOON, "no weekday"),
    ("12 Mar 24 12:00 GMT", NOON, "two digits of a year, no seconds"),
    ("Tuesday, 12 March 2024 12:00:00 UTC", NOON, "whole names"),
    ("Tue, 12 Mar 2024 12:00:00", NOON, "no zone is UTC"),
    ("Tue, 12 Mar 2024 07:00:00 EST", NOON, "US zones"),
    ("Tue, 12 Mar 2024 05:00:00 PDT", NOON, "PDT, whose P is no afternoon"),
    ("Tue, 12 Mar 2024 13:00:00 CET", NOON, "European zones"),
    ("Tue, 12 Mar 2024 14:00:00 GMT+2", NOON, "GMT and an offset"),
    ("Tue, 12 Mar 2024 17:30:00 IST", NOON, "half an hour"),
    ("Tue, 12 Mar 2024 12:00:00 XYZ", NOON, "a zone that nobody knows is UTC"),
    ("Tue, 12 Mar 2024 12:00:00 +9900", NOON, "an offset that can't be is none"),
    ("Tue, 12 Mar 2024 12:00:00 GMT (Coordinated)", NOON, "an aside"),
    ("2024-03-12T12:00:00Z", NOON, "ISO 8601"),
    ("2024-03-12T13:00:00+01:00", NOON, "with an offset"),
    ("2024-03-12T13:00:00+01:00[Europe/Paris]", NOON, "as Java writes it"),
    ("2024-03-12T13:00:00 +0100", NOON, "a blank before the offset"),
    ("2024-03-12 12:00:00", NOON, "a blank for the T"),
    ("2024-03-12 12:00:00 UTC", NOON, "a named zone"),
    ("2024-03-12 08:00 America/New_York", NOON, "a zone by its place, summer time"),
    ("2024-03-12T13:00:00[Europe/Berlin]", NOON, "a zone by its place, as Java writes it"),
    ("2024-03-12T14:00:00+02:00[Europe/Berlin]", NOON, "the offset is nearer"),
    ("2024-03-12 09:00 America/Argentina/Buenos_Aires", NOON, "a place in two parts"),
    ("Mar 12, 2024 8:00 AM ET", NOON, "a zone without its season"),
    ("Mar 12, 2024 8:00 a.m. ET", NOON, "behind a dot"),
    ("2024-03-12 08:00 America/Port-au-Prince", NOON, "a place with hyphens"),
    ("2024-03-12 07:00 Etc/GMT+5", NOON, "of the sea, where + is west"),
    ("2024-03-12 13:00 Europe/Paris+01:00", NOON, "the offset behind a place"),
    ("Tue/Mar 12 2024 13:00 Europe/Paris", NOON, "a slash before that of the place"),
    ("12/Mar/2024 12:00", NOON, "slashes around a month"),
    ("2024-03-12 12:00 Mars/Olympus", NOON, "a place that nobody knows is UTC"),
    ("2024-03-12T12:00", NOON, "no seconds"),
    ("20240312T120000Z", NOON, "basic"),
    ("20240312120000", NOON, "digits only"),
    ("2024-03-12T12:00:00.000Z", NOON, "a fraction"),
    ("2024-03-12T12:00:00.123456789Z", "2024-03-12T12:00:00.123456", "a long fraction"),
    ("2024-03-11T24:00:00Z", "2024-03-12T00:00:00", "the end of a day"),
    ("2024-03-12T11:59:60Z", "2024-03-12T11:59:59", "a leap second"),
    ("2024-03-12", "2024-03-12T00:00:00", "a day"),
    ("20240312", "2024-03-12T00:00:00", "a day in digits"),
    ("2024-W11-2", "2024-03-12T00:00:00", "a week and its day"),
    ("2024-072", "2024-03-12T00:00:00", "the day of a year"),
    ("2024-03", "2024-03-01T00:00:00", "a month"),
    ("2024", "2024-01-01T00:00:00", "a year"),
    ("2024/3/12", "2024-03-12T00:00:00", "slashes"),
    ("12/03/2024", "2024-03-12T00:00:00", "the day first"),
    ("03/25/2024", "2024-03-25T00:00:00", "no month is the 25th"),
    ("12.03.2024", "2024-03-12T00:00:00", "dots"),
    ("12.3.24 12:00", NOON, "dots, short"),
    ("12-Mar-2024 12:00:00", NOON, "as Oracle writes it"),
    ("12 March 2024", "2024-03-12T00:00:00", "for people"),
    ("March 12, 2024", "2024-03-12T00:00:00", "for people in the US"),
    ("March 12th, 2024 12:00 PM", NOON, "noon is PM"),
    ("Mar 12, 2024, 12:00:00 AM", "2024-03-12T00:00:00", "midnight is AM"),
    ("Sept 3, 2024", "2024-09-03T00:00:00", "four letters"),
    ("12. März 2024", "2024-03-12T00:00:00", "German"),
    ("mar. 12 mars 2024", "2024-03-12T00:00:00", "French, and a weekday like a month"),
    ("1er août 2024", "2024-08-01T00:00:00", "French, the first"),
    ("12 de diciembre de 2024", "2024-12-12T00:00:00", "Spanish"),
    ("12 giugno 2024", "2024-06-12T00:00:00", "Italian"),
    ("12 de março de 2024", "2024-03-12T00:00:00", "Portuguese"),
    ("12 mrt 2024", "2024-03-12T00:00:00", "Dutch"),
    ("12 maja 2024", "2024-05-12T00:00:00", "Polish"),
    ("12 марта 2024", "2024-03-12T00:00:00", "Russian"),
    ("Tue Mar 12 12:00:00 2024", NOON, "asctime"),
    ("Tue Mar 12 08:00:00 EDT 2024", NOON, "as Java prints it"),
    ("Tue Mar 12 2024 13:00:00 GMT+0100 (CET)", NOON, "as JavaScript prints it"),
    ("1710244800", NOON, "seconds since 1970"),
    ("1710244800000", NOON, "milliseconds since 1970"),
    ("1710244800.0", NOON, "seconds with a fraction"),
    ("  2024-03-12T12:00:00Z ", NOON, "blanks around"),
]
UNREAD = [
    ("", "nothing"),
    ("soon", "no date"),
    ("2 days ago", "nobody knows since when"),
    ("99999-01-01", "the year 99999"),
    ("Fri, 01 Jan 99999 00:00:00 GMT", "the year 99999, RFC 822"),
    ("0000-00-00 00:00:00", "as MySQL writes no date"),
    ("0001-01-01T00:00:00", "as .NET writes no date"),
    ("9999-12-31", "never"),
    ("2024-02-30", "no such day"),
    ("31/02/2024", "no such day"),
    ("2024-13-01", "no such month"),
    ("2024-366-1", "no such form"),
    ("2023-366", "no such day of the year"),
    ("Fri, 15 Mar 2024 25:00:00 GMT", "no such hour"),
    ("Fri, 15 Mar 2024 12:61:00 GMT", "no such minute"),
    ("99999999999999999999", "no such second"),
    ("-1", "before everything"),
    ("1" * 5000, "long digits"),
    ("12 " * 5000, "long"),
]


@pytest.mark.parametrize(("text", "expected", "reason"), READ)
def test_dates_are_read(text: str, expected: str, reason: str) -> None:
    assert parse_date(text) == datetime.fromisoformat(expected).replace(tzinfo=UTC), reason


@pytest.mark.parametrize(("text", "reason"), UNREAD)
def test_what_is_no_date_is_none(text: str, reason: str) -> None:
    assert parse_date(text) is None, reason


def test_boards_of_the_us_write_the_month_first() -> None:
    assert parse_date("03/04/2024", month_first=True) == datetime(2024, 3, 4, tzinfo=UTC)
    assert parse_date("03/04/2024") == datetime(2024, 4, 3, tzinfo=UTC)
    assert parse_date("25/03/2024", month_first=True) == datetime(2024, 3, 25, tzinfo=UTC)
    assert parse_date("2024-03-04", month_first=True) == datetime(2024, 3, 4, tzinfo=UTC)


@given(st.text(max_size=60) | st.from_regex(r"[\d :./+TZ-]{1,40}", fullmatch=True))
def test_any_text_is_a_date_or_none(text: str) -> None:
    found = parse_date(text)
    assert found is None or (found.tzinfo is UTC and 1950 <= found.year <= 2200)


@given(st.datetimes(datetime(1971, 1, 1), datetime(2199, 1, 1)))  # noqa: DTZ001
def test_every_moment_survives_the_usual_forms(naive: datetime) -> None:
    moment = naive.replace(tzinfo=UTC)
    whole = moment.replace(microsecond=0)
    assert parse_date(moment.isoformat()) == moment
    assert parse_date(whole.strftime("%a, %d %b %Y %H:%M:%S GMT")) == whole
    assert parse_date(whole.strftime("%d %B %Y %H:%M:%S")) == whole
    assert parse_date(whole.strftime("%d.%m.%Y %H:%M:%S")) == whole
