"""The adapters that the contract suites run over.

To add one, write how it is opened and add it to the tuples at the end of this file. Where a backend
truly differs, its entry says so in a field, and the suite reads the field.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from contracts.fake_clock import FakeClock
from webloom.adapters.sqlite.broker import SqliteBroker
from webloom.adapters.sqlite.database import open_database
from webloom.adapters.sqlite.heartbeats import SqliteHeartbeats
from webloom.adapters.sqlite.inventory_store import SqliteInventoryStore
from webloom.adapters.sqlite.lock import SqliteLock
from webloom.ports.broker import Broker, Message
from webloom.ports.clock import Clock
from webloom.ports.heartbeats import Heartbeats
from webloom.ports.inventory_store import InventoryStore
from webloom.ports.lock import Lock

LEASE = 15.0  # of a delivery, unless a test wants another

Port = TypeVar("Port")
PortOut = TypeVar("PortOut", covariant=True)


class OpenBroker(Protocol):
    def __call__(
        self, place: Path, clock: Clock, *, limits: Mapping[str, int], lease: float
    ) -> AbstractAsyncContextManager[Broker]:
        """A process of its own, as far as the backend can tell; all with one `place` share it."""


class OpenPort(Protocol[PortOut]):
    def __call__(self, place: Path, clock: Clock) -> AbstractAsyncContextManager[PortOut]: ...


@dataclass(frozen=True, kw_only=True)
class BrokerAdapter:
    name: str
    open: OpenBroker
    knows_keys: bool  # a waiting message with the same key stands for a new one
    # Time passes for the backend: the fake clock moves, or the test really waits.
    pass_time: Callable[[FakeClock, Broker, float], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class PortAdapter(Generic[PortOut]):
    name: str
    open: OpenPort[PortOut]
    pass_time: Callable[[FakeClock, float], Awaitable[None]]


@dataclass(kw_only=True)
class Brokers:
    """One backend, and as many processes that use it as a test opens."""

    adapter: BrokerAdapter
    place: Path
    clock: FakeClock
    _opened: list[Broker] = field(default_factory=list)

    @property
    def knows_keys(self) -> bool:
        return self.adapter.knows_keys

    @asynccontextmanager
    async def open(
        self,
        *,
        limits: Mapping[str, int] | None = None,
        lease: float = LEASE,
        clock: Clock | None = None,
    ) -> AsyncIterator[Broker]:
        async with self.adapter.open(
            self.place, clock or self.clock, limits=limits or {}, lease=lease
        ) as broker:
            self._opened.append(broker)
            try:
                yield broker
            finally:
                self._opened.remove(broker)

    async def pass_time(self, seconds: float) -> None:
        await self.adapter.pass_time(self.clock, self._opened[0], seconds)


@dataclass(frozen=True, kw_only=True)
class Processes(Generic[Port]):
    """As Brokers, for a port that is opened without anything else to say."""

    adapter: PortAdapter[Port]
    place: Path
    clock: FakeClock

    def open(self) -> AbstractAsyncContextManager[Port]:
        return self.adapter.open(self.place, self.clock)

    async def pass_time(self, seconds: float) -> None:
        await self.adapter.pass_time(self.clock, seconds)


def database_file(place: Path) -> Path:
    return place / "webloom.db"


@asynccontextmanager
async def open_sqlite_broker(
    place: Path, clock: Clock, *, limits: Mapping[str, int], lease: float
) -> AsyncIterator[Broker]:
    async with open_database(database_file(place), clock) as database:
        yield SqliteBroker(database, limits=dict(limits), lease=lease)


@asynccontextmanager
async def open_sqlite_store(place: Path, clock: Clock) -> AsyncIterator[InventoryStore]:
    async with open_database(database_file(place), clock) as database:
        yield SqliteInventoryStore(database)


@asynccontextmanager
async def open_sqlite_lock(place: Path, clock: Clock) -> AsyncIterator[Lock]:
    async with open_database(database_file(place), clock) as database:
        yield SqliteLock(database)


@asynccontextmanager
async def open_sqlite_heartbeats(place: Path, clock: Clock) -> AsyncIterator[Heartbeats]:
    async with open_database(database_file(place), clock) as database:
        yield SqliteHeartbeats(database)


async def move_clock(clock: FakeClock, seconds: float) -> None:
    clock.advance(seconds)


async def move_clock_and_stir(clock: FakeClock, broker: Broker, seconds: float) -> None:
    """A consumer sleeps by the real clock: a commit makes it look at the moved one."""
    clock.advance(seconds)
    moment = str(clock.steady())
    await broker.publish("another queue", Message(id=f"stir at {moment}", body=b"{}"))


BROKERS = (
    BrokerAdapter(
        name="sqlite", open=open_sqlite_broker, knows_keys=True, pass_time=move_clock_and_stir
    ),
)
STORES: tuple[PortAdapter[InventoryStore], ...] = (
    PortAdapter(name="sqlite", open=open_sqlite_store, pass_time=move_clock),
)
LOCKS: tuple[PortAdapter[Lock], ...] = (
    PortAdapter(name="sqlite", open=open_sqlite_lock, pass_time=move_clock),
)
HEARTBEATS: tuple[PortAdapter[Heartbeats], ...] = (
    PortAdapter(name="sqlite", open=open_sqlite_heartbeats, pass_time=move_clock),
)
