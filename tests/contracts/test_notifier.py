"""The Notifier's contract."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pytest

from e2e.receiver import Receiver
from fakes.notifier import FakeNotifier
from webloom.adapters.notify.notifier import TargetNotifier
from webloom.domain.errors import NotSent
from webloom.domain.network_policy import NetworkPolicy
from webloom.domain.watch import Target
from webloom.ports.notifier import NotificationMessage, Notifier

TOKEN = "t0ken"  # a part of every target's URL that no one else may see
MESSAGE = NotificationMessage(
    message_id="0123abcd",
    at=datetime(2026, 3, 1, 12, tzinfo=UTC),
    title="My shop: 1 change",
    lines=["https://shop.test/1: the price fell"],
    payload={"title": "My shop: 1 change"},
)


@dataclass(frozen=True, kw_only=True)
class Reception:
    """Targets that answer as a test wants, and what they were sent."""

    notifier: Notifier
    answering: Callable[[int], Target]  # with a status of HTTP
    attempts: Callable[[], list[str]]  # what a target saw of each, whatever it answered


@asynccontextmanager
async def receiving(scheme: str) -> AsyncIterator[Reception]:
    async with Receiver("127.0.0.1") as receiver:
        policy = NetworkPolicy.parse([receiver.endpoint])
        async with TargetNotifier(policy=policy) as notifier:
            yield Reception(
                notifier=notifier,
                answering=lambda status: Target(url=receiver.url(f"/{status}/{TOKEN}", scheme)),
                attempts=lambda: [body.decode() for _, body in receiver.got],
            )


def open_webhook() -> AbstractAsyncContextManager[Reception]:
    return receiving("http")


def open_apprise() -> AbstractAsyncContextManager[Reception]:
    return receiving("json")


@asynccontextmanager
async def open_fake() -> AsyncIterator[Reception]:
    notifier = FakeNotifier()

    def answering(status: int) -> Target:
        target = Target(url=f"https://hook.example/{status}/{TOKEN}")
        if status > 299:
            failure = NotSent(reason=f"it answered {status}", retryable=status in (429, 503))
            notifier.failures[target.url] = [failure]
        return target

    yield Reception(
        notifier=notifier,
        answering=answering,
        attempts=lambda: [message.title for _, message in notifier.attempts],
    )


ADAPTERS = {"webhook": open_webhook, "apprise": open_apprise, "fake": open_fake}


@pytest.fixture(params=ADAPTERS)
async def reception(request: pytest.FixtureRequest) -> AsyncIterator[Reception]:
    async with ADAPTERS[request.param]() as opened:
        yield opened


async def test_a_message_that_was_sent_has_reached_its_target(reception: Reception) -> None:
    await reception.notifier.send(reception.answering(200), MESSAGE)
    [seen] = reception.attempts()
    assert MESSAGE.title in seen


@pytest.mark.parametrize(("status", "is_retryable"), [(404, False), (503, True)])
async def test_a_message_that_a_target_does_not_take_is_not_sent(
    reception: Reception, status: int, is_retryable: bool
) -> None:
    with pytest.raises(NotSent) as refused:
        await reception.notifier.send(reception.answering(status), MESSAGE)
    assert refused.value.retryable == is_retryable
    assert str(status) in refused.value.reason
    assert TOKEN not in refused.value.reason
    assert len(reception.attempts()) == 1


async def test_a_target_that_refuses_keeps_no_other_from_its_message(reception: Reception) -> None:
    good, bad = reception.answering(200), reception.answering(503)
    other = replace(MESSAGE, title="Another shop", payload={"title": "Another shop"})
    outcomes = await asyncio.gather(
        reception.notifier.send(bad, MESSAGE),
        reception.notifier.send(good, other),
        return_exceptions=True,
    )
    assert [type(each) for each in outcomes] == [NotSent, type(None)]
    seen = reception.attempts()
    assert len(seen) == 2
    assert sum("Another shop" in each for each in seen) == 1
