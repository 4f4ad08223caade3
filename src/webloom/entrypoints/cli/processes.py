"""`webloom up`, and each role alone."""

from __future__ import annotations

import asyncio
import hashlib
import secrets

import typer
import uvloop

from webloom.bootstrap import Services
from webloom.entrypoints.processes import ALL_ROLES, run_processes
from webloom.settings import Settings, load_settings


def up() -> None:
    """Run the API, a worker and the scheduler in one process, on one SQLite file."""
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


def worker() -> None:
    """Run a worker: it takes URLs from the queue and fetches them. Start as many as you like."""
    uvloop.run(run_processes(load_settings(), frozenset({"worker"})))


def scheduler() -> None:
    """Run the scheduler: what must happen from time to time. A second one takes over if it dies."""
    uvloop.run(run_processes(load_settings(), frozenset({"scheduler"})))


def new_key() -> None:
    """Make an API key: the key for the client, its hash for WEBLOOM_API_KEYS."""
    key = f"wl_{secrets.token_urlsafe(32)}"
    typer.echo(f"key for the client, shown this once:  {key}")
    digest = hashlib.sha256(key.encode()).hexdigest()
    typer.echo(f"for the server:  WEBLOOM_API_KEYS=sha256:{digest}")


def address(settings: Settings) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}"


def where_to_look(settings: Settings) -> str:
    base = address(settings)
    curl = "curl -H 'Authorization: Bearer KEY'" if settings.api_key_hashes else "curl"
    return f"""
Webloom is running. Its data is in {settings.database}

  submit a URL    {curl} -d '{{"url": "https://example.com/"}}' {base}/metadata
  look it up      {curl} '{base}/metadata?url=https://example.com/'
  what is known   {base}/metadata/records
  how it is       {base}/health
  all routes      {base}/openapi.json

Ctrl-C stops it; what is in flight is finished first.
"""
