"""The list of records: its pages, filters and searches."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from e2e.api_client import Api
from e2e.inventory_api.names import new_host
from e2e.watched_site import WatchedSite


async def test_pages_of_the_listing_hold_every_record_once_the_newest_first(front: Api) -> None:
    host = new_host()
    urls = [f"http://{host}/{number}" for number in range(25)]
    for part in (urls[:9], urls[9:10], urls[10:]):
        await front.submitted(*part)
    for filters in ({"host": host}, {"q": host}, {"host": host, "status": "PENDING"}):
        found: list[str] = []
        cursor: dict[str, str] = {}
        for _ in range(10):
            page = (await front.records(limit=7, **filters, **cursor)).body
            assert len(page["data"]) <= 7
            found += [record["url"] for record in page["data"]]
            if page["nextCursor"] is None:
                break
            cursor = {"cursor": page["nextCursor"]}
        assert found == urls[::-1], filters


async def test_records_that_come_while_paging_do_not_disturb_it(front: Api) -> None:
    host = new_host()
    urls = [f"http://{host}/{number}" for number in range(6)]
    await front.submitted(*urls)
    first = (await front.records(host=host, limit=3)).body
    await front.submitted(f"http://{host}/new")
    second = (await front.records(host=host, limit=3, cursor=first["nextCursor"])).body
    pages = [*first["data"], *second["data"]]
    assert [record["url"] for record in pages] == urls[::-1]
    assert second["nextCursor"] is None


async def test_the_listing_can_be_filtered(api: Api, site: WatchedSite) -> None:
    done, failed = site.url("/page?shoes"), site.url("/in-turn?codes=404")
    running_now, retrying = site.url("/gated"), site.url("/in-turn?codes=503&after=600")
    states = {
        done: "COMPLETED",
        failed: "FAILED_PERMANENT",
        running_now: "IN_PROGRESS",
        retrying: "FAILED_RETRYABLE",
    }
    for url, state in states.items():  # one after another, as the last closes the host
        await api.submit(url)
        await api.listed_as(url, state)
    waiting = site.url("/page?waits")
    await api.submit(waiting)
    await api.listed_as(waiting, "PENDING")
    everything = {*states, waiting}
    now = datetime.now(UTC)
    soon, before = (now + timedelta(days=1)).isoformat(), (now - timedelta(days=1)).isoformat()
    host = site.host
    rows: list[tuple[dict[str, str], set[str], str]] = [
        ({"status": "COMPLETED"}, {done}, "a final status"),
        ({"status": "FAILED_PERMANENT"}, {failed}, "the other final status"),
        ({"status": "IN_PROGRESS"}, {running_now}, "being fetched"),
        ({"status": "FAILED_RETRYABLE"}, {retrying}, "to be tried again"),
        ({"status": "PENDING"}, {waiting}, "not begun"),
        ({}, everything, "no filter but the host"),
        ({"q": "shoes"}, {done}, "a word"),
        ({"q": "sho*"}, {done}, "the beginning of a word"),
        ({"q": "sho"}, set(), "no star, no beginning"),
        ({"q": "SHOES"}, {done}, "the case of a word"),
        ({"q": "hoes"}, set(), "the end of a word is no word"),
        ({"q": "shoes", "status": "PENDING"}, set(), "two filters"),
        ({"q": host}, everything, "the host is words too"),
        ({"from": before}, everything, "since yesterday"),
        ({"from": soon}, set(), "since tomorrow"),
        ({"to": soon}, everything, "until tomorrow"),
        ({"to": before}, set(), "until yesterday"),
        ({"from": before, "to": soon}, everything, "both"),
        ({"from": soon, "to": before}, set(), "turned round"),
        ({"from": before[:10], "to": soon[:10]}, everything, "days"),
        ({"from": "0001-01-01"}, everything, "the first day there is"),
        ({"to": "9999-12-31T23:59:59-12:00"}, everything, "beyond the last one"),
        ({"host": "nobody.test"}, set(), "another host"),
        ({"host": ""}, set(), "no host"),
    ]
    for filters, expected, why in rows:
        answer = await api.records(**{"host": host, "limit": "200", **filters})
        assert answer.status == 200, why
        assert {record["url"] for record in answer.body["data"]} == expected, why
        assert all(record["metadata"]["page_source"] is None for record in answer.body["data"])


BAD_FILTERS = [
    ("cursor=x", "cursor", "not a cursor"),
    ("cursor=", "cursor", "an empty cursor"),
    ("cursor=%C3%A9", "cursor", "a cursor that is not ASCII"),
    ("cursor=LS4t", "cursor", "a cursor of signs"),
    ("cursor=MS4y%00", "NUL", "NUL in a cursor"),
    ("cursor=ODAwMDAwMDAwMDAwMDAwMC4x", "cursor", "a cursor beyond numbers"),
    ("cursor=" + "MS4y" * 50, "cursor", "a long cursor"),
    ("status=DONE", "status", "an unknown status"),
    ("status=completed", "status", "the case of a status"),
    ("status=", "status", "an empty status"),
    ("limit=0", "limit", "no records"),
    ("limit=201", "limit", "too many"),
    ("limit=-1", "limit", "fewer than none"),
    ("limit=many", "limit", "a word for a number"),
    ("limit=9223372036854775808", "limit", "more than 63 bits"),
    ("from=yesterday", "from", "a word for a date"),
    ("from=2024-13-01", "from", "a thirteenth month"),
    ("to=99999-01-01", "to", "a far year"),
    ("to=nan", "to", "not a number"),
    ("q=%00", "NUL", "NUL"),
    ("q=" + "a" * 201, "q", "a long text"),
    ("host=a%00b", "NUL", "NUL in a host"),
    ("q=%FF", "UTF-8", "bytes that are not UTF-8"),
    ("sort=url", "sort", "an unknown parameter"),
    ("q%5B%24gt%5D=", "q[$gt]", "an operator of another database"),
]


@pytest.mark.parametrize(("query", "part", "why"), BAD_FILTERS, ids=[row[2] for row in BAD_FILTERS])
async def test_a_filter_that_makes_no_sense_is_refused(
    front: Api, query: str, part: str, why: str
) -> None:
    assert (await front.raw(f"/metadata/records?{query}")).is_problem(422, part)


HOSTILE_TEXTS = [
    ("'", "a quote"),
    ('"', "a double quote"),
    ('""', "two of them"),
    ('a" OR "b', "out of the phrase"),
    ("' OR 1=1 --", "out of the statement"),
    ("'; DROP TABLE records; --", "another statement"),
    ("*", "every word"),
    ("a*", "a pattern"),
    ("%", "a wildcard"),
    ("_", "one more"),
    ("NEAR(a b)", "an operator"),
    ("a AND NOT b", "operators"),
    ("url:a", "a column"),
    ("^a", "the beginning"),
    ("{a b}:c", "columns"),
    ("-", "a sign"),
    ("((((", "brackets"),
    ("\\", "a backslash"),
    ("\x1b[31m", "an escape of terminals"),
    ("\u202e", "turned round"),
    ("\U0001f9f5", "beyond the basic plane"),
    ("\ufffe", "not a character"),
    ("a" * 200, "as long as it may be"),
    (" ", "a space"),
    ("{}", "an object"),
    ("$where", "a word of another database"),
]


@pytest.mark.parametrize(("text", "why"), HOSTILE_TEXTS, ids=[row[1] for row in HOSTILE_TEXTS])
async def test_whatever_is_searched_for_is_only_searched_for(
    front: Api, text: str, why: str
) -> None:
    known = f"http://{new_host()}/"
    await front.submitted(known)
    for parameter in ("q", "host"):
        answer = await front.records(**{parameter: text})
        assert (answer.status, answer.body["nextCursor"]) == (200, None), answer.text
        assert known not in [record["url"] for record in answer.body["data"]]
    assert (await front.listed(known))["status"] == "PENDING"
