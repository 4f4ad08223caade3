"""`webloom logs`: what the processes did, and why things failed."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from webloom.domain.worker_log import Level, LogEntry
from webloom.entrypoints.cli.output import (
    AsJson,
    json_line,
    say,
    shortened,
    utf8_argument,
    visible,
)
from webloom.entrypoints.cli.running import run_with_services
from webloom.entrypoints.log_lines import log_line
from webloom.ports.worker_logs import LogFilter

if TYPE_CHECKING:
    from webloom.bootstrap.services import Services

MOST_LINES = 20_000
PAGE = 500
ROLES = "up, api, worker, scheduler, storage-agent"
POLL_SECONDS = 1.0
LATE = timedelta(seconds=30)  # an entry may be stored this long after it was logged


def logs(
    level: Annotated[
        Level, typer.Option("--level", help="Only entries of this level and above.")
    ] = Level.INFO,
    role: Annotated[
        str | None,
        typer.Option(
            "--role",
            metavar="NAME",
            help=f"Only of such processes: {ROLES}.",
        ),
    ] = None,
    lines: Annotated[
        int, typer.Option("--lines", "-n", min=0, max=MOST_LINES, help="The latest so many.")
    ] = 100,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with new ones until Ctrl-C.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what processes did, and why things failed. The latest entry is the last line. Entries
    are kept for three days (WEBLOOM_KEEP_LOGS_DAYS), at most 20,000."""
    utf8_argument("--role", role)
    chosen = LogFilter(level=level, role=role)
    show = _print_json if as_json else _print

    async def work(services: Services) -> None:
        recent = await _recent(services, chosen)
        found = await _latest(services, chosen, lines)
        if not found and not follow:
            of_role = f" of {visible(shortened(role))}; the roles are {ROLES}" if role else ""
            say(f"no log entries{of_role}", err=True)
        for entry in reversed(found):
            show(entry)
        printed = set(map(repr, recent + found))
        while follow:
            await asyncio.sleep(POLL_SECONDS)
            recent = await _recent(services, chosen)
            for entry in reversed(recent):
                if repr(entry) not in printed:
                    show(entry)
            printed = set(map(repr, recent))

    run_with_services(work, queues=())


async def _recent(services: Services, chosen: LogFilter) -> list[LogEntry]:
    since = services.clock.now() - LATE
    return await _latest(services, replace(chosen, since=since), MOST_LINES)


async def _latest(services: Services, chosen: LogFilter, most: int) -> list[LogEntry]:
    """The latest first."""
    found: list[LogEntry] = []
    cursor: str | None = None
    while len(found) < most:
        page, cursor = await services.worker_logs.entries(
            chosen, limit=min(PAGE, most - len(found)), cursor=cursor
        )
        found += page
        if cursor is None:
            break
    return found


def _print(entry: LogEntry) -> None:
    process = {"process": f"{entry.role}@{entry.host}:{entry.pid}"}
    say(log_line(entry.at, entry.level, entry.message, (process | dict(entry.fields)).items()))


def _print_json(entry: LogEntry) -> None:
    from webloom.entrypoints.api.worker_logs import worker_log

    json_line(worker_log(entry))
