"""`webloom up`, and each role alone."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated

import typer

from webloom.domain.errors import SettingsError
from webloom.entrypoints.cli.output import visible
from webloom.entrypoints.cli.running import current_settings, run
from webloom.parsing.backend_url import shown

if TYPE_CHECKING:
    from webloom.bootstrap.services import Services
    from webloom.settings import Settings

# The key stays out of the list of processes. `cat` waits for the line, and then Ctrl-D.
WITH_KEY = "-H @webloom-key"
KEEP_KEY = "(umask 077; cat > webloom-key)  # once; type: Authorization: Bearer KEY"


def up() -> None:
    """Run the API, a worker and the scheduler in one process. The default is one SQLite file."""
    settings = current_settings()
    _run(settings, "api", "worker", "scheduler", greeting=where_to_look(settings))


def api() -> None:
    """Run the API alone."""
    settings = current_settings()
    _run(settings, "api", greeting=f"Webloom's API listens on {address(settings)}")


def worker(
    queues: Annotated[
        list[str] | None,
        typer.Option(
            "--queue",
            metavar="NAME",
            help="Serve only this queue, and connect only to its broker. Repeatable.",
        ),
    ] = None,
) -> None:
    """Run a worker. It fetches URLs, stores batches of feeds, and checks and stores watched pages.
    Start as many as you like."""
    settings = current_settings()
    for name in queues or ():
        require_queue(settings, name)
    _run(settings, "worker", queues=queues or None)


def storage_agent() -> None:
    """Run the storage agent alone. It stores what others send to its queue. Workers do so too;
    start as many as you like."""
    settings = current_settings()
    _run(settings, "storage-agent", queues=[settings.input_queue])


def scheduler() -> None:
    """Run the scheduler. It reads feeds and starts checks of pages when they are due. A second one
    takes over if it dies."""
    _run(current_settings(), "scheduler")


def _run(
    settings: Settings,
    *roles: str,
    queues: Collection[str] | None = None,
    greeting: str | None = None,  # printed when the API listens
) -> None:
    from webloom.entrypoints.processes import run_processes

    async def greet(services: Services, stop: asyncio.Event) -> None:
        if greeting is not None:
            typer.echo(greeting)

    run(run_processes(settings, frozenset(roles), queues=queues, on_ready=greet))


def require_queue(settings: Settings, name: str) -> None:
    """Raises SettingsError for an unknown queue, which some brokers would create."""
    if name not in settings.broker_urls:
        raise SettingsError(
            f"--queue: queue {visible(name)} not found; the queues are "
            f"{', '.join(settings.broker_urls)}"
        )


def address(settings: Settings) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}"


def where_to_look(settings: Settings) -> str:
    base = address(settings)
    embedded = settings.store_url == settings.embedded_url
    data = settings.database if embedded else shown(settings.store_url)
    curl = f"curl {WITH_KEY}" if settings.api_key_hashes else "curl"
    key = f"  your API key    {KEEP_KEY}\n" if settings.api_key_hashes else ""
    return f"""
Webloom is running at {base}/ - open it in a browser. Its data is in {data}

{key}  submit a URL    {curl} -d '{{"url": "https://example.com/"}}' {base}/metadata
  look it up      {curl} '{base}/metadata?url=https://example.com/'
  what is known   {base}/metadata/records
  add a job feed  {curl} -d '{{"url": "https://example.com/jobs.rss"}}' {base}/api/feeds
  import it now   {curl} -X POST {base}/api/import/run
  how it went     {base}/api/import-logs
  the postings    {base}/api/jobs
  watch a page    {curl} -d '{{"url": "https://example.com/"}}' {base}/api/watches
  what changed    {base}/api/watch/pages/changes
  how it is       {base}/health
  all routes      {base}/openapi.json

Ctrl-C stops it; what is in flight is finished first.
"""
