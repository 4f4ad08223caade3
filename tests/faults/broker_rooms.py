"""One broker, with everything that a test may do to it.

A room has a queue of its own on a server that the test may kill, pause and fill up, and opens
processes over it: in this event loop (`open`), or real ones that can be killed (`start`). Where a
backend truly differs, its entry in BACKENDS says so in a field.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from faults.broker_journal import Event, Journal
from faults.broker_process import SQLITE, Way, open_broker
from faults.database import DatabaseFile, WriteLock
from faults.processes import eventually, eventually_async
from forks import Service, start_fork
from servers.private import PrivateServer
from servers.proxy import Proxy
from servers.rabbitmq import RabbitServer
from servers.redis import RedisServer
from servers.shared import SharedServers
from topologies import each
from webloom.adapters.rabbitmq.layout import Layout
from webloom.domain.errors import BrokerUnavailable
from webloom.ports.broker import Broker
from webloom.ports.clock import Clock

STALL = 30.0  # seconds for which a machine may do something else
PROGRAM = Path(__file__).with_name("broker_process.py")

MakeServer = Callable[[Path], PrivateServer]


@dataclass(frozen=True, kw_only=True)
class Backend:
    name: str
    make_server: MakeServer | None = None  # None: there is no server to kill
    server: str | None = None  # backends with one name share it
    is_second_topology: bool = False  # quorum queues
    limit_is_exact: bool = True
    knows_ids: bool = False  # a waiting message with the id stands for one that is published again
    counts_kills: bool = True  # each; else a message only knows that it was redelivered
    shares_at_once: bool = True  # else a message may wait at a busy process while another is idle
    gives_up: float  # seconds after which an unanswered call has failed


BACKENDS = (
    Backend(name="sqlite", gives_up=5, knows_ids=True),
    Backend(
        name="bullmq",
        make_server=RedisServer,
        server="bullmq",
        knows_ids=True,
        gives_up=5,
    ),
    Backend(
        name="rabbitmq",
        make_server=RabbitServer,
        server="rabbitmq",
        counts_kills=False,
        gives_up=10,
    ),
    Backend(
        name="rabbitmq-quorum",
        make_server=RabbitServer,
        server="rabbitmq",
        is_second_topology=True,
        limit_is_exact=False,
        shares_at_once=False,
        gives_up=10,
    ),
)


def only(wanted: Callable[[Backend], object]) -> pytest.MarkDecorator:
    """Run a test over some backends."""
    chosen = each(backend for backend in BACKENDS if wanted(backend))
    return pytest.mark.parametrize("room", chosen, indirect=True)


with_a_server = only(lambda backend: backend.make_server)
# Classic and quorum queues are reached in the same way: where only that matters, one will do.
each_server = only(lambda backend: backend.make_server and not backend.is_second_topology)
on_rabbitmq = only(lambda backend: backend.server == "rabbitmq")
on_bullmq = only(lambda backend: backend.server == "bullmq")
on_sqlite = only(lambda backend: backend.make_server is None)


class BrokerProcess:
    """A run of broker_process.py."""

    def __init__(self, popen: Service, said: Path, errors: Path) -> None:
        self._popen = popen
        self._said = said
        self._errors = errors
        self.killed = False

    @property
    def events(self) -> list[Event]:
        lines = self._said.read_text().splitlines(keepends=True)
        return [Event.parse(line) for line in lines if line.endswith("\n")]

    def names(self, what: str) -> list[str]:
        return [event.name for event in self.events if event.what == what]

    async def said(self, what: str, count: int = 1) -> list[Event]:
        def look() -> bool:
            return len(self.names(what)) >= count or self._popen.poll() is not None

        # The whole test has less time, unless it marks its load as large.
        await eventually(look, what=f"the process says {what!r} {count} times", seconds=600)
        found = [event for event in self.events if event.what == what]
        assert len(found) >= count, self.errors
        return found

    async def ended(self) -> None:
        await eventually(lambda: self._popen.poll() is not None, what="it ends")
        assert self._popen.returncode == 0, self.errors

    def kill(self) -> None:
        self.killed = True
        self._popen.kill()
        self._popen.wait()

    @property
    def errors(self) -> str:
        return self._errors.read_text()[-4000:]

    def check(self) -> None:
        assert self.killed or self._popen.poll() in (None, 0), self.errors
        for bad in ("ERROR webloom", "ERROR asyncio", "never retrieved", "was destroyed"):
            assert bad not in self.errors, self.errors


@dataclass(kw_only=True)
class BrokerRoom:
    backend: Backend
    folder: Path
    private_server: PrivateServer | None
    queue: str
    journal: Journal = field(default_factory=Journal)
    processes: list[BrokerProcess] = field(default_factory=list)
    _lock: WriteLock | None = None

    @property
    def file(self) -> Path:
        return self.folder / "webloom.db"

    @property
    def shares_at_once(self) -> bool:
        server = self.private_server
        limits_channels = not isinstance(server, RabbitServer) or server.limits_channels
        return self.backend.shares_at_once and limits_channels

    @property
    def server(self) -> PrivateServer:
        assert self.private_server is not None
        return self.private_server

    @property
    def redis(self) -> RedisServer:
        assert isinstance(self.private_server, RedisServer)
        return self.private_server

    @property
    def rabbitmq(self) -> RabbitServer:
        assert isinstance(self.private_server, RabbitServer)
        return self.private_server

    @property
    def amqp_queues(self) -> list[str]:
        """The queue itself, and those that serve it."""
        layout = Layout(queue=self.queue)
        return [spec.name for spec in (layout.ready, layout.again, layout.dead, *layout.waits)]

    @property
    def amqp_exchanges(self) -> Sequence[str]:
        return Layout(queue=self.queue).exchanges

    def way(self, port: int | None = None, **settings: object) -> Way:
        if self.private_server is None:
            url = f"{SQLITE}{self.file}"
        elif isinstance(self.private_server, RabbitServer):
            url = f"amqp://guest:guest@127.0.0.1:{port or self.server.port}/"
        else:
            url = f"redis://127.0.0.1:{port or self.server.port}/0"
        way = Way(url=url, queue=self.queue, quorum=self.backend.is_second_topology)
        return replace(way, **settings)  # type: ignore[arg-type]

    def open(
        self, *, port: int | None = None, clock: Clock | None = None, **settings: object
    ) -> AbstractAsyncContextManager[Broker]:
        """As another process would, with a connection of its own. `port`: of a proxy."""
        return open_broker(self.way(port, **settings), clock)

    def start(
        self, verb: str, *arguments: object, prefix: Sequence[str] = (), **settings: object
    ) -> BrokerProcess:
        number = len(self.processes)
        said, errors = self.folder / f"{number}.said", self.folder / f"{number}.errors"
        words = (self.way(None, **settings).as_json(), verb, *map(str, arguments))
        popen: Service
        with (
            Path(os.devnull).open("rb") as nothing,
            said.open("wb") as output,
            errors.open("wb") as error_output,
        ):
            if prefix:
                popen = subprocess.Popen(
                    [*prefix, sys.executable, "-P", PROGRAM, *words],  # our site.py isn't Python's
                    stdin=nothing,
                    stdout=output,
                    stderr=error_output,
                )
            else:
                popen = start_fork(
                    PROGRAM,
                    *words,
                    env=os.environ,
                    folder=self.folder,
                    stdin=nothing.fileno(),
                    stdout=output.fileno(),
                    stderr=error_output.fileno(),
                )
        process = BrokerProcess(popen, said, errors)
        self.processes.append(process)
        return process

    @asynccontextmanager
    async def proxy(self) -> AsyncIterator[Proxy]:
        async with Proxy(self.server.port).running() as proxy:
            yield proxy

    async def kill(self) -> None:
        await asyncio.to_thread(self.server.kill)

    async def restart(self) -> None:
        """Killed and started again on the same data."""
        with self.journal.fault():
            await asyncio.to_thread(self.server.restart)

    def pause(self) -> None:
        """No server answers; where there is none, no one else may write."""
        if self.private_server is not None:
            self.private_server.pause()
        else:
            self._lock = DatabaseFile(self.file).hold_write_lock()

    def resume(self) -> None:
        if self.private_server is not None:
            self.private_server.resume()
        elif self._lock is not None:
            self._lock.close()
            self._lock = None

    async def reachable(self, broker: Broker) -> None:
        async def look() -> bool:
            try:
                await broker.depth(self.queue)
            except BrokerUnavailable:
                return False
            return True

        await eventually_async(look, what="the broker is back")

    async def settled(self, say: Callable[[str], None], limit: int | None = None) -> None:
        """Drain the queue and check that nothing was lost, and nothing came again that must not."""
        for process in self.processes:
            process.check()
            self.journal.events += process.events
        async with (
            self.open(limit=limit) as broker,
            broker.deliveries(self.queue, 32) as deliveries,
        ):
            slots = [asyncio.create_task(self.journal.acking(deliveries)) for _ in range(32)]
            try:
                with suppress(AssertionError):  # `check` says more
                    await eventually_async(lambda: self._drained(broker), what="it is empty")
            finally:
                for slot in slots:
                    slot.cancel()
                await asyncio.wait(slots)
            dead = [letter.id for letter in await broker.dead_letters(self.queue, limit=100_000)]
            depth = await broker.depth(self.queue)
        self.journal.check(dead, say)
        assert (depth.ready, depth.delayed, depth.in_flight or 0) == (0, 0, 0)

    async def _drained(self, broker: Broker) -> bool:
        depth = await broker.depth(self.queue)
        dead = [letter.id for letter in await broker.dead_letters(self.queue, limit=100_000)]
        left = depth.ready + depth.delayed + (depth.in_flight or 0)
        return left == 0 and not self.journal.missing(dead)

    async def left_behind(self) -> dict[str, int]:
        """What the backend keeps of the queue, by its own names."""
        if self.private_server is None:
            file = DatabaseFile(self.file)
            return {"messages": file.queued_count(), "dead_letters": file.dead_letter_count()}
        if isinstance(self.private_server, RabbitServer):
            rows = await asyncio.to_thread(self.private_server.queue_lengths)
            return {name: n for name, n in rows.items() if name.startswith(self.queue)}
        return await self.redis.keys(f"bull:{self.queue}:*", expiring=False)

    async def clear(self) -> None:
        """Remove the queue, which would slow down the next start of the server."""
        if isinstance(self.private_server, RabbitServer):
            await self.rabbitmq.delete_exchanges(*self.amqp_exchanges)
            await self.rabbitmq.delete_queues(*self.amqp_queues)


def _running(backend: Backend, servers: SharedServers) -> PrivateServer | None:
    if backend.make_server is None:
        return None
    server = servers.get(f"{backend.server}-to-kill", backend.make_server)
    server.ensure_running()
    return server


def _new_room(backend: Backend, servers: SharedServers, folder: Path) -> BrokerRoom:
    folder.mkdir(exist_ok=True)
    return BrokerRoom(
        backend=backend,
        folder=folder,
        private_server=_running(backend, servers),
        queue=f"q{uuid.uuid4().hex[:10]}",
    )


class _Complaints(logging.Handler):
    """What asyncio says of tasks that are not awaited. Of a lost connection it only warns."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(self.format(record))


@asynccontextmanager
async def open_room(
    backend: Backend, servers: SharedServers, folder: Path
) -> AsyncIterator[BrokerRoom]:
    complaints = _Complaints()
    gc.collect()  # what others have left behind is not a complaint of this one
    logging.getLogger("asyncio").addHandler(complaints)
    room = _new_room(backend, servers, folder)
    try:
        yield room
    finally:
        for process in room.processes:
            process.kill()
        room.resume()
        _running(backend, servers)
        await room.clear()
        gc.collect()
        logging.getLogger("asyncio").removeHandler(complaints)
    assert not complaints.heard, complaints.heard


@pytest.fixture(params=each(BACKENDS))
async def room(
    request: pytest.FixtureRequest, shared_servers: SharedServers, tmp_path: Path
) -> AsyncIterator[BrokerRoom]:
    async with open_room(request.param, shared_servers, tmp_path) as room:
        yield room
