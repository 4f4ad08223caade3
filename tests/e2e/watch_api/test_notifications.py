"""Notifications of changes: webhooks and Atom feeds."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any
from xml.etree import ElementTree

from e2e.api_client import Api
from e2e.running import until_some
from e2e.shop_site import (
    Hook,
    ShopSite,
    article,
    checked,
    page_of,
    product,
    watched,
)
from e2e.watch_api.calls import pages

ATOM = {"a": "http://www.w3.org/2005/Atom"}


async def test_a_webhook_gets_one_signed_notification_per_run(api: Api, site: ShopSite) -> None:
    async with Hook(site.host) as hook:
        for path in ("/a", "/b"):
            site.pages[path] = product("100")
        watch = await watched(
            api,
            site.url("/a"),
            site.url("/b"),
            name="Looms",
            targets=[{"url": hook.url, "secret": "the secret"}],
            thresholds={"priceBelow": 96},
        )
        await checked(api, watch["jobId"])
        for path in ("/a", "/b"):
            site.pages[path] = product("98")
        await checked(api, watch["jobId"])
        site.pages["/a"] = product("95.50")
        site.pages["/b"] = product("95")
        run = await checked(api, watch["jobId"])

        async def sent() -> dict[str, Any] | None:
            path = f"/api/watches/{watch['jobId']}/notices"
            notices = (await api.call("GET", path)).body["data"]
            return dict(notices[0]) if notices and notices[0]["sentAt"] else None

        notice = await until_some(sent, what="the notification to be sent")
    [(headers, body)] = hook.got
    signed = f"{headers['webloom-id']}.{headers['webloom-timestamp']}.".encode() + body
    digest = hmac.new(b"the secret", signed, hashlib.sha256).hexdigest()
    assert headers["webloom-signature"] == f"v1={digest}"
    reported = json.loads(body)
    assert (reported["watchName"], reported["runId"]) == ("Looms", run["runId"])
    assert {change["url"]: change["alerts"] for change in reported["changes"]} == {
        site.url("/a"): ["the price fell by 2.55 % to 95.50 EUR, below 96.00 EUR"],
        site.url("/b"): ["the price fell by 3.06 % to 95.00 EUR, below 96.00 EUR"],
    }
    assert {change["url"]: change["reasons"] for change in reported["changes"]} == {
        site.url(path): [
            {"kind": "price", "previous": 98, "current": current, "currency": "EUR",
             "changePercent": percent, "below": 96},
        ]
        for path, current, percent in (("/a", 95.5, -2.55), ("/b", 95, -3.06))
    }  # fmt: skip
    assert (notice["runId"], notice["error"], notice["givenUp"]) == (run["runId"], None, False)
    assert notice["target"] == f"http://{hook.url.split('/')[2]}/…"
    assert len(notice["lines"]) == 2


async def test_changes_are_atom_feeds_in_which_pages_are_only_text(
    api: Api, site: ShopSite
) -> None:
    hostile = "&lt;script>alert(1)&lt;/script> \u202egnp"
    url = site.url("/odd/%3Cb%3E?q=%22'&x=1")
    site.pages["/odd/%3Cb%3E"] = article("One.", title=hostile)
    watch = await watched(api, url, name="<i>Odd</i>")
    await checked(api, watch["jobId"])
    site.pages["/odd/%3Cb%3E"] = article("&lt;img src=x onerror=alert(2)>", title=hostile)
    await checked(api, watch["jobId"])
    page = await page_of(api, watch["jobId"], url)
    assert page["title"] == "<script>alert(1)</script> \u202egnp"

    for path in (f"/api/watches/{watch['jobId']}/feed.atom", "/api/watch/feed.atom"):
        answer = await api.call("GET", path)
        assert answer.headers["content-type"].startswith("application/atom+xml")
        assert "<script" not in answer.text
        assert "<img" not in answer.text
        feed = ElementTree.fromstring(answer.text)
        entries = [
            entry
            for entry in feed.findall("a:entry", ATOM)
            if entry.findtext("a:title", "", ATOM).startswith("<i>Odd</i>")
        ]
        [entry] = entries
        content = entry.find("a:content", ATOM)
        assert content is not None
        assert content.get("type") == "text"
        assert "+<img src=x onerror=alert(2)>" in (content.text or "").splitlines()
    listed = await api.call("GET", "/api/watch/pages", params={"jobId": watch["jobId"]})
    assert listed.headers["content-type"] == "application/json"
    named = {"jobId": watch["jobId"], "url": url}
    diff = await pages(api, "/diff", **named, form="unified", **{"from": 1, "to": 2})
    assert "+<img src=x onerror=alert(2)>" in diff.text.splitlines()
    assert diff.headers["content-type"] == "text/plain; charset=utf-8"
    assert diff.headers["x-content-type-options"] == "nosniff"
