"""The list of records: its pages, filters and searches."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

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


async def test_the_oldest_can_come_first(front: Api) -> None:
    host = new_host()
    urls = [f"http://{host}/{number}" for number in range(5)]
    await front.submitted(*urls)
    first = (await front.records(host=host, limit=3, sort="createdAt")).body
    second = (
        await front.records(host=host, limit=3, sort="createdAt", cursor=first["nextCursor"])
    ).body
    pages = [*first["data"], *second["data"]]
    assert [record["url"] for record in pages] == urls
    assert second["nextCursor"] is None
    for sort in ("-createdAt", None):
        given = {"sort": sort} if sort else {}
        turned = await front.records(host=host, cursor=first["nextCursor"], **given)
        assert turned.is_problem(422, "cursor"), "it goes on in its own direction"
    exported = await front.raw(f"/metadata/records/export?host={host}&sort=createdAt&columns=url")
    assert exported.text.split() == ["url", *urls]


async def test_what_no_index_counts_has_a_total_too(front: Api) -> None:
    """Of a search together with another filter."""
    host = new_host()
    await front.submitted(*(f"http://{host}/{number}" for number in range(5)))
    for limit in (2, 5, 10):
        page = (await front.records(q=host, status="PENDING", limit=limit)).body
        assert (page["total"], page["totalIsExact"]) == (5, True)
    nothing = (await front.records(q=host, status="COMPLETED", limit=2)).body
    assert (nothing["total"], nothing["totalIsExact"]) == (0, True)


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
        ({"q": "sho"}, {done}, "without a star, too"),
        ({"q": '"sho"'}, set(), "quoted words are whole"),
        ({"q": "SHOES"}, {done}, "the case of a word"),
        ({"q": "hoes"}, set(), "the end of a word is not a word"),
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
        ({"host": "unknown.test"}, set(), "another host"),
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
    ("limit=0", "limit: wants 1 or more", "no records"),
    ("limit=201", "limit: wants 200 at most", "too many"),
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
    ("sort=url", "sort", "an order that no index serves"),
    ("order=url", "order", "an unknown parameter"),
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


async def test_records_and_postings_go_out_as_files(front: Api) -> None:
    url = f"http://{new_host()}/"
    await front.submitted(url)
    query = {"q": url, "columns": "status,url"}
    answer = await front.call("GET", "/metadata/records/export", params=query)
    assert answer.text.splitlines() == ["status,url", f"PENDING,{url}"]
    query = {"q": "nothing", "format": "ndjson"}
    assert (await front.call("GET", "/api/jobs/export", params=query)).text == ""


async def test_records_that_come_after_a_list_was_read_are_left_alone(front: Api) -> None:
    host = new_host()
    early, late = f"http://{host}/early", f"http://{host}/late"
    await front.submitted(early)
    at = (await front.records(host=host)).body["at"]
    await front.submitted(late)
    for chosen, total in (
        ({"before": at}, 1),
        ({"before": at, "to": "2999-01-01T00:00:00Z"}, 1),
        ({"before": at, "to": "2001-01-01T00:00:00Z"}, 0),
        ({"before": "9999-12-31T23:59:59.999999Z"}, 2),
        ({}, 2),
    ):
        body = {"action": "refetch", "filter": {"host": host, **chosen}}
        answer = await front.call("POST", "/metadata/bulk", json=body)
        last = json.loads(answer.text.splitlines()[-1])
        assert (last["total"], last["failed"]) == (total, 0), chosen


async def test_many_records_are_fetched_again_or_deleted(front: Api) -> None:
    host = new_host()
    urls = [f"http://{host}/{number}" for number in range(3)]
    for url in urls:
        await front.submitted(url)

    async def bulk(**body: Any) -> dict[str, Any]:
        answer = await front.call("POST", "/metadata/bulk", json=body)
        assert answer.status == 200, answer.text
        last: dict[str, Any] = json.loads(answer.text.splitlines()[-1])
        return last

    refused = "http://10.0.0.1/"
    done = await bulk(action="refetch", urls=[*urls[:2], refused])
    assert (done["succeeded"], [each["id"] for each in done["failures"]]) == (2, [refused])
    done = await bulk(action="invalidate", filter={"host": host, "status": "PENDING"})
    assert (done["done"], done["failed"], done["before"]) == (3, 0, [])
    answer = await front.call("POST", "/metadata/bulk", json={"action": "refetch"})
    assert answer.is_problem(422, "urls", "filter")
