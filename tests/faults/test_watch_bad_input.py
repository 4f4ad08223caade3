"""A budget that is used up; pages and events that are not what they should be: each is stored or
refused with its reason, and the pipeline goes on."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from faults.client import Client, client_of
from faults.conftest import MakeFleet
from faults.feed_site import FeedSite, Served
from faults.processes import eventually_async
from faults.site import Site
from faults.stack import MakeStack, Say
from faults.watch_room import WatchRoom, make_watch_room, message, run_ended, waiting
from faults.watch_site import PARAGRAPH, article, product
from topologies import FEED_AND_WATCH_KINDS
from webloom.bootstrap.services import Services
from webloom.domain.errors import WatchRefused
from webloom.domain.page import STORAGE_QUEUE, Selection
from webloom.domain.watch import Outcome
from webloom.ports.pages import PageFilter

BUDGET = 3 << 20
SHOP = "https://shop.example"
Event = dict[str, Any]


def large_event(rng: random.Random, job: str, url: str, version: int) -> Event:
    """About 90,000 bytes, however it is compressed."""
    return {
        "jobId": job,
        "url": url,
        "parsed": {"title": url, "text": rng.randbytes(90_000).hex()},
        "diff": {"textChanged": version > 1},
        "version": version,
        "ts": 1_712_345_678_910 + version,
    }


# The budget


@pytest.mark.parametrize("kind", ["embedded", "mongodb+bullmq"])
async def test_a_budget_that_is_used_up_prunes_first_and_then_lets_events_wait(
    kind: str, site: Site, fleets: MakeFleet, stacks: MakeStack, rng: random.Random, say: Say
) -> None:
    room = await make_watch_room(
        kind, site, fleets, stacks, lease=3, slots=1, storage_budget=BUDGET, retry_delay=0.1
    )
    process = await room.start("up", full_pause="0.5", look_seconds="0.2")
    async with room.services() as services, client_of(room.fleet.base) as client:
        url = f"{SHOP}/versions"
        for version in range(1, 41):
            await publish(services, large_event(rng, "versions", url, version))
        await progress(services, client)
        kept = [
            each.version
            for each in await services.page_history.versions("versions", url, limit=100)
        ]
        say(f"kept of 40 versions: {kept}")
        assert kept[0] == 40, "the newest is kept forever"
        assert 1 < len(kept) < 40, "the oldest have gone, for the newer ones"
        assert [await parsed_size(services, url, each) for each in kept] == [180_000] * len(kept)
        await eventually_async(lambda: is_well(client), what="there is room")

        for number in range(40):
            await publish(services, large_event(rng, "pages", f"{SHOP}/pages/{number}", 1))
        late = large_event(rng, "late", f"{SHOP}/late", 1) | {"parsed": {"text": "short"}}
        await publish(services, late)

        async def is_full() -> bool:
            depth = await services.broker.depth(STORAGE_QUEUE)
            status, storage = await storage_health(client)
            if storage is None or status == "down" or not depth.delayed:
                return False
            say(f"{status}: {storage}")
            assert status == "degraded"
            assert "WEBLOOM_STORAGE_BUDGET" in storage, "it says what to do"
            return True

        await eventually_async(is_full, what="it is full, and events wait")
        await check_full(services, url)
        while await waiting(services):
            if (await storage_health(client))[1] is not None:
                await services.pages.forget_watch("pages")
            await progress(services, client)
        page = await services.pages.find_page("late", late["url"])
        assert page is not None, "what waited is stored once there is room"
        assert page.text == "short"
        assert (await services.broker.depth(STORAGE_QUEUE)).dead == 0
    assert "an event waits for room" in process.output
    await room.shut_down()


async def publish(services: Services, event: Event) -> None:
    sent = message(f"{event['url']} {event.get('version')}", event)
    await services.broker.publish(STORAGE_QUEUE, sent)


async def parsed_size(services: Services, url: str, version: int) -> int:
    parsed = await services.page_history.parsed("versions", url, version)
    assert parsed is not None
    return len(parsed["text"])


async def is_well(client: Client) -> bool:
    return await storage_health(client) == ("ok", None)


async def storage_health(client: Client) -> tuple[str, str | None]:
    """A worker that was not heard of yet makes it degraded, too."""
    _, health = await client.get("/health")
    return health["status"], health["storage"]


async def check_full(services: Services, url: str) -> None:
    """Nothing superseded is left, the newest of every page is."""
    usage = {each.collection: each for each in await services.page_storage.usage()}
    assert usage["snapshots"].superseded_items == 0, usage["snapshots"]
    assert await parsed_size(services, url, 40) == 180_000
    pages, _ = await services.pages.list_pages(PageFilter(watch_id="pages"), limit=100)
    assert 0 < len(pages) < 40


async def progress(services: Services, client: Client) -> None:
    """Wait until all is stored, or there is no room again."""

    async def look() -> bool:
        return not await waiting(services) or (await storage_health(client))[1] is not None

    await eventually_async(look, what="what waits is stored")


# Events

ODD_EVENTS: dict[str, tuple[Event, str | None]] = {  # name -> what is sent, why it is refused
    "fifty-megabytes": (
        {"parsed": {"text": "word " * 10_000_000}},
        "is the limit",
    ),
    "many-attributes": (
        {"parsed": {"text": "a", "metadata": {f"a{number}": "1" for number in range(200_000)}}},
        None,
    ),
    "deep": ({"parsed": {"text": "a", "metadata": {"a": [[[[[[[[[[1]]]]]]]]]]}}}, None),
    "no-parsed": ({"parsed": None, "diff": {"textChanged": True}}, None),
    "call-us": ({"price": {"current": "call us", "currency": "EUR"}}, None),
    "negative": ({"price": {"current": -3, "previous": 5}}, None),
    "twenty": ({"price": [{"current": number} for number in range(20)]}, None),
    "infinite": ({"price": {"current": "Infinity"}}, None),
    "nulls": (
        dict.fromkeys(("parsed", "classification", "diff", "price", "snapshotHash", "version")),
        None,
    ),
    "bad-port": ({"url": "https://shop.example:port/"}, "url: "),
    "no-host": ({"url": "https:///path"}, "url: "),
    "relative": ({"url": "/path"}, "url: "),
    "spaces": ({"url": "https://shop.example/a b\u0000c"}, "url: "),
}


@pytest.mark.parametrize("kind", FEED_AND_WATCH_KINDS)
async def test_odd_events_are_stored_or_refused_with_their_reason(
    kind: str, site: Site, fleets: MakeFleet, stacks: MakeStack, say: Say
) -> None:
    room = await make_watch_room(kind, site, fleets, stacks, lease=3)
    await room.start("storage-agent")
    async with room.services() as services:
        for number, (name, (odd, _)) in enumerate(ODD_EVENTS.items()):
            event = {
                "jobId": name,
                "url": f"{SHOP}/{name}",
                "parsed": {"title": name, "text": "hello"},
                "version": 1,
                "ts": 1_712_345_678_910,
            }
            sent = message(number, event | odd)
            await services.broker.publish(STORAGE_QUEUE, sent)
        await room.served(services)
        dead = await services.broker.dead_letters(STORAGE_QUEUE, limit=100)
        reasons = {name_of(each.id): each.reason for each in dead}
        say(str(reasons))
        wanted = {name: why for name, (_, why) in ODD_EVENTS.items() if why is not None}
        assert reasons.keys() == wanted.keys()
        assert all(why in reasons[name] for name, why in wanted.items()), reasons
        for name in ODD_EVENTS.keys() - wanted.keys():
            page = await services.pages.find_page(name, f"{SHOP}/{name}")
            assert page is not None, f"{name} is lost"
            assert page.price is None, name
            has_content = ODD_EVENTS[name][0].get("parsed", "usual") is not None
            assert (page.version == 1) == has_content, page


def name_of(message_id: str) -> str:
    return [*ODD_EVENTS][int(message_id.removeprefix("event-"))]


# Pages


@dataclass(frozen=True, kw_only=True)
class Case:
    served: Served
    says: str | None = None  # why it failed; None: it is stored
    has_price: bool = False
    selection: Selection = field(default_factory=Selection)


def html(body: bytes | str, **more: Any) -> Served:
    return Served.of(body, Content_Type="text/html; charset=utf-8", **more)


def tags(count: int) -> str:
    """Small as they are, what is known of each takes much room."""
    attributes = " ".join("abcdefghijklmnopqrstuvwxyz")
    return f"<!doctype html><title>Many</title>{f'<p {attributes}>' * count}"


def made_cases() -> dict[str, Case]:
    """Made for the test only: they are large."""
    return {
        "fine": Case(served=html(article(1, "Fine."))),
        "fifty-megabytes": Case(served=html(article(2, "word " * 10_000_000)), says="characters"),
        "many-attributes": Case(
            served=html(f"<p {' '.join(f'a{number}=1' for number in range(200_000))}>Hello"),
            says="attributes",
        ),
        "deep": Case(served=html("<div>" * 100_000 + PARAGRAPH), says="deep"),
        "call-us": Case(served=html(product(3, "call us"))),
        "negative": Case(served=html(product(4, "-5.00"))),
        "priced": Case(served=html(product(5, "5.00")), has_price=True),
        "slow": Case(
            served=html(f"<!doctype html><title>Slow</title>{'<p>x</p>' * 80_000}"),
            says="took more than",
            selection=Selection(keep=["//p[count(preceding::*) > 3]"]),
        ),
        "greedy": Case(served=html(tags(290_000)), says="memory"),
        "empty": Case(served=html(""), says="empty"),
        "image": Case(
            served=Served.of(bytes(range(256)) * 40, Content_Type="image/png"), says="png"
        ),
        "larger-than-any": Case(served=html("", Content_Length=str(10 << 30)), says="larger than"),
        "odd-bytes": Case(
            served=html(article(6, "odd").encode().replace(b"odd", b"\xff\xfe\x80 odd"))
        ),
    }


@pytest.fixture
async def odd_site() -> AsyncIterator[FeedSite]:
    async with FeedSite() as running:
        yield running


async def test_odd_pages_fail_alone_and_say_why(
    odd_site: FeedSite, fleets: MakeFleet, say: Say
) -> None:
    cases = made_cases()
    odd_site.feeds = {f"/{name}": case.served for name, case in cases.items()}
    # Of the processor the greedy page takes about 3 s, the slow one 40: another may be quicker.
    settings = {"page_seconds": 12, "max_body": 64 << 20, "retry_delay": 0, "lease": 5}
    room = WatchRoom(fleet=fleets(odd_site, data=None, prefix=(), **settings))
    await room.start("up", page_wall="60")  # a busy machine is not the fault of a page
    async with room.services() as services:
        with pytest.raises(WatchRefused, match="urls: "):
            await services.manage_watches.add(["https://shop.example:port/"])
        runs = {}
        for name, case in cases.items():
            watch, _ = await services.manage_watches.add(
                [odd_site.url(f"/{name}")], enabled=False, watch_id=name, selection=case.selection
            )
            started = await services.start_watch(watch.watch_id, "manual")
            assert started is not None
            runs[name] = started.run.run_id
        wrong = []
        for name, case in cases.items():
            run = await run_ended(services, runs[name])
            page = await services.pages.find_page(name, odd_site.url(f"/{name}"))
            assert page is not None
            say(f"{name}: {run.status}, {page.last_error}, {page.price} {page.currency}")
            failed = case.says is not None
            if (page.last_outcome is Outcome.FAILED, page.version) != (
                failed,
                None if failed else 1,
            ):
                wrong.append((name, page))
            if (case.says or "") not in (page.last_error or ""):
                wrong.append((name, page))
            if (page.price is not None) != case.has_price:
                wrong.append((name, page))
            assert (run.tally.processed, run.tally.failed) == (1, int(failed)) or wrong
        assert not wrong
        assert not [*(room.fleet.data / "spool").glob("*.page")], "nothing is left in the spool"
    await room.shut_down()
