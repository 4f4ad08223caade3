"""Storage agents that kill themselves, each before its n-th point.

A point is a write to MongoDB, a statement or a commit of a write to SQLite, or the settling of a
delivery. This program reads orders from its standard input, one line each, and starts an agent for
each of them by a fork: a process of its own, without the seconds that its imports would take. Its
answer is the signal that ended the agent, or 0 for one that has served all its events.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
from pymongo import monitoring
from pymongo.asynchronous.collection import AsyncCollection

import webloom.adapters.bullmq.broker
import webloom.adapters.mongodb.pages
import webloom.adapters.mongodb.watch_runs
import webloom.adapters.mongodb.watches
import webloom.adapters.rabbitmq.broker  # noqa: F401 - they, and those above, are there at each fork
from webloom.adapters.sqlite.connecting import BUSY_SECONDS, connect
from webloom.application.watch.store_event import StoreEvent
from webloom.bootstrap.connections import open_services
from webloom.entrypoints.worker import run_storage_agent
from webloom.ports.broker import Delivery
from webloom.settings import load_settings

WRITES = ("insert", "update", "delete", "findAndModify", "bulkWrite")
NOT_OURS = ("heartbeats", "locks")
STATEMENTS = ("INSERT", "UPDATE", "DELETE", "COMMIT")


class Order(msgspec.Struct, kw_only=True):
    point: int  # before which it dies
    events: int  # after which it is done
    settings: dict[str, str]
    commits_only: bool = False  # of SQLite
    hesitates: bool = False  # before each write, so that those made together are in another order


class Points:
    def __init__(self, deadly: int) -> None:
        self._left = deadly
        self._lock = threading.Lock()

    def reach(self) -> None:
        with self._lock:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


class WriteListener(monitoring.CommandListener):
    def __init__(self, points: Points) -> None:
        self._points = points

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        if event.command_name in WRITES and event.command[event.command_name] not in NOT_OURS:
            self._points.reach()

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        pass

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        pass


class DeadlyDelivery:
    def __init__(self, delivery: Delivery, points: Points) -> None:
        self._delivery = delivery
        self._points = points

    def __getattr__(self, name: str) -> Any:
        if name in ("ack", "retry", "dead_letter"):
            self._points.reach()
        return getattr(self._delivery, name)


def hesitant(write: Any, rng: random.Random) -> Any:
    async def later(*args: Any, **more: Any) -> Any:
        await asyncio.sleep(rng.uniform(0.0, 0.02))
        return await write(*args, **more)

    return later


def rig(order: Order, stop: asyncio.Event) -> None:
    points, served = Points(order.point), 0
    monitoring.register(WriteListener(points))

    def traced(path: Path, wait: float = BUSY_SECONDS) -> sqlite3.Connection:
        connection = connect(path, wait)
        if threading.current_thread().name == "webloom-write":
            connection.set_trace_callback(trace)
        return connection

    def trace(statement: str) -> None:
        if statement.lstrip().startswith(STATEMENTS[-1:] if order.commits_only else STATEMENTS):
            points.reach()

    def storing(**parts: Any) -> Callable[[Delivery], Coroutine[Any, Any, None]]:
        store_event = StoreEvent(**parts)

        async def handle(delivery: Delivery) -> None:
            nonlocal served
            await store_event(DeadlyDelivery(delivery, points))
            served += 1
            if served == order.events:
                stop.set()

        return handle

    if order.hesitates:
        rng = random.Random(order.point)
        for name in ("bulk_write", "insert_many", "update_one"):
            patch.object(
                AsyncCollection, name, hesitant(getattr(AsyncCollection, name), rng)
            ).start()
    patch("webloom.adapters.sqlite.database.connect", traced).start()
    patch("webloom.bootstrap.services.StoreEvent", storing).start()


async def serve(order: Order) -> None:
    stop = asyncio.Event()
    rig(order, stop)
    async with open_services(load_settings(order.settings)) as services:
        await run_storage_agent(services, stop)


def ended(order: Order) -> int:
    """How its agent ended."""
    child = os.fork()
    if child == 0:
        try:
            asyncio.run(serve(order))
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    for line in sys.stdin.buffer:
        sys.stdout.write(f"{-ended(msgspec.json.decode(line, type=Order))}\n")
        sys.stdout.flush()
