"""/api/overview, /api/live and /api/system: this installation."""

from __future__ import annotations

import asyncio
import platform
import shutil
import socket
from pathlib import Path
from typing import Annotated

from fastapi import Query
from pydantic import Field
from starlette.responses import Response

from webloom import __version__
from webloom.entrypoints.api.admin_schemas import Overview, SystemResponse, TroublesPage
from webloom.entrypoints.api.live import stream
from webloom.entrypoints.api.openapi import described, router
from webloom.entrypoints.api.requests import InContext, NoParameters, Parameters
from webloom.entrypoints.api.responses import Json, Refusal
from webloom.entrypoints.settings_shown import settings_in_force

routes = router("/api", "installation")


_TOPIC = "overview|queues|inventory|watch"


class LiveQuery(Parameters):
    topics: str = Field(
        "",
        description="Any of overview, queues, inventory, watch; with commas between",
        examples=["overview,queues"],
        json_schema_extra={"pattern": f"^({_TOPIC})(,({_TOPIC}))*$"},
    )


@routes.get("/overview")
async def get_overview(context: InContext) -> Json[Overview]:
    """Get the three pipelines at a glance, what runs, what changed, what is broken."""
    return Json(await context.activity.overview())


@routes.get("/troubles", dependencies=[NoParameters])
async def list_troubles(context: InContext) -> Json[TroublesPage]:
    """List what needs attention, errors first, each with what to do about it."""
    return Json(await context.activity.troubles())


@routes.get("/live", responses=described({200: "text/event-stream"}))
async def stream_topics(context: InContext, query: Annotated[LiveQuery, Query()]) -> Response:
    """Server-Sent Events: `overview` and `queues` with the whole response of their routes, at once
    and when it has changed, at most once a second; `inventory` and `watch` with a revision, at once
    and when something in that pipeline has changed.

    Only the latest event of a topic matters: none is repeated after a reconnect.
    """
    live = context.activity.live
    wanted = dict.fromkeys(each.strip() for each in query.topics.split(",") if each.strip())
    if not wanted or wanted.keys() - set(live.names):
        raise Refusal(
            422, f"topics: got {query.topics[:100]!r}, wants any of {','.join(live.names)}."
        )
    return stream(live, live.events(wanted))


@routes.get("/system")
async def get_system(context: InContext) -> Json[SystemResponse]:
    """Get the version and the settings in force, without secrets."""
    settings = context.services.settings
    free, size = None, None
    if settings.is_embedded:
        free, size = await asyncio.to_thread(_room, settings.database)
    return Json(
        SystemResponse(
            version=__version__,
            python=platform.python_version(),
            host=socket.gethostname(),
            started_at=context.started_at,
            disk_free=free,
            database_bytes=size,
            settings=settings_in_force(settings),
        )
    )


def _room(database: Path) -> tuple[int, int | None]:
    """Bytes free on the database's disk, and bytes of the database with its journal."""
    free = shutil.disk_usage(database.parent).free
    files = [database, database.with_name(f"{database.name}-wal")]
    sizes = [file.stat().st_size for file in files if file.exists()]
    return free, sum(sizes) if sizes else None
