"""Running the roles of Webloom in one process, from start to a clean end."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator

import uvicorn

from webloom.bootstrap import Services, open_services
from webloom.domain.errors import SettingsError
from webloom.entrypoints.api.activity import Activity
from webloom.entrypoints.api.app import create_app
from webloom.entrypoints.api.bounded_http import BoundedHttp
from webloom.entrypoints.heartbeat import beating, first_beat
from webloom.entrypoints.scheduler import run_scheduler
from webloom.entrypoints.worker import run_storage_agent, run_worker
from webloom.settings import Settings

log = logging.getLogger(__name__)

ALL_ROLES = frozenset({"api", "worker", "scheduler"})
OnReady = Callable[[Services, asyncio.Event], Awaitable[None]]

# The event loop's thread and the database's threads take turns in short steps, so that a commit
# never waits long for a busy loop.
THREAD_SWITCH_SECONDS = 0.001

# A batch of an import is thousands of objects, none of them in a cycle.
OBJECTS_BETWEEN_COLLECTIONS = 20_000


async def run_processes(
    settings: Settings, roles: frozenset[str], *, on_ready: OnReady | None = None
) -> None:
    """Run the roles until SIGTERM or SIGINT, or until `on_ready` sets its event.

    The first signal lets what is in flight finish; a second ends at once.
    """
    refuse_open_bind(settings, roles)
    sys.setswitchinterval(THREAD_SWITCH_SECONDS)
    gc.freeze()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    stop = asyncio.Event()
    listener = _listen(settings) if "api" in roles else None
    with _signals(stop):
        async with open_services(settings) as services, asyncio.TaskGroup() as group:
            ready = [asyncio.Event() for _ in range("api" in roles)]
            if listener is not None:
                group.create_task(_run_api(services, listener, ready[0], stop))
            if "worker" in roles:
                group.create_task(run_worker(services, stop))
            if "storage-agent" in roles:
                group.create_task(run_storage_agent(services, stop))
            if "scheduler" in roles:
                group.create_task(run_scheduler(services, stop))
            for each in ready:
                await each.wait()
            if on_ready is not None:
                await on_ready(services, stop)


def refuse_open_bind(settings: Settings, roles: frozenset[str]) -> None:
    if "api" in roles and not settings.binds_to_loopback and not settings.api_key_hashes:
        raise SettingsError(
            f"WEBLOOM_HOST: got {settings.host!r}, which others can reach, and there are no keys. "
            "Set WEBLOOM_API_KEYS (or WEBLOOM_API_KEYS_FILE), or listen on 127.0.0.1"
        )


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except (OSError, UnicodeError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(
            f"can't listen on {settings.host} port {settings.port}: {reason}. "
            "Is Webloom running already? WEBLOOM_HOST and WEBLOOM_PORT choose another place"
        ) from error
    return listener


class _Server(uvicorn.Server):
    """uvicorn without its own signal handlers, telling when it listens."""

    def __init__(self, config: uvicorn.Config, started: asyncio.Event) -> None:
        super().__init__(config)
        self._started_event = started

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._started_event.set()


async def _run_api(
    services: Services, listener: socket.socket, ready: asyncio.Event, stop: asyncio.Event
) -> None:
    beat = first_beat(services, "api")
    activity = Activity(services, beat, stop)
    config = uvicorn.Config(
        create_app(services, beat, activity, stop),
        loop="uvloop",
        http=BoundedHttp,
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=10,
    )
    server = _Server(config, ready)
    async with beating(services, beat), activity.sampler.sampling():
        serving = asyncio.create_task(server.serve([listener]))
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        server.should_exit = True
        await serving


@contextlib.contextmanager
def _signals(stop: asyncio.Event) -> Iterator[None]:
    loop = asyncio.get_running_loop()

    def handle(number: int) -> None:
        if stop.is_set():
            log.warning("ending at once; what was in flight comes again")
            os._exit(128 + number)
        log.info("stopping; another signal ends at once", extra={"signal": number})
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, handle, number)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
