"""Which part of a record is which field, where several could be it."""

from __future__ import annotations

import base64

import pytest

from unit.feed_postings import ReadPostings, atom_entry, job, json_job, rss_item

# Companies


@pytest.mark.parametrize(
    ("elements", "expected"),
    [
        ("<author>jobs@a.example (Acme Ltd)</author>", "Acme Ltd"),
        ("<author>jobs@a.example</author>", None),
        ("<author>admin</author>", None),
        ("<author>Jo</author><company>B@B Hotels</company>", "B@B Hotels"),
        ("<author>Jo</author><x:company>Acme</x:company>", "Acme"),
    ],
)
def test_the_author_of_an_item_is_the_company_where_no_other_is_named(
    elements: str, expected: str | None
) -> None:
    feed = f"<rss><channel><item><title>T</title><guid>1</guid>{elements}</item></channel></rss>"
    assert ReadPostings(feed).only().company == expected


def test_the_source_of_an_item_is_its_company_where_no_other_is_named() -> None:
    assert rss_item("<guid>1</guid><source>Acme</source>").company == "Acme"
    creator = "<guid>1</guid><source>Aggregator</source><dc:creator>Acme</dc:creator>"
    assert rss_item(creator).company == "Acme"


def test_a_company_with_several_parts_is_its_name() -> None:
    assert job("<company><id>99</id><title>A &amp; B</title></company>").company == "A & B"


# Descriptions


def in_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


WOVEN = "<p>Woven by händ</p>"
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n\x00\x00\x01").decode()
CONTENT: list[tuple[str, str, str | None, str]] = [
    ("application/octet-stream", in_base64(WOVEN), WOVEN, "bytes that are text"),
    ("application/octet-stream", f"\n  {in_base64(WOVEN)[:9]}\n  {in_base64(WOVEN)[9:]}\n", WOVEN,
     "broken into lines"),
    ("application/rtf", in_base64("a text"), "a text", "another media type"),
    ("application/json", in_base64("a text").rstrip("="), "a text", "without its padding"),
    ("image/png", PNG, None, "a picture"),
    ("application/octet-stream", PNG, None, "bytes that are not text"),
    ("application/octet-stream", "A plain text, after all.", "A plain text, after all.",
     "not Base64 after all"),
    ("application/octet-stream", "A" * 6_000_004, None, "too long"),
    ("text/plain", "d2VhdmVy", "d2VhdmVy", "a text that looks like Base64"),
    ("text/x-woven; charset=utf-8", "d2VhdmVy", "d2VhdmVy", "another kind of text"),
    ("html", "d2VhdmVy", "d2VhdmVy", "HTML that looks like Base64"),
    ("application/xml", "d2VhdmVy", "d2VhdmVy", "XML that looks like Base64"),
    ("application/xhtml+xml", "d2VhdmVy", "d2VhdmVy", "another XML that looks like Base64"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "content", "expected"), [row[:3] for row in CONTENT], ids=[row[3] for row in CONTENT]
)
def test_content_of_a_media_type_that_is_neither_text_nor_xml_is_base64(
    kind: str, content: str, expected: str | None
) -> None:
    entry = f"><id>1</id><title>T</title><content type='{kind}'>{content}</content>"
    assert atom_entry(entry).description == expected


def test_atom_3_says_base64_by_its_mode() -> None:
    content = f"<content mode='base64' type='text/html'>{in_base64(WOVEN)}</content>"
    assert atom_entry(f"><id>1</id><title>T</title>{content}").description == WOVEN


def test_content_that_is_not_text_gives_way_to_the_summary() -> None:
    content = f"<summary>In short</summary><content type='image/png'>{PNG}</content>"
    assert atom_entry(f"><id>1</id><title>T</title>{content}").description == "In short"


# Places and categories


def test_the_parts_of_a_place_in_a_list_are_read() -> None:
    found = json_job(locations=[{"name": "Main", "city": "Kassel", "countryName": "Deutschland"}])
    assert (found.city, found.country) == ("Kassel", "Deutschland")
    assert found.location == "Kassel, Deutschland"


def test_further_places_and_related_jobs_are_ignored() -> None:
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


def test_categories_of_all_depths_are_taken() -> None:
    found = job("<category>A</category><more><category>B</category></more>")
    assert found.categories == ["A", "B"]


def test_a_category_and_tags_of_json_are_all_taken() -> None:
    body = '{"jobs": [{"id": 1, "title": "A", "category": "Dev", "tags": ["x", "y, z"]}]}'
    assert ReadPostings(body).only().categories == ["Dev", "x", "y, z"]


# Depth


def test_a_field_of_the_record_itself_goes_before_a_deeper_one() -> None:
    parts = (
        "<about><title>About us</title></about>"
        "<jobDescription><title>Tasks</title><text>&lt;p&gt;You cook&lt;/p&gt;</text>"
        "</jobDescription>"
    )
    before = f"<jobs><job><id>1</id><ad><sections>{parts}</sections></ad><title>Cook</title></job>"
    found = ReadPostings(f"{before}</jobs>").only()
    assert (found.title, found.description) == ("Cook", "<p>You cook</p>")


def test_a_title_within_a_description_is_not_the_postings() -> None:
    found = job("<description><part><name>About</name></part><city>Ulm</city></description>")
    assert (found.title, found.city) == ("Cook", "Ulm")
    assert job("<description><p>In</p><city>Ulm</city></description>").city is None


def test_fields_within_a_description_of_elements_are_found() -> None:
    place = "<Municipality>Kiel</Municipality><CountryCode>DE</CountryCode>"
    posting = ReadPostings(
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


def test_the_description_of_a_video_is_found_in_its_group() -> None:
    media = 'xmlns:media="http://search.yahoo.com/mrss/"'
    group = "<media:group><media:description>A film</media:description></media:group>"
    found = atom_entry(f"><id>1</id><title>T</title>{group}", "", media)
    assert found.description == "A film"


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
