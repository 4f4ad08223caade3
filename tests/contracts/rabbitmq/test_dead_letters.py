"""Dead letters in RabbitMQ, also while others take them away."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from aiormq import spec
from aiormq.abc import DeliveredMessage
from aiormq.exceptions import ChannelNotFoundEntity
from pamqp.header import ContentHeader

from contracts.rabbitmq_tools import message, opened
from contracts.waiting import take
from servers.rabbitmq import RabbitServer
from webloom.adapters.rabbitmq import envelope
from webloom.domain.errors import SettingsError
from webloom.entrypoints.cli import dead


async def test_dead_letters_of_other_programs_can_be_seen_and_removed(
    rabbitmq: RabbitServer, queue: str
) -> None:
    async with opened(rabbitmq) as broker, rabbitmq.channel() as other:
        await broker.depth(queue)
        await other.basic_publish(b"foreign", routing_key=f"{queue}.dead")
        [letter] = await broker.dead_letters(queue, limit=9)
        assert (letter.body, letter.reason) == (b"foreign", "put there by another program")
        assert await broker.discard(queue, letter.id)
        assert (await broker.depth(queue)).dead == 0


def test_headers_that_the_library_reads_and_cannot_write_are_left_behind_by_a_copy() -> None:
    properties = spec.Basic.Properties(
        headers={"legacy": b"\xff", "kept": "é", "deep": [b"\xff"], "double": 1e300}
    )
    message = DeliveredMessage(
        delivery=spec.Basic.Deliver(consumer_tag="c", delivery_tag=1, redelivered=False),
        header=ContentHeader(properties=properties),
        body=b"",
        channel=None,  # type: ignore[arg-type]
    )
    copy = envelope.read(message).given_back(0.0)
    assert copy.headers == {"kept": "é", envelope.ATTEMPTS: 1}
    copy.marshal()


async def test_dead_letters_after_one_that_is_gone_start_over(
    rabbitmq: RabbitServer, queue: str
) -> None:
    async with opened(rabbitmq) as broker:
        await broker.publish_many(queue, [message(name) for name in "abc"])
        async with broker.deliveries(queue, 1) as deliveries:
            for _ in "abc":
                await (await take(deliveries)).dead_letter("bad")
        for after, expected in (("a", ["b", "c"]), ("gone", ["a", "b"]), ("c", [])):
            letters = await broker.dead_letters(queue, limit=2, after=after)
            assert [letter.id for letter in letters] == expected


async def test_a_letter_that_was_buried_twice_is_removed_one_by_one(
    rabbitmq: RabbitServer, queue: str
) -> None:
    async with opened(rabbitmq) as broker:
        await broker.publish_many(queue, [message(name) for name in ("twin", "single", "twin")])
        async with broker.deliveries(queue, 1) as deliveries:
            for _ in range(3):
                await (await take(deliveries)).dead_letter("bad")
        assert await broker.put_back(queue, "twin")
        left = [letter.id for letter in await broker.dead_letters(queue, limit=9)]
        assert left == ["single", "twin"]
        assert await broker.discard(queue, "twin")
        assert not await broker.discard(queue, "twin")
        depth = await broker.depth(queue)
        assert (depth.ready, depth.dead) == (1, 1)


async def test_a_queue_of_dead_letters_that_somebody_deletes_is_made_again(
    rabbitmq: RabbitServer, queue: str
) -> None:
    async with opened(rabbitmq) as broker, opened(rabbitmq) as other:
        await broker.publish(queue, message("m"))
        async with broker.deliveries(queue, 1) as deliveries:
            await (await take(deliveries)).dead_letter("bad")
        for look in (broker.dead_letters(queue, limit=9), broker.put_back(queue, "m")):
            async with rabbitmq.channel() as channel:
                await channel.queue_delete(f"{queue}.dead")
            assert not await look
        assert await other.dead_letters(queue, limit=9) == []


@pytest.mark.parametrize("command", [dead.list_letters, dead.put_back, dead.discard])
async def test_the_dead_letters_of_a_queue_that_there_is_not_are_refused(
    rabbitmq: RabbitServer,
    queue: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: Callable[..., None],
) -> None:
    monkeypatch.setenv("WEBLOOM_BROKER", rabbitmq.url)
    monkeypatch.setenv("WEBLOOM_DATA_DIR", str(tmp_path))
    (tmp_path / "webloom.db").touch()
    chosen = {} if command is dead.list_letters else {"every": True}
    with pytest.raises(SettingsError) as refused:
        await asyncio.to_thread(command, queue=queue, **chosen)
    for name in (queue, "metadata_queue", "import-feed", "storage-agent"):
        assert name in str(refused.value)
    async with rabbitmq.channel() as other:
        with pytest.raises(ChannelNotFoundEntity):
            await other.queue_declare(f"{queue}.dead", passive=True)


async def test_dead_letters_are_listed_by_many_at_once(rabbitmq: RabbitServer, queue: str) -> None:
    names = [f"m{n}" for n in range(20)]
    async with opened(rabbitmq) as one, opened(rabbitmq) as two:
        await one.publish_many(queue, [message(name) for name in names])
        async with one.deliveries(queue, 1) as deliveries:
            for _ in names:
                await (await take(deliveries)).dead_letter("bad")
        lists = await asyncio.gather(
            *(broker.dead_letters(queue, limit=50) for broker in (one, two, one, two))
        )
    assert [[letter.id for letter in letters] for letters in lists] == [names] * 4
