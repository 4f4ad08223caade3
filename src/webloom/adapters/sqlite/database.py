"""One SQLite file, shared by every process of this machine.

Each process has one writer thread and one thread for each kind of read. The writer takes all writes
that wait, runs them in one transaction and answers them together after its commit: that is the
group commit which makes a durable write cheap.

    await db.write(operation, item) -> queue -> writer: BEGIN; run(items) ...; COMMIT -> answers

Writers of several processes wait for each other in short steps: a transaction takes a millisecond
or two, and SQLite's own way of waiting soon sleeps for twenty-five.

A write that the disk has no room for is repeated after a checkpoint, as the log can be written over
then; reserve.py says where the room for that comes from.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Generic, NamedTuple, TypeVar

from webloom.adapters.resources import require_descriptors
from webloom.adapters.room import Room
from webloom.adapters.sqlite.commit_poller import CommitPoller
from webloom.adapters.sqlite.connecting import (
    BUSY_SECONDS,
    PRIMARY_CODE,
    checkpoint,
    connect,
    is_full,
    when_free,
)
from webloom.adapters.sqlite.reserve import MIB, Reserve
from webloom.adapters.sqlite.schema import NotOurs, prepare
from webloom.domain.errors import (
    BrokerFull,
    Exhausted,
    ResourcesExhausted,
    StoreFull,
    StoreUnavailable,
    Unavailable,
)
from webloom.ports.clock import Clock
from webloom.ports.connection import Connection
from webloom.private_files import make_folder

log = logging.getLogger(__name__)

Item = TypeVar("Item")
Result = TypeVar("Result")
Read = Callable[[sqlite3.Connection], Result]
Answers = list[tuple[asyncio.Future[Any], Any, BaseException | None]]

MOST_IN_ONE_COMMIT = 500
_DESCRIPTORS = 4  # of a connection: the file, its log, the index of the log; and one
MOST_PAGES = 1_073_741_823  # of a file, where nothing else limits it
QUIET_SECONDS = 5.0  # without a refusal in any process, after which there is room again


@dataclass(frozen=True, kw_only=True, eq=False)
class Operation(Generic[Item, Result]):
    """A write or look-up. All waiting items of one operation are served together."""

    # Gives one result for each item. It is run again, with each item alone, after a transaction
    # that failed.
    run: Callable[[sqlite3.Connection, list[Item]], list[Result]]
    # Work on an item that needs no transaction, done before it begins.
    prepare: Callable[[list[Item]], None] = lambda items: None
    # False: it survives the death of every process, but a power cut may undo it, together with
    # all that came after it. Enough for the progress of work that is done again if unfinished.
    durable: bool = True
    # It frees room, and may use the reserve for that on a full disk.
    frees: bool = False
    unavailable: type[Unavailable] = StoreUnavailable


class _Request(NamedTuple):
    operation: Any  # an Operation, or for a reader the query
    item: Any
    future: asyncio.Future[Any]


class _Pages(NamedTuple):
    """Of the file, in bytes."""

    all: int
    free: int  # freed by deletes


class Database:
    """Opened with `open_database`. What SQLite can't do now raises Unavailable."""

    def __init__(self, path: Path, clock: Clock, timeline_offset: float, limit: int | None) -> None:
        self.path = path
        self.room = Room(limit)
        self._clock = clock
        self._offset = timeline_offset
        self._loop = asyncio.get_running_loop()
        self._reserve = Reserve(path)
        self._refusal = self._reserve.last_refusal
        self._refused_at = float("-inf")  # on the steady clock, as far as is known
        self._reviewing = Operation(run=self._review, durable=False)
        self._writer = _Writer("webloom-write", path, self._loop, self._reserve)
        self._reader = _Worker("webloom-read", path, self._loop, self._reserve)
        self._scanner = _Worker("webloom-scan", path, self._loop, self._reserve)
        self._workers = (self._writer, self._reader, self._scanner)
        self._poller: CommitPoller | None = None
        self._watching: set[Callable[[], None]] = set()

    def connection(self) -> Connection:
        return Connection(kind="sqlite", address=str(self.path), state="READY")

    def now(self) -> float:
        """Seconds on the timeline that leases and delays are measured on: it follows the steady
        clock of the machine, so that a jump of the wall clock moves nothing."""
        return self._clock.steady() + self._offset

    def wall_ms(self) -> int:
        return int(self._clock.now().timestamp() * 1000)

    async def write(self, operation: Operation[Item, Result], item: Item) -> Result:
        """Returns the operation's result once it is committed."""
        try:
            return await self.post(operation, item)
        except (sqlite3.DataError, sqlite3.InterfaceError, sqlite3.ProgrammingError):
            raise  # the item's fault: to wait does not help
        except sqlite3.Error as error:
            if not is_full(error):
                raise self._unavailable(operation.unavailable, error) from error
            reason = self._note_full_disk()
            kind = StoreFull if operation.unavailable is StoreUnavailable else BrokerFull
            raise kind(reason) from error

    def _note_full_disk(self) -> Exhausted:
        reason = Exhausted(
            f"the disk of {self.path} is full",
            "superseded versions are being pruned; if that is not enough, free "
            f"{-(-self._reserve.wanted // MIB)} MiB on it",
        )
        self.room.note_refusal(reason)
        return reason

    def post(self, operation: Operation[Item, Result], item: Item) -> asyncio.Future[Result]:
        """As `write`, for a caller that continues; the future fails with sqlite3.Error."""
        return self._writer.ask(operation, item)

    async def look_up(self, operation: Operation[Item, Result], item: Item) -> Result:
        """A read that is made together with all others of its kind that wait."""
        answer: Result = await self._ask(self._reader, operation, operation.unavailable, item)
        return answer

    async def read(
        self, query: Read[Result], unavailable: type[Unavailable] = StoreUnavailable
    ) -> Result:
        """A query that takes microseconds."""
        answer: Result = await self._ask(self._reader, query, unavailable)
        return answer

    async def scan(
        self, query: Read[Result], unavailable: type[Unavailable] = StoreUnavailable
    ) -> Result:
        """A query over many rows, kept out of the way of look-ups."""
        answer: Result = await self._ask(self._scanner, query, unavailable)
        return answer

    async def _ask(
        self, worker: _Worker, query: Any, unavailable: type[Unavailable], item: Any = None
    ) -> Any:
        try:
            return await worker.ask(query, item)
        except sqlite3.Error as error:
            raise self._unavailable(unavailable, error) from error

    def _unavailable(self, kind: type[Unavailable], error: sqlite3.Error) -> Unavailable:
        """SQLite does not tell why it can't open a file."""
        if getattr(error, "sqlite_errorcode", 0) & PRIMARY_CODE == sqlite3.SQLITE_CANTOPEN:
            try:
                require_descriptors(_DESCRIPTORS)
            except ResourcesExhausted as exhausted:
                error.__cause__ = exhausted
                return kind(f"{self.path}: {error}: {exhausted}")
        return kind(f"{self.path}: {error}")

    async def check_room(self, share: float = 1.0) -> None:
        """Before a write that takes room. Raises StoreFull when that share of the limit is used."""
        await self.measure_room()
        self.room.check(share)
        if share < 1.0 and self._reserve.is_short():
            await self._check_full_disk()

    async def _check_full_disk(self) -> None:
        """A queue leaves some of the free pages: storing its messages takes room, too."""
        if not await asyncio.to_thread(self._reserve.complete):
            pages = await self.read(_pages)
            if pages.free < self._reserve.left_by_queues:
                self._reserve.note_refusal()
                raise StoreFull(self._note_full_disk())

    async def measure_room(self) -> None:
        """See how much of the limit is used."""
        if self.room.limit is not None:
            self.room.note_size(await self.bytes_in_use())

    async def review_room(self) -> None:
        """From time to time: whether there is room, as far as the writes of any process tell. Makes
        and completes the reserve."""
        refusal = await self.write(self._reviewing, None)
        if refusal != self._refusal:
            self._refusal, self._refused_at = refusal, self._clock.steady()
            self._note_full_disk()
        elif self._clock.steady() - self._refused_at >= QUIET_SECONDS:
            self.room.note_written()
        await self.measure_room()

    def note_pruned(self) -> None:
        """What was refused until now may have room."""
        self._refusal, self._refused_at = self._reserve.last_refusal, float("-inf")

    def _review(self, connection: sqlite3.Connection, items: list[None]) -> list[int]:
        """In a transaction, so that no other process is about to make the reserve."""
        self._reserve.keep()
        return [self._reserve.last_refusal] * len(items)

    async def bytes_in_use(self) -> int:
        """Pages that hold something: those that deletes have freed are used again."""
        pages = await self.read(_pages)
        return pages.all - pages.free

    @contextmanager
    def on_commit(self, committed: Callable[[], None]) -> Iterator[None]:
        """Calls `committed` after every commit, of this process or another."""
        self._watching.add(committed)
        if self._poller is None:
            self._poller = CommitPoller(self.path, self._loop, self.notify)
            self._poller.start()
        try:
            yield
        finally:
            self._watching.discard(committed)

    def notify(self) -> None:
        for committed in self._watching:
            committed()

    def _start(self) -> None:
        for worker in self._workers:
            worker.start()

    def _stop(self) -> None:
        if self._poller is not None:
            self._poller.stop()
        for worker in self._workers:
            worker.requests.put(None)
        for worker in self._workers:
            worker.join()


@asynccontextmanager
async def open_database(
    path: Path, clock: Clock, *, limit: int | None = None
) -> AsyncIterator[Database]:
    """Create or open the file; several processes may do so at once. `limit`: bytes that may be in
    use. Raises StoreUnavailable."""
    offset = await asyncio.to_thread(_prepare_file, path, clock)
    database = Database(path, clock, offset, limit)
    database._start()
    try:
        yield database
    finally:
        for worker in database._workers:
            worker.closed = True
        await asyncio.to_thread(database._stop)


def _prepare_file(path: Path, clock: Clock) -> float:
    try:
        make_folder(path.parent)
        # SQLite waits for nobody when it switches a new file to WAL, so that one of two processes
        # which start together may be told that it is locked.
        return when_free(lambda: _prepare_once(path, clock))
    except (sqlite3.Error, OSError, NotOurs) as error:
        raise StoreUnavailable(f"{path} can't be opened as Webloom's database: {error}") from error


def _prepare_once(path: Path, clock: Clock) -> float:
    reserve = Reserve(path)

    def once() -> float:
        connection = _connect(path, BUSY_SECONDS, reserve)
        try:
            return prepare(connection, clock)
        finally:
            connection.close()

    return _using(reserve, once)


def _connect(path: Path, wait: float, reserve: Reserve) -> sqlite3.Connection:
    """Even to be read, a file needs some room for the index of its log."""
    return _using(reserve, lambda: connect(path, wait))


def _using(reserve: Reserve, action: Callable[[], Result]) -> Result:
    """Again and again while the disk is full and something is left of the reserve."""
    while True:
        try:
            return action()
        except sqlite3.OperationalError as error:
            if not (is_full(error) and reserve.give_up()):
                raise


class _Worker(threading.Thread):
    """A thread with a connection of its own, which takes every query that waits at once."""

    _wait = BUSY_SECONDS

    def __init__(
        self, name: str, path: Path, loop: asyncio.AbstractEventLoop, reserve: Reserve
    ) -> None:
        super().__init__(name=name, daemon=True)
        self.requests: SimpleQueue[_Request | None] = SimpleQueue()
        self.closed = False
        self._path = path
        self._loop = loop
        self._reserve = reserve

    def ask(self, operation: Any, item: Any) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = self._loop.create_future()
        if self.closed:
            future.set_exception(sqlite3.OperationalError("the database is closed"))
        else:
            self.requests.put(_Request(operation, item, future))
        return future

    def run(self) -> None:
        connection = None
        try:
            while requests := self._take():
                try:
                    connection = connection or _connect(self._path, self._wait, self._reserve)
                    answers = self._serve(connection, requests)
                except sqlite3.Error as error:  # it can't be opened now
                    answers = [(request.future, None, error) for request in requests]
                self._loop.call_soon_threadsafe(_answer, answers)
        finally:
            if connection is not None:
                connection.close()

    def _take(self) -> list[_Request]:
        """Every request that waits; none when it is time to end."""
        request = self.requests.get()
        taken: list[_Request] = []
        with suppress(Empty):
            while request is not None:
                taken.append(request)
                if len(taken) == MOST_IN_ONE_COMMIT:
                    break
                request = self.requests.get_nowait()
            else:
                if taken:
                    self.requests.put(None)
        return taken

    def _serve(self, connection: sqlite3.Connection, requests: list[_Request]) -> Answers:
        answers: Answers = []
        for operation, same in _by_operation(requests).items():
            try:
                if isinstance(operation, Operation):
                    answers += _run(connection, operation, same)
                else:
                    answers += [(request.future, operation(connection), None) for request in same]
            except Exception as error:
                answers += [(request.future, None, error) for request in same]
        return answers


class _Writer(_Worker):
    """The one thread of this process that writes."""

    _wait = 0.0  # `when_free` does the waiting

    def __init__(
        self, name: str, path: Path, loop: asyncio.AbstractEventLoop, reserve: Reserve
    ) -> None:
        super().__init__(name, path, loop, reserve)
        self._level: str | None = None
        self._may_grow = True

    def _serve(self, connection: sqlite3.Connection, requests: list[_Request]) -> Answers:
        by_operation = _by_operation(requests)
        try:
            for operation, same in by_operation.items():
                operation.prepare([request.item for request in same])
            return self._commit(connection, by_operation)
        except Exception as error:
            if is_full(error):
                return self._serve_on_full_disk(connection, requests)
            if isinstance(error, sqlite3.OperationalError) or len(requests) == 1:
                return [(request.future, None, error) for request in requests]
            log.exception("a write failed; repeating each of its transaction alone")
            return [answer for request in requests for answer in self._serve(connection, [request])]

    def _serve_on_full_disk(
        self, connection: sqlite3.Connection, requests: list[_Request]
    ) -> Answers:
        """What frees room goes first."""
        answers: Answers = []
        for frees in (True, False):
            if chosen := [request for request in requests if request.operation.frees == frees]:
                try:
                    answers += self._commit_on_full_disk(connection, chosen, frees=frees)
                except Exception as error:
                    answers += [(request.future, None, error) for request in chosen]
        return answers

    def _commit_on_full_disk(
        self, connection: sqlite3.Connection, requests: list[_Request], *, frees: bool
    ) -> Answers:
        """With a log that can be written over: its pages are in the file, which may grow for that
        into the reserve. What frees room may also use it for a log as long as it takes."""
        by_operation = _by_operation(requests)
        while True:
            while not checkpoint(connection):
                if not self._reserve.give_to_database(_pages(connection).all):
                    break
            try:
                return self._commit(connection, by_operation)
            except sqlite3.OperationalError as error:
                if not is_full(error):
                    raise
                may_use_reserve = frees or self._reserve.is_log_short()
                if not (may_use_reserve and self._reserve.give_to_log()):
                    self._reserve.note_refusal()
                    raise

    def _commit(
        self,
        connection: sqlite3.Connection,
        by_operation: dict[Operation[Any, Any], list[_Request]],
    ) -> Answers:
        answers: Answers = []
        try:
            level = "FULL" if any(operation.durable for operation in by_operation) else "NORMAL"
            if level != self._level:
                connection.execute(f"PRAGMA synchronous = {level}")
                self._level = level
            when_free(lambda: connection.execute("BEGIN IMMEDIATE"))
            may_grow = self._reserve.complete() or all(
                operation.frees for operation in by_operation
            )
            if may_grow != self._may_grow:
                most = MOST_PAGES if may_grow else 1  # at least as many as there are
                connection.execute(f"PRAGMA max_page_count = {most}")
                self._may_grow = may_grow
            for operation, requests in by_operation.items():
                answers += _run(connection, operation, requests)
            connection.execute("COMMIT")
        except Exception:
            with suppress(sqlite3.Error):
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            raise
        return answers


def _pages(connection: sqlite3.Connection) -> _Pages:
    [size], [pages], [free] = (
        connection.execute(f"PRAGMA {name}").fetchone()
        for name in ("page_size", "page_count", "freelist_count")
    )
    return _Pages(size * pages, size * free)


def _by_operation(requests: list[_Request]) -> dict[Any, list[_Request]]:
    grouped: dict[Any, list[_Request]] = {}
    for request in requests:
        grouped.setdefault(request.operation, []).append(request)
    return grouped


def _run(
    connection: sqlite3.Connection, operation: Operation[Any, Any], requests: list[_Request]
) -> Answers:
    results = operation.run(connection, [request.item for request in requests])
    return [
        (request.future, result, None) for request, result in zip(requests, results, strict=True)
    ]


def _answer(answers: Answers) -> None:
    for future, result, error in answers:
        if future.done():
            continue
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
