"""What every broker's consumer does with slots, leases, acknowledgements and its end."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager

import pytest

from timeouts import TIMEOUT_SECONDS
from webloom.adapters import consumer as core
from webloom.adapters.consumer import Consumer, Received, Refused
from webloom.domain.errors import BrokerUnavailable
from webloom.ports.broker import Delivery


class MemorySource:
    """A queue in memory that fails and waits when the test says so."""

    def __init__(self, *names: str) -> None:
        self.woken = asyncio.Event()
        self.lease = 0.04
        self.is_connected = True
        self.ready = deque(names)
        self.calls: list[str] = []  # that were carried out
        self.failures: dict[str, list[Exception]] = {}  # of the calls to come, by verb
        self.open = asyncio.Event()  # while it is not set, calls wait
        self.open.set()
        self.lost: list[str] = []
        self._called = asyncio.Condition()

    async def _call(self, call: str) -> None:
        async with self._called:
            self.calls.append(f"{call} begins")
            self._called.notify_all()
        await self.open.wait()
        if failures := self.failures.get(call.split()[0]):
            raise failures.pop()
        async with self._called:
            self.calls.append(call)
            self._called.notify_all()

    async def until_called(self, *calls: str) -> None:
        async with asyncio.timeout(TIMEOUT_SECONDS), self._called:
            await self._called.wait_for(lambda: set(calls) <= set(self.calls))

    async def receive(self, most: int) -> tuple[Sequence[Received[str]], float | None]:
        found = [self.ready.popleft() for _ in range(min(most, len(self.ready)))]
        await self._call(f"receive {' '.join(found)}")
        return [Received(name, name, b"{}", 1, redelivered=False) for name in found], None

    async def idle(self) -> float | None:
        return None

    async def renew(self, held: Sequence[str]) -> Collection[str]:
        await self._call(f"renew {' '.join(sorted(held))}")
        return [each for each in held if each in self.lost]

    def ack(self, held: str) -> asyncio.Future[None] | None:
        return asyncio.ensure_future(self._call(f"ack {held}"))

    async def retry(self, held: str, after: float) -> None:
        await self._call(f"retry {held}")

    async def dead_letter(self, held: str, reason: str) -> None:
        await self._call(f"dead_letter {held}: {reason}")

    async def release(self, held: str) -> None:
        await self._call(f"release {held}")

    async def close(self) -> None:
        self.calls.append("close")


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "RECOVERY_PAUSE", 0.01)


@asynccontextmanager
async def consuming(source: MemorySource, slots: int = 1) -> AsyncIterator[Consumer[str]]:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        async with Consumer(source, "queue", slots).running() as consumer:
            yield consumer


@asynccontextmanager
async def nobody_waits_for_what_comes(source: MemorySource) -> AsyncIterator[None]:
    """Until `source.open`, a message is on its way whose only waiter was cancelled."""
    source.open.clear()
    async with consuming(source) as consumer:
        waiter = asyncio.ensure_future(anext(consumer))
        await source.until_called("receive m begins")
        waiter.cancel()
        await asyncio.wait([waiter])
        yield


async def test_an_unwanted_message_is_released_until_the_broker_accepts_it() -> None:
    source = MemorySource("m")
    async with nobody_waits_for_what_comes(source):
        source.failures["release"] = [BrokerUnavailable("full"), BrokerUnavailable("full")]
        source.open.set()
        await source.until_called("release m")
    assert source.calls.count("release m begins") == 3


async def test_a_message_whose_waiter_was_cancelled_goes_to_the_next_one() -> None:
    source = MemorySource("m")
    async with consuming(source, 2) as consumer:
        waiters = [asyncio.ensure_future(anext(consumer)) for _ in range(2)]
        await source.until_called("receive m")
        while not consumer._held:  # noqa: ASYNC110 - the very step of the hand-over
            await asyncio.sleep(0)
        waiters[0].cancel()
        assert (await waiters[1]).message_id == "m"
    assert "release m" not in source.calls


async def test_waiters_that_are_cancelled_leave_nothing_behind() -> None:
    async with consuming(MemorySource()) as consumer:
        for _ in range(100):
            waiter = asyncio.ensure_future(anext(consumer))
            await asyncio.sleep(0)
            waiter.cancel()
            await asyncio.wait([waiter])
        assert len(consumer._waiting) == 0


async def test_an_acknowledgement_that_fails_is_repeated_and_its_lease_extended_meanwhile(
    caplog: pytest.LogCaptureFixture,
) -> None:
    source = MemorySource("m", "next")
    async with consuming(source) as consumer:
        delivery = await anext(consumer)
        source.failures["ack"] = [BrokerUnavailable("locked") for _ in range(9)]
        await delivery.ack()
        assert (await anext(consumer)).message_id == "next", "its slot is free at once"
        await source.until_called("renew m next", "ack m")
        source.calls.clear()
        await source.until_called("renew next")
    assert "cannot acknowledge" in caplog.text


async def test_an_acknowledgement_that_the_broker_refuses_makes_a_dead_letter() -> None:
    source = MemorySource("m")
    async with consuming(source) as consumer:
        delivery = await anext(consumer)
        source.open.clear()
        await delivery.ack()
        await source.until_called("ack m begins")
        source.failures["ack"] = [Refused("its parent waits")]
        source.open.set()
        reason = "the work was done, but the message can't be acknowledged: its parent waits"
        await source.until_called(f"dead_letter m: {reason}")


async def test_a_message_that_was_lost_frees_its_slot_and_is_not_renewed() -> None:
    source = MemorySource("m", "next")
    async with consuming(source) as consumer:
        lost = await anext(consumer)
        source.lost.append("m")
        assert (await anext(consumer)).message_id == "next"
        await lost.ack()
        await source.until_called("renew next")
        source.ready.append("too much")
        source.woken.set()
        waiter = asyncio.ensure_future(anext(consumer))
        source.calls.clear()
        await source.until_called("renew next")
        assert not waiter.done(), "the late ack has not freed another slot"
        waiter.cancel()


async def test_leaving_waits_for_what_is_on_its_way() -> None:
    source = MemorySource("a", "b")
    async with consuming(source, 2) as consumer:
        acked, put_off = await anext(consumer), await anext(consumer)
        source.open.clear()
        await acked.ack()
        settling = asyncio.ensure_future(put_off.retry())
        await source.until_called("retry b begins", "ack a begins")
        asyncio.get_running_loop().call_later(0.01, source.open.set)
    await settling
    assert {"close", "ack a", "retry b"} <= set(source.calls)


async def test_messages_received_while_leaving_are_released() -> None:
    source = MemorySource("m")
    async with nobody_waits_for_what_comes(source):
        asyncio.get_running_loop().call_later(0.01, source.open.set)
    assert "release m" in source.calls


async def test_leaving_does_not_wait_for_a_broker_that_fails() -> None:
    source = MemorySource("a")
    async with consuming(source) as consumer:
        delivery = await anext(consumer)
        source.failures["ack"] = [BrokerUnavailable("away") for _ in range(1000)]
        await delivery.ack()
    assert "ack a" not in source.calls


Settle = Callable[[Delivery], Awaitable[None]]


@pytest.mark.parametrize("settle", [lambda each: each.retry(), lambda each: each.dead_letter("x")])
async def test_a_verb_whose_caller_is_cancelled_is_carried_out_once(settle: Settle) -> None:
    source = MemorySource("m", "next")
    async with consuming(source) as consumer:
        delivery = await anext(consumer)
        source.open.clear()
        settling = asyncio.ensure_future(settle(delivery))
        await asyncio.sleep(0)
        settling.cancel()
        await asyncio.wait([settling])
        again = asyncio.ensure_future(delivery.retry())
        source.open.set()
        await again
        assert (await anext(consumer)).message_id == "next"
        calls = [call for call in source.calls if call in ("retry m", "dead_letter m: x")]
        assert len(calls) == 1


async def test_a_verb_that_fails_can_be_repeated() -> None:
    source = MemorySource("m")
    source.lease = 3600.0
    async with consuming(source) as consumer:
        delivery = await anext(consumer)
        source.failures["dead_letter"] = [BrokerUnavailable("away")]
        with pytest.raises(BrokerUnavailable):
            await delivery.dead_letter("bad")
        await delivery.dead_letter("bad")
        await delivery.retry()
        await delivery.ack()
    assert [each for each in source.calls if " m" in each and "receive" not in each] == [
        "dead_letter m: bad begins", "dead_letter m: bad begins", "dead_letter m: bad",
    ]  # fmt: skip


@pytest.mark.parametrize("is_connected", [True, False])
async def test_receiving_continues_after_a_failure_and_a_known_loss_is_not_logged_again(
    caplog: pytest.LogCaptureFixture, is_connected: bool
) -> None:
    source = MemorySource()
    source.is_connected = is_connected
    source.failures["receive"] = [BrokerUnavailable("away"), ArithmeticError("unexpected")]
    with caplog.at_level(logging.INFO):
        async with consuming(source) as consumer:
            waiter = asyncio.ensure_future(anext(consumer))
            await source.until_called("receive ")
            source.ready.append("m")
            source.woken.set()
            assert (await waiter).message_id == "m"
    assert ("cannot" in caplog.text) == is_connected
    assert ("Traceback" in caplog.text) == is_connected
