"""Runs of watches."""

from __future__ import annotations

import asyncio
import json

from e2e.api_client import Api
from e2e.running import until_some
from e2e.shop_site import (
    ShopSite,
    checked,
    finished_watch_run,
    product,
    watched,
)

UNKNOWN = "0123456789abcdef"


async def test_a_run_is_started_once_and_counts_each_page_once(api: Api, site: ShopSite) -> None:
    site.pages["/loom"] = product("99.50")
    watch = await watched(api, site.url("/loom"), site.url("/gated"), site.url("/status?code=404"))
    path = f"/api/watches/{watch['jobId']}/run"
    answer = await api.call("POST", path)
    assert answer.status == 202
    run_id = answer.body["runId"]
    assert answer.headers["location"] == f"/api/watch/runs/{run_id}"
    assert (answer.body["status"], answer.body["pagesTotal"]) == ("in_progress", 3)
    busy = await api.call("POST", path)
    assert busy.is_problem(409, "already")
    assert busy.body["run"]["runId"] == run_id
    site.opened.set()
    run = await finished_watch_run(api, run_id)
    counters = ("pagesTotal", "pagesProcessed", "pagesFailed", "changesDetected")
    assert [run[name] for name in counters] == [3, 3, 1, 0]
    assert (run["status"], run["trigger"], run["priceChangesDetected"]) == ("partial", "manual", 0)
    assert run["runDuration"] >= 0
    assert run["lastRunAt"] == run["finishedAt"]
    [failure] = run["failures"]
    assert failure == {"url": site.url("/status?code=404"), "reason": "the server answered 404"}
    shown = (await api.call("GET", f"/api/watches/{watch['jobId']}")).body
    assert (shown["lastStatus"], shown["lastError"]) == ("partial", failure["reason"])

    site.pages["/loom"] = product("95")
    second = await checked(api, watch["jobId"])
    assert (second["changesDetected"], second["priceChangesDetected"]) == (1, 1)

    listed = await api.call("GET", "/api/watch/runs", params={"jobId": watch["jobId"]})
    assert [each["runId"] for each in listed.body["data"]] == [second["runId"], run_id]
    first_page = await api.call(
        "GET", "/api/watch/runs", params={"jobId": watch["jobId"], "limit": "1"}
    )
    assert first_page.body["data"] == [second]
    rest = await api.call(
        "GET",
        "/api/watch/runs",
        params={"jobId": watch["jobId"], "limit": "1", "cursor": first_page.body["nextCursor"]},
    )
    assert rest.body == {"data": [run], "nextCursor": None, "total": 2, "totalIsExact": True}
    oldest_first = {"jobId": watch["jobId"], "sort": "startedAt"}
    turned = await api.call("GET", "/api/watch/runs", params=oldest_first)
    assert turned.body["data"] == [run, second]
    assert (turned.body["total"], turned.body["totalIsExact"]) == (2, True)
    exported = await api.call(
        "GET",
        "/api/watch/runs/export",
        params={**oldest_first, "status": "partial", "columns": "runId,status,pagesFailed"},
    )
    assert exported.headers["content-disposition"] == "attachment; filename=watch-runs.csv"
    assert exported.text.splitlines() == [
        "runId,status,pagesFailed",
        f"{run_id},partial,1",
        f"{second['runId']},partial,1",
    ]
    lines = await api.call(
        "GET", "/api/watch/runs/export", params={"jobId": watch["jobId"], "format": "ndjson"}
    )
    assert [json.loads(line) for line in lines.text.splitlines()] == [second, run]
    none = await api.call(
        "GET", "/api/watch/runs", params={"jobId": watch["jobId"], "status": "completed"}
    )
    assert none.body["data"] == []
    shown = (await api.call("GET", f"/api/watches/{watch['jobId']}")).body
    assert (shown["lastRunId"], shown["lastStatus"]) == (second["runId"], "partial")
    assert (await api.call("GET", f"/api/watch/runs/{UNKNOWN}")).is_problem(404, "/api/watch/runs")
    bad = await api.call("GET", "/api/watch/runs", params={"status": "done"})
    assert bad.is_problem(422, "status")


async def test_a_watch_that_is_removed_while_it_runs_leaves_nothing_open(
    api: Api, site: ShopSite
) -> None:
    watch = await watched(api, site.url("/gated"), site.url("/page"))
    answer = await api.call("POST", f"/api/watches/{watch['jobId']}/run")
    await asyncio.wait_for(site.started.wait(), 60)
    removed = await api.call("DELETE", f"/api/watches/{watch['jobId']}", params={"pages": "true"})
    assert removed.status == 204
    run = await finished_watch_run(api, answer.body["runId"])
    assert run["status"] in ("partial", "failed")
    assert run["pagesProcessed"] == 2
    site.opened.set()

    async def idle() -> bool | None:
        health = (await api.call("GET", "/health")).body
        queue = {each["name"]: each for each in health["queues"]}.get("watch-pages", {})
        waiting = [queue.get(state) for state in ("ready", "delayed", "in_flight")]
        return True if waiting == [0, 0, 0] else None

    await until_some(idle, what="no check to wait")
    assert (await api.call("GET", f"/api/watch/runs/{run['runId']}")).body == run
