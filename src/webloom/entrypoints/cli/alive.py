"""`webloom alive`, which containers run every few seconds."""

from __future__ import annotations

import socket
from typing import Annotated, Literal

import typer
import uvloop

from webloom.bootstrap.connections import open_services
from webloom.domain.errors import WebloomError
from webloom.ports.heartbeats import ALIVE_SECONDS
from webloom.settings import Settings, load_settings


def alive(
    role: Annotated[
        Literal["worker", "storage-agent", "scheduler", "api"],
        typer.Argument(help="The kind of process, on this machine."),
    ],
) -> None:
    """Exit with 0 if such a process of this machine is alive. For health checks."""
    if not uvloop.run(_is_alive(load_settings(), role)):
        raise WebloomError(
            f"no {role} on {socket.gethostname()} was heard of in the last {ALIVE_SECONDS:.0f} s"
        )


async def _is_alive(settings: Settings, role: str) -> bool:
    async with open_services(settings, must_exist=True, queues=()) as services:
        seen = [each.heartbeat for each in await services.heartbeats.seen(ALIVE_SECONDS)]
    return any(beat.role == role and beat.host == socket.gethostname() for beat in seen)
