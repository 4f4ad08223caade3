"""The InventoryStore's contract: requests, and the right to an attempt."""

from __future__ import annotations

import asyncio

import pytest

from contracts.adapters import Inventory, Processes
from contracts.inventory_samples import (
    COMPLETED,
    FAILED,
    LEASE,
    URL,
    begin,
    begin_any,
    complete,
    found,
    later,
    note,
    request,
    state_of,
    status_of,
)
from fakes.clock import FakeClock
from webloom.domain.inventory import (
    AlreadyDone,
    Attempt,
    Busy,
    FetchRequest,
    GivenBack,
    GiveUp,
    Metadata,
    Status,
)
from webloom.domain.request_state import NotedRequest

Stores = Processes[Inventory]
OTHER = "http://other.example/"


async def busy_for(store: Inventory, wanted: FetchRequest) -> float:
    begun = await begin_any(store, wanted)
    assert isinstance(begun, Busy)
    return begun.seconds


async def test_an_unknown_url_is_none_everywhere(store: Inventory) -> None:
    assert await store.find(URL) is None
    assert await store.states([URL, OTHER]) == [None, None]
    assert await store.states([]) == []
    assert not await store.forget(URL)


async def test_a_noted_request_appears_as_pending(stores: Stores) -> None:
    async with stores.open() as store, stores.open() as other:
        await note(store, request("r1"))
        record = await found(other)
        assert (record.url, record.status) == (URL, Status.PENDING)
        assert record.metadata == Metadata()
        assert record.additional_details is None
        assert record.created_at == record.updated_at == stores.clock.now()
        state = await state_of(other)
        assert (state.status, state.request_id) == (Status.PENDING, "r1")
        assert (state.in_progress_for, state.waits_for) == (None, None)


async def test_noting_a_request_again_changes_nothing(stores: Stores) -> None:
    async with stores.open() as store:
        await note(store, request("r1"))
        before = await found(store)
        await stores.pass_time(5)
        await note(store, request("r1"))
        await note(store, request("a second one"))
        assert await found(store) == before
        assert (await state_of(store)).request_id == "r1"


async def test_states_answer_in_the_order_of_the_urls(store: Inventory) -> None:
    await store.note_requests(
        [NotedRequest(request=request(f"r{n}", url=f"{OTHER}{n}"), token=0) for n in range(3)]
    )
    states = await store.states([f"{OTHER}2", URL, f"{OTHER}0", f"{OTHER}2"])
    assert [state and state.request_id for state in states] == ["r2", None, "r0", "r2"]


async def test_many_requests_for_one_url_in_one_note_make_one_record(store: Inventory) -> None:
    await store.note_requests([NotedRequest(request=request(), token=0) for _ in range(5)])
    assert (await store.count_by_status())[Status.PENDING] == 1


@pytest.mark.parametrize("outcome", [COMPLETED, FAILED], ids=["completed", "failed"])
async def test_a_request_reopens_a_record_with_a_final_status(
    stores: Stores, outcome: object
) -> None:
    async with stores.open() as store:
        await complete(store, outcome=outcome)  # type: ignore[arg-type]  # a table of both
        before = await found(store)
        await stores.pass_time(5)
        await note(store, request("again"), token=(await state_of(store)).token)
        record = await found(store)
        assert record.status is Status.PENDING
        assert record.metadata == before.metadata
        assert record.created_at == before.created_at
        assert record.updated_at == stores.clock.now()
        assert (await state_of(store)).request_id == "again"
        assert (await begin(store, request("again"))).number == 1


async def test_a_background_request_leaves_the_record_readable_all_the_way(stores: Stores) -> None:
    async with stores.open() as store:
        await complete(store)
        before = await found(store)
        await stores.pass_time(5)
        refresh = request("refresh", background=True)
        await note(store, refresh, token=(await state_of(store)).token)
        state = await state_of(store)
        assert (state.request_id, state.background) == ("refresh", True)
        seen = [await found(store)]
        attempt = await begin(store, refresh)
        seen.append(await found(store))
        assert await store.finish_attempt(attempt, later(30))
        seen.append(await found(store))
        for record in seen:
            assert (record.status, record.metadata) == (Status.COMPLETED, before.metadata)
            assert record.updated_at == before.updated_at
        await stores.pass_time(31)
        attempt = await begin(store, refresh)
        assert attempt.number == 2
        assert await store.finish_attempt(attempt, COMPLETED)
        record = await found(store)
        assert (record.status, record.updated_at) == (Status.COMPLETED, stores.clock.now())
        state = await state_of(store)
        assert (state.request_id, state.background) == (None, False)


async def test_a_request_in_the_foreground_overtakes_a_background_one(
    store: Inventory,
) -> None:
    await complete(store)
    token = (await state_of(store)).token
    await note(store, request("refresh", background=True), token)
    await note(store, request("now"), token)
    state = await state_of(store)
    assert (state.status, state.background) == (Status.PENDING, False)


async def test_a_background_request_does_not_hide_one_in_the_foreground(
    store: Inventory,
) -> None:
    await complete(store)
    token = (await state_of(store)).token
    await note(store, request("now"), token)
    await note(store, request("refresh", background=True), token)
    state = await state_of(store)
    assert (state.status, state.background) == (Status.PENDING, False)
    assert state.request_id == "now"


async def test_a_request_in_the_foreground_is_shown_while_the_refresh_runs(
    store: Inventory,
) -> None:
    await complete(store)
    refresh = request("refresh", background=True)
    await note(store, refresh, (await state_of(store)).token)
    attempt = await begin(store, refresh)
    await note(store, request("now"), attempt.token)
    assert await status_of(store) is Status.IN_PROGRESS
    assert await store.finish_attempt(attempt, COMPLETED)
    assert await status_of(store) is Status.COMPLETED


NOTES_TOO_LATE = [
    ("running", "the worker has begun"),
    ("done", "the worker has finished"),
    ("waiting", "the worker has failed once"),
]


@pytest.mark.parametrize(
    ("how_far", "reason"), NOTES_TOO_LATE, ids=[row[1] for row in NOTES_TOO_LATE]
)
@pytest.mark.parametrize("known", [False, True], ids=["new URL", "known URL"])
async def test_a_note_that_comes_after_the_worker_changes_nothing(
    store: Inventory, how_far: str, reason: str, known: bool
) -> None:
    token = 0
    if known:
        await complete(store)
        token = (await state_of(store)).token
    wanted = request("r")
    attempt = await begin(store, wanted)
    if how_far == "done":
        await store.finish_attempt(attempt, COMPLETED)
    elif how_far == "waiting":
        await store.finish_attempt(attempt, later())
    before = (await found(store), await state_of(store))
    await note(store, wanted, token)
    assert (await found(store), await state_of(store)) == before


async def test_the_first_attempt_creates_an_unknown_record(stores: Stores) -> None:
    async with stores.open() as store:
        attempt = await begin(store, request("r1"))
        assert (attempt.url, attempt.request_id) == (URL, "r1")
        assert (attempt.number, attempt.retry_count) == (1, 0)
        record = await found(store)
        assert record.status is Status.IN_PROGRESS
        assert record.processing.attempt_number == 1
        assert record.processing.last_request_id == "r1"
        assert record.processing.last_attempt_at == stores.clock.now()
        state = await state_of(store)
        assert state.token == attempt.token
        assert state.in_progress_for == pytest.approx(LEASE)


async def test_an_attempt_answers_the_request_that_was_noted(store: Inventory) -> None:
    await note(store, request("noted"))
    attempt = await begin(store, request("of a message that joined"))
    assert attempt.request_id == "noted"


async def test_nobody_gets_an_attempt_while_one_runs(stores: Stores) -> None:
    async with stores.open() as store, stores.open() as other:
        wanted = request()
        attempt = await begin(store, wanted)
        await stores.pass_time(5)
        assert await busy_for(other, wanted) == pytest.approx(LEASE - 5)
        assert isinstance(await begin_any(other, request()), Busy)
        assert isinstance(await begin_any(other, request(url=OTHER)), Attempt)
        assert await store.finish_attempt(attempt, COMPLETED)


async def test_renewed_attempts_last_longer(stores: Stores) -> None:
    async with stores.open() as store:
        attempt = await begin(store)
        other = await begin(store, request(url=OTHER))
        await stores.pass_time(LEASE - 1)
        await store.renew_attempts([attempt], lease=LEASE)
        await stores.pass_time(LEASE - 1)
        assert isinstance(await begin_any(store), Busy)
        assert isinstance(await begin_any(store, request(url=OTHER)), Attempt), "not renewed"
        await store.renew_attempts([], lease=LEASE)
        await store.renew_attempts([other], lease=1000 * LEASE)  # superseded: left alone
        await stores.pass_time(LEASE + 1)
        assert isinstance(await begin_any(store, request(url=OTHER)), Attempt)


async def test_a_finished_attempt_is_not_renewed(store: Inventory) -> None:
    attempt = await complete(store)
    await store.renew_attempts([attempt], lease=LEASE)
    assert (await state_of(store)).in_progress_for is None


async def test_an_attempt_whose_worker_vanished_counts_as_failed(stores: Stores) -> None:
    async with stores.open() as store:
        wanted = request("r")
        tokens = []
        for number, retry_count in ((1, 0), (2, 1), (3, 2)):
            attempt = await begin(store, wanted)
            assert (attempt.number, attempt.retry_count) == (number, retry_count)
            tokens.append(attempt.token)
            await stores.pass_time(LEASE + 1)
        assert tokens == sorted(set(tokens))
        given_up = await begin_any(store, wanted)
        assert isinstance(given_up, GiveUp)
        assert given_up.retry_count == 3
        record = await found(store)
        assert record.status is Status.FAILED_PERMANENT
        assert record.processing.retry_count == 3
        assert record.processing.error_message == given_up.reason
        assert (await store.count_by_status())[Status.FAILED_PERMANENT] == 1
        assert await begin_any(store, wanted) == AlreadyDone()
        assert not await store.finish_attempt(attempt, COMPLETED)


async def test_a_token_is_at_least_the_time_in_microseconds(stores: Stores) -> None:
    async with stores.open() as store:
        first = await complete(store)
        at_once = await complete(store)
        assert first.token < at_once.token < first.token + 5_000_000
        await stores.pass_time(10)
        assert (await begin(store)).token >= first.token + 9_000_000


async def test_a_new_request_after_giving_up_starts_from_the_beginning(stores: Stores) -> None:
    async with stores.open() as store:
        await give_up_next(stores, store, request("doomed"))
        assert isinstance(await begin_any(store, request("doomed")), GiveUp)
        attempt = await begin(store, request("new"))
        assert (attempt.number, attempt.retry_count) == (1, 0)
        assert await status_of(store) is Status.IN_PROGRESS


async def give_up_next(stores: Stores, store: Inventory, wanted: FetchRequest) -> None:
    """The next worker that asks for an attempt learns that none is left."""
    for _ in range(3):
        await begin(store, wanted)
        await stores.pass_time(LEASE + 1)


async def test_a_request_that_comes_together_with_the_giving_up_keeps_its_attempt(
    stores: Stores,
) -> None:
    async with stores.open() as store:
        for turn in range(10):
            url = f"{OTHER}{turn}"
            doomed, new = request(f"doomed {turn}", url=url), request(f"new {turn}", url=url)
            await give_up_next(stores, store, doomed)
            given_up, attempt = await asyncio.gather(
                begin_any(store, doomed), begin_any(store, new)
            )
            assert isinstance(given_up, GiveUp)
            assert isinstance(attempt, Attempt)
            assert await status_of(store, url) is Status.IN_PROGRESS
            assert (await store.count_by_status())[Status.IN_PROGRESS] == 1
            assert await store.finish_attempt(attempt, COMPLETED)
            assert (await found(store, url)).status is Status.COMPLETED


async def test_a_message_that_comes_twice_is_answered_once(store: Inventory) -> None:
    wanted = request()
    attempt = await begin(store, wanted)
    await store.finish_attempt(attempt, COMPLETED)
    assert await begin_any(store, wanted) == AlreadyDone()
    assert isinstance(await begin_any(store, request()), Attempt)


async def test_a_retry_begins_when_it_is_due_and_not_before(stores: Stores) -> None:
    async with stores.open() as store:
        wanted = request("r")
        assert await store.finish_attempt(await begin(store, wanted), later(30))
        record = await found(store)
        assert record.status is Status.FAILED_RETRYABLE
        assert record.processing.error_message == "the connection was refused"
        assert record.processing.retry_count == 1
        state = await state_of(store)
        assert state.request_id == "r"
        assert state.waits_for == pytest.approx(30)
        await stores.pass_time(29)
        assert await busy_for(store, wanted) == pytest.approx(1)
        await stores.pass_time(1.5)
        attempt = await begin(store, wanted)
        assert (attempt.number, attempt.retry_count) == (2, 1)
        assert await status_of(store) is Status.IN_PROGRESS


async def test_an_attempt_that_was_given_back_does_not_count(stores: Stores) -> None:
    async with stores.open() as store:
        wanted = request("r")
        assert await store.finish_attempt(await begin(store, wanted), later(30))
        await stores.pass_time(31)
        for _ in range(5):
            attempt = await begin(store, wanted)
            assert (attempt.number, attempt.retry_count) == (2, 1)
            assert await store.finish_attempt(attempt, GivenBack())
            record = await found(store)
            assert record.status is Status.PENDING
            assert record.processing.attempt_number == 1
            assert (await state_of(store)).request_id == "r"


async def test_a_refresh_that_was_given_back_leaves_the_record_readable(
    store: Inventory,
) -> None:
    await complete(store)
    refresh = request("refresh", background=True)
    attempt = await begin(store, refresh)
    assert await store.finish_attempt(attempt, GivenBack())
    assert await status_of(store) is Status.COMPLETED
    state = await state_of(store)
    assert (state.request_id, state.background) == ("refresh", True)


async def test_of_fifty_workers_at_once_one_gets_the_attempt(stores: Stores) -> None:
    async with stores.open() as one, stores.open() as two:
        for turn in range(5):
            url = f"{OTHER}{turn}"
            wanted = request(url=url)
            if turn % 2:
                await note(one, wanted)
            begun = await asyncio.gather(
                *(begin_any((one, two)[n % 2], wanted if n % 3 else request(url=url))
                  for n in range(50))
            )  # fmt: skip
            attempts = [each for each in begun if isinstance(each, Attempt)]
            assert len(attempts) == 1
            assert sum(isinstance(each, Busy) for each in begun) == 49
            assert await two.finish_attempt(attempts[0], COMPLETED)


async def test_of_fifty_workers_after_a_lost_attempt_one_takes_it_over(stores: Stores) -> None:
    async with stores.open() as one, stores.open() as two:
        wanted = request()
        await begin(one, wanted)
        await stores.pass_time(LEASE + 1)
        begun = await asyncio.gather(*(begin_any((one, two)[n % 2], wanted) for n in range(50)))
        attempts = [each for each in begun if isinstance(each, Attempt)]
        assert [attempt.number for attempt in attempts] == [2]


@pytest.mark.parametrize("jump", [-3600.0, 3600.0], ids=["back", "forward"])
async def test_a_jump_of_the_wall_clock_moves_no_lease_and_no_retry(
    stores: Stores, clock: FakeClock, jump: float
) -> None:
    async with stores.open() as store:
        running, waiting = request(), request(url=OTHER)
        await begin(store, running)
        await store.finish_attempt(await begin(store, waiting), later(LEASE))
        clock.jump_wall(jump)
        async with stores.open() as other:
            for each in (running, waiting):
                assert await busy_for(other, each) == pytest.approx(LEASE)
            await stores.pass_time(LEASE - 1)
            for each in (running, waiting):
                assert await busy_for(store, each) == pytest.approx(1)
            await stores.pass_time(2)
            for each in (running, waiting):
                assert (await begin(other, each)).number == 2


async def test_requests_that_nothing_happens_to_are_found(stores: Stores) -> None:
    async with stores.open() as store:
        for name in ("noted", "given-back", "retry-due", "retry-later", "lost", "running", "done"):
            await note(store, request(name, url=OTHER + name))
        given_back = await begin(store, request("given-back", url=OTHER + "given-back"))
        await store.finish_attempt(given_back, GivenBack())
        due = await begin(store, request("retry-due", url=OTHER + "retry-due"))
        await store.finish_attempt(due, later(10))
        late = await begin(store, request("retry-later", url=OTHER + "retry-later"))
        await store.finish_attempt(late, later(900))
        await begin(store, request("lost", url=OTHER + "lost"))
        await begin(store, request("running", url=OTHER + "running"), lease=900)
        await complete(store, OTHER + "done")
        await complete(store, OTHER + "refreshing")
        refresh = request("refreshing", url=OTHER + "refreshing", background=True)
        await note(store, refresh, (await state_of(store, OTHER + "refreshing")).token)
        assert await store.forgotten_requests(quiet_for=60, limit=100) == []
        await stores.pass_time(100)
        await note(store, request("fresh", url=OTHER + "fresh"))
        forgotten = await store.forgotten_requests(quiet_for=60, limit=100)
        requests = [each.request for each in forgotten]
        names = {each.request_id for each in requests}
        assert names == {"noted", "given-back", "retry-due", "lost", "refreshing"}
        assert all(each.url == OTHER + each.request_id for each in requests)
        assert [each.request_id for each in requests if each.background] == ["refreshing"]
        for each in forgotten:
            assert each.token == (await state_of(store, each.request.url)).token
        assert len(await store.forgotten_requests(quiet_for=60, limit=2)) == 2


async def test_a_request_that_was_seen_to_is_not_forgotten_until_it_is_quiet_again(
    stores: Stores,
) -> None:
    async with stores.open() as store:
        for name in ("a", "b", "c"):
            await note(store, request(name, url=OTHER + name))
        await stores.pass_time(100)
        quiet = {
            each.request.request_id: each
            for each in await store.forgotten_requests(quiet_for=60, limit=100)
        }
        another = quiet["b"]._replace(request=request("another request", url=OTHER + "b"))
        earlier = quiet["c"]._replace(token=quiet["c"].token - 1)
        await store.note_requests([quiet["a"], another, earlier])
        await note(store, request("unknown", url=OTHER + "unknown"), quiet["a"].token)
        assert await store.find(OTHER + "unknown") is None
        forgotten = await store.forgotten_requests(quiet_for=60, limit=100)
        assert {each.request.request_id for each in forgotten} == {"b", "c"}
        await stores.pass_time(61)
        assert len(await store.forgotten_requests(quiet_for=60, limit=100)) == 3


async def test_a_worker_of_a_deleted_record_changes_nothing_in_the_new_one(stores: Stores) -> None:
    async with stores.open() as store:
        lost = await begin(store, request("first"))
        await stores.pass_time(LEASE + 1)
        assert await store.finish_attempt(await begin(store, request("first")), COMPLETED)
        assert await store.forget(URL)
        await stores.pass_time(1)
        current = await begin(store, request("second"))
        assert not await store.finish_attempt(lost, FAILED)
        await store.renew_attempts([lost], lease=3600)
        assert await store.finish_attempt(current, COMPLETED)
        assert await status_of(store) is Status.COMPLETED


async def test_a_note_that_comes_after_answer_and_deletion_leaves_nothing_behind(
    store: Inventory,
) -> None:
    """The worker and a DELETE were both quicker than the note of the API."""
    assert await store.finish_attempt(await begin(store, request("r1")), COMPLETED)
    assert await store.forget(URL)
    await note(store, request("r1"))
    assert await store.find(URL) is None
    await note(store, request("r2"))
    assert await status_of(store) is Status.PENDING


async def test_a_note_that_joined_an_answered_message_does_not_reopen_the_record(
    store: Inventory,
) -> None:
    """The message came again, was joined by a POST, and was served before its note."""
    assert await store.finish_attempt(await begin(store, request("r1")), COMPLETED)
    seen = await state_of(store)
    assert isinstance(await begin_any(store, request("r1")), AlreadyDone)
    await note(store, request("r1"), seen.token)
    assert await status_of(store) is Status.COMPLETED
