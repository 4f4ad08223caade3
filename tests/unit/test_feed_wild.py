# ruff: noqa: RUF001  the letters of many languages look alike
"""Feeds of boards and applicant systems as they are found: their names for fields, and encodings
that nobody declared."""

from __future__ import annotations

import gzip
import io
import json
from datetime import UTC, datetime

import pytest

from feed_postings import Read
from unit.feed_bodies import Read as RawRead
from unit.feed_bodies import feed, item
from webloom.domain.errors import FeedUnreadable
from webloom.parsing.feeds.dates import is_month_first, parse_date
from webloom.parsing.feeds.guessing import guessed
from webloom.parsing.feeds.job_types import job_type
from webloom.parsing.feeds.records import Records
from webloom.parsing.feeds.salary import salary
from webloom.parsing.feeds.sanitise import Markup
from webloom.parsing.feeds.unpacking import Unpacked
from webloom.parsing.job_posting import JobPosting, Salary

LINK = "<url>https://a.example/1</url>"


def job(inner: str) -> JobPosting:
    return Read(f"<jobs><job><id>1</id><title>Cook</title>{LINK}{inner}</job></jobs>").only()


def json_job(**fields: object) -> JobPosting:
    record = {"id": 1, "title": "Cook", "url": "https://a.example/1", **fields}
    return Read(json.dumps({"jobs": [record]})).only()


# Encodings

TEXTS = {
    "cp932": "経理スタッフ（正社員）を募集しています。未経験の方も大歓迎です",
    "euc_jp": "経理スタッフ（正社員）を募集しています。未経験の方も大歓迎です",
    "gb18030": "负责公司核心产品的设计与开发，要求熟悉数据库和网络编程",
    "big5": "負責公司核心產品的設計與開發，需熟悉資料庫與網路程式",
    "cp949": "서버 개발과 운영을 담당하실 분을 찾고 있습니다. 많은 지원 바랍니다",
    "koi8-r": "Менеджер по продажам: работа с клиентами, холодные звонки",
    "cp1251": "Менеджер по продажам: работа с клиентами, холодные звонки",
}


@pytest.mark.parametrize("codec", TEXTS)
@pytest.mark.parametrize("declaration", ["", '<?xml version="1.0" encoding="UTF-8"?>'])
def test_what_is_said_to_be_utf8_and_is_not_is_known_by_its_bytes(
    codec: str, declaration: str
) -> None:
    text = TEXTS[codec]
    xml = f"{declaration}<rss><channel><item><title>{text}</title></item></channel></rss>"
    read = RawRead(xml.encode(codec))
    assert read.texts("title") == [text]
    assert read.repairs == {"wrong encoding": 1}


def test_json_in_another_encoding_is_known_by_its_bytes() -> None:
    text = TEXTS["gb18030"]
    found = Read(f'[{{"id": 1, "title": "{text}"}}]'.encode("gb18030")).only()
    assert found.title == text


@pytest.mark.parametrize(
    ("codec", "text"),
    [
        (
            "cp1252",
            "You’ll love it – don’t wait, it’s “great”, we’re hiring, they’ve said so • £30",
        ),
        ("cp1252", "Informações sobre a função: atenção às ações, corações, São João, três irmãos"),
        ("cp1252", "développé à Paris : été, déjà, créée, âgé, où, hôtel, sûr, naïf, forêt, gâté"),
        ("cp1254", "Çalışma arkadaşı arıyoruz, güçlü iletişim, öğrenci, müşteri ilişkileri, ığdır"),
        ("cp874", "รับสมัครพนักงานขาย ประจำสาขากรุงเทพ มีประสบการณ์อย่างน้อยหนึ่งปี เงินเดือนตามตกลง"),
        ("cp1256", "مطلوب مهندس برمجيات للعمل في شركة كبيرة في الرياض مع خبرة"),
        ("iso8859-2", "Poszukujemy księgowej, mile widziana znajomość języka, źródła, żółć, ćma"),
    ],
)
def test_an_encoding_is_guessed_only_where_it_is_plain(codec: str, text: str) -> None:
    assert guessed(f"<title>{text}</title>".encode(codec) * 20) is None


@pytest.mark.parametrize(
    "text", [*TEXTS.values(), "Café crème à Besançon, été, déjà, créé, hébergé, âgé, Noël, dîner"]
)
def test_a_few_stray_bytes_in_utf8_are_no_other_encoding(text: str) -> None:
    xml = f"<rss><channel><item><title>{text} @</title></item></channel></rss>"
    read = RawRead(xml.encode().replace(b"@", b"cr\xe8me"))
    assert read.texts("title") == [f"{text} crème"]


@pytest.mark.parametrize(
    ("codec", "language", "text"),
    [
        ("cp1250", "pl", "Księgowa w Łodzi – święta, źródła, żółć"),
        ("cp1250", "pl-PL", "Pracują, mają, są"),
        ("iso8859-2", "pl", "Księgowa w Łodzi, święta, źródła, żółć"),
        ("iso8859-2", "cs", "Řidič, žádná zkušenost není nutná"),
        ("cp1250", "cs", "Řidič, žádná zkušenost není nutná"),
        ("cp1253", "el", "Ζητείται υπάλληλος γραφείου με εμπειρία στην Αθήνα"),
        ("cp1254", "tr", "Çalışma arkadaşı, müşteri ilişkileri"),
        ("cp1255", "he", "דרוש מפתח תוכנה לחברה מובילה"),
    ],
)
def test_the_language_of_a_feed_tells_its_encoding(codec: str, language: str, text: str) -> None:
    xml = (
        f"<rss><channel><language>{language}</language>"
        f"<item><title>{text}</title></item></channel></rss>"
    )
    assert RawRead(xml.encode(codec)).texts("title") == [text]
    assert RawRead(xml.encode()).texts("title") == [text]


def test_a_declaration_needs_no_quotes() -> None:
    xml = "<?xml version=1.0 encoding=gb2312?><jobs><job><id>1</id><title>喆禾</title></job></jobs>"
    assert Read(xml.encode("gb18030")).only().title == "喆禾"


# Compressed twice


def test_gzip_within_gzip_is_unpacked() -> None:
    whole = gzip.compress(gzip.compress(feed(*map(item, range(300)))))
    read = RawRead(whole)
    assert len(read.items) == 300
    assert read.is_whole
    assert read.records.position == len(whole)


def test_gzip_within_gzip_that_is_cut_off_is_read_as_far_as_it_goes() -> None:
    body = feed(*(item(number, title=str(number**9).encode()) for number in range(1, 300)))
    for packed in (
        gzip.compress(gzip.compress(body)[:-100]),
        gzip.compress(gzip.compress(body))[:-100],
    ):
        read = RawRead(packed)
        assert 100 < len(read.items) < 300
        assert not read.is_whole


def test_neither_layer_of_gzip_gives_more_than_the_limit() -> None:
    bomb = gzip.compress(gzip.compress(b"<rss>" + b" " * 10_000_000))
    with pytest.raises(FeedUnreadable, match="larger than 1,000,000 bytes when it is decompressed"):
        RawRead(bomb, max_bytes=1_000_000)
    nothing = gzip.compress(gzip.compress(b"") * 100_000)
    with pytest.raises(FeedUnreadable, match="larger than 1,000,000 bytes when it is decompressed"):
        RawRead(nothing, max_bytes=1_000_000)


# Dates


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-10-05-07:00", datetime(2026, 10, 5, 7, tzinfo=UTC)),  # as XML Schema has it
        ("2026-10-05+02:00", datetime(2026, 10, 4, 22, tzinfo=UTC)),
        ("2026-10-05Z", datetime(2026, 10, 5, tzinfo=UTC)),
        ("2026年10月6日 15時30分", datetime(2026, 10, 6, 15, 30, tzinfo=UTC)),
        ("2026年10月6日(火) 9時", datetime(2026, 10, 6, 9, tzinfo=UTC)),
        ("2026년 10월 6일", datetime(2026, 10, 6, tzinfo=UTC)),
        ("令和8年10月5日", datetime(2026, 10, 5, tzinfo=UTC)),
        ("平成元年2月3日", datetime(1989, 2, 3, tzinfo=UTC)),
        ("平成30年2月3日", datetime(2018, 2, 3, tzinfo=UTC)),
        ("Пн, 05 жов 2026 09:00:00 +0300", datetime(2026, 10, 5, 6, tzinfo=UTC)),
        ("5 май 2026", datetime(2026, 5, 5, tzinfo=UTC)),
        ("6 říj 2026", datetime(2026, 10, 6, tzinfo=UTC)),
        ("06 Eki 2026", datetime(2026, 10, 6, tzinfo=UTC)),
    ],
)
def test_more_dates_are_read(text: str, expected: datetime) -> None:
    assert parse_date(text) == expected


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
def test_dates_that_can_be_read_in_one_way_only_tell_how_the_others_are_meant(
    dates: tuple[str, ...], expected: str, start: str
) -> None:
    end = "]]>" if start else ""
    records = (
        f"<job><id>{number}</id><title>T</title><date>{start}{date}{end}</date></job>"
        for number, date in enumerate(dates)
    )
    first = Read(f"<jobs>{''.join(records)}</jobs>").items[0]
    assert isinstance(first, JobPosting)
    assert f"{first.published_at:%Y-%m-%d}" == expected


def test_a_board_that_writes_the_day_first_is_believed_whatever_its_format() -> None:
    records = (
        f"<job><referencenumber>{date}</referencenumber><title>T</title><date>{date}</date></job>"
        for date in ("05/10/2026", "25/10/2026")
    )
    first = Read(f"<source>{''.join(records)}</source>", wanted="indeed").items[0]
    assert isinstance(first, JobPosting)
    assert first.published_at == datetime(2026, 10, 5, tzinfo=UTC)


def test_dates_within_a_text_tell_nothing_and_escaped_slashes_are_slashes() -> None:
    assert is_month_first(b"<description>Apply by 12/31/2026 please</description>") is None
    assert is_month_first(rb'{"date": "12\/31\/2026"}') is True
    assert is_month_first(b'{"date": "31/12/2026"}') is False


def test_records_are_read_again_when_their_dates_are_meant_otherwise() -> None:
    def context(date: str) -> list[object]:
        xml = f"<jobs><job><id>1</id><title>T</title><date>{date}</date></job></jobs>"
        return Records(Unpacked(io.BytesIO(xml.encode()), 10**6)).context

    assert context("10/25/2026") != context("25/10/2026")
    assert context("10/25/2026") == context("11/26/2026")


# Pay


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("от 250 000 тенге", Salary(min=250000, currency="KZT")),
        ("15000-25000元/月", Salary(min=15000, max=25000, currency="CNY", period="month")),
        ("5000 zl miesięcznie", Salary(min=5000, max=5000, currency="PLN", period="month")),
        ("Horaire de 12.5 Euros", Salary(min=12.5, max=12.5, currency="EUR", period="hour")),
        ("1.500 € mensili", Salary(min=1500, max=1500, currency="EUR", period="month")),
        ("2500 reais mensais", Salary(min=2500, max=2500, currency="BRL", period="month")),
        ("€ 28.000 annui", Salary(min=28000, max=28000, currency="EUR", period="year")),
        (
            "$1,000 sign-on bonus; $22 - $24 per hour",
            Salary(min=22, max=24, currency="USD", period="hour"),
        ),
        ("$60,000 + bonus", Salary(min=60000, max=60000, currency="USD")),
        ("20-EUR - 30-EUR/h", Salary(min=20, max=30, currency="EUR", period="hour")),
    ],
)
def test_more_pay_is_understood(text: str, expected: Salary) -> None:
    found = salary(text=text)
    assert found is not None
    assert (found.min, found.max) == (expected.min, expected.max)
    assert (found.currency, found.period) == (expected.currency, expected.period)


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
def test_the_name_of_an_amount_says_what_it_is_paid_for(inner: str, period: str | None) -> None:
    found = job(inner).salary
    assert found is not None
    assert found.period == period


# Names of fields


@pytest.mark.parametrize(
    ("inner", "field", "expected"),
    [
        ("<statecode>UT</statecode><statename>Utah</statename>", "region", "Utah"),
        ("<estado>SP</estado>", "region", "SP"),
        ("<Primary_Location>Basel</Primary_Location>", "location", "Basel"),
        ("<Time_Type>Part time</Time_Type>", "job_type", "part-time"),
        ("<wymiar_etatu>pełny etat</wymiar_etatu>", "job_type", "full-time"),
        ("<tipo_contrato>Temporário</tipo_contrato>", "job_type", "temporary"),
        ("<contratto>Tempo determinato</contratto>", "job_type", "contract"),
        ("<contrat>Contrat à durée indéterminée</contrat>", "job_type", "permanent"),
        ("<RemoteIndicator>true</RemoteIndicator>", "remote", True),
        ("<departmentLabel>Fields</departmentLabel>", "categories", ["Fields"]),
        ("<Job_Family>Research</Job_Family>", "categories", ["Research"]),
        ("<DescriptionTeaser>Weld</DescriptionTeaser>", "description", "Weld"),
        ("<externalDescriptionHTML>Weld</externalDescriptionHTML>", "description", "Weld"),
        (
            "<Posting_Start_Date>2026-10-05Z</Posting_Start_Date>",
            "published_at",
            datetime(2026, 10, 5, tzinfo=UTC),
        ),
        (
            "<close_at>2026-11-30 23:00:00 UTC</close_at>",
            "expires_at",
            datetime(2026, 11, 30, 23, tzinfo=UTC),
        ),
    ],
)
def test_more_names_are_known(inner: str, field: str, expected: object) -> None:
    assert getattr(job(inner), field) == expected


def test_accents_do_not_hide_a_kind_of_employment() -> None:
    assert job_type(["Estágio", "Temps partiel", "Bénévole"]) == "internship, part-time, volunteer"
    assert job_type(["Öffentlich"]) == "Öffentlich"


def test_an_attribute_can_be_the_name_of_a_field() -> None:
    found = job(
        '<Classifications><Classification name="Location">Perth, WA</Classification>'
        '<Classification name="Work Type">Permanent</Classification></Classifications>'
        '<field name="Company Name">Acme</field><field name="">x</field><field>y</field>'
    )
    assert (found.location, found.job_type, found.company) == ("Perth, WA", "permanent", "Acme")
    for attribute in ('code="7"', 'name="Coal"'):
        plain = job(f"<classification {attribute}>Mining</classification>")
        assert plain.categories == ["Mining"]


def test_other_places_and_other_jobs_are_not_the_posting_s_own() -> None:
    found = json_job(
        address={"postalAddress": {"addressLocality": "Houston"}},
        secondaryLocations=[{"address": {"addressLocality": "San Francisco"}}],
        relatedJobs=[{"company": "Another", "salary": "$1 an hour"}],
        additionalInformation={"company": "Acme"},
    )
    assert (found.city, found.company, found.salary) == ("Houston", "Acme", None)


def test_categories_can_be_an_object() -> None:
    categories = {"commitment": "Contract", "department": "IT", "location": "Rome", "team": "Data"}
    found = json_job(categories=categories)
    assert found.categories == ["IT", "Data"]
    assert (found.location, found.job_type) == ("Rome", "contract")


def test_a_graph_of_linked_data_is_a_list_of_postings() -> None:
    postings = [
        {
            "@type": "JobPosting",
            "title": "Ranger",
            "identifier": {"@type": "PropertyValue", "value": "PK-9"},
            "hiringOrganization": {"@type": "Organization", "name": "Parks"},
            "baseSalary": {
                "currency": "CAD",
                "value": {"minValue": 27.5, "maxValue": 33, "unitText": "HOUR"},
            },
        }
    ]
    found = Read(json.dumps({"@context": "https://schema.org", "@graph": postings})).only()
    assert (found.external_id, found.title, found.company) == ("PK-9", "Ranger", "Parks")
    assert found.salary == Salary(min=27.5, max=33, currency="CAD", period="hour")
    listed = [{"@type": "ListItem", "position": 1, "item": postings[0]}]
    found = Read(json.dumps({"@type": "ItemList", "itemListElement": listed})).only()
    assert found.external_id == "PK-9"


RECORD = {"id": 1, "title": "Cook", "employer": {"name": "Inn"}, "creationDate": 1791187200000}


@pytest.mark.parametrize(
    "document",
    [
        {"numberRecords": 1, "jvs": [RECORD]},
        {"terms": [{"id": 7, "title": "Food", "description": "All"}], "posts": [RECORD]},
        {
            "posts": [{**RECORD, "title": "Old"}],
            "jobs": [RECORD],
        },  # a name that is known goes first
    ],
)
def test_a_list_by_any_name_is_known_by_the_object_that_it_begins_with(
    document: dict[str, object],
) -> None:
    found = Read(json.dumps(document)).only()
    assert (found.title, found.company) == ("Cook", "Inn")
    assert found.published_at == datetime(2026, 10, 5, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    "entry", [{"id": 1, "title": "Food"}, {"id": 1, "company": "Inn"}, {"title": "Food", "date": 1}]
)
def test_a_list_by_any_name_of_something_else_is_no_feed(entry: dict[str, object]) -> None:
    with pytest.raises(FeedUnreadable):
        Read(json.dumps({"terms": [entry]}))


def test_a_place_in_a_list_of_places_has_its_parts() -> None:
    found = json_job(locations=[{"name": "Main", "city": "Kassel", "countryName": "Deutschland"}])
    assert (found.city, found.country) == ("Kassel", "Deutschland")
    assert found.location == "Kassel, Deutschland"


def test_the_date_in_utc_goes_before_the_local_one() -> None:
    found = json_job(date="2026-10-05T11:00:00", date_gmt="2026-10-05T09:00:00")
    assert found.published_at == datetime(2026, 10, 5, 9, tzinfo=UTC)


# Floods


def test_markup_that_never_ends_is_read_once() -> None:
    """Looked for anew at every sign, the end of a million of them took a quarter of an hour."""
    assert Markup().simplified("<" * 1_000_000) is None


def test_broken_items_far_from_the_beginning_are_told_apart() -> None:
    good = {"id": 1, "title": "Cook", "url": "https://a.example/1", "description": "x" * 20_000}
    broken = '{"id": 2, "title": Waiter}'
    text = f'{{"jobs":[{json.dumps(good)},{broken},{json.dumps(good | {"id": 3})}]}}'
    read = RawRead(text.encode())
    assert read.texts("id") == ["1", "3"]
    [failure] = read.failures
    assert failure.sample.startswith(broken)
