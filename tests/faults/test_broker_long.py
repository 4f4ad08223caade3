"""A long time without work, and a lot of work, over every broker.

contracts/bullmq/test_node.py covers jobs that go from Python to Node's BullMQ and back.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from faults.broker_process import message
from faults.broker_rooms import BACKENDS, Backend, BrokerRoom, open_room
from servers.shared import SharedServers
from timeouts import TIMEOUT_SECONDS

Say = Callable[[str], None]
IDLE_SECONDS = 36.0  # longer than every poll, heartbeat and back-off that could hide in a client
IDLERS = 3  # of each backend: the machine may be busy just when one is to be prompt
SOAK = 20_000
GROWTH_KIB = 12 * 1024  # from a tenth of the way to its end
MOST_EVENTS = 2000  # of BullMQ's stream that others can follow a queue by


@pytest.mark.thorough
@pytest.mark.timeout(900)  # a load that takes minutes
async def test_an_idle_consumer_stays_prompt_while_others_serve_twenty_thousand_messages(
    shared_servers: SharedServers, tmp_path: Path, say: Say
) -> None:
    """Over all brokers at the same time, and in queues of their own: what idles has nothing to do
    with what is at work. Afterwards nothing is left behind, and what idled is prompt."""
    async with AsyncExitStack() as stack:
        idlers = [
            await stack.enter_async_context(
                idling(backend, shared_servers, tmp_path / f"idle-{number}")
            )
            for number, backend in enumerate(BACKENDS * IDLERS)
        ]
        rooms = [
            await stack.enter_async_context(
                open_room(backend, shared_servers, tmp_path / f"{number}")
            )
            for number, backend in enumerate(BACKENDS)
        ]
        idle_since = time.monotonic()
        await asyncio.gather(*(soak(room, say) for room in rooms))
        await asyncio.sleep(max(0.0, IDLE_SECONDS - (time.monotonic() - idle_since)))
        times: defaultdict[str, list[float]] = defaultdict(list)
        for room, pick_up in idlers:
            times[room.backend.name].append(await pick_up())
    for name, seconds in times.items():
        say(f"{name} {', '.join(f'{each * 1000:.0f} ms' for each in seconds)}")
        assert min(seconds) < 1, "it looks now and then"


@asynccontextmanager
async def idling(
    backend: Backend, servers: SharedServers, folder: Path
) -> AsyncIterator[tuple[BrokerRoom, Callable[[], Awaitable[float]]]]:
    """Yields what publishes the first message, by another process, and says how soon it came."""
    async with (
        open_room(backend, servers, folder) as room,
        room.open() as publisher,
        room.open() as consumer,
        consumer.deliveries(room.queue, 2) as deliveries,
    ):
        waiter = asyncio.ensure_future(anext(deliveries))

        async def pick_up() -> float:
            begun = time.monotonic()
            await publisher.publish(room.queue, message("m"))
            async with asyncio.timeout(TIMEOUT_SECONDS):
                delivery = await waiter
            spent = time.monotonic() - begun
            await delivery.ack()
            return spent

        try:
            yield room, pick_up
        finally:
            waiter.cancel()
            await asyncio.wait([waiter])


async def soak(room: BrokerRoom, say: Say) -> None:
    process = room.start("soak", SOAK, lease=15)
    await process.said("ready")
    begun = time.monotonic()
    for times in (1, 2, 3):  # each takes its time
        await process.said("memory", times)
    await process.said("done")
    spent = time.monotonic() - begun
    await process.ended()
    process.check()
    memory = [int(event.more[0]) for event in process.events if event.what == "memory"]
    log = room.file.with_name(room.file.name + "-wal")
    assert not log.exists(), "the last one to close the file empties its log"
    left = await room.left_behind()
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while room.backend.server == "rabbitmq" and any(left.values()) and time.monotonic() < deadline:
        await asyncio.sleep(1)  # what rabbitmqctl tells of a quorum queue is up to a tick old
        left = await room.left_behind()
    say(
        f"{room.backend.name}: {SOAK / spent:.0f} messages/s; "
        f"{' -> '.join(f'{each >> 10}' for each in memory)} MiB; left: {dict(left)}"
    )
    assert max(memory) - memory[0] < GROWTH_KIB
    if room.backend.server == "redis":
        assert left.pop(f"bull:{room.queue}:events", 0) < MOST_EVENTS
        kept = {name.removeprefix(f"bull:{room.queue}:") for name in left}
        assert kept <= {"meta", "id", "marker"}, "no key of a job is left"
    else:
        assert set(left.values()) == {0}
