"""`webloom up`, and each role alone."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer
import uvloop

from webloom.bootstrap.services import Services
from webloom.entrypoints.cli.queue_names import require_queue
from webloom.entrypoints.processes import ALL_ROLES, run_processes
from webloom.parsing.backend_url import shown
from webloom.settings import Settings, load_settings

# The key stays out of the list of processes. `cat` waits for the line, and then Ctrl-D.
WITH_KEY = "-H @webloom-key"
KEEP_KEY = "(umask 077; cat > webloom-key)  # once; type: Authorization: Bearer KEY"


def up() -> None:
    """Run the API, a worker and the scheduler in one process. The default is one SQLite file."""
    settings = load_settings()

    async def say_where(services: Services, stop: asyncio.Event) -> None:
        typer.echo(where_to_look(settings))

    uvloop.run(run_processes(settings, ALL_ROLES, on_ready=say_where))


def api() -> None:
    """Run the API alone."""
    settings = load_settings()

    async def say_where(services: Services, stop: asyncio.Event) -> None:
        typer.echo(f"Webloom's API listens on {address(settings)}")

    uvloop.run(run_processes(settings, frozenset({"api"}), on_ready=say_where))


def worker(
    queues: Annotated[
        list[str] | None,
        typer.Option(
            "--queue",
            metavar="NAME",
            help="Serve only this queue, and connect only to its broker; may be repeated.",
        ),
    ] = None,
) -> None:
    """Run a worker. It fetches URLs, stores batches of feeds, and checks and stores watched pages.
    Start as many as you like."""
    settings = load_settings()
    for name in queues or ():
        require_queue(settings, name)
    uvloop.run(run_processes(settings, frozenset({"worker"}), queues=queues or None))


def storage_agent() -> None:
    """Run the storage agent alone. It stores what others send to its queue. Workers do so too;
    start as many as you like."""
    settings = load_settings()
    roles = frozenset({"storage-agent"})
    uvloop.run(run_processes(settings, roles, queues=[settings.input_queue]))


def scheduler() -> None:
    """Run the scheduler. It reads feeds and starts checks of pages when they are due. A second one
    takes over if it dies."""
    uvloop.run(run_processes(load_settings(), frozenset({"scheduler"})))


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
