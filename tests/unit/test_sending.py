from __future__ import annotations

import asyncio

import pytest

from webloom.application.watch import send_by_target
from webloom.application.watch.send_by_target import SendByTarget
from webloom.domain.errors import StoreUnavailable
from webloom.domain.sending import Lane
from webloom.ports.notifications import DueTarget


class Round:
    """Targets that answer when the test says so. The first letter is the destination; those that
    begin with ! have failed, and @ is another lane."""

    def __init__(self, *targets: str) -> None:
        self.due = [DueTarget(url=each, has_failed=each.startswith("!")) for each in targets]
        self.started: list[str] = []
        self.answers: dict[str, asyncio.Future[bool]] = {}
        self.looks = 0
        self.stop = asyncio.Event()
        self.error: Exception | None = None
        self.run = SendByTarget(due=self._due, send=self._send, lane_of=_lane, stop=self.stop)

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


def _lane(url: str) -> Lane:
    name = "mail" if url.startswith("@") else "hook"
    return Lane(name=name, limit=4, destination=url.lstrip("!@")[0])


@pytest.mark.parametrize(
    ("running", "new", "may", "why"),
    [
        ("", "a", True, "nothing is running"),
        ("a b c d", "e", False, "the lane is full"),
        ("@a @b @c @d", "e", True, "another lane is full"),
        ("a1", "a2", True, "a destination may have half of its lane"),
        ("a1 a2", "a3", False, "and no more"),
        ("a1 a2", "b", True, "the other half is for others"),
        ("!f", "!h", True, "those that failed may have half"),
        ("!f !g", "!h", False, "and no more"),
    ],
)
async def test_slow_targets_leave_half_to_others(
    running: str, new: str, may: bool, why: str
) -> None:
    some = Round(*running.split(), new)
    task = asyncio.create_task(some.run())
    await some.sent_to(len(running.split()) + may)
    for _ in range(10):  # steps of the loop in which one more could start
        await asyncio.sleep(0)
    assert (new in some.started) is may, why
    task.cancel()
    await asyncio.wait({task})


async def test_failed_targets_leave_half_to_those_that_answer() -> None:
    some = Round("!f", "!g", "!h", "a", "b")
    task = asyncio.create_task(some.run())
    await some.sent_to(4)
    assert some.started == ["a", "b", "!f", "!g"]
    some.answers["a"].set_result(True)
    for _ in range(10):
        await asyncio.sleep(0)
    assert len(some.started) == 4
    some.answers["!f"].set_result(True)
    await some.sent_to(5)
    task.cancel()
    await asyncio.wait({task})


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
    monkeypatch.setattr(send_by_target, "POLL_SECONDS", 0.01)
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


async def test_after_a_stop_nothing_is_started() -> None:
    some = Round(*"abcdef")
    task = asyncio.create_task(some.run())
    await some.sent_to(4)
    some.stop.set()
    for answer in some.answers.values():
        answer.set_result(True)
    await task
    assert some.started == [*"abcd"]


async def test_an_error_is_raised_after_everything_started_has_ended() -> None:
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


async def test_a_cancelled_round_cancels_what_it_started() -> None:
    some = Round("a")
    task = asyncio.create_task(some.run())
    await some.sent_to(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert some.answers["a"].cancelled()
