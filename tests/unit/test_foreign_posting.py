"""Postings as other programs store them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from unit.feed_postings import job, json_job, rss_item
from webloom.parsing.content_hash import content_hash_of
from webloom.parsing.foreign_posting import posting_from
from webloom.parsing.foreign_values import moment_of, number_of, text_of
from webloom.parsing.job_posting import JobPosting, Salary

LEAST: dict[str, Any] = {"dedupeKey": "k", "sourceUrl": "http://feed.example/", "title": "Weaver"}
NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

READ = [
    rss_item(
        "<title>Weaver</title><guid>7</guid><link>https://jobs.example/7</link>"
        "<category>Wool</category><category>Looms</category>"
        "<pubDate>Tue, 03 Mar 2026 10:00:00 +0100</pubDate><description>&lt;p&gt;Ü</description>"
    ),
    job(
        "<job><id>1</id><title>Dyer</title><url>https://jobs.example/1</url><city>Leeds</city>"
        "<salary>£30,000 - £35,000 a year</salary><company>Loom</company><remote>yes</remote></job>"
    ),
    json_job(id="x", title="Fuller", url="https://jobs.example/x", content_text="Wool."),
]


@pytest.mark.parametrize("posting", READ, ids=lambda each: each.title)
def test_a_posting_that_was_stored_as_it_came_has_the_hash_that_it_came_with(
    posting: JobPosting,
) -> None:
    """A document from the message, its dates as texts; whether the hash was kept or not."""
    stored = msgspec.json.decode(msgspec.json.encode(posting))
    assert posting_from(stored) == posting
    del stored["contentHash"]
    assert posting_from(stored | {"__v": 0, "createdAt": NOON}) == posting
    assert content_hash_of(posting) == posting.content_hash


def test_one_that_says_something_else_has_another_hash_whatever_was_written() -> None:
    stored = msgspec.json.decode(msgspec.json.encode(READ[0]))
    changed = posting_from(stored | {"title": "Spinner"})
    assert changed is not None
    assert changed.content_hash == content_hash_of(changed) != READ[0].content_hash


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, {}, id="the least"),
        pytest.param({"externalId": 7}, {"external_id": "7"}, id="an id that is a number"),
        pytest.param({"company": {"name": "Loom"}}, {}, id="a company that is an object"),
        pytest.param({"company": ""}, {}, id="an empty company"),
        pytest.param({"categories": "Wool"}, {}, id="a text for a list"),
        pytest.param({"categories": ["a", None]}, {"categories": ["a"]}, id="a list with nothing"),
        pytest.param({"categories": None}, {}, id="nothing for a list"),
        pytest.param({"remote": "yes"}, {}, id="a text for yes or no"),
        pytest.param({"salary": "lots"}, {}, id="a text for pay"),
        pytest.param({"salary": {"min": "lots"}}, {}, id="a text for an amount"),
        pytest.param({"salary": {"min": 5, "x": 1}}, {"salary": Salary(min=5)}, id="pay and more"),
        pytest.param({"publishedAt": NOON}, {"published_at": NOON}, id="a date"),
        pytest.param(
            {"publishedAt": "2026-03-01T13:00:00+01:00"}, {"published_at": NOON}, id="a text"
        ),
        pytest.param({"publishedAt": "soon"}, {}, id="a text that is not a date"),
    ],
)
def test_what_a_field_cannot_be_is_left_out(
    fields: dict[str, Any], expected: dict[str, Any]
) -> None:
    posting = posting_from(LEAST | fields)
    assert posting is not None
    least = posting_from(LEAST)
    assert least is not None
    hashed = {"content_hash": posting.content_hash}
    assert posting == msgspec.structs.replace(least, **expected | hashed)


@pytest.mark.parametrize("name", LEAST)
@pytest.mark.parametrize("value", [None, 7, ["x"]])
def test_a_posting_needs_key_source_and_title(name: str, value: object) -> None:
    assert posting_from(LEAST | {name: value}) is None
    assert posting_from({other: LEAST[other] for other in LEAST if other != name}) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (NOON, NOON),
        (NOON.replace(tzinfo=None), NOON),
        ("2026-03-01T12:00:00.000Z", NOON),
        ("2026-03-01 12:00", NOON),
        (1_772_366_400_000, NOON),
        (1_772_366_400_000.0, NOON),
        (float("nan"), None),
        (1e300, None),
        (True, None),
        ("", None),
        ({}, None),
        (None, None),
    ],
)
def test_a_moment_is_read_as_it_comes(value: object, expected: datetime | None) -> None:
    assert moment_of(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(3, 3), (3.0, 3), (float("inf"), 0), (float("nan"), 0), ("3", 0)]
)
def test_a_number_is_whole_or_nothing(value: object, expected: int) -> None:
    assert number_of(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [("a", "a"), (None, ""), (7, "7"), ({"a": NOON}, f'{{"a": "{NOON}"}}')]
)
def test_any_value_can_be_shown(value: object, expected: str) -> None:
    assert text_of(value) == expected
