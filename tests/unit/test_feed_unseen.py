"""Feeds as they come from boards that nobody tried before, and what comes of them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from feed_postings import Read
from unit.feed_bodies import Read as RawRead
from unit.feed_bodies import feed, item
from webloom.domain.errors import FeedUnreadable
from webloom.parsing.feeds.dates import parse_date
from webloom.parsing.feeds.salary import salary
from webloom.parsing.job_posting import JobPosting, Salary

ATOM = 'xmlns="http://www.w3.org/2005/Atom"'


def job(inner: str, root: str = "jobs") -> JobPosting:
    url = "<url>https://a.example/1</url>"
    return Read(f"<{root}><job><id>1</id><title>Cook</title>{url}{inner}</job></{root}>").only()


def rss_item(inner: str, channel: str = "", attributes: str = "") -> JobPosting:
    record = f"<item><title>Cook</title>{inner}</item>"
    return Read(f"<rss {attributes}><channel>{channel}{record}</channel></rss>").only()


def entry(inner: str, feed_inner: str = "", attributes: str = "") -> JobPosting:
    return Read(f"<feed {ATOM} {attributes}>{feed_inner}<entry {inner}</entry></feed>").only()


# Links


@pytest.mark.parametrize(
    ("attributes", "feed_inner", "expected"),
    [
        ('xml:base="https://b.example/a/"', '<link href="https://c.example/"/>', "b.example/a/x/1"),
        ("", '<link rel="self" href="https://s.example/f/feed"/>', "s.example/f/x/1"),
        (
            "",
            '<link rel="self" href="https://s.example/feed"/>'
            '<link rel="hub" href="https://h.example/"/><link href="https://c.example/d/"/>',
            "c.example/d/x/1",
        ),
        ("", '<link rel="self" href="https://s.example/f"/><link href="/d/"/>', "s.example/d/x/1"),
        ('xml:base="sub/"', "", "board.example/sub/x/1"),
        ("", "", "board.example/x/1"),
    ],
)
def test_relative_links_of_atom_begin_where_the_feed_says(
    attributes: str, feed_inner: str, expected: str
) -> None:
    found = entry('><id>1</id><title>T</title><link href="x/1"/>', feed_inner, attributes)
    assert found.job_url == f"https://{expected}"


def test_a_base_of_an_entry_and_of_a_link_go_on_from_the_feed_s() -> None:
    base = 'xml:base="https://b.example/a/"'
    within = 'xml:base="jobs/"><id>1</id><title>T</title>'
    assert entry(f'{within}<link href="1"/>', "", base).job_url == "https://b.example/a/jobs/1"
    own = f'{within}<link xml:base="https://o.example/z/" href="1"/>'
    assert entry(own, "", base).job_url == "https://o.example/z/1"


def test_the_links_of_entries_are_no_base() -> None:
    first = '<entry><id>0</id><title>S</title><link href="https://e.example/0"/></entry>'
    second = '<entry><id>1</id><title>T</title><link href="/1"/></entry>'
    found = Read(f"<feed {ATOM}>{first}{second}</feed>").items[1]
    assert isinstance(found, JobPosting)
    assert found.job_url == "https://board.example/1"


def test_a_base_of_rss_goes_before_the_link_of_its_channel() -> None:
    link = "<link>https://c.example/</link>"
    found = rss_item("<link>1.html</link>", link, 'xml:base="https://b.example/x/"')
    assert found.job_url == "https://b.example/x/1.html"


def test_the_kind_of_a_link_may_have_a_charset() -> None:
    links = (
        '<link href="https://a.example/pdf" type="application/pdf"/>'
        '<link href="https://a.example/page" type="text/html; charset=utf-8"/>'
    )
    found = entry(f"><id>1</id><title>T</title>{links}")
    assert found.job_url == "https://a.example/page"


@pytest.mark.parametrize("ampersand", ["&amp;amp;", "<![CDATA[&#038;]]>", "<![CDATA[&#x26;]]>"])
def test_an_ampersand_of_a_url_may_be_escaped_too_often(ampersand: str) -> None:
    found = rss_item(f"<link>https://a.example/?a=1{ampersand}copy=2</link>")
    assert found.job_url == "https://a.example/?a=1&copy=2"


def test_a_json_feed_without_a_page_has_its_own_address() -> None:
    found = Read(
        '{"version": "https://jsonfeed.org/version/1", "feed_url": "https://f.example/feed.json",'
        ' "items": [{"id": "1", "title": "T", "url": "/1"}]}'
    ).only()
    assert found.job_url == "https://f.example/1"


# Encodings


@pytest.mark.parametrize(
    "text", ["Café München \u2013 it\u2019s", "Inżynier, Łódź", "Инженер", "7♣"]
)
@pytest.mark.parametrize("codec", ["cp1252", "latin-1"])
def test_what_was_made_utf_8_twice_is_read_once_more(text: str, codec: str) -> None:
    once = "".join(
        bytes([byte]).decode(codec if codec == "latin-1" or byte not in b"\x81\x8d\x8f\x90\x9d"
                             else "latin-1")
        for byte in text.encode()
    )  # fmt: skip
    read = RawRead(feed(item(1, title=once.encode())))
    assert read.texts("title") == [text]
    assert read.repairs == {"wrong encoding": 1}


@pytest.mark.parametrize("text", ["NESCAFÉ®", "SÃO PAULO", "«MAÇû", "Ã la carte, é", "Â", "CAFÉ™"])
def test_letters_that_only_look_so_stay(text: str) -> None:
    read = RawRead(feed(item(1, title=text.encode())))
    assert read.texts("title") == [text]
    assert read.repairs == {}


# Defects


@pytest.mark.parametrize("ending", ["", "</descripton>"])
def test_a_field_that_is_not_closed_ends_at_a_field_that_no_record_had_before(ending: str) -> None:
    broken = f"<description>Text{ending}<category>Food</category>"
    items = Read(
        "<rss><channel><item><title>A</title><guid>1</guid><description>B</description></item>"
        f"<item><title>C</title><guid>2</guid>{broken}</item></channel></rss>"
    ).items
    assert isinstance(items[1], JobPosting)
    assert (items[1].description, items[1].categories) == ("Text", ["Food"])


def test_cdata_may_be_written_in_lower_case() -> None:
    found = rss_item("<guid>1</guid><description><![cdata[R&D <b>a</b>]]></description>")
    assert found.description == "R&D <b>a</b>"


@pytest.mark.parametrize("before", ["callback(", "/**/ jQuery1_2 (", ")]}',\n", "while(1);"])
def test_json_is_found_behind_what_guards_it(before: str) -> None:
    read = RawRead(f'{before}[{{"id": "1", "title": "R&D"}}]);'.encode())
    assert read.texts("title") == ["R&D"]
    assert read.repairs == {"junk around the document": 1}
    assert read.is_whole


def test_text_with_a_bracket_is_no_json() -> None:
    with pytest.raises(FeedUnreadable, match="neither XML nor JSON"):
        RawRead(b"Error (code [3])")


# Formats


def test_records_may_be_attributes_only() -> None:
    items = Read(
        '<vacancies><vacancy id="5" title="Baker" url="https://a.example/5?a=1&amp;b=2"/>'
        '<vacancy id="6" title="Miller" url="https://a.example/6"/></vacancies>'
    ).items
    found = [(each.external_id, each.title) for each in items if isinstance(each, JobPosting)]
    assert found == [("5", "Baker"), ("6", "Miller")]


@pytest.mark.parametrize("root", ["feed", "rss"])
def test_a_root_that_other_formats_have_may_hold_jobs(root: str) -> None:
    found = job("<company>C</company>", root)
    assert (found.external_id, found.company) == ("1", "C")


@pytest.mark.parametrize(
    "text",
    [
        "<source><publisher>P</publisher><lastBuildDate>today</lastBuildDate></source>",
        "<source><jobs/></source>",
        "<jobs><count>0</count></jobs>",
    ],
)
def test_a_feed_without_a_job_is_a_feed(text: str) -> None:
    assert Read(text).items == []


def test_an_answer_about_an_error_is_no_feed() -> None:
    with pytest.raises(FeedUnreadable):
        Read("<response><status>500</status></response>")


@pytest.mark.parametrize("name", ["hits", "job_posts", "allJobs", "SearchResultItems"])
def test_a_list_in_json_has_many_names(name: str) -> None:
    found = Read(f'{{"matchingJobs": [7], "{name}": [{{"id": "1", "title": "T"}}]}}').only()
    assert found.title == "T"


@pytest.mark.parametrize("name", ["content", "list", "elements", "ads", "result"])
def test_a_list_that_is_called_so_goes_before_one_that_may_be_something_else(name: str) -> None:
    other = f'"{name}": [{{"id": "1", "name": "Not a job"}}]'
    assert Read(f'{{{other}, "jobs": [{{"id": "2", "title": "T"}}]}}').only().title == "T"


@pytest.mark.parametrize("name", ["payload", "body", "d", "_embedded"])
def test_an_object_without_a_list_is_passed_over(name: str) -> None:
    found = Read(f'{{"{name}": {{"page": 1}}, "jobs": [{{"id": "2", "title": "T"}}]}}').only()
    assert found.title == "T"


def test_we_work_remotely_has_remote_work_only() -> None:
    found = rss_item("<guid>1</guid><region>USA Only</region>", "<title>We Work Remotely</title>")
    assert (found.location, found.remote) == ("USA Only", True)


def test_an_item_s_source_is_its_company_if_nothing_else_is() -> None:
    assert rss_item("<guid>1</guid><source>Acme</source>").company == "Acme"
    creator = "<guid>1</guid><source>Aggregator</source><dc:creator>Acme</dc:creator>"
    assert rss_item(creator).company == "Acme"


def test_a_company_of_several_parts_is_its_name() -> None:
    assert job("<company><id>99</id><title>A &amp; B</title></company>").company == "A & B"


def test_places_and_dates_by_more_names() -> None:
    found = job(
        "<locationRestrictions>Canada</locationRestrictions>"
        "<releasedDate>2024-05-01T00:00:00Z</releasedDate>"
    )
    assert found.location == "Canada"
    assert found.published_at == datetime(2024, 5, 1, tzinfo=UTC)
    assert job("<datum>05.03.2024</datum>").published_at == datetime(2024, 3, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Permanent Full Time", "permanent, full-time"),
        ("parttime_permanent", "part-time, permanent"),
        ("Full-time Temporary, Part time", "full-time, temporary, part-time"),
        ("Full moon shift", "Full moon shift"),
    ],
)
def test_kinds_of_employment_one_after_the_other(text: str, expected: str) -> None:
    assert job(f"<jobtype>{text}</jobtype>").job_type == expected


# Pay and dates


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
    ],
)
def test_pay_of_several_parts(inner: str, expected: Salary) -> None:
    assert job(inner).salary == expected


def test_pay_whose_name_says_the_period() -> None:
    found = Read(
        '{"jobs": [{"id": 1, "jobTitle": "T", "annualSalaryMin": 50000, "annualSalaryMax": 70000,'
        ' "salaryCurrency": "EUR"}]}'
    ).only()
    assert found.salary == Salary(min=50000, max=70000, currency="EUR", period="year")


@pytest.mark.parametrize(
    ("text", "period"), [("SEK 40 000/mån", "month"), ("35-45k€ / an", "year")]
)
def test_periods_of_pay_in_more_languages(text: str, period: str) -> None:
    found = salary(text=text)
    assert found is not None
    assert found.period == period


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/Date(1709633700000)/", datetime(2024, 3, 5, 10, 15, tzinfo=UTC)),
        ("/Date(1709633700000+0100)/", datetime(2024, 3, 5, 10, 15, tzinfo=UTC)),
        ("Вт, 05 мар 2024 10:15:00 +0300", datetime(2024, 3, 5, 7, 15, tzinfo=UTC)),
        ("5 май 2024", datetime(2024, 5, 5, tzinfo=UTC)),
        ("5 березня 2024", datetime(2024, 3, 5, tzinfo=UTC)),
        ("Di, 05 Mrz 2024 10:15:00 +0100", datetime(2024, 3, 5, 9, 15, tzinfo=UTC)),
    ],
)
def test_dates_as_other_programs_and_languages_write_them(text: str, expected: datetime) -> None:
    assert parse_date(text) == expected


def test_a_tag_of_one_endless_word_is_passed_over() -> None:
    found = Read(f"<rss {'a' * 60_000}><channel><item><title>T</title><guid>1</guid></item>").only()
    assert found.title == "T"


# More boards


def test_names_with_hyphens_alone_do_not_make_it_remotive() -> None:
    found = job("<company-name>Acme</company-name><job-type>permanent</job-type><desc>Cook</desc>")
    assert (found.company, found.remote, found.description) == ("Acme", None, "Cook")


def test_remotive_is_known_by_what_it_says_of_places() -> None:
    found = job(
        "<company-name>Acme</company-name>"
        "<candidate-location-restriction>Europe</candidate-location-restriction>"
    )
    assert (found.location, found.remote) == ("Europe", True)


def test_a_date_may_be_in_parts() -> None:
    date = "<publishDate><day>11</day><month>12</month><year>2008</year></publishDate>"
    assert job(date).published_at == datetime(2008, 12, 11, tzinfo=UTC)


def test_pay_may_have_its_period_as_an_attribute() -> None:
    found = job('<salary periodicity="year" currency="€">90 000</salary>').salary
    assert found == Salary(min=90000, max=90000, currency="EUR", period="year", text="90 000")


def test_hr_xml_has_its_fields_deep_down() -> None:
    found = Read(
        "<PositionOpenings><PositionOpening xmlns='http://ns.hr-xml.example'>"
        "<PositionRecordInfo><Id><IdValue>77</IdValue></Id></PositionRecordInfo>"
        "<PositionPostings><PositionPosting><Id><IdValue>77</IdValue></Id>"
        "<Link>https://a.example/77</Link></PositionPosting></PositionPostings>"
        "<PositionProfile><PositionDetail><Company><Name>Acme</Name></Company>"
        "<PhysicalLocation><PostalAddress><Municipality>Bonn</Municipality></PostalAddress>"
        "</PhysicalLocation><PositionTitle>Cook</PositionTitle></PositionDetail>"
        "</PositionProfile></PositionOpening></PositionOpenings>"
    ).only()
    assert (found.external_id, found.title, found.job_url) == ("77", "Cook", "https://a.example/77")
    assert (found.company, found.city) == ("Acme", "Bonn")


def test_a_video_s_description_stands_in_its_group() -> None:
    media = 'xmlns:media="http://search.yahoo.com/mrss/"'
    group = "<media:group><media:description>A film</media:description></media:group>"
    found = entry(f"><id>1</id><title>T</title>{group}", "", media)
    assert found.description == "A film"


@pytest.mark.parametrize(
    ("place", "expected"),
    [("No remote", False), ("Non-remote", False), ("Remoto", True), ("praca zdalna", True)],
)
def test_places_that_are_remote_or_say_that_they_are_not(place: str, expected: bool) -> None:
    assert job(f"<location>{place}</location>").remote is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("£25k + bonus", (25000, 25000, "GBP")),
        ("$90,000+", (90000, None, "USD")),
        ("45-55 T€", (45000, 55000, "EUR")),
    ],
)
def test_pay_with_a_plus_and_in_thousands(text: str, expected: tuple[int, int | None, str]) -> None:
    found = salary(text=text)
    assert found is not None
    assert (found.min, found.max, found.currency) == expected


def test_an_end_tag_may_lack_its_bracket() -> None:
    found = rss_item("<guid>g5</guid\n<pubDate>Tue, 05 Mar 2024 10:00:00 GMT</pubDate>")
    assert found.external_id == "g5"
    assert found.published_at == datetime(2024, 3, 5, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("<![CDATA[R&D <![CDATA[Lead]]>]]>", "R&D Lead"),
        ("Cook &lt;xss onfocus=alert(1)&gt;now", "Cook now"),
    ],
)
def test_a_title_has_neither_sections_nor_handlers(title: str, expected: str) -> None:
    record = f"<item><title>{title}</title><guid>1</guid></item>"
    assert Read(f"<rss><channel>{record}</channel></rss>").only().title == expected


def test_what_stands_in_the_record_itself_goes_before_what_is_deeper() -> None:
    parts = (
        "<about><title>About us</title></about>"
        "<jobDescription><title>Tasks</title><text>&lt;p&gt;You cook&lt;/p&gt;</text>"
        "</jobDescription>"
    )
    before = f"<jobs><job><id>1</id><ad><sections>{parts}</sections></ad><title>Cook</title></job>"
    found = Read(f"{before}</jobs>").only()
    assert (found.title, found.description) == ("Cook", "<p>You cook</p>")


def test_categories_of_all_depths_are_taken() -> None:
    found = job("<category>A</category><more><category>B</category></more>")
    assert found.categories == ["A", "B"]
