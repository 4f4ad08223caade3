"""kill -9 of everything that takes part in a watch's runs: every run ends, and its numbers are
exactly what the site has shown."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from dataclasses import asdict
from decimal import Decimal
from typing import Any

import pytest

from faults.conftest import MakeFleet
from faults.stack import MakeStack, Say
from faults.watch_room import (
    Havoc,
    all_pages,
    make_watch_room,
    run_ended,
    state_of,
)
from faults.watch_site import CHANGING, FAILING, HANGS_IN, Shelf, WatchSite, price_of
from webloom.bootstrap.services import Services
from webloom.domain.errors import Unavailable
from webloom.domain.watch import Outcome, RunStatus, WatchRun
from webloom.ports.pages import PageFilter

EDITIONS = 4
KILLS = 10
PAGES = {
    "steady": 3,
    "plain": 3,
    "noisy": 3,
    "news": 12,
    "shop": 8,
    "wall": 2,
    "captcha": 2,
    "broken": 1,
    "hang": 1,
    "missing": 1,
}


@pytest.fixture
async def shop() -> AsyncIterator[WatchSite]:
    async with WatchSite(Shelf(pages=PAGES), seconds=0.1) as running:
        yield running


@pytest.mark.parametrize("kind", ["embedded", "mongodb+bullmq"])
async def test_every_run_ends_with_exact_numbers(
    kind: str,
    shop: WatchSite,
    fleets: MakeFleet,
    stacks: MakeStack,
    rng: random.Random,
    say: Say,
) -> None:
    room = await make_watch_room(
        kind, shop, fleets, stacks, lease=3, watch_concurrency=3, retry_delay=0.1, fetch_timeout=4
    )
    havoc = Havoc(room, rng)
    async with room.services() as services:
        watch, _ = await services.manage_watches.add(shop.urls(), name="The shop", enabled=False)
        await havoc.begin("scheduler", watch_seconds="2")
        for name in ("worker 1", "worker 2", "storage-agent"):
            await havoc.begin(name)
        for edition in range(EDITIONS):
            shop.shelf.edition = edition
            run = await carried_out(
                services, watch.watch_id, havoc, kills=edition and KILLS // 3 + 1
            )
            say(f"edition {edition}: {run.status}, {run.tally}; killed {havoc.killed}")
            assert run.status is RunStatus.PARTIAL
            assert asdict(run.tally) == asdict(shop.shelf.expected()), run.failures
            await check_reasons(services, shop, run)
        await havoc.settle()
        assert len(havoc.killed) >= KILLS, "the runs were over too soon"
        await check_pages(services, shop)
        await room.shut_down()
        say(f"{shop.requests} requests: {shop.statuses}")
        assert shop.statuses[304] >= EDITIONS * PAGES["steady"] // 2


async def carried_out(services: Services, watch_id: str, havoc: Havoc, *, kills: int) -> WatchRun:
    started = await services.start_watch(watch_id, "manual")
    assert started is not None
    assert started.is_new
    run_id = started.run.run_id

    async def is_over() -> bool:
        try:
            run = await services.watch_runs.find_run(run_id)
        except Unavailable:
            return False
        return run is not None and run.status is not RunStatus.IN_PROGRESS

    await havoc.rage(kills, pause=(0.2, 0.8), is_over=is_over)
    run = await run_ended(services, run_id)
    again = await services.watch_runs.find_run(run_id)
    assert again == run, "a run that has ended does not change"
    return run


async def check_reasons(services: Services, shop: WatchSite, run: WatchRun) -> None:
    """Walls and errors are failures, each reported as what it is."""
    says = {
        "wall": "403",
        "captcha": "Just a moment",
        "broken": "500",
        "hang": "",
        "missing": "404",
    }
    for failure in run.failures:
        kind = failure.url.removeprefix(shop.url("/")).split("/")[0]
        assert says[kind] in failure.reason, failure


async def check_pages(services: Services, shop: WatchSite) -> None:
    """Each version once, and none of what was not the page."""
    state = await state_of(services)
    pages = {page.url: page for page in await all_pages(services, PageFilter())}
    assert set(pages) == set(shop.urls())
    for url, page in pages.items():
        kind, number = url.removeprefix(shop.url("/")).split("/")
        kept: dict[str, Any] = state[f"{page.watch_id} {url}"]
        numbers = [each[0] for each in kept["versions"]]
        if kind == "missing":
            assert (numbers, page.version, page.last_outcome) == ([], None, Outcome.FAILED)
            continue
        wanted = EDITIONS if kind in CHANGING else 1
        assert numbers == [*range(wanted, 0, -1)], f"{url}: {numbers}"
        assert [each[0] for each in kept["changes"]] == [*range(wanted, 1, -1)], url
        assert [each[1] for each in kept["changes"]] == [*range(wanted - 1, 0, -1)], url
        outcome = Outcome.UNCHANGED
        if kind in FAILING:
            outcome = Outcome.FAILED
        elif kind in CHANGING:
            outcome = Outcome.CHANGED
        assert page.last_outcome is outcome, page
        assert "human" not in (page.text or "")
        prices = {(each[4], each[1]) for each in kept["prices"]}
        reported = [
            (edition + 1, Decimal(price_of(int(number), edition))) for edition in range(EDITIONS)
        ]
        assert prices == (set(reported) if kind == "shop" else set()), url
        assert len(kept["prices"]) == len(prices), f"{url}: a price twice: {kept['prices']}"
    assert HANGS_IN < EDITIONS - 1, "a page that hung for once is a page again"
