from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from webloom.application import bulk
from webloom.application.bulk import (
    AT_ONCE,
    Done,
    Failure,
    Finished,
    Progress,
    act_on_each,
    all_chosen,
)
from webloom.domain.errors import BulkRefused, StoreUnavailable, WatchRefused

IDS = [f"{number}" for number in range(2 * AT_ONCE + 50)]


async def test_each_is_done_once_and_failures_do_not_affect_the_others() -> None:
    done: list[str] = []

    async def act(item_id: str) -> Done | Failure:
        done.append(item_id)
        if item_id == "7":
            raise WatchRefused("it is odd")
        if item_id == "108":
            return Failure(id=item_id, name=None, reason="nothing to do", is_skipped=True)
        return Done({"n": item_id}) if item_id in ("1", "2", "101") else Done()

    steps = [each async for each in act_on_each([*IDS, "1"], act)]
    assert done == IDS
    failures = [
        Failure(id="7", name=None, reason="it is odd"),
        Failure(id="108", name=None, reason="nothing to do", is_skipped=True),
    ]
    before: dict[str, Mapping[str, str]] = {each: {"n": each} for each in ("1", "2", "101")}
    total = len(IDS)
    assert steps == [
        Progress(
            done=AT_ONCE, total=total, failed=1, failures=failures[:1],
            before={"1": {"n": "1"}, "2": {"n": "2"}},
        ),
        Progress(
            done=2 * AT_ONCE, total=total, skipped=1, failures=failures[1:],
            before={"101": {"n": "101"}},
        ),
        Progress(done=total, total=total),
        Finished(total=total, failed=1, skipped=1, failures=failures, before=before),
    ]  # fmt: skip


async def test_an_error_that_nobody_expects_is_a_failure_of_its_item(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def act(item_id: str) -> Done | Failure:
        if item_id == "7":
            raise KeyError("secret")
        return Done({"n": item_id})

    *_, finished = [each async for each in act_on_each(IDS, act)]
    assert isinstance(finished, Finished)
    assert finished.failures == [Failure(id="7", name=None, reason=bulk.UNEXPECTED)]
    assert finished.before is not None
    assert len(finished.before) == len(IDS) - 1
    assert "KeyError: 'secret'" in caplog.text


async def test_nothing_more_is_tried_when_a_dependency_is_away() -> None:
    tried: list[str] = []

    async def act(item_id: str) -> Done | Failure:
        tried.append(item_id)
        if len(tried) <= AT_ONCE:
            return Done({"n": item_id})
        raise StoreUnavailable("it is away")

    progress, finished = [each async for each in act_on_each(IDS, act)]
    assert tried == IDS[: 2 * AT_ONCE]
    assert isinstance(finished, Finished)
    assert finished.failed == len(IDS) - AT_ONCE
    assert {each.reason for each in finished.failures} == {"it is away"}
    assert len(finished.failures) == bulk.MOST_FAILURES
    assert finished.before == progress.before == {each: {"n": each} for each in IDS[:AT_ONCE]}


async def test_if_too_much_has_changed_nothing_can_be_undone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bulk, "MOST_UNDONE", 9)

    async def act(item_id: str) -> Done | Failure:
        return Done({"n": 1})

    progress, last = [each async for each in act_on_each(IDS[:10], act)]
    assert isinstance(last, Finished)
    assert last.before is progress.before is None
    last = [each async for each in act_on_each(IDS[:9], act)][-1]
    assert isinstance(last, Finished)
    assert last.before is not None


async def test_a_batch_is_finished_though_its_caller_is_cancelled() -> None:
    begun, goes_on, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()
    tried: list[str] = []

    async def act(item_id: str) -> Done | Failure:
        tried.append(item_id)
        begun.set()
        await goes_on.wait()
        if item_id == IDS[AT_ONCE - 1]:
            ended.set()
        return Done()

    async def all_of() -> None:
        async for _ in act_on_each(IDS, act):
            pass

    task = asyncio.create_task(all_of())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    goes_on.set()
    await ended.wait()
    assert tried == IDS[:AT_ONCE]


async def test_a_filter_is_read_to_its_end_but_not_beyond_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cursors: list[str | None] = []

    async def page(cursor: str | None) -> tuple[list[str], str | None]:
        cursors.append(cursor)
        number = int(cursor or 0)
        return IDS[number : number + 100], f"{number + 100}" if number + 100 < len(IDS) else None

    assert await all_chosen(page) == IDS
    assert cursors == [None, "100", "200"]
    monkeypatch.setattr(bulk, "MOST_CHOSEN", 150)
    with pytest.raises(BulkRefused, match="more than 150; narrow it"):
        await all_chosen(page)
    assert cursors[3:] == [None, "100"], "the rest is not read"
