"""Feeds with defects and names that came to light later."""

from __future__ import annotations

import io
from html import escape

import msgspec
import pytest

from webloom.parsing.feeds.reading import FeedReading
from webloom.parsing.feeds.records import Records
from webloom.parsing.feeds.salary import salary
from webloom.parsing.feeds.unpacking import Unpacked
from webloom.parsing.job_posting import JobPosting, Salary

JOBS = "".join(
    f"<job><id>{n}</id><title>Cook &amp; {n} ü</title><url>https://a.example/?a=1&amp;b={n}</url>"
    f"<description><![CDATA[<p>a & b</p>]]></description></job>\n"
    for n in range(3)
)
XML = f'<?xml version="1.0" encoding="utf-16"?>\n<jobs>{JOBS}</jobs>'
JSON = '[{"id": "0", "title": "Cook <i>&amp;</i> 0 ü", "url": "https://a.example/?a=1&b=0"}]'


class Read:
    """The postings of a feed, and what was said at its end."""

    def __init__(self, feed: str) -> None:
        self.postings: list[JobPosting] = []
        reading = FeedReading(
            Records(Unpacked(io.BytesIO(feed.encode()), 10**9)),
            source_url="https://board.example/feed.xml",
            source_name="Board",
            wanted_format="auto",
            mapping={},
            batch_size=200,
        )
        for batch, progress in reading.batches():
            self.postings += msgspec.json.decode(batch, type=list[JobPosting])
            self.last = progress

    def only(self) -> JobPosting:
        (posting,) = self.postings
        return posting


def job(inner: str) -> JobPosting:
    url = "<url>https://a.example/1</url>"
    return Read(f"<jobs><job><id>1</id><title>Cook</title>{url}{inner}</job></jobs>").only()


# Blanks within tags


@pytest.mark.parametrize(
    "record",
    [
        "<job><id>1</id>< title>Cook</title><company>Inn</company></job>",
        "<job><id>1</id><title>Cook</ title><company>Inn</company></job>",
        '<job><id>1</id>< title lang="en" >Cook< /title >< company >Inn</company></job>',
        "< job><id>1</id><title>Cook</title><company>Inn</company></job>",
        "<job><id>1</id><title>Cook</title><company>Inn</company></ job>",
        "<job><id>1</id><title><! [CDATA[Cook]]></title><company>Inn</company></job>",
    ],
)
def test_a_blank_behind_the_bracket_of_a_tag_does_not_matter(record: str) -> None:
    other = "<job><id>2</id><title>Waiter</title></job>"
    for body in (f"{record}{other}", f"{other}{record}"):
        read = Read(f"<jobs>{body}</jobs>")
        cook = next(each for each in read.postings if each.external_id == "1")
        assert (cook.title, cook.company) == ("Cook", "Inn")
        assert sorted(each.title for each in read.postings) == ["Cook", "Waiter"]


def test_a_field_whose_name_is_wrong_at_its_beginning_has_that_of_its_end() -> None:
    good = "".join(f"<job><id>{n}</id><title>A</title><city>Ulm</city></job>" for n in range(3))
    records = (
        "<job><id>3</id><tilte>B</title><city>Bonn</city></job>"
        "<job><id>4</id><title>C</titel><city>Bonn</city></job>"
        "<job><id>5</id><title>D</title></city><town>Bonn</town></job>"
    )
    read = Read(f"<jobs>{good}{records}</jobs>")
    found = [(each.title, each.city) for each in read.postings[3:]]
    assert found == [("B", "Bonn"), ("C", "Bonn"), ("D", "Bonn")]


def test_a_feed_is_recognised_though_all_of_its_titles_have_a_blank() -> None:
    records = "".join(f"<oferta><id>{n}</id>< tytul>A</tytul></oferta>" for n in range(3))
    assert [each.title for each in Read(f"<oferty>{records}</oferty>").postings] == ["A"] * 3


@pytest.mark.parametrize(
    "text",
    [
        "age < 60 and > 18",
        "a < b> c",
        "a < b > c <b>d</b>",
        "x </ y> z",
        "< br/> 1",
        "1 < 2 </p> 3",
    ],
)
def test_a_bracket_that_opens_and_closes_nothing_stays_text(text: str) -> None:
    said = job(f"<salary>{text}</salary>").salary
    expected = text.replace("<b>", "").replace("</b>", "").replace(" </p>", "")
    assert said is not None
    assert said.text == expected


def test_many_brackets_with_blanks_take_no_time_of_their_own() -> None:
    body = "".join(f"< a{n}>" for n in range(50_000)) + "<! [CDATA[x]]>" * 50_000
    found = job(f"<company>Inn</company><description>{body}</description>")
    assert found.company == "Inn"


# A feed within another document


@pytest.mark.parametrize(
    "body",
    [
        f'<?xml version="1.0" encoding="utf-8"?>\r\n<string xmlns="http://t/">{escape(XML)}</string>',
        f"<string>{escape(f'<jobs>{JOBS}</jobs>', quote=False)}</string>",
        f"<string>{escape(XML).replace(chr(10), '&#xD;&#10;')}</string>",
        f"<s:Envelope xmlns:s='x'><s:Body><R><T>{escape(XML)}</T></R></s:Body></s:Envelope>",
        "<string><![CDATA[" + XML.replace("<![CDATA[", "").replace("]]>", "") + "]]></string>",
        f"<string>{escape(JSON, quote=False)}</string>",
        f'<?xml version="1.0"?><string>{escape(JSON)}</string>',
    ],
    ids=["escaped", "no declaration", "line ends", "soap", "cdata", "json", "json with quotes"],
)
def test_a_feed_that_is_the_text_of_an_element_is_read(body: str) -> None:
    read = Read(body)
    first = read.postings[0]
    assert len(read.postings) == (1 if "Cook &lt;i" in body else 3)
    assert (first.external_id, first.title) == ("0", "Cook & 0 ü")
    assert first.job_url == "https://a.example/?a=1&b=0"
    assert read.last.is_whole


def test_a_reference_that_is_cut_between_two_pieces_is_whole_again() -> None:
    records = "".join(
        f"<job><id>{n}</id><title>A &amp; B</title><url>https://a.example/{n}</url></job>"
        for n in range(9_000)
    )
    read = Read(f"<string>{escape(f'<jobs>{records}</jobs>')}</string>")
    assert len(read.postings) == 9_000
    assert {each.title for each in read.postings} == {"A & B"}


def test_a_record_that_begins_with_an_escaped_description_is_no_such_feed() -> None:
    record = "<job><description>&lt;p&gt;a&lt;/p&gt;</description><title>A</title><id>1</id></job>"
    assert Read(f"<jobs>{record}</jobs>").only().description == "<p>a</p>"


# References


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("Ship &amp Anchor", "Ship & Anchor"),
        ("a &lt b &amp", "a < b &"),
        ("&#55357;&#56960; Go &#xD83D;&#xDE80;", "🚀 Go 🚀"),
        ("a&#xD83D;b", "ab"),
        ("R&amp;amp;D at Caf&amp;eacute;", "R&D at Café"),
    ],
)
def test_references_are_read_as_they_are_meant(written: str, title: str) -> None:
    assert Read(f"<jobs><job><id>1</id><title>{written}</title></job></jobs>").only().title == title


def test_a_parameter_of_a_link_is_no_reference() -> None:
    found = Read(
        "<jobs><job><id>1</id><title>A</title><url>https://a.example/?a=1&amp=2&lt=3</url></job></jobs>"
    )
    assert found.only().job_url == "https://a.example/?a=1&amp=2&lt=3"


# Pay


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("40 hours", (None, None, None, None)),
        ("5000 hours", (None, None, None, None)),
        ("36-40 uur", (None, None, None, None)),
        ("• 36 - 40 hour week", (None, None, None, None)),
        ("20 000 hours", (None, None, None, None)),
        ("6,000 - 8,000 month", (6_000, 8_000, None, "month")),
        ("7 to 8 years", (None, None, None, None)),
        ("140000 YEAR", (140_000, 140_000, None, "year")),
        ("$20 hour", (20, 20, "USD", "hour")),
        ("EUR 3000 month", (3_000, 3_000, "EUR", "month")),
        ("37.5 hours per week, £30,000 per annum", (30_000, 30_000, "GBP", "year")),
        ("$45,000 - $55,000 (40 hours/week)", (45_000, 55_000, "USD", None)),
        ("38,5 Stunden/Woche, 3.200 € im Monat", (3_200, 3_200, "EUR", "month")),
        ("12 month contract, £400 per day", (400, 400, "GBP", "day")),
        ("2080 hours at $25", (25, 25, "USD", "hour")),
        ("Grade 7 - £30,000", (30_000, 30_000, "GBP", None)),
        ("Band 6: £35,392 to £42,618 per annum", (35_392, 42_618, "GBP", "year")),
        ("2 positions, 15 € per hour", (15, 15, "EUR", "hour")),
        ("80-90k €", (80_000, 90_000, "EUR", None)),
        ("€1 - €100000", (1, 100_000, "EUR", None)),
        ("30 days holiday, £50k", (50_000, 50_000, "GBP", None)),
        ("per day £50", (50, 50, "GBP", "day")),
    ],
)
def test_times_and_grades_are_no_pay(
    text: str, expected: tuple[float | None, float | None, str | None, str | None]
) -> None:
    low, high, currency, period = expected
    assert salary(text=text) == Salary(
        min=low, max=high, currency=currency, period=period, text=text
    )


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
def test_a_dollar_is_that_of_the_country(pay: str, currency: str) -> None:
    found = job(pay).salary
    assert found is not None
    assert found.currency == currency


# Names


def test_german_names_are_known_with_and_without_umlauts() -> None:
    fields = "<titel>Koch</titel><veröffentlicht_am>14.03.2025</veröffentlicht_am>"
    for until in ("gueltig_bis", "gültig-bis"):
        posting = Read(
            f"<stellen><stelle><referenznummer>7</referenznummer>{fields}"
            f"<{until}>30.04.2025</{until}></stelle></stellen>"
        ).only()
        assert posting.external_id == "7"
        assert str(posting.published_at) == "2025-03-14 00:00:00+00:00"
        assert str(posting.expires_at) == "2025-04-30 00:00:00+00:00"


@pytest.mark.parametrize(
    ("inner", "field", "expected"),
    [
        ("<provincie>Utrecht</provincie>", "region", "Utrecht"),
        ("<wojewodztwo>mazowieckie</wojewodztwo>", "region", "mazowieckie"),
        ("<kraj>Polska</kraj>", "country", "Polska"),
        ("<raison-sociale>Pain</raison-sociale>", "company", "Pain"),
        ("<snippet>Weld</snippet>", "description", "Weld"),
        ("<employment_type_code>parttime</employment_type_code>", "job_type", "part-time"),
        ("<requisitionid>9</requisitionid>", "external_id", "1"),
    ],
)
def test_more_names_are_known(inner: str, field: str, expected: str) -> None:
    assert getattr(job(inner), field) == expected


def test_what_stands_in_a_description_of_elements_is_found() -> None:
    place = "<Municipality>Kiel</Municipality><CountryCode>DE</CountryCode>"
    posting = Read(
        "<Openings><JobPositionPosting><JobPositionPostingId>S1</JobPositionPostingId>"
        "<PostDetail><StartDate><Date>2025-10-01</Date></StartDate>"
        "<EndDate><Date>2025-11-30</Date></EndDate></PostDetail>"
        "<JobPositionInformation><JobPositionTitle>Koch</JobPositionTitle><JobPositionDescription>"
        f"<JobPositionPurpose>Kochen</JobPositionPurpose><JobPlace><Where>{place}</Where>"
        "</JobPlace></JobPositionDescription></JobPositionInformation>"
        "</JobPositionPosting></Openings>"
    ).only()
    assert (posting.title, posting.city, posting.country) == ("Koch", "Kiel", "DE")
    assert str(posting.published_at) == "2025-10-01 00:00:00+00:00"
    assert str(posting.expires_at) == "2025-11-30 00:00:00+00:00"


def test_a_title_within_a_description_is_not_the_posting_s() -> None:
    found = job("<description><part><name>About</name></part><city>Ulm</city></description>")
    assert (found.title, found.city) == ("Cook", "Ulm")
    assert job("<description><p>In</p><city>Ulm</city></description>").city is None


# JSON


@pytest.mark.parametrize(
    ("record", "title"),
    [
        ('{"id": 1, "title": "A", "tags": ["x", "y",],}', "A"),
        (r'{"id": 1, "title": "C:\dev \\d \u12 \"q\", ]"}', r'C:\dev \d \u12 "q", ]'),
    ],
)
def test_small_defects_of_json_cost_nothing(record: str, title: str) -> None:
    read = Read(f'{{"jobs": [{record}, {{"id": 2, "title": "B"}},]}}')
    assert [each.title for each in read.postings] == [title, "B"]
    assert read.last.repairs == {"malformed JSON": 1}


def test_an_item_with_a_defect_may_be_longer_than_what_is_held() -> None:
    long = f'{{"id": 1, "title": "A", "description": "{"x" * 900_000}",}}'
    read = Read(f'[{long}, {{"id": 2, "title": "B"}}, {{"id": 3 "title": "C"}}]')
    assert [each.title for each in read.postings] == ["A", "B"]
    assert read.last.failed == 1


def test_a_category_and_tags_of_json_are_all_taken() -> None:
    body = '{"jobs": [{"id": 1, "title": "A", "category": "Dev", "tags": ["x", "y, z"]}]}'
    assert Read(body).only().categories == ["Dev", "x", "y, z"]


def test_the_unit_of_pay_may_be_a_code() -> None:
    pay = '[{"MinimumRange": "18.5", "MaximumRange": "24", "RateIntervalCode": "PH"}]'
    found = Read(f'[{{"id": 1, "title": "A", "PositionRemuneration": {pay}}}]').only().salary
    assert found == Salary(min=18.5, max=24, currency=None, period="hour", text=None)
