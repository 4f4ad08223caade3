"""The Broker's contract: what a publish promises."""

from __future__ import annotations

import asyncio
import json

import pytest

from contracts.adapters import Brokers
from contracts.filling import is_full, one_too_many
from contracts.waiting import depth_becomes, nothing_comes, take, take_in_time
from webloom.domain.errors import QueueFull
from webloom.ports.broker import Broker, Message, QueueDepth

QUEUE = "queue"
A_LONG_TIME = 6000.0  # seconds, which no test waits for


def message(name: str, key: str | None = None, body: bytes = b"{}") -> Message:
    return Message(id=name, key=key, body=body)


async def test_a_published_message_outlives_the_process_that_published_it(brokers: Brokers) -> None:
    body = '{"text": "ä€\\u0000\U0001f600 \\" $.a ?1"}'.encode()
    async with brokers.open() as publisher:
        assert await publisher.publish(QUEUE, message("m1", body=body)) == "m1"
    async with brokers.open() as other, other.deliveries(QUEUE, 1) as deliveries:
        delivery = await take(deliveries)
        assert delivery.message_id == "m1"
        assert json.loads(delivery.body) == json.loads(body)
        assert (delivery.attempt, delivery.redelivered) == (1, False)


async def test_messages_come_in_the_order_in_which_they_were_published(broker: Broker) -> None:
    names = [f"m{n}" for n in range(20)]
    await broker.publish_many(QUEUE, [message(name) for name in names[:10]])
    for name in names[10:]:
        await broker.publish(QUEUE, message(name))
    async with broker.deliveries(QUEUE, 20) as deliveries:
        assert [(await take(deliveries)).message_id for _ in names] == names


async def test_one_queue_does_not_deliver_what_another_holds(broker: Broker) -> None:
    await broker.publish("one", message("of one"))
    await broker.publish("two", message("of two"))
    async with broker.deliveries("two", 2) as deliveries:
        assert (await take(deliveries)).message_id == "of two"
        await nothing_comes(deliveries)


async def test_a_delayed_message_waits_for_its_time_and_holds_nobody_up(brokers: Brokers) -> None:
    due: dict[str, float] = {}
    came: list[str] = []
    async with brokers.open() as broker:
        for name, delay in (("another day", A_LONG_TIME), ("late", 100.0), ("soon", 50.0)):
            due[name] = brokers.time() + delay
            await broker.publish(QUEUE, message(name), delay=delay)
        async with broker.deliveries(QUEUE, 5) as deliveries:

            async def receive() -> None:
                came.append((await take_in_time(brokers, deliveries, due)).message_id)

            await broker.publish(QUEUE, message("now"))
            await receive()
            await brokers.pass_time(10)
            await broker.publish(QUEUE, message("now too"))
            await receive()
            waiter = asyncio.create_task(receive())
            await brokers.pass_time(41)
            await waiter
            await brokers.pass_time(50)
            await receive()
    for names in (["now", "now too"], ["soon", "late"]):
        assert [name for name in came if name in names] == names


async def test_a_full_queue_has_taken_exactly_as_many_as_its_limit(brokers: Brokers) -> None:
    async with brokers.open(limits={QUEUE: 5}) as broker:
        for n in range(5):
            await broker.publish(QUEUE, message(f"m{n}"))
        for n in range(3):
            refusal = await one_too_many(brokers, broker, QUEUE, f"too much {n}")
            assert "holds 5 ready messages" in str(refusal)
            assert (refusal.queue, refusal.limit) == (QUEUE, 5)
        await broker.publish("unlimited", message("elsewhere"))
        assert is_full(brokers, (await broker.depth(QUEUE)).ready, 5)


async def test_concurrent_publishers_fill_the_queue_to_exactly_its_limit(brokers: Brokers) -> None:
    limits = {QUEUE: 17}
    async with brokers.open(limits=limits) as one, brokers.open(limits=limits) as two:
        answers = await asyncio.gather(
            *((one, two)[n % 2].publish(QUEUE, message(f"m{n}")) for n in range(120)),
            return_exceptions=True,
        )
        accepted = [answer for answer in answers if isinstance(answer, str)]
        refused = [answer for answer in answers if isinstance(answer, QueueFull)]
        assert is_full(brokers, len(accepted), 17, at_once=len(answers))
        assert len(accepted) + len(refused) == len(answers)
        await depth_becomes(one, QueueDepth(ready=len(accepted), delayed=0, in_flight=0, dead=0))
        async with one.deliveries(QUEUE, len(accepted)) as deliveries:
            received = [(await take(deliveries)).message_id for _ in accepted]
    assert sorted(received) == sorted(accepted)


async def test_publish_many_takes_what_fits_and_answers_in_order(brokers: Brokers) -> None:
    async with brokers.open(limits={QUEUE: 4}) as broker:
        await broker.publish(QUEUE, message("m0"))
        names = [f"m{n}" for n in range(1, 7)]
        answers = await broker.publish_many(QUEUE, [message(name) for name in names])
        taken = [answer for answer in answers if answer is not None]
        assert taken == names[: len(taken)]
        assert answers == taken + [None] * (len(names) - len(taken))
        assert is_full(brokers, 1 + len(taken), 4, at_once=len(names))
        assert await broker.publish_many(QUEUE, []) == []
        assert (await broker.depth(QUEUE)).ready == 1 + len(taken)


async def test_many_publishers_of_many_fill_the_queue_to_exactly_its_limit(
    brokers: Brokers,
) -> None:
    async with brokers.open(limits={QUEUE: 25}) as broker:
        groups = [[message(f"m{g}.{n}") for n in range(7)] for g in range(8)]
        answers = await asyncio.gather(*(broker.publish_many(QUEUE, group) for group in groups))
        taken = sum(answer is not None for each in answers for answer in each)
        assert is_full(brokers, taken, 25, at_once=56)
        assert (await broker.depth(QUEUE)).ready == taken


async def test_held_messages_leave_room_for_others(brokers: Brokers) -> None:
    async with brokers.open(limits={QUEUE: 2}) as broker:
        await broker.publish_many(QUEUE, [message("m0"), message("m1")])
        async with broker.deliveries(QUEUE, 1) as deliveries:
            await take(deliveries)
            await broker.publish(QUEUE, message("m2"))
            await one_too_many(brokers, broker, QUEUE, "m3")


@pytest.mark.parametrize("together", [False, True], ids=["one after the other", "at once"])
async def test_delayed_messages_leave_room_for_others(brokers: Brokers, together: bool) -> None:
    async with brokers.open(limits={QUEUE: 1}) as broker:
        if together:
            await asyncio.gather(
                *(
                    broker.publish(QUEUE, message(f"delayed {n}"), delay=A_LONG_TIME)
                    for n in range(5)
                ),
                broker.publish(QUEUE, message("ready")),
            )
        else:
            for n in range(5):
                await broker.publish(QUEUE, message(f"delayed {n}"), delay=A_LONG_TIME)
            await broker.publish(QUEUE, message("ready"))
        await one_too_many(brokers, broker, QUEUE, "too much")
        ready = (await broker.depth(QUEUE)).ready
        assert is_full(brokers, ready, 1)
        await depth_becomes(broker, QueueDepth(ready=ready, delayed=5, in_flight=0, dead=0))


async def test_a_waiting_message_stands_for_a_new_one_with_its_key(brokers: Brokers) -> None:
    stands = brokers.knows_keys
    async with brokers.open() as broker, brokers.open() as other:
        await broker.publish(QUEUE, message("first", key="k"))
        assert await other.publish(QUEUE, message("second", key="k")) == (
            "first" if stands else "second"
        )
        assert await broker.publish("other queue", message("third", key="k")) == "third"
        assert await broker.publish(QUEUE, message("fourth", key="another")) == "fourth"
        assert (await broker.depth(QUEUE)).ready == (2 if stands else 3)


async def test_concurrent_publishes_with_one_key_leave_one_message(brokers: Brokers) -> None:
    async with brokers.open() as one, brokers.open() as two:
        answers = await asyncio.gather(
            *((one, two)[n % 2].publish(QUEUE, message(f"m{n}", key="k")) for n in range(40))
        )
        assert len(set(answers)) == (1 if brokers.knows_keys else 40)
        assert (await one.depth(QUEUE)).ready == (1 if brokers.knows_keys else 40)


async def test_a_delayed_message_stands_for_a_new_one_with_its_key(brokers: Brokers) -> None:
    async with brokers.open() as broker:
        await broker.publish(QUEUE, message("first", key="k"), delay=60)
        assert await broker.publish(QUEUE, message("second", key="k")) == (
            "first" if brokers.knows_keys else "second"
        )


async def test_joining_a_waiting_message_needs_no_room(brokers: Brokers) -> None:
    async with brokers.open(limits={QUEUE: 1}) as broker:
        await broker.publish(QUEUE, message("first", key="k"))
        if not brokers.adapter.limit_is_exact:
            await one_too_many(brokers, broker, QUEUE, "fills it for certain")
        [answer] = await broker.publish_many(QUEUE, [message("second", key="k")])
        assert answer == ("first" if brokers.knows_keys else None)


async def test_a_message_in_flight_does_not_stand_for_a_new_one(brokers: Brokers) -> None:
    """It may be done already but for its ack: the new one has to be served after it."""
    async with brokers.open() as broker, broker.deliveries(QUEUE, 2) as deliveries:
        await broker.publish(QUEUE, message("first", key="k"))
        held = await take(deliveries)
        assert await broker.publish(QUEUE, message("second", key="k")) == "second"
        await held.ack()
        assert (await take(deliveries)).message_id == "second"


async def test_a_message_that_was_given_back_stands_for_a_new_one(brokers: Brokers) -> None:
    async with brokers.open() as broker:
        await broker.publish(QUEUE, message("first", key="k"))
        async with broker.deliveries(QUEUE, 1) as deliveries:
            await (await take(deliveries)).retry(60)
        assert await broker.publish(QUEUE, message("second", key="k")) == (
            "first" if brokers.knows_keys else "second"
        )


async def test_publish_many_joins_twins_within_the_call_and_with_the_queue(
    brokers: Brokers,
) -> None:
    async with brokers.open(limits={QUEUE: 3}) as broker:
        await broker.publish(QUEUE, message("waiting", key="w"))
        exact = brokers.adapter.limit_is_exact
        answers = await broker.publish_many(
            QUEUE,
            [
                message("a", key="a"),
                message("again a", key="a"),
                message("again waiting", key="w"),
                message("b", key="b"),
                message("no room", key="c"),
                message("again no room", key="c"),
                message("a for the third time", key="a"),
            ],
        )
        assert answers == (
            ["a", "a", "waiting", "b", None, None, "a"]
            if brokers.knows_keys
            else ["a", "again a", None, None, None, None, None]
            if exact
            else ["a", "again a", *answers[2:]]
        )
