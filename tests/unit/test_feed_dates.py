"""Dates in all their forms, and dates that can be read in two ways."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unit.feed_postings import ReadPostings, job, json_job
from webloom.parsing.feeds.dates import is_month_first, parse_date
from webloom.parsing.feeds.records import Records
from webloom.parsing.feeds.unpacking import Unpacked

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
    ("Tue, 12 Mar 2024 05:00:00 PDT", NOON, "PDT, whose P does not mean p.m."),
    ("Tue, 12 Mar 2024 13:00:00 CET", NOON, "European zones"),
    ("Tue, 12 Mar 2024 14:00:00 GMT+2", NOON, "GMT and an offset"),
    ("Tue, 12 Mar 2024 17:30:00 IST", NOON, "half an hour"),
    ("Tue, 12 Mar 2024 12:00:00 XYZ", NOON, "an unknown zone is UTC"),
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
    ("2024-03-12 12:00 Mars/Olympus", NOON, "an unknown place is UTC"),
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
    ("2026-10-05-07:00", "2026-10-05T07:00:00", "an offset behind a day, as XML Schema has it"),
    ("2026-10-05+02:00", "2026-10-04T22:00:00", "the same, east of UTC"),
    ("2026-10-05Z", "2026-10-05T00:00:00", "a day in UTC"),
    ("2026年10月6日 15時30分", "2026-10-06T15:30:00", "Japanese, with a time"),
    ("2026年10月6日(火) 9時", "2026-10-06T09:00:00", "Japanese, with a weekday"),
    ("2026년 10월 6일", "2026-10-06T00:00:00", "Korean"),
    ("令和8年10月5日", "2026-10-05T00:00:00", "a Japanese era"),
    ("平成元年2月3日", "1989-02-03T00:00:00", "the first year of an era"),
    ("平成30年2月3日", "2018-02-03T00:00:00", "an earlier era"),
    ("Пн, 05 жов 2026 09:00:00 +0300", "2026-10-05T06:00:00", "RFC 822 in Ukrainian"),
    ("5 май 2026", "2026-05-05T00:00:00", "Bulgarian, Russian"),
    ("6 říj 2026", "2026-10-06T00:00:00", "Czech"),
    ("06 Eki 2026", "2026-10-06T00:00:00", "Turkish"),
    ("/Date(1709633700000)/", "2024-03-05T10:15:00", "as .NET writes JSON"),
    ("/Date(1709633700000+0100)/", "2024-03-05T10:15:00", "an offset that changes nothing"),
    ("Вт, 05 мар 2024 10:15:00 +0300", "2024-03-05T07:15:00", "RFC 822 in Russian"),
    ("5 май 2024", "2024-05-05T00:00:00", "the same in an earlier year"),
    ("5 березня 2024", "2024-03-05T00:00:00", "Ukrainian"),
    ("Di, 05 Mrz 2024 10:15:00 +0100", "2024-03-05T09:15:00", "RFC 822 in German"),
]
UNREAD = [
    ("", "nothing"),
    ("soon", "no date"),
    ("2 days ago", "counted from an unknown day"),
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
def test_a_date_is_read_in_any_usual_form(text: str, expected: str, reason: str) -> None:
    assert parse_date(text) == datetime.fromisoformat(expected).replace(tzinfo=UTC), reason


@pytest.mark.parametrize(("text", "reason"), UNREAD)
def test_text_that_is_not_a_date_is_none(text: str, reason: str) -> None:
    assert parse_date(text) is None, reason


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


def test_a_date_may_be_in_parts() -> None:
    date = "<publishDate><day>11</day><month>12</month><year>2008</year></publishDate>"
    assert job(date).published_at == datetime(2008, 12, 11, tzinfo=UTC)


def test_the_date_in_utc_goes_before_the_local_one() -> None:
    found = json_job(date="2026-10-05T11:00:00", date_gmt="2026-10-05T09:00:00")
    assert found.published_at == datetime(2026, 10, 5, 9, tzinfo=UTC)


# The day first, or the month


def test_boards_of_the_us_write_the_month_first() -> None:
    assert parse_date("03/04/2024", month_first=True) == datetime(2024, 3, 4, tzinfo=UTC)
    assert parse_date("03/04/2024") == datetime(2024, 4, 3, tzinfo=UTC)
    assert parse_date("25/03/2024", month_first=True) == datetime(2024, 3, 25, tzinfo=UTC)
    assert parse_date("2024-03-04", month_first=True) == datetime(2024, 3, 4, tzinfo=UTC)


@pytest.mark.parametrize(
    ("dates", "expected"),
    [
        (("10/05/2026", "10/25/2026"), "2026-10-05"),
        (("10/05/2026", "25/10/2026"), "2026-05-10"),
        (("10/05/2026", "11/06/2026"), "2026-05-10"),
        (("10/05/2026", "10/25/2026", "25/10/2026"), "2026-05-10"),
        (("10/5/26", "9/30/26"), "2026-10-05"),
        (("10/05/2026 3:00 PM", "09/30/2026 4:00 PM"), "2026-10-05"),
    ],
)
@pytest.mark.parametrize("start", ["", "<![CDATA["])
def test_dates_that_can_be_read_in_one_way_only_decide_how_the_others_are_read(
    dates: tuple[str, ...], expected: str, start: str
) -> None:
    end = "]]>" if start else ""
    records = (
        f"<job><id>{number}</id><title>T</title><date>{start}{date}{end}</date></job>"
        for number, date in enumerate(dates)
    )
    first = ReadPostings(f"<jobs>{''.join(records)}</jobs>").postings[0]
    assert f"{first.published_at:%Y-%m-%d}" == expected


def test_a_board_that_writes_the_day_first_is_believed_whatever_its_format() -> None:
    records = (
        f"<job><referencenumber>{date}</referencenumber><title>T</title><date>{date}</date></job>"
        for date in ("05/10/2026", "25/10/2026")
    )
    first = ReadPostings(f"<source>{''.join(records)}</source>", wanted="indeed").postings[0]
    assert first.published_at == datetime(2026, 10, 5, tzinfo=UTC)


def test_dates_within_a_text_decide_nothing_and_escaped_slashes_are_slashes() -> None:
    assert is_month_first(b"<description>Apply by 12/31/2026 please</description>") is None
    assert is_month_first(rb'{"date": "12\/31\/2026"}') is True
    assert is_month_first(b'{"date": "31/12/2026"}') is False


def test_what_is_known_of_a_record_depends_on_how_its_dates_are_read() -> None:
    def context(date: str) -> list[object]:
        xml = f"<jobs><job><id>1</id><title>T</title><date>{date}</date></job></jobs>"
        return Records(Unpacked(io.BytesIO(xml.encode()), 10**6)).context

    assert context("10/25/2026") != context("25/10/2026")
    assert context("10/25/2026") == context("11/26/2026")
