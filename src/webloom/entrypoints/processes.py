"""Runs the roles of Webloom in one process, from start to a clean end."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Collection, Iterator

from webloom.bootstrap.connections import open_services
from webloom.bootstrap.services import Services
from webloom.domain.errors import SettingsError
from webloom.entrypoints.open_files import raise_open_files_limit
from webloom.entrypoints.scheduler import run_scheduler
from webloom.entrypoints.stored_logs import collecting_logs
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
    settings: Settings,
    roles: frozenset[str],
    *,
    queues: Collection[str] | None = None,
    on_ready: OnReady | None = None,
) -> None:
    """Run the roles until SIGTERM or SIGINT, or until `on_ready` sets its event.

    With `queues`, only their brokers are opened, and a worker serves nothing else. The first signal
    lets what is in flight finish; a second ends at once.
    """
    refuse_open_bind(settings, roles)
    raise_open_files_limit()
    stop, ready = asyncio.Event(), asyncio.Event()
    if "api" in roles:
        from webloom.entrypoints.api.server import listen, serve  # slow: the web framework

        listener = listen(settings)
    else:
        ready.set()
    sys.setswitchinterval(THREAD_SWITCH_SECONDS)
    gc.freeze()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    role = "up" if roles == ALL_ROLES else "+".join(sorted(roles))
    with _signals(stop), collecting_logs(role) as logs:
        async with (
            open_services(settings, queues=queues) as services,
            logs.storing(services),
            asyncio.TaskGroup() as group,
        ):
            if "api" in roles:
                group.create_task(serve(services, listener, ready, stop))
            if "worker" in roles:
                group.create_task(run_worker(services, stop, queues))
            if "storage-agent" in roles:
                group.create_task(run_storage_agent(services, stop))
            if "scheduler" in roles:
                group.create_task(run_scheduler(services, stop))
            await ready.wait()
            if on_ready is not None:
                await on_ready(services, stop)


def refuse_open_bind(settings: Settings, roles: frozenset[str]) -> None:
    if "api" in roles and not settings.binds_to_loopback and not settings.api_key_hashes:
        is_hidden = "WEBLOOM_HOST" in settings.from_files
        host = "an address that is not shown" if is_hidden else repr(settings.host)
        raise SettingsError(
            f"WEBLOOM_HOST: got {host}, which others can reach, but no API keys are set. "
            "Set WEBLOOM_API_KEYS (or WEBLOOM_API_KEYS_FILE), or listen on 127.0.0.1"
        )


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
