"""An installation that watches pages: its processes, and all that it keeps of the pages."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from e2e.running import SAYS_WHEN_READY
from faults.conftest import MakeFleet
from faults.processes import Fleet, Process, eventually_async
from faults.site import Site
from faults.stack import MakeStack
from servers.private import PrivateServer
from servers.rabbitmq import RabbitServer
from webloom.adapters.rabbitmq.layout import Layout
from webloom.application.watch.manage_watches import all_watches
from webloom.bootstrap.connections import open_services
from webloom.bootstrap.services import Services
from webloom.domain.errors import Unavailable
from webloom.domain.page import CHECK_QUEUE, STORAGE_QUEUE
from webloom.domain.watch import RunStatus, WatchRun
from webloom.ports.broker import Message
from webloom.ports.page_history import ChangeFilter
from webloom.ports.pages import PageFilter, StoredPage
from webloom.ports.watch_run_listing import RunFilter
from webloom.settings import load_settings

RIGGED = Path(__file__).with_name("watch_room_rigged.py")
MOST_AGENTS = 5  # until all is served
State = dict[str, Any]  # what is kept, by what it is kept of


@dataclass(kw_only=True)
class WatchRoom:
    fleet: Fleet
    servers: dict[str, PrivateServer] = field(default_factory=dict)  # store, broker

    def __post_init__(self) -> None:
        self.fleet.rigged = RIGGED

    @asynccontextmanager
    async def services(self) -> AsyncIterator[Services]:
        """As one more process of this installation."""
        async with open_services(load_settings(self.fleet.settings)) as services:
            yield services

    def launch(self, role: str, **rigging: str) -> Process:
        """Start a process. `rigging` is what watch_room_rigged.py shall do to it."""
        return self.fleet.launch(role, port=None, **rigging)

    async def start(self, role: str, **rigging: str) -> Process:
        process = self.launch(role, **rigging)
        await process.said(SAYS_WHEN_READY[role])
        return process

    async def shut_down(self) -> None:
        """Every process ends on request, after what it has in hand."""
        running = [process for process in self.fleet.processes if process.alive]
        for process in running:
            process.told_to_end = True
            os.kill(process.pid, signal.SIGTERM)
        for process in running:
            assert await process.ended() == 0, process.output[-3000:]
        self.fleet.check()

    async def served(self, services: Services) -> None:
        """Wait until no event waits. What RabbitMQ's consumers have in hand is not seen:
        asked to end, agents give back what they have not begun."""
        for _ in range(MOST_AGENTS):
            await self._empty(services)
            await self.shut_down()
            if await waiting(services) == 0:
                return
            await self.start("storage-agent")
        raise AssertionError(f"{await services.broker.depth(STORAGE_QUEUE)} after all")

    async def _empty(self, services: Services) -> None:
        async def look() -> bool:
            try:
                return await waiting(services) == 0
            except Unavailable:
                return False

        await eventually_async(look, what="every event is stored or refused")


async def waiting(services: Services) -> int:
    """Events, as far as the broker tells."""
    depth = await services.broker.depth(STORAGE_QUEUE)
    return depth.ready + depth.delayed + (depth.in_flight or 0)


async def make_watch_room(
    kind: str, site: Site, fleets: MakeFleet, stacks: MakeStack, **settings: object
) -> WatchRoom:
    if kind == "embedded":
        return WatchRoom(fleet=fleets(site, data=None, prefix=(), **settings))
    stack = await stacks(kind, site, **settings)
    if isinstance(stack.broker, RabbitServer):
        for layout in (Layout(queue=STORAGE_QUEUE), Layout(queue=CHECK_QUEUE)):
            specs = (layout.ready, layout.again, layout.dead, *layout.waits)
            await stack.broker.delete_queues(*(spec.name for spec in specs))
    servers = {"store": stack.servers("store"), "broker": stack.servers("broker")}
    return WatchRoom(fleet=stack.fleet, servers=servers)


def message(number: object, body: Mapping[str, Any] | bytes) -> Message:
    return Message(
        id=f"event-{number}", body=body if isinstance(body, bytes) else msgspec.json.encode(body)
    )


# What is kept


async def all_pages(services: Services, chosen: PageFilter) -> list[StoredPage]:
    """Whole ones."""
    found: list[StoredPage] = []
    cursor = None
    while True:
        pages, cursor = await services.pages.list_pages(chosen, limit=100, cursor=cursor)
        for page in pages:
            whole = await services.pages.find_page(page.watch_id, page.url)
            assert whole is not None
            found.append(whole)
        if cursor is None:
            return found


async def state_of(services: Services, watch_id: str | None = None) -> State:
    """All that is kept of the pages of a job, or of all; without the job's name, if it is one, and
    without the moments that our own clock has set. What must hold for any page is checked."""
    state: State = {}
    for page in await all_pages(services, PageFilter(watch_id=watch_id)):
        name = f"{'' if watch_id else page.watch_id} {page.url}"
        assert name not in state, f"{name} is there twice"
        state[name] = {
            "page": {key: value for key, value in asdict(page).items() if key != "watch_id"},
            "versions": await _versions(services, page),
            "prices": await _prices(services, page),
            "changes": await _changes(services, page),
        }
    cursor, chosen = None, RunFilter(watch_id=watch_id)
    while True:
        runs, cursor = await services.watch_run_listing.runs(chosen, limit=100, cursor=cursor)
        for run in runs:
            state[f"run {run_name(run, watch_id)}"] = {
                "status": run.status,
                "trigger": run.trigger,
                "tally": asdict(run.tally),
                "failures": sorted((each.url, each.reason) for each in run.failures),
            }
        if cursor is None:
            break
    for watch in [each async for each in all_watches(services.watches)]:
        if watch_id in (None, watch.watch_id):
            state[f"watch {'' if watch_id else watch.watch_id}"] = {
                "metrics": asdict(watch.metrics),
                "is_external": watch.is_external,
                "last_run": watch.last_run_id and watch.last_run_id.removeprefix(watch_id or ""),
                "last_status": watch.last_status,
                "last_run_at": watch.last_run_at,
            }
    return state


def run_name(run: WatchRun, watch_id: str | None) -> str:
    if run.pages_total is not None:
        return "of the watch" if watch_id else f"of {run.watch_id}"
    return run.run_id.removeprefix(watch_id or "")


async def _versions(services: Services, page: StoredPage) -> list[Any]:
    found = await services.page_history.versions(page.watch_id, page.url, limit=1000)
    numbers = [each.version for each in found]
    assert len(set(numbers)) == len(numbers), f"{page.url} has a version twice: {numbers}"
    assert numbers == sorted(numbers, reverse=True)
    for each in found:
        is_newest = each.version == page.version
        assert (each.expires_at is None) == is_newest, f"{each} of {page.version}"
    return [
        (
            each.version,
            each.snapshot_hash,
            each.created_at,
            await services.page_history.parsed(page.watch_id, page.url, each.version),
        )
        for each in found
    ]


async def _prices(services: Services, page: StoredPage) -> list[Any]:
    found: list[Any] = []
    cursor = None
    while True:
        prices, cursor = await services.page_history.prices(
            page.watch_id, page.url, limit=100, cursor=cursor
        )
        found += [
            (each.timestamp, each.price, each.currency, each.change_percent, each.version)
            for each in prices
        ]
        if cursor is None:
            return found


async def _changes(services: Services, page: StoredPage) -> list[Any]:
    found: list[Any] = []
    chosen, cursor = ChangeFilter(watch_id=page.watch_id, url=page.url), None
    while True:
        logs, cursor = await services.page_history.change_logs(chosen, limit=100, cursor=cursor)
        found += [
            (each.current, each.previous, each.timestamp, each.changes, each.reasons, each.alerts)
            for each in logs
        ]
        if cursor is None:
            break
    numbers = [each[0] for each in found]
    assert len(set(numbers)) == len(numbers), f"{page.url} has a change log twice: {numbers}"
    return found


def differences(expected: Any, found: Any, where: str = "") -> list[str]:
    """Where two states differ, for a person."""
    if isinstance(expected, dict) and isinstance(found, dict):
        parts: list[str] = []
        for key in sorted({*expected, *found}, key=str):
            if key not in expected or key not in found:
                what = "not wanted" if key in found else "missing"
                parts.append(f"{where}/{key} is {what}: {expected.get(key, found.get(key))!r:.300}")
            else:
                parts += differences(expected[key], found[key], f"{where}/{key}")
        return parts
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        return [
            each
            for index, pair in enumerate(zip(expected, found, strict=True))
            for each in differences(*pair, f"{where}[{index}]")
        ]
    if expected == found:
        return []
    return [f"{where}: wanted {expected!r:.600}, found {found!r:.600}"]


# Runs of watches


async def run_ended(services: Services, run_id: str) -> WatchRun:
    async def look() -> WatchRun | None:
        try:
            run = await services.watch_runs.find_run(run_id)
        except Unavailable:
            return None
        return run if run is not None and run.status is not RunStatus.IN_PROGRESS else None

    try:
        run = await eventually_async(look, what="the run ends")
    except AssertionError as late:
        missing = await services.watch_runs.unchecked(run_id)
        depths = {
            queue: await services.broker.depth(queue) for queue in (CHECK_QUEUE, STORAGE_QUEUE)
        }
        raise AssertionError(f"{late}: nothing is known of {missing}; {depths}") from None
    assert run is not None
    return run


class Havoc:
    """Keeps processes running and kills one of them, or a server, at random moments."""

    def __init__(self, room: WatchRoom, rng: random.Random) -> None:
        self.killed: list[str] = []
        self._room = room
        self._rng = rng
        self._rigging: dict[str, dict[str, str]] = {}
        self._processes: dict[str, Process] = {}
        self._turns: list[str] = []

    async def begin(self, name: str, **rigging: str) -> None:
        """The role is the first word of the name."""
        self._rigging[name] = rigging
        self._processes[name] = await self._room.start(name.split()[0], **rigging)

    async def kill(self, victim: str) -> None:
        self.killed.append(victim)
        if victim in self._processes:
            self._processes[victim].kill()
            await asyncio.sleep(self._rng.uniform(0.0, 0.3))
            role = victim.split()[0]
            self._processes[victim] = self._room.launch(role, **self._rigging[victim])
            return
        server = self._room.servers[victim]
        await asyncio.to_thread(server.kill)
        await asyncio.sleep(self._rng.uniform(0.0, 0.3))
        await asyncio.to_thread(server.restart)

    async def rage(
        self, times: int, *, pause: tuple[float, float], is_over: Callable[[], Awaitable[bool]]
    ) -> None:
        """So often, as long as it is not over; each victim in turn, in a random order."""
        victims: Iterable[str] = [*self._processes, *self._room.servers]
        for _ in range(times):
            await asyncio.sleep(self._rng.uniform(*pause))
            if await is_over():
                return
            self._turns = self._turns or self._rng.sample([*victims], len([*victims]))
            await self.kill(self._turns.pop())

    async def settle(self) -> None:
        for process in self._processes.values():
            await process.said(SAYS_WHEN_READY[process.role])
