"""`webloom alive`, which containers run every few seconds."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from webloom.domain.errors import WebloomError
from webloom.entrypoints.cli.running import run_with_services
from webloom.ports.heartbeats import ALIVE_SECONDS

if TYPE_CHECKING:
    from webloom.bootstrap.services import Services


def alive(
    role: Annotated[
        Literal["worker", "storage-agent", "scheduler", "api"],
        typer.Argument(help="The kind of process, on this machine."),
    ],
) -> None:
    """Exit with 0 if such a process of this machine is alive. For health checks."""

    async def is_alive(services: Services) -> bool:
        seen = [each.heartbeat for each in await services.heartbeats.seen(ALIVE_SECONDS)]
        return any(beat.role == role and beat.host == socket.gethostname() for beat in seen)

    if not run_with_services(is_alive, queues=()):
        raise WebloomError(
            f"no {role} on {socket.gethostname()} has sent a heartbeat in the last "
            f"{ALIVE_SECONDS:.0f} s"
        )
