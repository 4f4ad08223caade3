"""Look-ups of a URL in each state, and invalidation."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from yarl import URL

from e2e.api_client import Answer, Api
from e2e.hostile_site import PAGE
from e2e.inventory_api.names import is_request_id, new_host
from e2e.running import running, until
from e2e.watched_site import ALLOWED, WatchedSite
from webloom.entrypoints.heartbeat import BEAT_SECONDS

SCRIPT = "<script>alert(document.domain)</script><img src=x onerror=alert(1)>"


async def test_looking_up_an_unknown_url_requests_it(front: Api) -> None:
    url = f"http://{new_host()}/"
    before = await front.queue()
    first, again = await front.look_up(url), await front.look_up(url)
    assert first.status == again.status == 202
    assert first.body == again.body
    assert first.body["status"] == "PENDING"
    assert is_request_id(first.body["request_id"])
    assert (await front.queue())["ready"] == before["ready"] + 1


FINAL_FAILURES = [
    (404, "most common"),
    (401, "needs a password"),
    (410, "gone"),
    (451, "a rare one"),
]


@pytest.mark.parametrize(("code", "why"), FINAL_FAILURES, ids=[row[1] for row in FINAL_FAILURES])
async def test_a_page_that_answers_4xx_fails_for_good_and_is_kept(
    api: Api, site: WatchedSite, code: int, why: str
) -> None:
    record = await api.record(site.url(f"/in-turn?codes={code}"))
    assert record["status"] == "FAILED_PERMANENT"
    assert record["metadata"]["status_code"] == code
    assert record["metadata"]["page_source"] == PAGE.decode()
    assert record["processing"]["error_message"] == f"the server answered {code}"
    assert record["processing"]["retry_count"] == 0
    assert len(site.requests) == 1


async def test_a_site_that_keeps_failing_fails_for_good_after_three_attempts(
    api: Api, site: WatchedSite
) -> None:
    rows = [("503", "overloaded"), ("500", "broken"), ("429", "asked too often")]
    urls = [site.url(f"/in-turn?codes={code}") for code, _ in rows]
    await api.submitted(*urls)
    for (code, why), url in zip(rows, urls, strict=True):
        record = await api.record(url)
        assert record["status"] == "FAILED_PERMANENT", why
        assert record["metadata"]["status_code"] == int(code)
        assert record["metadata"]["page_source"] == PAGE.decode()
        assert record["processing"]["retry_count"] == 3
        assert record["processing"]["attempt_number"] == 3
        assert record["processing"]["error_message"] == f"the server answered {code}"
    assert len(site.requests) == 3 * len(rows)


async def test_a_failure_that_passes_is_tried_again(api: Api, site: WatchedSite) -> None:
    waits = []
    for number in range(4):
        url = site.url(f"/in-turn?codes=503,200&{number}")
        record = await api.record(url)
        assert record["status"] == "COMPLETED"
        assert record["metadata"]["status_code"] == 200
        assert record["processing"]["attempt_number"] == 2
        assert record["processing"]["retry_count"] == 1
        assert record["processing"]["error_message"] is None
        first, second = site.watch.of(url)
        waits.append(second - first)
    assert min(waits) >= 0.05
    # When it is due, not with the next heartbeat, after which each but the first has begun.
    assert min(waits[1:]) < BEAT_SECONDS - 1


async def test_a_url_that_waits_for_its_retry_is_pending_to_its_readers(
    api: Api, site: WatchedSite
) -> None:
    url = site.url("/in-turn?codes=503,200&after=600")
    accepted = await api.submit(url)
    waiting = await api.listed_as(url, "FAILED_RETRYABLE")
    assert waiting["processing"]["retry_count"] == 1
    assert waiting["processing"]["error_message"] == "the server answered 503"
    for answer in (await api.look_up(url), await api.submit(url)):
        assert answer.status == 202
        assert answer.body == accepted.body | {"status": "FAILED_RETRYABLE"}
    source = await api.call("GET", "/metadata/source", params={"url": url})
    assert (source.status, source.body["status"]) == (202, "FAILED_RETRYABLE")
    assert len(site.requests) == 1


async def test_a_host_that_refuses_connections_is_tried_three_times(
    api: Api, site: WatchedSite
) -> None:
    url = site.url("/page")
    await site.__aexit__(None, None, None)
    record = await api.record(url)
    assert record["status"] == "FAILED_PERMANENT"
    assert record["processing"]["retry_count"] == 3
    assert "no connection could be made" in record["processing"]["error_message"]
    assert record["metadata"] == dict.fromkeys(record["metadata"])
    assert record["additional_details"] is None
    source = await api.call("GET", "/metadata/source", params={"url": url})
    assert source.is_problem(404, "No text")


async def test_a_stale_record_is_returned_while_it_is_refreshed(
    tmp_path: Path, site: WatchedSite
) -> None:
    url = site.url("/gated")
    async with running(
        "up", data_dir=tmp_path / "data", allow_addresses=ALLOWED, cache_ttl=0
    ) as it:
        api = Api(it.client, it.base)
        site.opened.set()
        first = (await api.submit(url)).body["request_id"]
        record = await api.listed_as(url, "COMPLETED")
        assert record["processing"]["last_request_id"] == first
        site.opened.clear()
        requests = len(site.requests)

        stale = await api.look_up(url)
        assert (stale.status, stale.body["stale"]) == (200, True)
        assert stale.body["metadata"]["page_source"] == PAGE.decode()
        await until(lambda: len(site.requests) > requests)
        during = [await api.look_up(url), await api.look_up(url, source="false")]
        source = await api.call("GET", "/metadata/source", params={"url": url})
        for answer in during:
            assert (answer.status, answer.body["status"]) == (200, "COMPLETED")
            assert answer.body["stale"] is True
            assert answer.body["metadata"]["status_code"] == 200
        assert (source.status, source.text) == (200, PAGE.decode())
        assert len(site.requests) == requests + 1  # one refresh, however many readers

        site.opened.set()
        newer = await api.record(
            url, ready=lambda record: record["updated_at"] > stale.body["updated_at"]
        )
        assert newer["processing"]["last_request_id"] != first
        assert newer["created_at"] == stale.body["created_at"]


async def test_a_stale_record_survives_a_refresh_that_fails(
    tmp_path: Path, site: WatchedSite
) -> None:
    url = site.url("/in-turn?codes=200,503")
    async with running(
        *("up",), data_dir=tmp_path / "data", allow_addresses=ALLOWED, cache_ttl=0, retry_delay=0.05
    ) as it:
        api = Api(it.client, it.base)
        await api.submit(url)
        await api.listed_as(url, "COMPLETED")
        seen: list[Answer] = []

        async def failed() -> bool:
            seen.append(await api.look_up(url))
            return bool(seen[-1].body["status"] == "FAILED_PERMANENT")

        await until(failed)
        assert {answer.status for answer in seen} == {200}  # never unreadable in between
        assert all(answer.body["metadata"]["page_source"] == PAGE.decode() for answer in seen)


async def test_a_fresh_record_is_not_fetched_again(api: Api, site: WatchedSite) -> None:
    url = site.url("/page")
    first = await api.record(url)
    assert await api.record(url) == first
    assert first["stale"] is False
    assert len(site.requests) == 1


async def test_submitting_a_known_url_fetches_it_again(api: Api, site: WatchedSite) -> None:
    url = site.url("/page")
    first = await api.record(url)
    again = await api.submit(url)
    assert again.status == 202
    newer = await api.record(
        url,
        ready=lambda record: record["processing"]["last_request_id"] == again.body["request_id"],
    )
    assert newer["created_at"] == first["created_at"]
    assert len(site.requests) == 2


async def test_the_source_can_be_left_out(api: Api, site: WatchedSite) -> None:
    url = site.url("/page")
    whole = await api.record(url)
    without = await api.record(url, source="false")
    whole["metadata"]["page_source"] = None
    assert without == whole


async def test_an_invalidated_url_is_fetched_again(api: Api, site: WatchedSite) -> None:
    url = site.url("/page")
    await api.record(url)
    deleted = await api.call(
        "DELETE", "/metadata", params={"url": url.upper().replace("PAGE", "page")}
    )
    assert (deleted.status, deleted.text) == (204, "")
    assert (await api.records(host=site.host)).body["data"] == []
    gone = await api.call("DELETE", "/metadata", params={"url": url})
    assert gone.is_problem(404, "not in the inventory")
    assert (await api.look_up(url)).status == 202
    assert (await api.record(url))["status"] == "COMPLETED"
    assert len(site.requests) == 2


async def test_invalidating_a_url_that_is_being_fetched_keeps_its_request(
    api: Api, site: WatchedSite
) -> None:
    url = site.url("/gated")
    accepted = await api.submit(url)
    await site.started.wait()
    assert (await api.call("DELETE", "/metadata", params={"url": url})).status == 204
    assert (await api.look_up(url)).body["request_id"] == accepted.body["request_id"]
    site.opened.set()
    record = await api.record(url)
    assert record["processing"]["last_request_id"] == accepted.body["request_id"]
    assert len(site.requests) == 1


# The page source.


async def test_the_source_is_served_as_text_that_no_browser_runs(
    api: Api, site: WatchedSite
) -> None:
    url = site.url(f"/text?type=text/html&body={quote(SCRIPT)}")
    await api.record(url)
    source = await api.call("GET", "/metadata/source", params={"url": url})
    assert source.status == 200
    assert source.text == SCRIPT
    assert source.headers["content-type"] == "text/plain; charset=utf-8"
    assert source.headers["x-content-type-options"] == "nosniff"
    assert source.headers["content-disposition"].startswith("attachment")
    policy = source.headers["content-security-policy"].split("; ")
    assert {"default-src 'none'", "sandbox"} <= {*policy}


async def test_a_long_source_is_cut_and_the_record_says_so(api: Api, site: WatchedSite) -> None:
    record = await api.record(site.url("/large"))
    assert len(record["metadata"]["page_source"]) == 1_000_000
    details = record["additional_details"]
    assert details["source_truncated_at"] == 1_000_000
    assert details["source_characters"] == details["content_length"] == 1_200_003


async def test_a_body_that_is_not_text_has_no_source(api: Api, site: WatchedSite) -> None:
    url = site.url("/binary")
    record = await api.record(url)
    assert record["status"] == "COMPLETED"
    assert record["metadata"]["page_source"] is None
    assert record["additional_details"]["source_omitted"] == "not text"
    source = await api.call("GET", "/metadata/source", params={"url": url})
    assert source.is_problem(404, "No text")


BAD_QUERIES = [
    ("", "url is missing", "no URL"),
    ("?uri=http%3A%2F%2Fa.test%2F", "url is missing", "a misspelt name"),
    ("?url=http://a.test/?b=1&c=2", "'c'", "an ampersand that was not encoded"),
    ("?url=http://a.test/caf%E9", "UTF-8", "a byte that would become another URL"),
    ("?url=http%3A%2F%2Fa.test%2F%00", "control character", "NUL"),
    ("?url=http%3A%2F%2Fa.test%2F" + "a" * 8192, "longer than 8192", "over 8 KB"),
]


@pytest.mark.parametrize(("query", "part", "why"), BAD_QUERIES, ids=[row[2] for row in BAD_QUERIES])
async def test_a_query_that_means_another_url_is_refused(
    front: Api, query: str, part: str, why: str
) -> None:
    before = await front.contents()
    for path in ("/metadata", "/metadata/source"):
        assert (await front.raw(path + query)).is_problem(422, part)
    encoded = URL(f"{front.base}/metadata{query}", encoded=True)
    assert (await front.call("DELETE", encoded)).is_problem(422, part)
    assert await front.contents() == before


async def test_the_source_parameter_is_a_yes_or_no(front: Api) -> None:
    answer = await front.look_up("http://a.test/", source="maybe")
    assert answer.is_problem(422, "source")


async def test_who_only_looks_changes_nothing(api: Api, site: WatchedSite) -> None:
    url = site.url("/page?only-looked-at")
    looked = {"url": url, "submit": "false"}
    for path in ("/metadata", "/metadata/source"):
        assert (await api.call("GET", path, params=looked)).is_problem(404)
    await api.submit(url)
    await api.record(url)
    assert (await api.call("GET", "/metadata", params=looked)).status == 200
    assert len(site.requests) == 1
