"""The Broker's contract: what a delivery promises, to its holder and to everybody else."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from itertools import count

import pytest

from contracts.adapters import LEASE, ON_A_SERVER, Brokers
from contracts.filling import FEW, is_full, one_too_many
from contracts.waiting import (
    depth_becomes,
    nothing_comes,
    take,
    take_in_time,
    until,
)
from timeouts import TIMEOUT_SECONDS
from webloom.domain.errors import BrokerUnavailable
from webloom.ports.broker import Broker, Delivery, Message, QueueDepth

QUEUE = "queue"
A_MINUTE = timedelta(minutes=1)
A_LONG_TIME = 6000.0  # seconds, which no test waits for
EMPTY = QueueDepth(ready=0, delayed=0, in_flight=0, dead=0)

Settle = Callable[[Delivery], Awaitable[None]]
VERBS: list[tuple[str, Settle, QueueDepth]] = [
    ("ack", lambda delivery: delivery.ack(), EMPTY),
    (
        "retry",
        lambda delivery: delivery.retry(A_LONG_TIME),
        QueueDepth(ready=0, delayed=1, in_flight=0, dead=0),
    ),
    (
        "dead_letter",
        lambda delivery: delivery.dead_letter("bad"),
        QueueDepth(ready=0, delayed=0, in_flight=0, dead=1),
    ),
]
every_verb = pytest.mark.parametrize(
    ("settle", "after"), [row[1:] for row in VERBS], ids=[row[0] for row in VERBS]
)


def message(name: str) -> Message:
    return Message(id=name, body=b"{}")


async def publish_when_possible(broker: Broker, queue: str, sent: Message) -> None:
    async def possible() -> bool:
        try:
            await broker.publish(queue, sent)
        except BrokerUnavailable:
            return False
        return True

    await until(possible)


async def test_no_more_than_slots_are_unsettled(broker: Broker) -> None:
    await broker.publish_many(QUEUE, [message(f"m{n}") for n in range(5)])
    async with broker.deliveries(QUEUE, 2) as deliveries:
        first, second = await take(deliveries), await take(deliveries)
        await nothing_comes(deliveries)
        await depth_becomes(broker, QueueDepth(ready=3, delayed=0, in_flight=2, dead=0))
        for settled in (first.ack(), second.retry(A_LONG_TIME)):
            await settled
            await take(deliveries)
            await nothing_comes(deliveries)


async def test_dead_lettering_frees_the_slot(broker: Broker) -> None:
    await broker.publish_many(QUEUE, [message("bad"), message("next")])
    async with broker.deliveries(QUEUE, 1) as deliveries:
        await (await take(deliveries)).dead_letter("bad")
        assert (await take(deliveries)).message_id == "next"


async def test_an_acknowledged_message_is_gone_for_good(brokers: Brokers) -> None:
    async with brokers.open(lease=LEASE) as broker:
        await broker.publish(QUEUE, message("m"))
        async with broker.deliveries(QUEUE, 1) as deliveries:
            await (await take(deliveries)).ack()
        await depth_becomes(broker, EMPTY)
    async with brokers.open(lease=LEASE) as other, other.deliveries(QUEUE, 1) as deliveries:
        await brokers.pass_time(ON_A_SERVER * LEASE + 1)
        await other.publish(QUEUE, message("next"))
        assert (await take(deliveries)).message_id == "next"


async def test_a_retry_is_delivered_again_after_its_time_as_the_next_attempt(
    brokers: Brokers,
) -> None:
    async with brokers.open() as broker, broker.deliveries(QUEUE, 2) as deliveries:
        await broker.publish(QUEUE, message("m"))
        delivery = await take(deliveries)
        for attempt in (1, 2):
            assert (delivery.message_id, delivery.attempt) == ("m", attempt)
            assert not delivery.redelivered
            due = {"m": brokers.time() + 60}
            await delivery.retry(60)
            await brokers.pass_time(10)
            await broker.publish(QUEUE, message("in between"))
            came = [await take_in_time(brokers, deliveries, due)]
            waiter = asyncio.create_task(take_in_time(brokers, deliveries, due))
            await brokers.pass_time(51)
            came.append(await waiter)
            [in_between, delivery] = sorted(came, key=lambda each: each.message_id)
            assert in_between.message_id == "in between"
            await in_between.ack()
        assert (delivery.message_id, delivery.attempt) == ("m", 3)


async def test_a_retry_without_a_time_is_delivered_again_at_once(broker: Broker) -> None:
    await broker.publish(QUEUE, message("m"))
    async with broker.deliveries(QUEUE, 1) as deliveries:
        await (await take(deliveries)).retry()
        assert (await take(deliveries)).attempt == 2


@pytest.mark.parametrize("after", [0.0, 60.0])
async def test_a_retry_is_not_refused_by_a_full_queue(brokers: Brokers, after: float) -> None:
    async with brokers.open(limits={QUEUE: 1}) as broker:
        await broker.publish(QUEUE, message("held"))
        async with broker.deliveries(QUEUE, 1) as deliveries:
            held = await take(deliveries)
            await broker.publish(QUEUE, message("fills the queue"))
            await held.retry(after)
        await one_too_many(brokers, broker, QUEUE, "too much")
        await brokers.pass_time(61)
        came: set[str] = set()
        async with broker.deliveries(QUEUE, 2 + FEW) as deliveries:
            while not came >= {"held", "fills the queue"}:
                came.add((await take(deliveries)).message_id)
            if brokers.adapter.limit_is_exact:
                await nothing_comes(deliveries)
    assert is_full(brokers, len(came), 2)


async def test_the_message_of_a_vanished_consumer_comes_again_and_says_so(brokers: Brokers) -> None:
    async with brokers.open(lease=LEASE) as witness:
        async with brokers.open(lease=LEASE) as victim:
            await victim.publish(QUEUE, message("m"))
            async with victim.deliveries(QUEUE, 1) as deliveries:
                await take(deliveries)
        async with witness.deliveries(QUEUE, 1) as deliveries:
            waiter = asyncio.create_task(take(deliveries))
            await brokers.pass_time(LEASE + 1)
            delivery = await waiter
            assert (delivery.message_id, delivery.attempt) == ("m", 2)
            assert delivery.redelivered
            await delivery.retry()
            again = await take(deliveries)
            assert (again.attempt, again.redelivered) == (3, True)  # still suspicious


@every_verb
async def test_a_holder_that_comes_late_changes_nothing(
    brokers: Brokers, settle: Settle, after: QueueDepth
) -> None:
    async with brokers.open(lease=LEASE) as stalled, brokers.open(lease=LEASE) as other:
        await stalled.publish(QUEUE, message("m"))
        async with stalled.deliveries(QUEUE, 1) as deliveries:
            late = await take(deliveries)
        await brokers.lose(stalled)
        async with other.deliveries(QUEUE, 1) as deliveries:
            taken_over = await take(deliveries)
            held = QueueDepth(ready=0, delayed=0, in_flight=1, dead=0)
            await depth_becomes(other, held)
            await settle(late)
            await publish_when_possible(stalled, "afterwards", message("later than the late one"))
            await depth_becomes(other, held)
            await settle(taken_over)
            await depth_becomes(other, after)


@every_verb
async def test_a_delivery_can_be_settled_after_its_context_was_left(
    brokers: Brokers, settle: Settle, after: QueueDepth
) -> None:
    async with brokers.open() as broker:
        await broker.publish(QUEUE, message("m"))
        async with broker.deliveries(QUEUE, 1) as deliveries:
            delivery = await take(deliveries)
        await settle(delivery)
        await depth_becomes(broker, after)


@every_verb
async def test_a_settled_delivery_stays_settled(
    broker: Broker, settle: Settle, after: QueueDepth
) -> None:
    await broker.publish(QUEUE, message("m"))
    async with broker.deliveries(QUEUE, 1) as deliveries:
        delivery = await take(deliveries)
        await settle(delivery)
        await depth_becomes(broker, after)
        await delivery.ack()
        await delivery.retry()
        await delivery.dead_letter("again")
        await depth_becomes(broker, after)
        await broker.publish_many(QUEUE, [message("a"), message("b")])
        await take(deliveries)
        await nothing_comes(deliveries)  # settling twice has not made two slots of one


async def test_leaving_the_context_takes_nothing_new(brokers: Brokers) -> None:
    async with brokers.open() as broker:
        await broker.publish_many(QUEUE, [message("a"), message("b")])
        async with broker.deliveries(QUEUE, 2) as deliveries:
            delivery = await take(deliveries)
        await delivery.ack()
        await depth_becomes(broker, QueueDepth(ready=1, delayed=0, in_flight=0, dead=0))


async def test_a_long_job_keeps_its_message(brokers: Brokers) -> None:
    """For longer than two leases; where there are none, for a while."""
    lease = 6.0  # it is renewed despite a stall of seconds
    async with (
        brokers.open(lease=lease, real_time=True) as holder,
        brokers.open(lease=lease, real_time=True) as other,
        holder.deliveries(QUEUE, 1) as held,
        other.deliveries(QUEUE, 1) as deliveries,
    ):
        await holder.publish(QUEUE, message("long"))
        delivery = await take(held)
        await nothing_comes(deliveries, 2.2 * lease if brokers.adapter.lose is None else 2.0)
        await delivery.ack()
        await depth_becomes(holder, EMPTY)


async def test_a_lease_and_a_delay_end_by_themselves_in_real_time(brokers: Brokers) -> None:
    async with (
        brokers.open(lease=0.5, real_time=True) as broker,
        brokers.open(lease=0.5, real_time=True) as other,
    ):
        await broker.publish(QUEUE, message("lost"))
        await broker.publish(QUEUE, message("delayed"), delay=0.3)
        async with broker.deliveries(QUEUE, 1) as deliveries:
            await take(deliveries)
        if brokers.adapter.lose is not None:
            await brokers.lose(broker)
        async with other.deliveries(QUEUE, 2) as deliveries:
            came: set[str] = set()
            while came != {"lost", "delayed"}:  # a stall ends the lease of what has come, too
                delivery = await take(deliveries)
                came.add(delivery.message_id)
                await delivery.ack()


async def test_two_consumers_share_a_thousand_messages_and_none_is_served_twice(
    brokers: Brokers,
) -> None:
    names = [f"m{n}" for n in range(1000)]
    served: Counter[str] = Counter()
    by_consumer: Counter[int] = Counter()
    done = asyncio.Event()

    async def serve(consumer: int, deliveries: AsyncIterator[Delivery]) -> None:
        while by_consumer[consumer] < 900:  # a fast consumer leaves some to the other
            delivery = await anext(deliveries)
            served[delivery.message_id] += 1
            by_consumer[consumer] += 1
            await delivery.ack()
            if served.total() >= len(names):
                done.set()

    async with brokers.open() as one, brokers.open() as two:
        async with one.deliveries(QUEUE, 8) as first, two.deliveries(QUEUE, 8) as second:
            slots = [asyncio.create_task(serve(0, first)) for _ in range(8)]
            slots += [asyncio.create_task(serve(1, second)) for _ in range(8)]
            for start in range(0, len(names), 100):
                group = names[start : start + 100]
                await one.publish_many(QUEUE, [message(name) for name in group])
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await done.wait()
            for slot in slots:
                slot.cancel()
            await asyncio.wait(slots)
        await depth_becomes(two, EMPTY)
    assert served == Counter(names)


async def test_a_cancelled_waiter_loses_no_message(broker: Broker) -> None:
    names = [f"m{n}" for n in range(60)]
    async with broker.deliveries(QUEUE, 4) as deliveries:
        received = []
        for turn, name in zip(count(), names):
            waiters = [asyncio.ensure_future(anext(deliveries)) for _ in range(3)]
            publishing = asyncio.ensure_future(broker.publish(QUEUE, message(name)))
            for _ in range(turn % 12):  # reach further into the hand-over each time
                await asyncio.sleep(0)
            if turn % 3 == 0:
                await publishing
            for waiter in waiters:
                waiter.cancel()
            await publishing
            await asyncio.wait(waiters)
            for waiter in waiters:
                if not waiter.cancelled():
                    received.append(waiter.result().message_id)
                    await waiter.result().ack()
        while len(received) < len(names):
            delivery = await take(deliveries)
            received.append(delivery.message_id)
            await delivery.ack()
    assert Counter(received) == Counter(names)
    await depth_becomes(broker, EMPTY)


async def test_a_waiter_cancelled_just_after_the_hand_over_gives_the_message_back(
    brokers: Brokers,
) -> None:
    async with brokers.open() as broker, brokers.open() as other:
        async with broker.deliveries(QUEUE, 1) as deliveries:
            for n in range(20):
                waiter = asyncio.ensure_future(anext(deliveries))
                await other.publish(QUEUE, message(f"m{n}"))
                await asyncio.wait([waiter], timeout=0.001 * n)
                waiter.cancel()
                await asyncio.wait([waiter])
                delivery = await take(deliveries) if waiter.cancelled() else waiter.result()
                assert delivery.message_id == f"m{n}"
                assert (delivery.attempt, delivery.redelivered) == (1, False), "its first delivery"
                await delivery.ack()
        await depth_becomes(broker, EMPTY)


@pytest.mark.parametrize("verb", ["retry", "dead_letter"])
async def test_a_verb_whose_caller_is_cancelled_is_carried_out_and_frees_its_slot(
    broker: Broker, verb: str
) -> None:
    await broker.publish_many(QUEUE, [message(name) for name in "ab"])
    async with broker.deliveries(QUEUE, 1) as deliveries:
        held = await take(deliveries)
        settling = asyncio.ensure_future(
            held.retry(A_LONG_TIME) if verb == "retry" else held.dead_letter("bad")
        )
        await asyncio.sleep(0)
        settling.cancel()
        await asyncio.wait([settling])
        assert settling.cancelled()
        assert (await take(deliveries)).message_id == "b"
        depth = await broker.depth(QUEUE)
        assert (depth.delayed, depth.dead) == ((1, 0) if verb == "retry" else (0, 1))


async def test_an_idle_consumer_hears_of_another_process_promptly(brokers: Brokers) -> None:
    async with (
        brokers.open() as consumer,
        brokers.open() as publisher,
        consumer.deliveries(QUEUE, 1) as deliveries,
    ):
        for n in range(5):
            waiter = asyncio.ensure_future(anext(deliveries))
            await nothing_else_to_do()
            await publisher.publish(QUEUE, message(f"m{n}"))
            delivery = await asyncio.wait_for(waiter, TIMEOUT_SECONDS)
            assert delivery.message_id == f"m{n}"
            await delivery.ack()


async def nothing_else_to_do() -> None:
    """Long enough for a consumer to have found its queue empty."""
    await asyncio.sleep(0.05)


async def test_depth_counts_every_message_once(brokers: Brokers) -> None:
    async with brokers.open() as broker, brokers.open() as other:
        await depth_becomes(broker, EMPTY)
        await broker.publish("another queue", message("not counted"))
        await broker.publish_many(QUEUE, [message(f"m{n}") for n in range(6)])
        await broker.publish(QUEUE, message("delayed"), delay=A_LONG_TIME)
        async with broker.deliveries(QUEUE, 4) as deliveries:
            held = [await take(deliveries) for _ in range(4)]
            await held[0].dead_letter("bad")
            await held[1].retry(A_LONG_TIME)
            expected = QueueDepth(ready=2, delayed=2, in_flight=2, dead=1)
            await depth_becomes(broker, expected)
            await depth_becomes(other, expected)
            is_known = (await broker.depth(QUEUE)).in_flight is not None
            assert is_known == brokers.adapter.counts_in_flight
            await held[2].retry(60)
            await brokers.pass_time(61)
            await depth_becomes(other, QueueDepth(ready=3, delayed=2, in_flight=1, dead=1))


async def test_dead_letters_are_listed_oldest_first_page_by_page(brokers: Brokers) -> None:
    names = [f"m{n}" for n in range(7)]
    async with brokers.open() as broker:
        await broker.publish_many(
            QUEUE, [Message(id=name, body=f'"{name}"'.encode()) for name in names]
        )
        await broker.publish("another queue", message("other"))
        async with AsyncExitStack() as stack:
            deliveries = await stack.enter_async_context(broker.deliveries(QUEUE, 1))
            others = await stack.enter_async_context(broker.deliveries("another queue", 1))
            await (await take(others)).dead_letter("not of this queue")
            for _ in names:
                delivery = await take(deliveries)
                await delivery.dead_letter(f"{delivery.message_id} is bad: ä\n\ud800")
    async with brokers.open() as other:
        letters = []
        after = None
        while page := await other.dead_letters(QUEUE, limit=3, after=after):
            assert len(page) <= 3
            letters += page
            after = page[-1].id
        assert [letter.id for letter in letters] == names
        assert [letter.body for letter in letters] == [f'"{name}"'.encode() for name in names]
        assert all(letter.reason.startswith(f"{letter.id} is bad: ä\n") for letter in letters)
        assert all(abs(letter.buried_at - brokers.now()) < A_MINUTE for letter in letters)


async def test_a_dead_letter_can_be_put_back_once_and_is_as_good_as_new(brokers: Brokers) -> None:
    async with brokers.open() as broker, brokers.open() as other:
        await broker.publish(QUEUE, Message(id="m", body=b'{"a":1}'))
        async with broker.deliveries(QUEUE, 1) as deliveries:
            await (await take(deliveries)).retry()
            await (await take(deliveries)).dead_letter("bad")
            waiter = asyncio.create_task(take(deliveries))
            assert not await other.put_back("another queue", "m")
            assert not await other.put_back(QUEUE, "unknown")
            assert await other.put_back(QUEUE, "m")
            delivery = await waiter
            assert (delivery.message_id, delivery.body) == ("m", b'{"a":1}')
            assert (delivery.attempt, delivery.redelivered) == (1, False)
            assert not await other.put_back(QUEUE, "m")
            assert await other.dead_letters(QUEUE, limit=10) == []
            await delivery.dead_letter("still bad")
        [letter] = await other.dead_letters(QUEUE, limit=10)
        assert letter.reason == "still bad"


async def test_a_discarded_dead_letter_is_gone(brokers: Brokers) -> None:
    async with brokers.open() as broker:
        await broker.publish_many(QUEUE, [message("a"), message("b")])
        async with broker.deliveries(QUEUE, 2) as deliveries:
            for _ in range(2):
                await (await take(deliveries)).dead_letter("bad")
        assert not await broker.discard("another queue", "a")
        assert await broker.discard(QUEUE, "a")
        assert not await broker.discard(QUEUE, "a")
        assert not await broker.put_back(QUEUE, "a")
        assert [letter.id for letter in await broker.dead_letters(QUEUE, limit=10)] == ["b"]
        await depth_becomes(broker, QueueDepth(ready=0, delayed=0, in_flight=0, dead=1))
