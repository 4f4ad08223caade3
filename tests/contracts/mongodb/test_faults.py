"""MongoDB that dies, hangs, or whose answers get lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from contracts.inventory_samples import (
    COMPLETED,
    FAILED,
    LEASE,
    RECEIVED,
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
from contracts.mongodb_backend import NAMES, empty, measured_once
from contracts.waiting import until
from fakes.clock import FakeClock
from servers.mongod import MongoServer
from timeouts import TIMEOUT_SECONDS
from webloom.adapters.mongodb import database as mongodb_database
from webloom.adapters.mongodb.database import MongoDatabase, open_mongodb
from webloom.adapters.mongodb.inventory_store import MongoInventoryStore
from webloom.adapters.mongodb.locks import mongodb_locks
from webloom.adapters.mongodb.records import RecordChanges
from webloom.adapters.system_clock import SystemClock
from webloom.domain.backoff import RECONNECT
from webloom.domain.errors import StoreUnavailable
from webloom.domain.inventory import (
    AlreadyDone,
    Attempt,
    Busy,
    Completed,
    Failed,
    GivenBack,
    GiveUp,
    Metadata,
    Outcome,
    Status,
)
from webloom.ports.clock import Clock

Answer = TypeVar("Answer")


class LossyProxy:
    """Passes everything on, but swallows the answer to a chosen command and hangs up."""

    def __init__(self, server: MongoServer) -> None:
        self._server = server
        self._command: bytes | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.lost = 0
        self.port = 0

    @property
    def url(self) -> str:
        return f"mongodb://127.0.0.1:{self.port}/?directConnection=true"

    def lose_answer_to(self, command: str) -> None:
        """The next one; the server has carried it out by then."""
        self._command = b"\x02" + command.encode() + b"\0"

    @asynccontextmanager
    async def running(self) -> AsyncIterator[LossyProxy]:
        listener = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = listener.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            listener.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self._server.port)
        doomed = asyncio.Event()

        async def ask() -> None:
            while data := await reader.read(1 << 20):
                if self._command is not None and self._command in data:
                    self._command = None
                    doomed.set()
                server_writer.write(data)

        async def answer() -> None:
            while data := await server_reader.read(1 << 20):
                if doomed.is_set():
                    self.lost += 1
                    return
                writer.write(data)

        ways = [asyncio.ensure_future(ask()), asyncio.ensure_future(answer())]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            for end in (writer, server_writer):
                end.close()
                with suppress(OSError):
                    await end.wait_closed()


@pytest.fixture(params=["mongod", pytest.param("replica_set", marks=pytest.mark.thorough)])
async def proxy(request: pytest.FixtureRequest) -> AsyncIterator[LossyProxy]:
    async with LossyProxy(request.getfixturevalue(request.param)).running() as opened:
        yield opened


@pytest.fixture
async def mongodb(
    proxy: LossyProxy, clock: FakeClock, patient: None
) -> AsyncIterator[MongoDatabase]:
    async with open_mongodb(proxy.url, clock, database="faults", names=NAMES) as opened:
        measured_once(opened)
        await empty(opened)
        yield opened


async def unanswered(
    proxy: LossyProxy, command: str, call: Awaitable[Answer]
) -> Answer | StoreUnavailable:
    """On a replica set the driver repeats some commands by itself, and the answer comes."""
    before = proxy.lost
    proxy.lose_answer_to(command)
    try:
        return await call
    except StoreUnavailable as error:
        return error
    finally:
        assert proxy.lost == before + 1


@pytest.mark.parametrize("known", [False, True], ids=["new URL", "known URL"])
async def test_an_attempt_whose_beginning_was_not_answered_is_had_by_asking_again(
    proxy: LossyProxy, store: MongoInventoryStore, mongodb: MongoDatabase, known: bool
) -> None:
    wanted = request("r")
    if known:
        await note(store, wanted)
    begun = await unanswered(
        proxy, "update" if known else "insert", store.begin_attempt(wanted, lease=LEASE)
    )
    other = MongoInventoryStore(mongodb)
    assert isinstance(await begin_any(other, wanted), Busy), "it is not another process's"
    attempt = begun if isinstance(begun, Attempt) else await begin(store, wanted)
    assert (attempt.number, attempt.retry_count, attempt.request_id) == (1, 0, "r")
    assert isinstance(await begin_any(store, request("another")), Busy), "it is had once"
    assert await store.finish_attempt(attempt, COMPLETED)
    assert await status_of(store) is Status.COMPLETED


async def test_an_attempt_that_is_had_again_lasts_a_whole_lease(
    proxy: LossyProxy, store: MongoInventoryStore, clock: FakeClock
) -> None:
    wanted = request()
    await note(store, wanted)
    await unanswered(proxy, "update", store.begin_attempt(wanted, lease=LEASE))
    clock.advance(LEASE + 5)
    attempt = await begin(store, wanted)
    assert (attempt.number, attempt.retry_count) == (1, 0), "no attempt was lost"
    assert (await state_of(store)).in_progress_for == pytest.approx(LEASE, abs=0.1)


async def test_an_attempt_that_somebody_else_took_over_meanwhile_is_not_had_again(
    proxy: LossyProxy, store: MongoInventoryStore, mongodb: MongoDatabase, clock: FakeClock
) -> None:
    wanted = request()
    await note(store, wanted)
    await unanswered(proxy, "update", store.begin_attempt(wanted, lease=LEASE))
    clock.advance(LEASE + 1)
    other = MongoInventoryStore(mongodb)
    taken = await begin(other, wanted)
    assert isinstance(await begin_any(store, wanted), Busy)
    assert await other.finish_attempt(taken, COMPLETED)


OUTCOMES: list[tuple[Outcome, Status]] = [
    (COMPLETED, Status.COMPLETED),
    (FAILED, Status.FAILED_PERMANENT),
    (later(), Status.FAILED_RETRYABLE),
    (GivenBack(), Status.PENDING),
]


@pytest.mark.parametrize(
    ("outcome", "status"), OUTCOMES, ids=[type(row[0]).__name__ for row in OUTCOMES]
)
async def test_an_outcome_that_was_not_answered_stands_when_it_is_repeated(
    proxy: LossyProxy,
    store: MongoInventoryStore,
    mongodb: MongoDatabase,
    outcome: Outcome,
    status: Status,
) -> None:
    attempt = await begin(store)
    await unanswered(proxy, "update", store.finish_attempt(attempt, outcome))
    assert await status_of(store) is status
    before = await found(store)
    other = MongoInventoryStore(mongodb)
    assert not await other.finish_attempt(attempt, outcome), "it is not another process's"
    assert await store.finish_attempt(attempt, outcome)
    assert await found(store) == before


async def test_an_outcome_stands_although_the_next_attempt_has_begun(
    proxy: LossyProxy, store: MongoInventoryStore, clock: FakeClock
) -> None:
    wanted = request()
    attempt = await begin(store, wanted)
    await unanswered(proxy, "update", store.finish_attempt(attempt, later(1)))
    clock.advance(2)
    following = await begin(store, wanted)
    assert await store.finish_attempt(attempt, later(1))
    assert await store.finish_attempt(following, COMPLETED)


async def test_notes_locks_and_forgetting_can_be_repeated(
    proxy: LossyProxy, store: MongoInventoryStore, mongodb: MongoDatabase
) -> None:
    lock = mongodb_locks(mongodb)
    await unanswered(proxy, "insert", lock.acquire("name", "me", 10))
    assert await lock.acquire("name", "me", 10) == 1
    assert await lock.acquire("name", "you", 10) is None
    await unanswered(proxy, "insert", note(store, request("r")))
    await note(store, request("r"))
    assert (await state_of(store)).request_id == "r"
    await complete(store)
    await unanswered(proxy, "delete", store.forget(URL))
    await store.forget(URL)
    assert await store.find(URL) is None


async def test_a_note_leaves_nothing_behind_although_its_answer_was_lost(
    proxy: LossyProxy, store: MongoInventoryStore
) -> None:
    """Answered, deleted, and noted twice."""
    assert await store.finish_attempt(await begin(store, request("r")), COMPLETED)
    assert await store.forget(URL)
    await unanswered(proxy, "insert", note(store, request("r")))
    await note(store, request("r"))
    assert await store.find(URL) is None


async def test_a_decision_that_was_overtaken_is_made_again(
    store: MongoInventoryStore, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lease had run out when it was looked at; then the worker came back after all."""
    wanted = request()
    slow = await begin(store, wanted)
    clock.advance(LEASE + 1)
    save = RecordChanges._save

    async def overtaken(self: RecordChanges, *plans: Any) -> Any:
        monkeypatch.undo()
        assert await store.finish_attempt(slow, COMPLETED)
        return await save(self, *plans)

    monkeypatch.setattr(RecordChanges, "_save", overtaken)
    assert await begin_any(store, wanted) == AlreadyDone()
    assert await status_of(store) is Status.COMPLETED


async def test_a_record_that_got_a_request_meanwhile_is_not_deleted(
    store: MongoInventoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await complete(store)
    token = (await state_of(store)).token
    delete = RecordChanges._is_deleted

    async def overtaken(self: RecordChanges, *plan: Any) -> bool:
        monkeypatch.undo()
        await note(store, request("new"), token)
        return await delete(self, *plan)

    monkeypatch.setattr(RecordChanges, "_is_deleted", overtaken)
    assert await store.forget(URL)
    record = await found(store)
    assert (record.status, record.metadata) == (Status.PENDING, Metadata())
    assert (await state_of(store)).request_id == "new"


@asynccontextmanager
async def private_server(
    folder: Path, clock: Clock, replica_set: str | None = None
) -> AsyncIterator[tuple[MongoServer, MongoDatabase]]:
    server = MongoServer(folder / "private", replica_set=replica_set)
    with server.running():
        async with open_mongodb(server.url, clock, database="webloom", names=NAMES) as database:
            yield server, database


async def retry_until_available(call: Callable[[], Awaitable[Answer]]) -> Answer:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while True:
            try:
                return await call()
            except StoreUnavailable:
                await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    "replica_set",
    [
        pytest.param(None, id="standalone"),
        pytest.param("rs0", id="replica set", marks=pytest.mark.thorough),
    ],
)
async def test_what_was_answered_outlives_the_death_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replica_set: str | None
) -> None:
    """Killed twice under load: every URL ends as completed once, with its own source."""
    monkeypatch.setattr(mongodb_database, "RECONNECT", replace(RECONNECT, cap=1.0))
    async with private_server(tmp_path, SystemClock(), replica_set) as (server, database):
        store = MongoInventoryStore(database)
        urls = iter([f"{URL}/{n}" for n in range(400)])
        answered: list[str] = []

        async def work() -> None:
            for url in urls:
                wanted = request(url=url)
                begun = await retry_until_available(lambda: store.begin_attempt(wanted, lease=60))  # noqa: B023
                assert isinstance(begun, Attempt), begun
                outcome = Completed(received=replace(RECEIVED, page_source=url))
                assert await retry_until_available(lambda: store.finish_attempt(begun, outcome))  # noqa: B023
                answered.append(url)
                await asyncio.sleep(0.02)

        async with asyncio.TaskGroup() as workers:
            for _ in range(8):
                workers.create_task(work())
            for enough in (50, 200):
                while len(answered) < enough:  # noqa: ASYNC110 - they have no event
                    await asyncio.sleep(0.01)
                known = list(answered)
                await asyncio.to_thread(server.restart)
                for url in known:
                    record = await retry_until_available(lambda: store.find(url))  # noqa: B023
                    assert record is not None
                    assert record.metadata.page_source == url
        assert len(answered) == 400
        assert (await store.count_by_status())[Status.COMPLETED] == 400
        assert database.connection().state == "READY"


async def test_a_death_of_the_server_undoes_no_beginning_that_has_consequences(
    tmp_path: Path,
) -> None:
    """A beginning is safe from it where the outcome would find no record, or the message of the
    request is ended: each is killed as soon as it is answered."""
    async with private_server(tmp_path, SystemClock(), "rs0") as (server, database):
        store = MongoInventoryStore(database)

        async def struck() -> None:
            await asyncio.to_thread(server.restart)
            await retry_until_available(lambda: store.find(URL))

        attempt = await begin(store)
        await struck()
        assert await retry_until_available(lambda: store.finish_attempt(attempt, COMPLETED))
        assert await status_of(store) is Status.COMPLETED

        before = (await state_of(store)).token
        assert await begin_any(store, request(attempt.request_id)) == AlreadyDone()
        await struck()
        await retry_until_available(lambda: note(store, request(attempt.request_id), before))
        assert await status_of(store) is Status.COMPLETED

        lost = request("deadly", url=f"{URL}/deadly")
        begun = await begin_any(store, lost, lease=0.0)
        while isinstance(begun, Attempt):
            begun = await begin_any(store, lost, lease=0.0)
        assert isinstance(begun, GiveUp)
        await struck()
        record = await retry_until_available(lambda: store.find(lost.url))
        assert record is not None
        assert record.status is Status.FAILED_PERMANENT


async def test_a_server_that_hangs_holds_nobody_up_for_long(tmp_path: Path) -> None:
    async with private_server(tmp_path, SystemClock()) as (server, database):
        store = MongoInventoryStore(database)
        attempt = await begin(store)
        server.pause()
        try:
            for _ in range(2):
                async with asyncio.timeout(TIMEOUT_SECONDS / 2):
                    with pytest.raises(StoreUnavailable, match=str(server.port)):
                        await store.finish_attempt(attempt, COMPLETED)
            assert database.connection().state != "READY"
            assert database.connection().detail
        finally:
            server.resume()
        assert await retry_until_available(lambda: store.finish_attempt(attempt, COMPLETED))
        assert await status_of(store) is Status.COMPLETED

        async def is_ready() -> bool:
            return database.connection().state == "READY"

        await until(is_ready)
        assert database.connection().detail is None


async def test_calls_that_wait_together_fail_together_and_none_hangs(tmp_path: Path) -> None:
    async with private_server(tmp_path, SystemClock()) as (server, database):
        store = MongoInventoryStore(database)
        server.kill()
        async with asyncio.timeout(TIMEOUT_SECONDS):
            calls: list[Awaitable[object]] = [store.find(f"{URL}/{n}") for n in range(20)]
            calls += [begin_any(store, request(url=f"{URL}/{n}")) for n in range(20)]
            calls += [note(store, request(url=f"{URL}/{n}")) for n in range(20)]
            calls += [store.states([URL]), store.count_by_status(), store.forget(URL)]
            calls.append(mongodb_locks(database).acquire("name", "me", 10))
            answers = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(answer, StoreUnavailable) for answer in answers)
        server.start()
        await retry_until_available(lambda: store.find(URL))
        await complete(store, outcome=Failed(reason="404", retry_count=0))
