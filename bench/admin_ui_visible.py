"""How soon an open page of the admin UI shows a change: an import, a record, a watched page."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlencode

from aiohttp import ClientSession
from playwright.async_api import Page, async_playwright

from bench.import_runs import System, webloom_up
from bench.table import Row
from browser.site import Site, feed, product, served_site
from servers.private import program

MOST_MS = 500.0  # until a change is seen
CHANGES = 60  # of each kind
LOOK_SECONDS = 0.02  # between two looks at a record or a run


@dataclass(frozen=True, kw_only=True)
class _Change:
    """What an open page shows of it, and when it was stored."""

    shown: str
    stored: float  # milliseconds since 1970


async def measure_visible(folder: Path) -> list[Row]:
    """From a change in the store to an open page, by the clock of this machine."""
    chromium = program("Chromium", "apt-get install chromium", "chromium", "chromium-browser")
    all_of: dict[str, list[float]] = {}
    async with webloom_up(folder / "data") as system, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium)
        for what, changes in (
            ("a run's end", _runs),
            ("the answer of a URL", _records),
            ("a new version of a watched page", _versions),
        ):
            page = await browser.new_page(bypass_csp=True)  # to look at it by a script of ours
            with served_site() as site:
                all_of[what] = [
                    await _until_shown(page, change) async for change in changes(system, site, page)
                ]
            await page.close()
        await browser.close()
    return [row for what, took in all_of.items() for row in _rows(what, took)]


def _rows(what: str, took: list[float]) -> list[Row]:
    return [
        Row(
            measure=f"{what}: shown by an open page within {MOST_MS:.0f} ms",
            unit="of them",
            webloom=sum(each < MOST_MS for each in took),
            peer="all",
            peer_value=CHANGES,
            must=1.0,
        ),
        *(
            Row(
                measure=f"{what} until an open page shows it, {which} of {CHANGES}",
                unit="ms",
                webloom=value,
                peer="the limit",
                peer_value=MOST_MS,
                must=None,
                lower_is_better=True,
            )
            for which, value in (("median", median(took)), ("slowest", max(took)))
        ),
    ]


async def _until_shown(page: Page, change: _Change) -> float:
    """In milliseconds."""
    shown = await page.wait_for_function("what => window.seen[what]", arg=change.shown)
    return float(await shown.json_value()) - change.stored


def _milliseconds(time: str) -> float:
    return datetime.fromisoformat(time).timestamp() * 1000


async def _runs(system: System, site: Site, page: Page) -> AsyncIterator[_Change]:
    await _look_at(page, f"{system.base}/import-history")
    for number in range(CHANGES):
        url = site.serve_feed("/feed.rss", feed(200, first=200 * number))
        run = await system.import_feed(url, 200)
        finished = _milliseconds(run.log["finishedAt"])
        yield _Change(shown=f"/import-history/{run.log['runId']}", stored=finished)


async def _records(system: System, site: Site, page: Page) -> AsyncIterator[_Change]:
    await _look_at(page, f"{system.base}/inventory")
    async with ClientSession(system.base) as session:
        for number in range(CHANGES):
            url = site.serve(f"/record/{number}", b"<p>a page</p>")
            await _ask(session, "POST", "/metadata", {"url": url})
            path = f"/metadata?{urlencode({'url': url})}"
            record = await _ask(session, "GET", path)
            while record["status"] != "COMPLETED":
                await asyncio.sleep(LOOK_SECONDS)
                record = await _ask(session, "GET", path)
            shown = f"/inventory/record?{urlencode({'url': url})}"
            yield _Change(shown=shown, stored=_milliseconds(record["updated_at"]))


async def _versions(system: System, site: Site, page: Page) -> AsyncIterator[_Change]:
    url = site.serve("/watched", product("A thing", "1.00"))
    async with ClientSession(system.base) as session:
        body = {"urls": [url], "name": "A thing", "enabled": False}
        watch = await _ask(session, "POST", "/api/watches", body)
        of_page = urlencode({"jobId": watch["jobId"], "url": url})
        await _checked(session, watch["jobId"])
        await _look_at(page, f"{system.base}/watch/page?{of_page}")
        for number in range(2, CHANGES + 2):
            site.serve("/watched", product("A thing", f"{number}.00"))
            await _checked(session, watch["jobId"])
            versions = await _ask(session, "GET", f"/api/watch/pages/versions?{of_page}&limit=1")
            stored = versions["data"][0]["createdAt"]
            yield _Change(shown=f"Version {number - 1} → {number}", stored=stored)


async def _checked(session: ClientSession, watch_id: str) -> None:
    run = await _ask(session, "POST", f"/api/watches/{watch_id}/run", {})
    while run["status"] == "in_progress":
        await asyncio.sleep(LOOK_SECONDS)
        run = await _ask(session, "GET", f"/api/watch/runs/{run['runId']}")


async def _ask(
    session: ClientSession, method: str, path: str, body: dict[str, Any] | None = None
) -> Any:
    async with session.request(method, path, json=body) as answer:
        answer.raise_for_status()
        return await answer.json()


async def _look_at(page: Page, url: str) -> None:
    await page.goto(url)
    await page.evaluate(_NOTE_CHANGES)


# When a row said for the first time that what it links to has ended, and when a heading appeared.
_NOTE_CHANGES = """() => {
  window.seen = {};
  const look = () => {
    const now = Date.now();
    for (const heading of document.querySelectorAll('h2')) window.seen[heading.innerText] ??= now;
    for (const link of document.querySelectorAll('[role=row] a')) {
      if (!/completed|partial|failed/.test(link.closest('[role=row]').innerText)) continue;
      window.seen[link.getAttribute('href')] ??= now;
    }
  };
  look();
  new MutationObserver(look).observe(document.body, {subtree: true, childList: true, characterData: true});
}"""  # noqa: E501 - it is JavaScript
