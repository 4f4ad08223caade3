"""Jobs that anybody has written: each is handed out and can be settled, or is dead with a reason.
None ends a worker, keeps a slot, or comes again with every lease."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.asyncio import Redis

from contracts.waiting import depth_becomes, nothing_comes, take, until
from servers.redis import RedisServer
from webloom.adapters.bullmq.broker import open_bullmq
from webloom.adapters.bullmq.jobs import _options
from webloom.adapters.system_clock import SystemClock
from webloom.ports.broker import Broker, Delivery, Message, QueueDepth

LEASE = 1.0  # of those that come again when it ends
LONG_LEASE = 6.0
EMPTY = QueueDepth(ready=0, delayed=0, in_flight=0, dead=0)
DEAD = QueueDepth(ready=0, delayed=0, in_flight=0, dead=1)
Fields = dict[bytes | bytearray | memoryview | str | int | float, Any]  # as redis-py types them

FIELDS: Fields = {"name": "x", "data": "{}", "timestamp": "1", "opts": "{}"}

OPTIONS: dict[str, str | bytes] = {
    "attempts too many": '{"attempts":99999999999999999999999}',
    "attempts infinite": '{"attempts":1e400}',
    "attempts true": '{"attempts":true}',
    "attempts text": '{"attempts":"x"}',
    "attempts object": '{"attempts":{}}',
    "attempts negative": '{"attempts":-7}',
    "count text": '{"removeOnComplete":{"count":"x"},"removeOnFail":{"count":"x"}}',
    "age text": '{"removeOnComplete":{"age":"x"}}',
    "age huge": '{"removeOnComplete":{"age":1e308,"count":99999999999999999999}}',
    "limit object": '{"removeOnComplete":{"age":1,"limit":{}}}',
    "count fraction": '{"removeOnComplete":{"count":1.5}}',
    "removal text": '{"removeOnComplete":"no","removeOnFail":[1],"fpof":"x","cpof":[],"kl":{}}',
    "surrogate": '{"removeOnComplete":{"\\ud800":"\\ud800"},"de":"\\ud800","jobId":"\\ud800"}',
    "deep": '{"a":' + "[" * 100_000 + "]" * 100_000 + "}",
    "list": "[1]",
    "number": "7",
    "no json": "{",
    "no text": b"\xff\xfe",
}
JOBS: dict[str, Fields] = {
    **{f"options: {name}": {"opts": options} for name, options in OPTIONS.items()},
    **{
        f"{counter} is {value!r}": {counter: value}
        for counter in ("atm", "ats", "stc")
        for value in ("x", "", "1.5", "-3", "9223372036854775807", "9" * 40, b"\xff")
    },
    "data is not JSON": {"data": b"\xff{"},
    "priority is not a number": {"priority": "nan", "delay": "x", "timestamp": "x"},
}
VERBS = ("ack", "retry", "dead_letter")


@pytest.fixture
def queue(request: pytest.FixtureRequest) -> str:
    return f"queue {abs(hash(request.node.name))}"


@pytest.fixture
async def broker(redis_server: RedisServer, patient: None) -> AsyncIterator[Broker]:
    async with open_bullmq(redis_server.url, SystemClock(), limits={}, lease=LONG_LEASE) as opened:
        yield opened


@pytest.fixture
async def forgetful(redis_server: RedisServer, patient: None) -> AsyncIterator[Broker]:
    async with open_bullmq(redis_server.url, SystemClock(), limits={}, lease=LEASE) as opened:
        yield opened


async def write(raw: Redis, queue: str, fields: Fields, job_id: bytes = b"foreign") -> None:
    prefix = f"bull:{queue}:".encode()
    await raw.hset(prefix + job_id, mapping={**FIELDS, **fields})
    await raw.lpush(prefix + b"wait", job_id)
    await raw.zadd(prefix + b"marker", {"0": 0})


async def ends(raw: Redis, key: bytes) -> int:
    """When a key goes by itself."""
    return int(await raw.pexpiretime(key))  # type: ignore[arg-type]  # it takes what Redis does


async def settle(delivery: Delivery, verb: str) -> None:
    if verb == "ack":
        await delivery.ack()
    elif verb == "retry":
        await delivery.retry(60)
    else:
        await delivery.dead_letter("bad")


def after(verb: str) -> QueueDepth:
    return QueueDepth(
        ready=0, delayed=int(verb == "retry"), in_flight=0, dead=int(verb == "dead_letter")
    )


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", JOBS)
async def test_a_job_with_odd_fields_can_be_settled(
    broker: Broker, raw: Redis, queue: str, caplog: pytest.LogCaptureFixture, name: str, verb: str
) -> None:
    await write(raw, queue, JOBS[name])
    async with broker.deliveries(queue, 1) as deliveries:
        delivery = await take(deliveries)
        assert delivery.message_id == "foreign"
        assert delivery.attempt >= 1
        assert isinstance(delivery.redelivered, bool)
        await settle(delivery, verb)
        await depth_becomes(broker, after(verb), queue)
        await broker.publish(queue, Message(id="next", body=b"1"))
        assert (await take(deliveries)).message_id == "next"
    assert [letter.id for letter in await broker.dead_letters(queue, limit=9)] == (
        ["foreign"] if verb == "dead_letter" else []
    )
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.parametrize("verb", VERBS)
async def test_a_job_whose_id_is_no_text_can_be_settled(
    broker: Broker, raw: Redis, queue: str, verb: str
) -> None:
    await write(raw, queue, {}, b"\xff\xfe:x")
    async with broker.deliveries(queue, 1) as deliveries:
        delivery = await take(deliveries)
        assert delivery.message_id == "~%FF%FE%3Ax"
        lock = f"bull:{queue}:".encode() + b"\xff\xfe:x:lock"
        taken_until = await ends(raw, lock)

        async def is_renewed() -> bool:
            return await ends(raw, lock) > taken_until

        await until(is_renewed)
        await settle(delivery, verb)
        await depth_becomes(broker, after(verb), queue)
    if verb == "dead_letter":
        [letter] = await broker.dead_letters(queue, limit=9)
        assert letter.id == "~%FF%FE%3Ax"
        assert await broker.dead_letters(queue, limit=9, after=letter.id) == []
        assert await broker.put_back(queue, letter.id)
        async with broker.deliveries(queue, 1) as deliveries:
            await (await take(deliveries)).dead_letter("bad")
        assert await broker.discard(queue, letter.id)
        assert await broker.depth(queue) == EMPTY


@pytest.mark.parametrize("counter", ["ats", "stc"])
async def test_the_counters_of_a_lost_job_with_odd_fields_start_over(
    forgetful: Broker, raw: Redis, queue: str, counter: str
) -> None:
    await write(raw, queue, {counter: "x"})
    async with forgetful.deliveries(queue, 1) as deliveries:
        await take(deliveries)
        await raw.hset(f"bull:{queue}:foreign", counter, "y")
    async with forgetful.deliveries(queue, 1) as deliveries:
        again = await take(deliveries)
        assert again.redelivered
        await again.ack()
        await depth_becomes(forgetful, EMPTY, queue)


@pytest.mark.parametrize("verb", ["ack", "dead_letter"])
@pytest.mark.parametrize(
    "fields",
    [
        {"parent": "no json"},
        {"parent": '{"id":"p","queueKey":"bull:odd"}', "parentKey": "bull:odd:p"},
        {"deid": "d"},
    ],
    ids=str,
)
async def test_a_job_that_can_not_be_finished_is_dead(
    forgetful: Broker, raw: Redis, queue: str, fields: Fields, verb: str
) -> None:
    await raw.set("bull:odd:p:dependencies", "no set")
    await raw.hset(f"bull:{queue}:dn:d", mapping={"name": "x", "opts": "no json"})
    await write(raw, queue, fields)
    async with forgetful.deliveries(queue, 1) as deliveries:
        await settle(await take(deliveries), verb)
        await depth_becomes(forgetful, DEAD, queue)
        [letter] = await forgetful.dead_letters(queue, limit=9)
        done = "the work was done, but the message can't be acknowledged: "
        assert letter.reason.startswith(done if verb == "ack" else "bad")
        await nothing_comes(deliveries, 3 * LEASE)
        await forgetful.publish_many(queue, [Message(id=name, body=b"1") for name in "ab"])
        assert (await take(deliveries)).message_id == "a"
        await nothing_comes(deliveries)  # there is still one slot only


async def test_a_burial_that_got_half_way_is_brought_to_its_end_by_a_repeat(
    broker: Broker, raw: Redis, queue: str
) -> None:
    await write(raw, queue, {})
    async with broker.deliveries(queue, 1) as deliveries:
        delivery = await take(deliveries)
        await raw.delete(f"bull:{queue}:foreign:lock")
        await raw.lrem(f"bull:{queue}:active", 1, "foreign")
        await delivery.dead_letter("bad")
        await delivery.dead_letter("worse")
    [letter] = await broker.dead_letters(queue, limit=9)
    assert letter.reason == "bad"


@pytest.mark.parametrize("children", ["dependencies", "unsuccessful"])
async def test_a_job_whose_children_are_not_done_does_not_come_again(
    forgetful: Broker, raw: Redis, queue: str, children: str
) -> None:
    await write(raw, queue, {})
    if children == "dependencies":
        await raw.sadd(f"bull:{queue}:foreign:dependencies", "child")
    else:
        await raw.zadd(f"bull:{queue}:foreign:unsuccessful", {"child": 1})
    async with forgetful.deliveries(queue, 1) as deliveries:
        await (await take(deliveries)).ack()
        await depth_becomes(forgetful, DEAD, queue)
        await nothing_comes(deliveries, 3 * LEASE)
    [letter] = await forgetful.dead_letters(queue, limit=9)
    assert "what it depends on is not done" in letter.reason


async def test_an_id_whose_key_is_no_job_is_dropped_once(
    forgetful: Broker, raw: Redis, queue: str, caplog: pytest.LogCaptureFixture
) -> None:
    prefix = f"bull:{queue}:"
    await raw.set(prefix + "text", "x")
    await raw.lpush(prefix + "wait", "text")
    await raw.zadd(prefix + "delayed", {"text": 1, "fine": 2})
    await raw.hset(prefix + "fine", mapping=dict(FIELDS))
    async with forgetful.deliveries(queue, 1) as deliveries:
        fine = await take(deliveries)
        assert fine.message_id == "fine"
        await fine.ack()
        await depth_becomes(forgetful, EMPTY, queue)
        await nothing_comes(deliveries, 3 * LEASE)
    assert await raw.get(prefix + "text") == b"x"
    assert caplog.text.count("cannot receive messages") == 2  # it was there twice
    assert "cannot look for stalled jobs" not in caplog.text


async def test_an_odd_priority_does_not_lose_those_that_are_due_with_it(
    broker: Broker, raw: Redis, queue: str
) -> None:
    prefix = f"bull:{queue}:"
    for name, priority in (("a", "nan"), ("b", "inf"), ("c", "x"), ("d", "0")):
        await raw.hset(prefix + name, mapping={**FIELDS, "priority": priority})
    await raw.zadd(prefix + "delayed", {name: n for n, name in enumerate("abcd")})
    async with broker.deliveries(queue, 4) as deliveries:
        got = [await take(deliveries) for _ in range(4)]
        assert {each.message_id for each in got} == set("abcd")
        for each in got:
            await each.ack()
        await depth_becomes(broker, EMPTY, queue)


async def test_odd_entries_of_the_failed_ones_are_shown(
    broker: Broker, raw: Redis, queue: str
) -> None:
    prefix = f"bull:{queue}:".encode()
    await raw.zadd(prefix + b"failed", {b"text": 1, b"gone": 2, b"\xff": 3, b"old": 4})
    await raw.set(prefix + b"text", "x")
    await raw.hset(prefix + b"\xff", mapping={"data": b"\xff", "finishedOn": "9" * 40})
    await raw.hset(prefix + b"old", mapping={"finishedOn": "x", "failedReason": b"\xff"})
    letters = await broker.dead_letters(queue, limit=9)
    assert [letter.id for letter in letters] == ["text", "gone", "~%FF", "old"]
    assert [letter.body for letter in letters] == [b"null", b"null", b"\xff", b"null"]


async def test_odd_markers_and_times_do_not_keep_anybody(
    broker: Broker, raw: Redis, queue: str, caplog: pytest.LogCaptureFixture
) -> None:
    prefix = f"bull:{queue}:"
    await raw.zadd(prefix + "delayed", {"never": "-inf", "later": "inf"})
    async with broker.deliveries(queue, 1) as deliveries:
        waiter = asyncio.create_task(take(deliveries))
        for score in (5, float("inf"), float("-inf")):
            await raw.zadd(prefix + "marker", {b"\xff": score})
            await asyncio.sleep(0.05)
        await broker.publish(queue, Message(id="m", body=b"1"))
        await (await waiter).ack()
    assert "cannot" not in caplog.text


@pytest.mark.parametrize("score", ["-inf", "-5", "inf"])
async def test_a_delayed_job_that_is_never_due_is_not_looked_for_all_the_time(
    broker: Broker, raw: Redis, queue: str, score: str
) -> None:
    async def looks() -> int:
        return int((await raw.info("commandstats"))["cmdstat_evalsha"]["calls"])

    await raw.zadd(f"bull:{queue}:delayed", {"never": score})
    async with broker.deliveries(queue, 1) as deliveries:
        await nothing_comes(deliveries)
        before = await looks()
        await nothing_comes(deliveries, 0.3)
        assert await looks() - before < 20


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
named = st.dictionaries(
    st.sampled_from(["attempts", "removeOnComplete", "count"]),
    json_values | st.dictionaries(st.sampled_from(["count", "age", "limit"]), json_values),
)


@given(named | json_values)
def test_of_any_options_only_what_scripts_can_use_is_kept(options: object) -> None:
    attempts, removal = _options(json.dumps(options).encode())
    numbers = [attempts, *(removal.values() if isinstance(removal, dict) else [removal])]
    assert all(isinstance(number, int) and -1 <= number < 1 << 31 for number in numbers)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            {"attempts": 3, "removeOnComplete": {"age": 60, "count": 5}},
            (3, {"age": 60, "count": 5}),
        ),
        ({"removeOnComplete": False}, (1, False)),
        ({"removeOnComplete": 100}, (1, 100)),
        ({"removeOnComplete": -1}, (1, -1)),
        ({}, (1, True)),
    ],
    ids=str,
)
def test_job_options_that_webloom_supports_are_honoured(options: object, expected: object) -> None:
    assert _options(json.dumps(options).encode()) == expected
