from __future__ import annotations

import gzip
import hashlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unit.feed_postings import SOURCE, ReadPostings
from webloom.parsing.feeds.element import Element, Head
from webloom.parsing.feeds.formats import FORMATS, detect
from webloom.parsing.feeds.job_types import job_type
from webloom.parsing.feeds.mapping import FIELDS, check_mapping
from webloom.parsing.feeds.normalise import DATE_NOT_READ, Normaliser, Rejected
from webloom.parsing.job_posting import JobPosting

# Beside the checkout, if there are any; they belong to their publishers.
REAL_FEEDS = Path(__file__).parents[3] / "shared" / "data" / "feeds"


def record(**texts: str) -> Element:
    element = Element("job")
    for name, text in texts.items():
        element.children.append(Element(name.lower(), text=text))
    return element


def normaliser(name: str = "generic", *, mapping: dict[str, str] | None = None) -> Normaliser:
    head = Head("jobs", {}, ["jobs"])
    return Normaliser(
        detect(head, name), head, source_url=SOURCE, source_name="Board", mapping=mapping or {}
    )


def posting(**texts: str) -> JobPosting:
    return normaliser().posting(record(**{"id": "1", "title": "Cook", **texts}))


FIELD_TABLE: list[tuple[dict[str, str], str, Any, str]] = [
    ({"title": " Chef\n&amp; <b>Cook</b> "}, "title", "Chef & Cook", "one line, no markup"),
    ({"title": "x" * 5000}, "title", "x" * 999 + "…", "bounded"),
    ({"url": "https://a.example/ü?a b"}, "job_url", "https://a.example/ü?a%20b", "a blank"),
    ({"url": "https://a.example/?a=1&amp;b=2"}, "job_url", "https://a.example/?a=1&b=2", "escaped"),
    ({"url": "/x/1"}, "job_url", "https://board.example/x/1", "relative"),
    ({"url": "//a.example/1"}, "job_url", "https://a.example/1", "without its scheme"),
    ({"url": "www.a.example/1"}, "job_url", "https://www.a.example/1", "as people write it"),
    ({"url": "HTTPS://A.example/1"}, "job_url", "HTTPS://A.example/1", "capitals"),
    ({"url": "https://a.example/\n 1"}, "job_url", "https://a.example/%201", "a line break"),
    ({"url": "javascript:x()"}, "job_url", None, "no web address"),
    ({"url": "mailto:a@a.example"}, "job_url", None, "no web address"),
    ({"url": "https:///x"}, "job_url", None, "no host"),
    ({"url": "http://[broken"}, "job_url", "http://[broken", "odd, and kept as it is"),
    ({"city": "Bonn", "country": "DE"}, "location", "Bonn, DE", "composed of its parts"),
    ({"city": "Rom", "state": "Rom"}, "location", "Rom", "each part once"),
    ({"location": "Bonn", "country": "DE"}, "location", "Bonn", "as it is given"),
    ({"location": "Remote (EU)"}, "remote", True, "a word of the location"),
    ({"location": "Worldwide"}, "remote", True, "a word of the location"),
    ({"location": "Hybrid, Bonn"}, "remote", False, "partly is not remote"),
    ({"location": "Paris (télétravail partiel)"}, "remote", False, "partly, in French"),
    ({"location": "Paris, temps partiel"}, "remote", None, "part-time is something else"),
    ({"jobtype": "Полная занятость"}, "job_type", "full-time", "Russian"),
    ({"location": "Bonn"}, "remote", None, "unknown"),
    ({"location": "No remote"}, "remote", False, "it says that it is not"),
    ({"location": "Non-remote"}, "remote", False, "with a hyphen"),
    ({"location": "Remoto"}, "remote", True, "Spanish, Portuguese"),
    ({"location": "praca zdalna"}, "remote", True, "Polish"),
    ({"remote": "1"}, "remote", True, "a flag"),
    ({"remote": "no", "location": "Remote"}, "remote", False, "a flag goes before words"),
    ({"remotetype": "Fully remote"}, "remote", True, "Indeed's word"),
    ({"joblocationtype": "TELECOMMUTE"}, "remote", True, "schema.org's word"),
    ({"workplacetype": "On-site"}, "remote", False, "LinkedIn's word"),
    ({"jobtype": "Remote"}, "remote", True, "some boards have no other place for it"),
    ({"jobtype": "FULL_TIME"}, "job_type", "full-time", "one name for each"),
    ({"jobtype": "Full Time, Part-time"}, "job_type", "full-time, part-time", "several"),
    ({"jobtype": "Vollzeit/Teilzeit"}, "job_type", "full-time, part-time", "German"),
    ({"jobtype": "Contract position"}, "job_type", "contract", "with a word behind"),
    ({"jobtype": "Apprenticeship"}, "job_type", "Apprenticeship", "unknown: as it is"),
    ({"jobtype": "Permanent Full Time"}, "job_type", "permanent, full-time", "one after another"),
    ({"jobtype": "parttime_permanent"}, "job_type", "part-time, permanent", "an underscore"),
    (
        {"jobtype": "Full-time Temporary, Part time"},
        "job_type",
        "full-time, temporary, part-time",
        "two, and a third behind a comma",
    ),
    ({"jobtype": "Full moon shift"}, "job_type", "Full moon shift", "a word of one is not enough"),
    ({"tags": "a, b,a ,"}, "categories", ["a", "b"], "a list, each once"),
    ({"category": "Health, Safety"}, "categories", ["Health, Safety"], "one category"),
    ({"pubdate": "12.03.2024"}, "published_at", datetime(2024, 3, 12, tzinfo=UTC), "a date"),
    ({"description": "a\x00b\ud800"}, "description", "ab", "what databases refuse"),
    ({"company": "A\x01B"}, "company", "AB", "control characters"),
    ({"description": "a&#12;b &lt;"}, "description", "ab <", "nor what entities hide"),
]


@pytest.mark.parametrize(("texts", "field", "expected", "reason"), FIELD_TABLE)
def test_a_value_is_normalised(
    texts: dict[str, str], field: str, expected: object, reason: str
) -> None:
    assert getattr(posting(**texts), field) == expected, reason


def test_accents_do_not_hide_a_kind_of_employment() -> None:
    assert job_type(["Estágio", "Temps partiel", "Bénévole"]) == "internship, part-time, volunteer"
    assert job_type(["Öffentlich"]) == "Öffentlich"


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        ({"id": "1"}, "it has no title"),
        ({"id": "1", "title": " <b> </b> "}, "it has no title"),
        ({"id": "1", "title": "\x00"}, "it has no title"),
        ({"title": "Cook"}, "it has neither an id nor a link"),
        ({"title": "Cook", "url": "ftp://x"}, "it has no id, and its link is not a web address"),
    ],
)
def test_a_record_that_lacks_something_says_what(texts: dict[str, str], reason: str) -> None:
    with pytest.raises(Rejected) as caught:
        normaliser().posting(record(**texts))
    assert caught.value.reason == reason


def test_a_sample_shows_what_there_was_as_plain_text() -> None:
    lacking = record(company="A &amp; B", description="<p>Long</p> " + "story " * 500)
    lacking.attributes["nr"] = "7"
    with pytest.raises(Rejected) as caught:
        normaliser().posting(lacking)
    assert caught.value.sample.startswith("company: A & B; description: Long story")
    assert "@nr: 7" in caught.value.sample
    assert len(caught.value.sample) <= 500
    with pytest.raises(Rejected) as caught:
        normaliser().posting(Element("job"))
    assert caught.value.sample == "an empty record"


def test_a_date_that_can_t_be_read_leaves_the_posting_without_one() -> None:
    reader = normaliser()
    found = reader.posting(record(id="1", title="Cook", date="99999-01-01", expires="never"))
    assert (found.published_at, found.expires_at) == (None, None)
    assert reader.notes == {DATE_NOT_READ: 2}


def test_the_dedupe_key_is_of_the_source_and_the_id_or_else_the_link() -> None:
    by_id = posting(url="https://a.example/1")
    by_link = normaliser().posting(record(title="Cook", url="https://a.example/1"))
    assert by_id.dedupe_key == hashlib.sha1(f"{SOURCE}|1".encode()).hexdigest()
    expected = hashlib.sha1(f"{SOURCE}|https://a.example/1".encode()).hexdigest()
    assert by_link.dedupe_key == expected


def test_long_ids_stay_apart() -> None:
    first, second = posting(id="x" * 5000 + "1"), posting(id="x" * 5000 + "2")
    assert first.external_id is not None
    assert len(first.external_id) <= 500
    assert first.dedupe_key != second.dedupe_key


def test_the_content_hash_is_the_same_in_every_version() -> None:
    full = posting(
        company="C", location="Bonn", jobtype="full-time", salary="50k EUR", tags="a,b",
        description="Text", pubdate="2024-03-12", expires="2024-04-12", remote="yes",
    )  # fmt: skip
    assert full.content_hash == "548d92573abbaaf7101a20529b3819d1"


def test_the_content_hash_depends_on_what_a_posting_says_and_on_nothing_else() -> None:
    base = posting(company="C", city="Bonn")
    assert posting(city="Bonn", company="C").content_hash == base.content_hash
    assert posting(city="Bonn", company=" C ", unknown="x").content_hash == base.content_hash
    changes = {
        "title": "Chef", "company": "D", "city": "Rom", "state": "NRW", "country": "DE",
        "location": "Rom", "url": "/1", "remote": "no", "jobtype": "intern", "salary": "5",
        "category": "a", "tags": "a,b", "description": "Text", "date": "2024-01-01",
        "expires": "2024-01-01",
    }  # fmt: skip
    hashes = {
        posting(**{"company": "C", "city": "Bonn", name: text}).content_hash
        for name, text in changes.items()
    }
    assert len(hashes - {base.content_hash}) == len(changes)


MAPPED = """
<jobs xmlns:x="urn:x"><job Nr="17"><head><label>Cook</label></head><x:Firm>Inn</x:Firm>
<title>Not this</title><office><name>Graz</name></office><post>Body</post>
<description>Teaser</description><starts>2024-05-01</starts></job></jobs>
"""


def test_a_person_s_mapping_goes_before_everything_else() -> None:
    mapping = {
        "externalId": "@nr",
        "title": "HEAD/label",
        "company": "x:firm",
        "location": "office/name",
        "description": "post",
        "publishedAt": "starts",
    }
    check_mapping(mapping)
    found = ReadPostings(MAPPED, mapping=mapping).only()
    assert (found.external_id, found.title, found.company) == ("17", "Cook", "Inn")
    assert (found.location, found.description) == ("Graz", "Body")
    assert found.published_at == datetime(2024, 5, 1, tzinfo=UTC)
    assert ReadPostings(MAPPED, mapping={**mapping, "company": "Firm"}).only().company == "Inn"
    assert ReadPostings(MAPPED, mapping={**mapping, "title": "nothing"}).only().title == "Not this"


@pytest.mark.parametrize(
    ("path", "inner"),
    [
        ("a", "<a>Cook</a>"),
        ("a/b/@c", '<a><b c="Cook"/></a>'),
        ("@name", ""),
        ("job_listing:company", "<job_listing:company>Cook</job_listing:company>"),
        ("a-b.c/d_e", "<a-b.c><d_e>Cook</d_e></a-b.c>"),
        ("ä", "<ä>Cook</ä>"),
    ],
)
def test_a_field_is_read_from_the_path_that_its_mapping_names(path: str, inner: str) -> None:
    check_mapping({"title": path})
    own = "<guid>1</guid><title>Not this</title>"
    feed = f'<jobs xmlns:job_listing="urn:x"><job name="Cook">{own}{inner}</job></jobs>'
    assert ReadPostings(feed, mapping={"title": path}).only().title == "Cook"


@pytest.mark.parametrize(
    "path", ["", "/", "a//b", "@a/b", "a b", "a/@", "a[1]", "x:y:z", "a" * 300]
)
def test_a_path_that_is_not_one_is_refused_with_a_sentence(path: str) -> None:
    with pytest.raises(ValueError, match="is not a path to map title from; write element names"):
        check_mapping({"title": path})


def test_an_unknown_field_is_refused_with_the_names_of_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'titel' can't be mapped: .* externalId, title, jobUrl"):
        check_mapping({"titel": "a"})


NAMES = st.sampled_from(
    ["id", "guid", "title", "link", "url", "salary", "location", "pubdate", "description",
     "company", "category", "jobtype", "remote", "city", "salarymin", "jobdescriptions", "author",
     "other"]
)  # fmt: skip
TEXTS = st.text(max_size=30) | st.sampled_from(
    [
        "https://a.example/1",
        "<p>x</p>",
        "&lt;",
        "\ud800",
        "\x00",
        "2024-03-12",
        "$5k",
        "//[",
        "http://[",
    ]
)


@st.composite
def elements(draw: st.DrawFn, depth: int = 2) -> Element:
    element = Element(draw(NAMES), draw(st.sampled_from(["", "", "dc", "job_listing", "x"])))
    element.text = draw(TEXTS)
    element.attributes = draw(
        st.dictionaries(
            st.sampled_from(["href", "rel", "id", "xml:base", "term"]), TEXTS, max_size=2
        )
    )
    if depth:
        element.children = draw(st.lists(elements(depth - 1), max_size=6 if depth == 2 else 2))
    if element.children:
        element.markup = draw(st.none() | TEXTS)
    return element


def normalisers() -> st.SearchStrategy[Normaliser]:
    every = [normaliser(name) for name in FORMATS]
    return st.sampled_from([*every, normaliser(mapping=dict.fromkeys(FIELDS, "x:other/@id"))])


@given(elements(), st.deferred(normalisers))
def test_any_element_is_a_posting_or_rejected(element: Element, reader: Normaliser) -> None:
    found: JobPosting | None = None
    sample = ""
    try:
        found = reader.posting(element)
    except Rejected as rejected:
        sample = rejected.sample
    assert len(sample.encode()) <= 4 * 500
    encoded = msgspec.json.encode(found)
    assert msgspec.json.decode(encoded, type=JobPosting | None) == found
    assert b"\\u0000" not in encoded


@pytest.mark.skipif(not REAL_FEEDS.is_dir(), reason="the real feeds are not here")
def test_real_feeds_give_postings_with_title_link_and_date() -> None:
    for path in sorted(REAL_FEEDS.glob("*.gz")):
        read = ReadPostings(gzip.decompress(path.read_bytes()))
        found = [item for item in read.items if isinstance(item, JobPosting)]
        assert all(item.job_url and item.published_at for item in found), path.name
        reasons = {item.reason for item in read.items if not isinstance(item, JobPosting)}
        assert reasons <= {"it has no title"}, path.name
        assert found
