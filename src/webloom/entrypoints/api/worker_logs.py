"""/api/worker-logs: what processes did, and why things failed."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec
from fastapi import Query
from pydantic import Field

from webloom.domain.worker_log import Level, LogEntry
from webloom.entrypoints.api.openapi import router
from webloom.entrypoints.api.requests import Blank, Paging, Since, WithServices
from webloom.entrypoints.api.responses import Json
from webloom.entrypoints.api.schemas import Page
from webloom.ports.worker_logs import LogFilter

routes = router("/api/worker-logs", "installation")


class LogsQuery(Paging):
    level: Level = Field(Level.INFO, description="This level and those above it")
    role: Blank[Annotated[str, Field(max_length=100)]] = Field(
        None, description="Of such processes: up, api, worker, scheduler, storage-agent"
    )
    since: Blank[Since] = None


class WorkerLog(msgspec.Struct, kw_only=True):
    timestamp: datetime
    level: Level
    role: str  # the command that the process was started with
    host: str
    pid: int
    message: str
    fields: dict[str, str]


class WorkerLogsPage(Page[WorkerLog]):
    """The latest first."""


@routes.get("")
async def list_worker_logs(
    services: WithServices, query: Annotated[LogsQuery, Query()]
) -> Json[WorkerLogsPage]:
    """List log entries of all processes, the latest first. They are kept for three days, at most
    20,000 of them."""
    entries, following = await services.worker_logs.entries(
        LogFilter(level=query.level, role=query.role, since=query.since),
        limit=query.limit,
        cursor=query.cursor,
    )
    return Json(WorkerLogsPage(data=[*map(worker_log, entries)], next_cursor=following))


def worker_log(entry: LogEntry) -> WorkerLog:
    return WorkerLog(
        timestamp=entry.at,
        level=entry.level,
        role=entry.role,
        host=entry.host,
        pid=entry.pid,
        message=entry.message,
        fields=dict(entry.fields),
    )
