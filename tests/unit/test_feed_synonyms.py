"""Records of boards without a format of their own: the common names of fields have to do."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from unit.feed_postings import ReadPostings, job

# Whole records

LAYOUTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "ids as attributes, dates with dots, a region for a place": (
        "generic",
        '<jobs><job id="1"><link>https://a.example/1</link><name>Cook</name><region>Kyiv</region>'
        "<salary>1000 USD</salary><pubdate>02.03.2024</pubdate><expire>02.04.2024</expire></job>"
        '<job id="2"><link>https://a.example/2</link><name>Maid</name></job></jobs>',
        {
            "externalId": "1",
            "title": "Cook",
            "location": "Kyiv",
            "publishedAt": "2024-03-02T00:00:00Z",
            "expiresAt": "2024-04-02T00:00:00Z",
        },
    ),
    "one record, in a root of no known name": (
        "generic",
        "<trove><ad><id>7</id><url>https://t.example/7</url><title>Cook</title>"
        "<content>Text</content><city>Madrid</city><contract>indefinido</contract></ad></trove>",
        {"externalId": "7", "jobType": "permanent", "description": "Text", "location": "Madrid"},
    ),
    "RSS with places in a namespace of its own": (
        "rss",
        '<rss xmlns:tt="https://tt.example"><channel><item><title>Dev</title><guid>a</guid>'
        "<remoteStatus>fully</remoteStatus><tt:locations><tt:location><tt:name>HQ</tt:name>"
        "<tt:city>Oslo</tt:city><tt:country>Norway</tt:country></tt:location></tt:locations>"
        "<tt:department>IT</tt:department></item></channel></rss>",
        {"location": "Oslo, Norway", "city": "Oslo", "remote": True, "categories": ["IT"]},
    ),
    "RSS with a list of tags": (
        "rss",
        "<rss><channel><item><title>Dev</title><guid>r1</guid><company>C</company>"
        "<tags>dev, js</tags><location>Worldwide</location></item></channel></rss>",
        {"company": "C", "categories": ["dev", "js"], "remote": True},
    ),
    "pay in parts": (
        "indeed",
        "<source><job><title>Cook</title><jobid>5</jobid><dateposted>03/04/2024</dateposted>"
        "<salary><min>10</min><max>12</max><currency>USD</currency><period>hour</period></salary>"
        "</job></source>",
        {
            "externalId": "5",
            "salary": {"min": 10, "max": 12, "currency": "USD", "period": "hour"},
            "publishedAt": "2024-03-04T00:00:00Z",
        },
    ),
    "JSON whose title is called text": (
        "json-feed",
        '[{"id": "u1", "text": "Engineer", "hostedUrl": "https://l.example/1", "categories":'
        '{"location": "Paris", "commitment": "Full-time"}, "createdAt": 1710244800000,'
        '"description": "<div>Rich</div>"}]',
        {
            "title": "Engineer",
            "jobUrl": "https://l.example/1",
            "location": "Paris",
            "jobType": "full-time",
            "publishedAt": "2024-03-12T12:00:00Z",
        },
    ),
    "JSON with HTML that is escaped": (
        "json-feed",
        '{"jobs": [{"absolute_url": "https://g.example/1", "location": {"name": "Berlin"}, "id": 9,'
        '"title": "Eng", "content": "&lt;p&gt;Hi&lt;/p&gt;", "departments": [{"id": 5, "name":'
        '"R&D"}]}]}',
        {
            "externalId": "9",
            "location": "Berlin",
            "description": "<p>Hi</p>",
            "categories": ["R&D"],
        },
    ),
    "job before every name": (
        "json-feed",
        '{"data": [{"job_id": "7", "job_title": "X", "employer_name": "Org", "job_apply_link":'
        '"https://x.example/7", "job_is_remote": false, "job_city": "Reno", "job_min_salary": 30,'
        '"job_max_salary": 40, "job_salary_currency": "USD", "job_salary_period": "HOUR",'
        '"job_employment_type": "FULLTIME", "job_posted_at": "2024-03-12"}]}',
        {
            "externalId": "7",
            "jobUrl": "https://x.example/7",
            "remote": False,
            "city": "Reno",
            "salary": {"min": 30, "max": 40, "currency": "USD", "period": "hour"},
            "jobType": "full-time",
            "publishedAt": "2024-03-12T00:00:00Z",
        },
    ),
    "a page of Spring, with names that are fields": (
        "json-feed",
        '{"totalFound": 1, "content": [{"id": "7", "name": "X", "company": {"name": "Org"},'
        '"location": {"city": "Reno", "region": "NV"},'
        '"typeOfEmployment": {"label": "Full-time"}}]}',
        {"title": "X", "company": "Org", "location": "Reno, NV", "jobType": "full-time"},
    ),
    "German words in JSON": (
        "json-feed",
        '{"stellenangebote": [{"titel": "X", "refnr": "7", "arbeitgeber": "Org", "arbeitsort":'
        '{"plz": "1", "ort": "Ulm", "land": "Deutschland"}, "anstellungsart": "Vollzeit"}]}',
        {
            "externalId": "7",
            "company": "Org",
            "city": "Ulm",
            "location": "Ulm, Deutschland",
            "jobType": "full-time",
        },
    ),
    "a description of the position around its title": (
        "json-feed",
        '{"SearchResult": {"SearchResultItems": [{"MatchedObjectDescriptor": {"PositionID": "7",'
        '"PositionTitle": "X", "PositionURI": "https://x.example/7", "PositionSchedule":'
        '[{"Name": "Full-Time"}]}}]}}',
        {"externalId": "7", "title": "X", "jobUrl": "https://x.example/7", "jobType": "full-time"},
    ),
    "kinds of contract in JSON": (
        "json-feed",
        '{"results": [{"id": "7", "title": "X", "contract_time": "full_time", "contract_type":'
        '"permanent", "company": {"display_name": "Org"}}]}',
        {"company": "Org", "jobType": "full-time, permanent"},
    ),
    "Polish words": (
        "generic",
        "<oferty><oferta><id>7</id><stanowisko>X</stanowisko><firma>Org</firma><miasto>Ulm</miasto>"
        "<wynagrodzenie>5 000 zł</wynagrodzenie><data_publikacji>2024-03-12</data_publikacji>"
        "<opis>Text</opis></oferta></oferty>",
        {
            "title": "X",
            "company": "Org",
            "city": "Ulm",
            "salary": {"min": 5000, "max": 5000, "currency": "PLN", "text": "5 000 zł"},
            "publishedAt": "2024-03-12T00:00:00Z",
            "description": "Text",
        },
    ),
    "a place with its coordinates": (
        "generic",
        "<vacancies><vacancy><id>7</id><job-name>X</job-name><addresses><address>"
        "<location>Bonn</location><lng>7.1</lng></address></addresses></vacancy></vacancies>",
        {"title": "X", "location": "Bonn"},
    ),
    "a link that is empty, and its address behind it": (
        "rss",
        "<rss><channel><item><title>X</title><link/>https://x.example/7</item></channel></rss>",
        {"jobUrl": "https://x.example/7"},
    ),
    "the words of schema.org": (
        "json-feed",
        '{"items": [{"title": "X", "identifier": {"name": "ats", "value": "77"},'
        '"hiringOrganization": {"name": "Org"}, "jobLocation": {"address": {"addressLocality":'
        '"Rome", "addressCountry": "IT"}}, "baseSalary": {"currency": "EUR", "value": {"minValue":'
        '10, "maxValue": 12, "unitText": "HOUR"}}, "employmentType": ["FULL_TIME", "INTERN"]}]}',
        {
            "externalId": "77",
            "company": "Org",
            "location": "Rome, IT",
            "salary": {"min": 10, "max": 12, "currency": "EUR", "period": "hour"},
            "jobType": "full-time, internship",
        },
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_record_is_read_by_common_names(layout: str) -> None:
    name, feed, expected = LAYOUTS[layout]
    read = ReadPostings(feed)
    assert read.format == name
    shown = msgspec.to_builtins(read.items[0])
    assert {field: shown.get(field) for field in expected} == expected


UNKNOWN = """
<Stellenmarkt xmlns:x="urn:x"><Erstellt>2024</Erstellt>
<Anzeige Nr="1"><Stellenbezeichnung>Koch</Stellenbezeichnung><Arbeitgeber>Gasthof</Arbeitgeber>
<Job_URL>https://s.example/1</Job_URL><Ort>Graz</Ort><Beschreibung>Kochen</Beschreibung>
<Bewerbungsfrist>31.12.2024</Bewerbungsfrist></Anzeige>
<Anzeige Nr="2"><Stellenbezeichnung>Kellner</Stellenbezeichnung>
<Job_URL>https://s.example/2</Job_URL></Anzeige></Stellenmarkt>
"""


def test_unknown_xml_is_read_by_common_names() -> None:
    read = ReadPostings(UNKNOWN)
    assert read.format == "generic"
    shown = msgspec.to_builtins(read.items[0])
    assert shown["title"] == "Koch"
    assert shown["company"] == "Gasthof"
    assert shown["jobUrl"] == "https://s.example/1"
    assert shown["location"] == "Graz"
    assert shown["expiresAt"] == "2024-12-31T00:00:00Z"
    assert len(read.items) == 2


@pytest.mark.parametrize(
    ("feed", "title", "reason"),
    [
        (
            "<root><meta>x</meta><row><a><name>Cook</name></a><url>https://a.example/1</url></row>"
            "<row><a><name>Maid</name></a><url>https://a.example/2</url></row></root>",
            "Cook",
            "fields in a container that no path names",
        ),
        (
            "<vacancies><vacancy id='1' title='Cook' url='https://a.example/1'><title>Cook</title>"
            "<url>https://a.example/1</url></vacancy></vacancies>",
            "Cook",
            "one record only",
        ),
        (
            "<list><thing><job_title>Cook</job_title><job_url>https://a.example/1</job_url></thing>"
            "<thing><job_title>Maid</job_title><job_url>https://a.example/2</job_url></thing></list>",
            "Cook",
            "a record of no known name: what repeats",
        ),
    ],
)
def test_records_of_unknown_xml_are_found(feed: str, title: str, reason: str) -> None:
    read = ReadPostings(feed)
    assert read.format == "generic"
    shown = msgspec.to_builtins(read.items[0])
    assert (shown["title"], shown["jobUrl"]) == (title, "https://a.example/1"), reason


def test_the_fields_of_hr_xml_are_found_deep_in_its_records() -> None:
    found = ReadPostings(
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


# Single fields

NAMES: list[tuple[str, str, object]] = [
    ("<provincie>Utrecht</provincie>", "region", "Utrecht"),
    ("<wojewodztwo>mazowieckie</wojewodztwo>", "region", "mazowieckie"),
    ("<kraj>Polska</kraj>", "country", "Polska"),
    ("<raison-sociale>Pain</raison-sociale>", "company", "Pain"),
    ("<snippet>Weld</snippet>", "description", "Weld"),
    ("<employment_type_code>parttime</employment_type_code>", "job_type", "part-time"),
    ("<requisitionid>9</requisitionid>", "external_id", "1"),
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
    ("<locationRestrictions>Canada</locationRestrictions>", "location", "Canada"),
    (
        "<releasedDate>2024-05-01T00:00:00Z</releasedDate>",
        "published_at",
        datetime(2024, 5, 1, tzinfo=UTC),
    ),
    ("<datum>05.03.2024</datum>", "published_at", datetime(2024, 3, 5, tzinfo=UTC)),
]


@pytest.mark.parametrize(("inner", "field", "expected"), NAMES)
def test_a_field_is_found_by_its_common_names(inner: str, field: str, expected: object) -> None:
    assert getattr(job(inner), field) == expected


def test_german_names_are_known_with_and_without_umlauts() -> None:
    fields = "<titel>Koch</titel><veröffentlicht_am>14.03.2025</veröffentlicht_am>"
    for until in ("gueltig_bis", "gültig-bis"):
        posting = ReadPostings(
            f"<stellen><stelle><referenznummer>7</referenznummer>{fields}"
            f"<{until}>30.04.2025</{until}></stelle></stellen>"
        ).only()
        assert posting.external_id == "7"
        assert str(posting.published_at) == "2025-03-14 00:00:00+00:00"
        assert str(posting.expires_at) == "2025-04-30 00:00:00+00:00"
