"""Feeds in JSON: where their items are, what becomes of them, and what a defect costs."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import msgspec
import pytest

from unit.feed_bodies import ReadRecords, text_of, tree_of
from unit.feed_postings import ReadPostings
from webloom.parsing.feeds.element import Element
from webloom.parsing.feeds.encoding import Encoding, RecordDecoder
from webloom.parsing.feeds.json_items import JsonItems
from webloom.parsing.feeds.repairs import Repairs
from webloom.parsing.feeds.scan import Unreadable
from webloom.parsing.job_posting import JobPosting, Salary

JSON = json.dumps(
    {
        "version": "https://jsonfeed.org/version/1.1",
        "title": "Jobs",
        "hubs": [{"url": "x"}],
        "items": [
            {"id": 1, "title": 'Caf\u00e9 \U0001f600 \\ "', "tags": ["a", ["b", None], "c"]},
            {"id": "2", "salary": {"min": 1e3, "max": 12345678901234567890}, "remote": True},
            {},
        ],
        "expired": False,
    },
    ensure_ascii=False,
).encode()


def json_items(first: bytes, *rest: bytes) -> tuple[list[object], Repairs, bool]:
    pieces = iter(rest)
    repairs = Repairs()
    decoder = RecordDecoder(Encoding(first, None), repairs)
    items = JsonItems(first, lambda _: next(pieces, b""), decoder=decoder, repairs=repairs)
    read: list[object] = [
        tree_of(each) if isinstance(each, Element) else each for each in items.items()
    ]
    return read, repairs, items.is_whole


def test_where_json_is_cut_changes_nothing() -> None:
    expected = json_items(JSON)
    assert expected[2]
    for cut in range(1, len(JSON)):
        assert json_items(JSON[:cut], JSON[cut:]) == expected, cut
    assert json_items(JSON[:1], *[JSON[at : at + 1] for at in range(1, len(JSON))]) == expected


def test_json_becomes_elements() -> None:
    read = ReadRecords(JSON)
    head = read.records.head
    assert head.root == "json"
    assert head.elements == {"version": "https://jsonfeed.org/version/1.1", "title": "Jobs"}
    assert head.names == ["version", "title", "hubs", "items", "id", "title", "tags"]
    first, second, third = read.items
    assert [(child.name, child.text) for child in first.children] == [
        ("id", "1"),
        ("title", 'Café \U0001f600 \\ "'),
        ("tags", "a"),
        ("tags", "b"),
        ("tags", "c"),
    ]
    salary = second.first("salary")
    assert salary is not None
    assert [(child.name, child.text) for child in salary.children] == [
        ("min", "1000.0"),
        ("max", "12345678901234567890"),
    ]
    assert text_of(second, "remote") == "true"
    assert third.children == []
    assert read.is_whole
    assert read.repairs == {}


# Where the items are


@pytest.mark.parametrize(
    ("feed", "expected"),
    [
        ({"jobs": [{"id": 1, "title": "T", "company_name": "C", "job_types": ["full_time"]}]}, "C"),
        ([{"slug": "x", "id": "1", "position": "T", "company": {"name": "C"}}], "C"),
        ({"data": [{"id": "1", "title": "T", "employer": {"display_name": "C"}}]}, "C"),
    ],
)
def test_items_are_found_in_json_of_other_shapes(feed: object, expected: str) -> None:
    posting = ReadPostings(msgspec.json.encode(feed)).only()
    assert (posting.title, posting.external_id, posting.company) == ("T", "1", expected)


@pytest.mark.parametrize("name", ["hits", "job_posts", "allJobs", "SearchResultItems"])
def test_the_list_of_items_has_many_names(name: str) -> None:
    found = ReadPostings(f'{{"matchingJobs": [7], "{name}": [{{"id": "1", "title": "T"}}]}}').only()
    assert found.title == "T"


RECORD = {"id": 1, "title": "Cook", "employer": {"name": "Inn"}, "creationDate": 1791187200000}


@pytest.mark.parametrize(
    "document",
    [
        {"numberRecords": 1, "jvs": [RECORD]},
        {"terms": [{"id": 7, "title": "Food", "description": "All"}], "posts": [RECORD]},
        # A name that is known goes first.
        {"posts": [{**RECORD, "title": "Old"}], "jobs": [RECORD]},
    ],
)
def test_a_list_by_any_name_is_recognised_by_its_first_object(
    document: dict[str, object],
) -> None:
    found = ReadPostings(json.dumps(document)).only()
    assert (found.title, found.company) == ("Cook", "Inn")
    assert found.published_at == datetime(2026, 10, 5, 8, tzinfo=UTC)


@pytest.mark.parametrize("name", ["content", "list", "elements", "ads", "result"])
def test_a_list_called_jobs_goes_before_one_with_a_vaguer_name(name: str) -> None:
    other = f'"{name}": [{{"id": "1", "name": "Not a job"}}]'
    assert ReadPostings(f'{{{other}, "jobs": [{{"id": "2", "title": "T"}}]}}').only().title == "T"


@pytest.mark.parametrize("name", ["payload", "body", "d", "_embedded"])
def test_an_object_without_a_list_is_passed_over(name: str) -> None:
    feed = f'{{"{name}": {{"page": 1}}, "jobs": [{{"id": "2", "title": "T"}}]}}'
    assert ReadPostings(feed).only().title == "T"


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
    found = ReadPostings(json.dumps({"@context": "https://schema.org", "@graph": postings})).only()
    assert (found.external_id, found.title, found.company) == ("PK-9", "Ranger", "Parks")
    assert found.salary == Salary(min=27.5, max=33, currency="CAD", period="hour")
    listed = [{"@type": "ListItem", "position": 1, "item": postings[0]}]
    found = ReadPostings(json.dumps({"@type": "ItemList", "itemListElement": listed})).only()
    assert found.external_id == "PK-9"


LINES = b'{"id": 1, "tags": ["a"]}\n\n{"id": 2}\r\n{"id": 3, "x": "}\\n{"}\n'


def test_objects_on_lines_are_items() -> None:
    read = ReadRecords(LINES)
    assert read.texts("id") == ["1", "2", "3"]
    assert read.is_whole
    assert read.repairs == {}
    expected = json_items(LINES)
    for cut in range(LINES.index(b"2"), len(LINES)):
        assert json_items(LINES[:cut], LINES[cut:]) == expected, cut


# Defects


@pytest.mark.parametrize("before", ["callback(", "/**/ jQuery1_2 (", ")]}',\n", "while(1);"])
def test_json_is_found_behind_a_guard_or_a_callback(before: str) -> None:
    read = ReadRecords(f'{before}[{{"id": "1", "title": "R&D"}}]);'.encode())
    assert read.texts("title") == ["R&D"]
    assert read.repairs == {"junk around the document": 1}
    assert read.is_whole


@pytest.mark.parametrize(
    ("body", "count", "failures", "is_whole"),
    [
        (b'[{"a": 1}, {"a": 2}]', 2, 0, True),
        (b'{"data": {"jobs": [{"a": 1}]}, "x": [1]}', 1, 0, True),
        (b'[{"a": 1}, {"a": }, {"a": 2}]', 2, 1, True),
        (b'[{"a": 1}, {"a": "x" "y"}, {"a": 2},]', 2, 1, True),
        (b'[{"a": 1}, 5, {"a": 2}]', 2, 1, True),
        (b'[{"a": 1}, {"a": "2', 1, 1, False),
        (b'[{"a": 1},', 1, 0, False),
        (b'{"items": [{"a": 1}]', 1, 0, False),
        (b"[{" + b'"a":[{' * 5000 + b"}]" * 5000 + b'}, {"a": 1}]', 1, 1, True),
    ],
)
def test_broken_json_gives_the_items_that_can_be_read(
    body: bytes, count: int, failures: int, is_whole: bool
) -> None:
    read = ReadRecords(body)
    assert (len(read.items), len(read.failures), read.is_whole) == (count, failures, is_whole)


def test_a_line_that_is_not_json_costs_no_other() -> None:
    read = ReadRecords(
        b'{"id": 1}\n{"id": 2, "a": [}\n{"id": "3"}\n{"id": 4, "a": "\n{"id": 5}\n{"id": 6}'
    )
    assert read.texts("id") == ["1", "3", "5", "6"]
    assert len(read.failures) == 2


@pytest.mark.parametrize(
    ("record", "title"),
    [
        ('{"id": 1, "title": "A", "tags": ["x", "y",],}', "A"),
        (r'{"id": 1, "title": "C:\dev \\d \u12 \"q\", ]"}', r'C:\dev \d \u12 "q", ]'),
    ],
)
def test_small_defects_cost_no_item(record: str, title: str) -> None:
    read = ReadPostings(f'{{"jobs": [{record}, {{"id": 2, "title": "B"}},]}}')
    assert [each.title for each in read.postings] == [title, "B"]
    assert read.repairs == {"malformed JSON": 1}


def test_an_item_with_a_defect_may_be_longer_than_what_is_held() -> None:
    long = f'{{"id": 1, "title": "A", "description": "{"x" * 900_000}",}}'
    read = ReadPostings(f'[{long}, {{"id": 2, "title": "B"}}, {{"id": 3 "title": "C"}}]')
    first, second, third = read.items
    assert isinstance(first, JobPosting)
    assert isinstance(second, JobPosting)
    assert (first.title, second.title) == ("A", "B")
    assert isinstance(third, Unreadable)


def test_broken_items_far_from_the_beginning_fail_one_by_one() -> None:
    good = {"id": 1, "title": "Cook", "url": "https://a.example/1", "description": "x" * 20_000}
    broken = '{"id": 2, "title": Waiter}'
    text = f'{{"jobs":[{json.dumps(good)},{broken},{json.dumps(good | {"id": 3})}]}}'
    read = ReadRecords(text.encode())
    assert read.texts("id") == ["1", "3"]
    [failure] = read.failures
    assert failure.sample.startswith(broken)


def test_escapes_that_are_not_characters_are_dropped() -> None:
    read = ReadRecords(b'[{"title": "a\\u0000b\\ud800c\\ud83d\\ude00"}]')
    assert read.texts("title") == ["abc\U0001f600"]
    assert read.repairs == {"control character": 2}


def test_an_item_that_is_too_large_costs_no_other() -> None:
    body = b'[{"a": "1"}, {"a": "' + b"x" * 5_000_000 + b'"}, {"a": "2"}]'
    read = ReadRecords(body, largest=1_000_000)
    assert read.texts("a") == ["1", "2"]
    assert len(read.failures) == 1
