"""Runs what a command does. Libraries are imported here, so that its --help needs none of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from webloom.entrypoints.cli.output import pipe_may_close

if TYPE_CHECKING:
    from webloom.bootstrap.services import Services
    from webloom.settings import Settings

Result = TypeVar("Result")


def current_settings() -> Settings:
    from webloom.settings import load_settings

    return load_settings()


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """In an event loop of its own."""
    import uvloop

    return uvloop.run(work)


def run_with_services(
    work: Callable[[Services], Awaitable[Result]],
    *,
    must_exist: bool = True,
    queues: Collection[str] | None = None,
) -> Result:
    """Open the services, do the work, close them. With `must_exist`, raises StoreUnavailable where
    nothing is stored yet."""
    from webloom.bootstrap.connections import open_services

    async def opened() -> Result:
        settings = current_settings()
        async with open_services(settings, must_exist=must_exist, queues=queues) as services:
            return await work(services)

    with pipe_may_close():
        return run(opened())
