"""kill -9 of a storage agent between any two of its writes: what is kept is the same."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from faults.conftest import MakeFleet
from faults.processes import eventually_async
from faults.site import Site
from faults.stack import MakeStack, Say
from faults.watch_room import (
    State,
    WatchRoom,
    differences,
    make_watch_room,
    message,
    state_of,
)
from faults.watch_room_deadly import Order
from forks import Fork, start_fork
from timeouts import TIMEOUT_SECONDS
from topologies import LARGE
from webloom.bootstrap.connections import open_services
from webloom.bootstrap.services import Services
from webloom.domain.schedule import Schedule
from webloom.entrypoints.slots import Slots
from webloom.settings import load_settings

DEADLY = Path(__file__).with_name("watch_room_deadly.py")
PAGE = "https://shop.example/looms/5"
KILLED = 9
SERVERS = 3  # agents at the same time
QUEUES_AT_ONCE = 30  # that are served to their end


def event(
    version: int | None, ts: int, text: str, price: tuple[Any, Any] | None = None, **more: Any
) -> dict[str, Any]:
    words = " ".join(f"{text} {number}" for number in range(40))
    reported: dict[str, Any] = {
        "url": PAGE,
        "parsed": {"title": "A loom", "text": words, "images": [f"https://shop.example/{text}"]},
        "classification": {"type": "product", "confidence": 0.9},
        "diff": {"textChanged": version != 1},
        "snapshotHash": text,
        "version": version,
        "ts": ts,
    }
    if price is not None:
        reported["price"] = {"current": price[0], "previous": price[1], "currency": "INR"}
    return reported | more


# One page, whose events come in the wrong order, twice, and with numbers that are taken.
EVENTS: list[dict[str, Any]] = [
    event(1, 1000, "first", (100, None)),
    event(2, 2000, "second", (90, 100), availability="in_stock", alerts=["the price fell"]),
    event(5, 5000, "fifth", (80.5, 90)),
    event(3, 3000, "late", (85, 90)),
    event(5, 6000, "taken", (70, 80.5)),
    event(2, 2000, "second", (90, 100), availability="in_stock", alerts=["the price fell"]),
    event(None, 7000, "unseen", parsed=None),
    event(9, 8000, "last"),
    event(1, 500, "before all", (120, None)),
    event(5, 2500, "fifth"),
]


EXTERNAL = " of others"
EXTERNAL_EVENTS = [  # and whether they are of a run that they open
    (event(1, 1000, "first", (100, None)), True),
    (event(2, 2000, "second", (90, 100), runStatus="completed"), True),
    (event(3, 3000, "third"), False),
]


def is_of_run(each: dict[str, Any]) -> bool:
    return each["snapshotHash"] in ("second", "late", "unseen", "before all")


async def add_job(services: Services, watch_id: str) -> list[dict[str, Any]]:
    """A watch with a run in progress, and events for it: some count for that run. And events of a
    job that only another program knows."""
    watch, _ = await services.manage_watches.add(
        [PAGE],
        watch_id=watch_id,
        enabled=False,
        schedule=Schedule(every_minutes=60),
        accepts_events=True,
    )
    started = await services.start_watch(watch.watch_id, "manual")
    assert started is not None
    ours = [
        each | {"jobId": watch_id} | ({"runId": started.run.run_id} if is_of_run(each) else {})
        for each in EVENTS
    ]
    other_job = f"{watch_id}{EXTERNAL}"
    return ours + [
        each | {"jobId": other_job} | ({"runId": f"{other_job}, run 1"} if is_first else {})
        for each, is_first in EXTERNAL_EVENTS
    ]


async def publish(services: Services, queue: str, events: Sequence[dict[str, Any]]) -> None:
    for number, each in enumerate(events):
        await services.broker.publish(queue, message(f"{queue}-{number}", each))


@dataclass(frozen=True, kw_only=True)
class DeadlyAgents:
    """A run of watch_room_deadly.py."""

    process: Fork
    answers: asyncio.StreamReader
    orders: asyncio.StreamWriter

    async def code_for(self, order: Order) -> int:
        """How the agent ended."""
        self.orders.write(msgspec.json.encode(order) + b"\n")
        await self.orders.drain()
        return int(await self.answers.readline())


async def start_deadly_agents() -> DeadlyAgents:
    ours, theirs = socket.socketpair()
    with theirs:
        process = start_fork(
            DEADLY,
            env=os.environ,
            folder=DEADLY.parents[1],
            stdin=theirs.fileno(),
            stdout=theirs.fileno(),
            stderr=2,
        )
    answers, orders = await asyncio.open_connection(sock=ours)
    return DeadlyAgents(process=process, answers=answers, orders=orders)


@asynccontextmanager
async def deadly_agents(count: int) -> AsyncIterator[list[DeadlyAgents]]:
    running = [await start_deadly_agents() for _ in range(count)]
    try:
        yield running
    finally:
        for each in running:
            each.orders.close()
        for each in running:
            await asyncio.to_thread(each.process.wait, TIMEOUT_SECONDS)


async def taken_over(services: Services, queue: str) -> None:
    """By an agent that lives on, until nothing is left."""
    stop = asyncio.Event()

    async def serve() -> None:
        async with services.broker.deliveries(queue, 1) as deliveries:
            slots = Slots(services.store_event, deliveries)
            slots.start(1)
            await slots.serve_until(stop)
            await slots.drain(30)

    async def look() -> bool:
        depth = await services.broker.depth(queue)
        return depth.ready + depth.delayed + (depth.in_flight or 0) == 0

    task = asyncio.create_task(serve())
    await eventually_async(look, what=f"{queue} is empty")
    stop.set()
    await task
    depth = await services.broker.depth(queue)
    assert (depth.ready, depth.delayed, depth.in_flight or 0, depth.dead) == (0, 0, 0, 0)


async def undisturbed(folder: Path) -> State:
    """What one agent without a fault leaves in a store of its own."""
    settings = load_settings({"WEBLOOM_DATA_DIR": str(folder)})
    async with open_services(settings) as services:
        await publish(services, settings.input_queue, await add_job(services, "undisturbed"))
        await taken_over(services, settings.input_queue)
        return await state_of_job(services, "undisturbed")


async def state_of_job(services: Services, watch_id: str) -> State:
    """With that of the other program's job."""
    others = await state_of(services, f"{watch_id}{EXTERNAL}")
    return await state_of(services, watch_id) | {
        f"others: {name}": it for name, it in others.items()
    }


class Trial:
    """Agents of one installation; each dies at another point."""

    def __init__(self, room: WatchRoom, services: Services, *, hesitates: bool = False) -> None:
        self._room = room
        self._hesitates = hesitates
        self._services = services
        self.points: list[int] = []

    def queue(self, point: int) -> str:
        return f"storage-agent-{point}"

    def job(self, point: int) -> str:
        return f"killed-{point}"

    async def killed(self, agents: DeadlyAgents, point: int) -> bool:
        """False: there is no such point, as the agent has served all its events."""
        settings = self._room.fleet.settings | {"INPUT_QUEUE": self.queue(point)}
        events = await add_job(self._services, self.job(point))
        await publish(self._services, self.queue(point), events)
        order = Order(
            point=point,
            events=len(events),
            settings=settings | {"WEBLOOM_SLOTS": "1"},
            hesitates=self._hesitates,
        )
        code = await agents.code_for(order)
        assert code in (0, KILLED), f"the agent of point {point} ended with {code}"
        self.points.append(point)
        return code == KILLED

    async def check(self, expected: State) -> list[str]:
        """Where the state differs from what it must be."""
        for start in range(0, len(self.points), QUEUES_AT_ONCE):
            some = self.points[start : start + QUEUES_AT_ONCE]
            await asyncio.gather(*(taken_over(self._services, self.queue(each)) for each in some))
        wrong = []
        for point in self.points:
            state = await state_of_job(self._services, self.job(point))
            wrong += [f"point {point}: {each}" for each in differences(expected, state)]
        return wrong


@pytest.mark.parametrize(
    ("step", "hesitates"),
    [
        pytest.param(4, False, id="each fourth"),
        pytest.param(1, False, id="all", marks=LARGE),
        pytest.param(7, True, id="each seventh, hesitant"),
        pytest.param(3, True, id="each third, hesitant", marks=LARGE),
    ],
)
async def test_an_agent_killed_before_any_write_to_mongodb_changes_nothing_that_is_kept(
    step: int,
    hesitates: bool,
    site: Site,
    fleets: MakeFleet,
    stacks: MakeStack,
    tmp_path: Path,
    say: Say,
) -> None:
    """Of those that it makes together, any may be the first: so agents that hesitate."""
    expected = await undisturbed(tmp_path / "undisturbed")
    room = await make_watch_room("mongodb+bullmq", site, fleets, stacks, lease=3)
    points = iter(range(1, 1000, step))
    async with room.services() as services, deadly_agents(SERVERS) as servers:
        trial = Trial(room, services, hesitates=hesitates)

        async def kill_on(agents: DeadlyAgents) -> None:
            for point in points:
                if not await trial.killed(agents, point):
                    return

        await asyncio.gather(*(kill_on(agents) for agents in servers))
        say(f"{len(trial.points)} points")
        assert len(trial.points) * step > 3 * len(EVENTS), "an event takes several writes"
        wrong = await trial.check(expected)
        assert not wrong, "\n".join(wrong[:20])


async def test_an_agent_killed_while_consuming_from_rabbitmq_changes_nothing_that_is_kept(
    site: Site, fleets: MakeFleet, stacks: MakeStack, tmp_path: Path
) -> None:
    expected = await undisturbed(tmp_path / "undisturbed")
    room = await make_watch_room("mongodb+rabbitmq", site, fleets, stacks, lease=3)
    async with room.services() as services, deadly_agents(1) as [agents]:
        trial = OneQueue(room, services)
        for point in range(2, 42, 8):
            assert await trial.killed(agents, point)
            trial.points = [point]
            wrong = await trial.check(expected)
            assert not wrong, "\n".join(wrong[:20])


class OneQueue(Trial):
    def queue(self, point: int) -> str:
        return "storage-agent"


@pytest.mark.parametrize("commits_only", [True, False], ids=["commits", "statements"])
async def test_an_agent_killed_around_any_commit_to_sqlite_changes_nothing_that_is_kept(
    commits_only: bool, site: Site, fleets: MakeFleet, tmp_path: Path, say: Say
) -> None:
    """Each agent has a database of its own, so that all wait for their leases together."""
    expected = await undisturbed(tmp_path / "undisturbed")
    fleet = fleets(site, lease=3, slots=1)
    points = iter(range(1, 1000) if commits_only else range(1, 1000, 41))
    tried: list[dict[str, str]] = []
    job = "killed"

    async def kill_on(agents: DeadlyAgents) -> None:
        for point in points:
            settings = fleet.settings | {"WEBLOOM_DATA_DIR": str(fleet.data / str(point))}
            async with open_services(load_settings(settings)) as services:
                events = await add_job(services, job)
                await publish(services, "storage-agent", events)
            tried.append(settings)
            order = Order(
                point=point, events=len(events), settings=settings, commits_only=commits_only
            )
            code = await agents.code_for(order)
            assert code in (0, KILLED), f"the agent of point {point} ended with {code}"
            if code == 0:
                return

    async def check(settings: dict[str, str]) -> list[str]:
        async with open_services(load_settings(settings)) as services:
            await taken_over(services, "storage-agent")
            wrong = differences(expected, await state_of_job(services, job))
        return [f"{settings['WEBLOOM_DATA_DIR']}: {each}" for each in wrong]

    async with deadly_agents(SERVERS) as servers:
        await asyncio.gather(*(kill_on(agents) for agents in servers))
    say(f"{len(tried)} points")
    assert len(tried) > SERVERS
    found = [await check(each) for each in tried]
    wrong = [line for lines in found for line in lines]
    assert not wrong, "\n".join(wrong[:20])
