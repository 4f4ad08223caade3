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
from webloom.entrypoints.api.admin_schemas import Overview, SettingResponse, SystemResponse
from webloom.entrypoints.api.live import stream
from webloom.entrypoints.api.openapi import described, router
from webloom.entrypoints.api.requests import InContext, Parameters
from webloom.entrypoints.api.responses import Json, Refusal
from webloom.parsing.backend_url import shown
from webloom.settings import FROM_FILE, Settings

ADDRESSES = frozenset({
    "store", "broker", "broker_metadata_queue", "broker_import_feed", "broker_storage_agent",
})  # fmt: skip


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


@routes.get("/live", responses=described({200: "text/event-stream"}))
async def stream_topics(context: InContext, query: Annotated[LiveQuery, Query()]) -> Response:
    """Server-Sent Events: `overview` and `queues` with the whole answer of their routes, at once
    and when it has changed, at most once a second; `inventory` and `watch` with a revision, at once
    and when something of that pipeline has changed.

    Only the latest event of a topic is of interest: none is sent again after a break.
    """
    live = context.activity.live
    wanted = dict.fromkeys(each.strip() for each in query.topics.split(",") if each.strip())
    if not wanted or wanted.keys() - set(live.names):
        raise Refusal(
            422, f"topics: got {query.topics[:100]!r}, wants any of {','.join(live.names)}."
        )
    return stream(live, wanted)


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


def settings_in_force(settings: Settings) -> list[SettingResponse]:
    return [
        SettingResponse(
            name=str(field.alias),
            value=_shown(settings, name),
            is_default=getattr(settings, name) == field.default,
            wants=field.description or "",
        )
        for name, field in Settings.model_fields.items()
    ]


def _shown(settings: Settings, name: str) -> str:
    """Without what is secret. A hash of a key is one too: it lets keys be guessed."""
    value = getattr(settings, name)
    if name == "api_key_hashes":
        return f"{len(value)} {'key' if len(value) == 1 else 'keys'}" if value else ""
    if name in ADDRESSES:
        address = _address(settings, name)
        return FROM_FILE if address in _from_files(settings) else shown(address)
    if str(Settings.model_fields[name].alias) in settings.from_files:
        return FROM_FILE
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else str(value)
    return str(value)


def _from_files(settings: Settings) -> set[str | None]:
    """Addresses that are read from files; one may be in force under several names."""
    fields = ((name, str(Settings.model_fields[name].alias)) for name in ADDRESSES)
    return {getattr(settings, name) for name, alias in fields if alias in settings.from_files}


def _address(settings: Settings, name: str) -> str:
    """The one in force, where none was chosen."""
    if name == "store":
        return settings.store_url
    queues = {
        "broker_metadata_queue": "metadata_queue",
        "broker_import_feed": "import-feed",
        "broker_storage_agent": settings.input_queue,
    }
    if name in queues:
        return settings.broker_urls[queues[name]]
    return settings.broker or settings.embedded_url


def _room(database: Path) -> tuple[int, int | None]:
    """What is free on its disk, and what the database takes, its journal included."""
    free = shutil.disk_usage(database.parent).free
    files = [database, database.with_name(f"{database.name}-wal")]
    sizes = [file.stat().st_size for file in files if file.exists()]
    return free, sum(sizes) if sizes else None
