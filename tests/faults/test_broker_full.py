"""Full queues, servers without room, and queues that vanish, over every broker."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from faults.broker_process import SQLITE, message
from faults.broker_rooms import STALL, BrokerRoom, on_bullmq, on_rabbitmq, on_sqlite, with_a_server
from faults.processes import SmallDisk, eventually, eventually_async
from servers.rabbitmq import RabbitServer
from webloom.domain.errors import BackendRefused, BrokerUnavailable, QueueFull
from webloom.ports.broker import Broker

Say = Callable[[str], None]
LIMIT = 100
AT_ONCE = 8
MORE_THAN_COMES_AND_GOES = 100_000  # bytes of Redis: buffers of connections
# RabbitMQ 3.10 answers before a quorum queue is quite deleted. What is declared under its name in
# the next milliseconds goes with it, and confirmed messages too.
DELETION_SECONDS = 0.2
LONG_DELETION_SECONDS = 2.0  # of a queue that messages go to next


async def accepts(room: BrokerRoom, broker: Broker, name: str) -> bool:
    try:
        await broker.publish(room.queue, message(name))
    except QueueFull:
        return False
    room.journal.note("accepted", name)
    return True


async def insist(room: BrokerRoom, broker: Broker, name: str) -> None:
    async def taken() -> bool:
        try:
            return await accepts(room, broker, name)
        except BrokerUnavailable:
            return False

    await eventually_async(taken, what=f"{name} is accepted")


async def test_a_queue_filled_to_its_limit_refuses_until_messages_are_taken(
    room: BrokerRoom, say: Say
) -> None:
    publishers = [room.start("publish", f"p{n}", 150, AT_ONCE, limit=LIMIT) for n in range(3)]
    for publisher in publishers:
        await publisher.ended()
    accepted = sum(len(publisher.names("accepted")) for publisher in publishers)
    refused = sum(len(publisher.names("full")) for publisher in publishers)
    assert accepted + refused == 3 * 150
    if room.backend.limit_is_exact:
        assert accepted == LIMIT
    else:
        assert LIMIT <= accepted <= LIMIT + 3 * AT_ONCE
    async with room.open(limit=LIMIT) as broker:
        assert (await broker.depth(room.queue)).ready == accepted
        assert not await accepts(room, broker, "too much")
        # A quorum queue that was full takes more when less than four fifths of its limit are left.
        most = 2 if room.backend.limit_is_exact else accepted - LIMIT * 4 // 5 + 1
        taken = 0

        async def is_open_again() -> bool:
            """A queue counts an ack a little later."""
            nonlocal taken
            if await accepts(room, broker, "fits again"):
                return True
            if taken < most:
                taken += 1
                delivery = await anext(deliveries)
                room.journal.note("got", delivery.message_id)
                await delivery.ack()
                room.journal.note("acked", delivery.message_id)
            return False

        async with broker.deliveries(room.queue, 1) as deliveries:
            await eventually_async(is_open_again, what=f"it is open again after {most} were taken")
    say(f"{accepted} of {LIMIT} accepted, {refused} refused; open again after {taken} were taken")
    await room.settled(say, LIMIT)


async def test_retries_that_come_due_while_the_queue_is_full_are_not_lost(
    room: BrokerRoom, say: Say
) -> None:
    async with room.open(limit=6) as broker:
        for n in range(6):
            await accepts(room, broker, f"first{n}")
        async with broker.deliveries(room.queue, 6) as deliveries:
            held = [await anext(deliveries) for _ in range(6)]
            n = 0
            while await accepts(room, broker, f"then{n}"):
                n += 1
                await asyncio.sleep(0.02)
        for delay, delivery in zip((0.0, 0.2, 0.3, 0.3, 0.5, 0.7), held, strict=True):
            await delivery.retry(delay)  # the slots are closed, so that nothing else is taken

        async def all_are_due() -> bool:
            depth = await broker.depth(room.queue)
            return (depth.ready, depth.delayed) == (6 + n, 0)

        await eventually_async(all_are_due, what=f"{6 + n} are ready where 6 are allowed")
        if room.backend.limit_is_exact:
            assert not await accepts(room, broker, "too much")
    await room.settled(say, 6)


@asynccontextmanager
async def short_of_room(room: BrokerRoom) -> AsyncIterator[None]:
    """The server takes nothing more; what is there can be worked off."""
    if isinstance(room.private_server, RabbitServer):
        async with room.private_server.disk_alarm():
            yield
        return
    try:
        await room.redis.limit_memory(-MORE_THAN_COMES_AND_GOES)
        yield
    finally:
        await room.redis.lift_limit()


@with_a_server
async def test_a_server_without_room_refuses_publishes_in_time_and_still_drains(
    room: BrokerRoom, say: Say
) -> None:
    """Redis at its maxmemory; RabbitMQ with a disk alarm."""
    async with room.open() as broker, room.open() as worker:
        for n in range(40):
            await insist(room, broker, f"m{n}")
        async with worker.deliveries(room.queue, 4) as deliveries:
            async with short_of_room(room):
                begun = time.monotonic()
                with pytest.raises(BrokerUnavailable) as reported:
                    await broker.publish(room.queue, message("no room"))
                failed = time.monotonic() - begun
                slots = [asyncio.create_task(room.journal.acking(deliveries)) for _ in range(4)]
                await eventually(
                    lambda: len(room.journal.names("acked")) == 40, what="all are served"
                )
            begun = time.monotonic()
            await insist(room, broker, "afterwards")
            back = time.monotonic() - begun
            for slot in slots:
                slot.cancel()
            await asyncio.wait(slots)
    say(f"refused after {failed:.1f} s ({reported.value}); accepted again after {back:.1f} s")
    assert failed < room.backend.gives_up + STALL
    await room.settled(say)


@on_sqlite
async def test_a_full_disk_refuses_publishes_until_space_is_freed(
    room: BrokerRoom, say: Say, disk: SmallDisk
) -> None:
    """test_broker_killed covers a locked file, test_database_unusable what the API answers and
    what a worker does meanwhile."""
    url = f"{SQLITE}{disk.inside / room.file.name}"
    # So that there is something to free if the messages alone fill the disk.
    (disk.seen / "filler").write_bytes(bytes(4 << 20))
    publisher = room.start("publish", "m", 100_000, 4, prefix=disk.enter, url=url)
    await publisher.said("accepted", 100)
    size = disk.fill()
    before = len(publisher.names("unsure"))
    unsure = await publisher.said("unsure", before + 3)
    disk.free()
    freed = time.monotonic()
    accepted = len(publisher.names("accepted"))
    first = (await publisher.said("accepted", accepted + 100))[accepted]
    say(
        f"{size >> 10} KiB filled it, {len(unsure)} refusals; accepted again after "
        f"{max(0.0, first.at - freed):.2f} s"
    )
    publisher.kill()
    for path in disk.seen.glob(f"{room.file.name}*"):
        shutil.copy(path, room.folder)
    await room.settled(say)


async def test_four_processes_that_publish_and_consume_at_once_serve_nothing_twice(
    room: BrokerRoom, say: Say
) -> None:
    """On SQLite a storm of writers that are in each other's way."""
    begun = time.monotonic()
    processes = [room.start("share", f"p{n}", 300, lease=15) for n in range(4)]
    for process in processes:
        await process.said("accepted", 300)

    def all_served() -> bool:
        return sum(len(set(process.names("acked"))) for process in processes) >= 4 * 300

    await eventually(all_served, what="all are served")
    spent = time.monotonic() - begun
    unsure = [name for process in processes for name in process.names("unsure")]
    acks = Counter(name for process in processes for name in process.names("acked"))
    say(f"1200 in {spent:.1f} s, {len(unsure)} publishes had to be repeated")
    twice = {name for name, times in acks.items() if times > 1}
    assert twice <= set(unsure), "nothing is served twice when nothing fails"
    with room.journal.fault():  # the last acknowledgements may still be on their way
        for process in processes:
            process.kill()
    await room.settled(say)


@on_rabbitmq
async def test_queues_deleted_while_in_use_are_declared_again(room: BrokerRoom, say: Say) -> None:
    async with room.open() as broker, broker.deliveries(room.queue, 2) as deliveries:
        slots = [asyncio.create_task(room.journal.acking(deliveries)) for _ in range(2)]
        await broker.publish(room.queue, message("before"), delay=0.1)
        room.journal.note("accepted", "before")
        await eventually(lambda: room.journal.names("acked"), what="it is served")
        for queue in room.amqp_queues:
            await room.rabbitmq.delete_queues(queue)
            is_next = queue == room.queue
            await asyncio.sleep(LONG_DELETION_SECONDS if is_next else DELETION_SECONDS)
            await insist(room, broker, f"without-{queue}")
        await room.rabbitmq.delete_exchanges(*room.amqp_exchanges[:3])
        await asyncio.sleep(LONG_DELETION_SECONDS)
        for delay in (0.0, 0.1, 0.3, 0.6):

            async def taken(delay: float = delay) -> bool:
                try:
                    await broker.publish(room.queue, message(f"delay{delay}"), delay=delay)
                except BrokerUnavailable:
                    room.journal.note("unsure", f"delay{delay}")
                    return False
                room.journal.note("accepted", f"delay{delay}")
                return True

            await eventually_async(taken, what=f"a delay of {delay} is accepted")
        await eventually(lambda: not room.journal.missing(()), what="everything is served")
        for slot in slots:
            slot.cancel()
        await asyncio.wait(slots)
    await room.settled(say)


@on_rabbitmq
async def test_a_queue_declared_with_other_arguments_is_reported_until_it_is_deleted(
    room: BrokerRoom, say: Say
) -> None:
    other = f"{room.queue}-other"
    await room.rabbitmq.declare_short_queue(room.queue)
    async with room.open(limit=LIMIT) as broker:
        with pytest.raises(BackendRefused, match=rf"{room.queue}.*declared with another"):
            await broker.publish(room.queue, message("refused"))
        with pytest.raises(BackendRefused, match="declared with another"):
            async with broker.deliveries(room.queue, 1):
                pass
        await broker.publish(other, message("elsewhere"))
        await room.rabbitmq.delete_queues(room.queue)
        await insist(room, broker, "now it fits")
    await room.rabbitmq.delete_queues(other, f"{other}.again", f"{other}.dead")
    await room.settled(say, LIMIT)


@on_bullmq
async def test_a_redis_flushed_while_in_use_keeps_serving(room: BrokerRoom, say: Say) -> None:
    """What it held is gone, and nothing else: waiting and delayed jobs, locks, scripts."""
    async with room.open() as broker, broker.deliveries(room.queue, 3) as deliveries:
        for n in range(5):
            await broker.publish(room.queue, message(f"gone{n}"))
        await broker.publish(room.queue, message("gone later"), delay=60)
        held = await anext(deliveries)
        await room.redis.flush()
        await held.ack()  # changes nothing
        slots = [asyncio.create_task(room.journal.acking(deliveries)) for _ in range(3)]
        for n in range(20):
            await insist(room, broker, f"m{n}")
        await broker.publish(room.queue, message("delayed"), delay=0.2)
        room.journal.note("accepted", "delayed")
        await eventually(lambda: not room.journal.missing(()), what="everything is served")
        for slot in slots:
            slot.cancel()
        await asyncio.wait(slots)
    await room.settled(say)
