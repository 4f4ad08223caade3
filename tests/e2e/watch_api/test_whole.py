"""Storage, health and metrics; and the same over servers."""

from __future__ import annotations

import uuid
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from e2e.api_client import Api, calling
from e2e.running import running, until, until_some
from e2e.shop_site import (
    ShopSite,
    article,
    checked,
    page_of,
    product,
    watched,
)
from e2e.watch_api.calls import all_ids, got, pages
from e2e.watched_site import ALLOWED
from servers.mongod import MongoServer
from servers.redis import RedisServer


async def test_storage_health_and_metrics_include_watches(api: Api, site: ShopSite) -> None:
    site.pages["/story"] = article("One.")
    watch = await watched(api, site.url("/story"))
    await checked(api, watch["jobId"])
    storage = (await api.call("GET", "/api/watch/storage")).body
    assert storage["budget"] == 512 << 20
    assert storage["full"] is False
    kept = {each["collection"]: each for each in storage["collections"]}
    assert kept["pages"]["items"] >= 1
    assert 0 < storage["bytes"] == sum(each["bytes"] for each in kept.values())

    async def queues_are_reported() -> bool:
        health = (await api.call("GET", "/health")).body
        return {"storage-agent", "watch-pages"} <= {each["name"] for each in health["queues"]}

    await until(queues_are_reported)
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families((await api.call("GET", "/metrics")).text)
        for sample in family.samples
    }
    assert samples["webloom_watches", "all"] == len(await all_ids(api))
    assert samples["webloom_watches", "enabled"] <= samples["webloom_watches", "all"]
    assert samples["webloom_watches", "checking"] == 0
    assert samples["webloom_storage_items", "pages"] == kept["pages"]["items"]
    assert samples["webloom_storage_bytes", "pages"] == kept["pages"]["bytes"]
    assert samples[("webloom_storage_budget_bytes",)] == 512 << 20


async def test_watches_work_on_mongodb_and_bullmq(
    mongod: MongoServer, redis_server: RedisServer, site: ShopSite, tmp_path: Path
) -> None:
    settings = {
        "store": mongod.url,
        "broker": redis_server.url,
        "mongodb_database": f"watch-{uuid.uuid4().hex[:8]}",
        "allow_addresses": ALLOWED,
        "retry_delay": 0.02,
    }
    url = site.url("/loom")
    site.pages["/loom"] = product("99.50", etag='"1"')
    async with running("up", data_dir=tmp_path / "data", **settings) as it, calling(it) as api:
        shaky = site.url("/in-turn?codes=503,503,200")
        watch = await watched(api, url, shaky, targets=[{"url": "https://hook.test/token"}])
        run = await checked(api, watch["jobId"])
        assert (run["status"], run["pagesProcessed"]) == ("completed", 2), run["failures"]
        run = await checked(api, watch["jobId"])
        assert (run["status"], run["changesDetected"]) == ("completed", 0)
        site.pages["/loom"] = product("80")
        run = await checked(api, watch["jobId"])
        assert (run["changesDetected"], run["priceChangesDetected"]) == (1, 1)
        page = await page_of(api, watch["jobId"], url)
        assert (page["price"], page["version"]) == (80, 2)
        answer = await got(api, "/prices", jobId=watch["jobId"], url=url)
        assert (answer["summary"]["minimum"], answer["summary"]["maximum"]) == (80, 99.5)
        diff = await pages(
            api, "/diff", jobId=watch["jobId"], url=url, form="unified", **{"from": 1, "to": 2}
        )
        assert {"-99.50 EUR", "+80 EUR"} <= set(diff.text.splitlines())
        shared = watch | {"acceptsEvents": True}
        edited = await api.call("PATCH", f"/api/watches/{watch['jobId']}", json=shared)
        assert (edited.status, edited.body["acceptsEvents"]) == (200, True), edited.text
        storage = (await api.call("GET", "/api/watch/storage")).body
        assert storage["bytes"] > 0
        event = {"jobId": watch["jobId"], "url": url, "parsed": {"title": "By hand"}, "version": 9}
        assert (await api.call("POST", "/api/watch/events", json=event)).status == 202

        async def stored() -> bool | None:
            page = await page_of(api, watch["jobId"], url)
            return True if page["title"] == "By hand" else None

        await until_some(stored, what="the event")
        removed = await api.call("DELETE", f"/api/watches/{watch['jobId']}?pages=true")
        assert removed.status == 204
        assert (await got(api, "", jobId=watch["jobId"]))["data"] == []
