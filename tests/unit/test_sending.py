from __future__ import annotations

import asyncio

import pytest

from webloom.application.watch import send_by_target
from webloom.application.watch.send_by_target import SendByTarget
from webloom.domain.errors import StoreUnavailable
from webloom.domain.sending import Lane, Running, Sending
from webloom.ports.notifications import DueTarget


def sending(destination: str, *, has_failed: bool = False, name: str = "hook") -> Sending:
    return Sending(lane=Lane(name=name, limit=4, destination=destination), has_failed=has_failed)


A, B, C, D, E = (sending(each) for each in "abcde")
TRIED, TRIED_TOO = sending("f", has_failed=True), sending("g", has_failed=True)


@pytest.mark.parametrize(
    ("new", "running", "may", "why"),
    [
        (A, [], True, "nothing is running"),
        (E, [A, B, C, D], False, "the lane is full"),
        (E, [sending("a", name="mail") for _ in range(9)], True, "another lane is full"),
        (A, [A], True, "a destination may have half of its lane"),
        (A, [A, A], False, "and no more"),
        (B, [A, A], True, "the other half is for others"),
        (sending("h", has_failed=True), [TRIED], True, "those that failed may have half"),
        (sending("h", has_failed=True), [TRIED, TRIED_TOO], False, "and no more"),
        (A, [TRIED, TRIED_TOO], True, "the other half is for those that answer"),
    ],
)
def test_what_hangs_leaves_half_to_others(
    new: Sending, running: list[Sending], may: bool, why: str
) -> None:
    now = Running()
    for each in [*running, new]:
        now.start(each)
    now.end(new)
    assert now.may_start(new) is may, why


class Round:
    """Targets that answer when the test says so."""

    def __init__(self, *targets: str) -> None:
        self.due = [DueTarget(url=each, has_failed=False) for each in targets]
        self.started: list[str] = []
        self.answers: dict[str, asyncio.Future[bool]] = {}
        self.looks = 0
        self.stop = asyncio.Event()
        self.error: Exception | None = None
        self.run = SendByTarget(
            due=self._due,
            send=self._send,
            lane_of=lambda url: Lane(name="hook", limit=4, destination=url),
            stop=self.stop,
        )

    async def _due(self) -> list[DueTarget]:
        self.looks += 1
        if self.error is not None:
            raise self.error
        return self.due

    async def _send(self, url: str) -> bool:
        self.started.append(url)
        self.answers[url] = asyncio.get_running_loop().create_future()
        return await self.answers[url]

    async def sent_to(self, count: int) -> None:
        async with asyncio.timeout(60):
            while len(self.started) < count:  # noqa: ASYNC110 - several steps of the loop
                await asyncio.sleep(0)


async def test_a_target_starts_as_soon_as_another_ends() -> None:
    some = Round(*"abcdef")
    task = asyncio.create_task(some.run())
    await some.sent_to(4)
    some.answers["c"].set_result(True)
    await some.sent_to(5)
    assert some.started == [*"abcde"]
    for each in "abde":
        some.answers[each].set_result(True)
    await some.sent_to(6)
    some.answers["f"].set_result(True)
    await task
    assert some.looks == 1


async def test_what_becomes_due_is_sent_while_others_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(send_by_target, "LOOK_SECONDS", 0.01)
    some = Round("hangs")
    task = asyncio.create_task(some.run())
    await some.sent_to(1)
    some.due.append(DueTarget(url="later", has_failed=False))
    await some.sent_to(2)
    assert some.started == ["hangs", "later"], "each once"
    some.due.clear()
    for answer in some.answers.values():
        answer.set_result(True)
    await task


async def test_after_a_stop_nothing_is_begun() -> None:
    some = Round(*"abcdef")
    task = asyncio.create_task(some.run())
    await some.sent_to(4)
    some.stop.set()
    for answer in some.answers.values():
        answer.set_result(True)
    await task
    assert some.started == [*"abcd"]


async def test_an_error_is_raised_when_all_that_was_begun_has_ended() -> None:
    some = Round(*"abcdef")
    task = asyncio.create_task(some.run())
    await some.sent_to(4)
    some.answers["a"].set_exception(StoreUnavailable("gone"))
    await asyncio.wait({task}, timeout=0.01)
    assert not task.done()
    for each in "bcd":
        some.answers[each].set_result(True)
    with pytest.raises(StoreUnavailable):
        await task
    assert some.started == [*"abcd"]


async def test_a_round_that_is_cancelled_ends_what_it_has_begun() -> None:
    some = Round("a")
    task = asyncio.create_task(some.run())
    await some.sent_to(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert some.answers["a"].cancelled()
