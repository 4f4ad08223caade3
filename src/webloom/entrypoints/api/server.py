"""The API as a server, from its socket to its end."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from functools import partial

import uvicorn

from webloom.bootstrap.services import Services
from webloom.domain.errors import SettingsError
from webloom.entrypoints.api.activity import Activity
from webloom.entrypoints.api.app import create_app
from webloom.entrypoints.api.bounded_http import BoundedHttp
from webloom.entrypoints.api.clients import TrustedProxies
from webloom.entrypoints.api.connections import Connections
from webloom.entrypoints.heartbeat import beating, first_beat
from webloom.entrypoints.open_files import open_files_limit
from webloom.settings import Settings

CONNECTIONS_SHARE = 0.5  # of the files that may be open; the rest is for our own work
MOST_CONNECTIONS = 10_000
UNSENT_BYTES = 128 * 1024  # that the system may hold for a client that does not read


def listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "TCP_NOTSENT_LOWAT"):  # connections inherit it
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
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
    """uvicorn without its own signal handlers. Sets an event when it listens."""

    def __init__(self, config: uvicorn.Config, started: asyncio.Event) -> None:
        super().__init__(config)
        self._started_event = started

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._started_event.set()


async def serve(
    services: Services, listener: socket.socket, ready: asyncio.Event, stop: asyncio.Event
) -> None:
    """Serve the API until `stop` is set; sets `ready` when it listens."""
    beat = first_beat(services, "api")
    activity = Activity(services, beat, stop)
    connections = Connections(
        most=min(MOST_CONNECTIONS, int(open_files_limit() * CONNECTIONS_SHARE)),
        most_of_client=services.settings.connections_per_address,
        proxies=TrustedProxies(services.settings.trusted_proxies),
    )
    config = uvicorn.Config(
        create_app(services, beat, activity, stop),
        loop="uvloop",
        http=partial(BoundedHttp, open_connections=connections),  # type: ignore[arg-type]
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
