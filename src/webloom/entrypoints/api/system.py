"""/api/system: this installation."""

from __future__ import annotations

import asyncio
import platform
import shutil
import socket
from pathlib import Path

from starlette.responses import Response

from webloom import __version__
from webloom.bootstrap import Services
from webloom.entrypoints.api.admin_schemas import SettingAnswer, SystemAnswer
from webloom.entrypoints.api.answers import answer
from webloom.parsing.backend_url import shown
from webloom.settings import FROM_FILE, Settings

ADDRESSES = frozenset({
    "store", "broker", "broker_metadata_queue", "broker_import_feed", "broker_storage_agent",
})  # fmt: skip


class SystemRoutes:
    def __init__(self, services: Services) -> None:
        self._settings = services.settings
        self._started_at = services.clock.now()

    async def show(self) -> Response:
        """Version and settings in force, without secrets."""
        settings = self._settings
        free, size = None, None
        if settings.is_embedded:
            free, size = await asyncio.to_thread(_room, settings.database)
        return answer(
            SystemAnswer(
                version=__version__,
                python=platform.python_version(),
                host=socket.gethostname(),
                started_at=self._started_at,
                disk_free=free,
                database_bytes=size,
                settings=settings_in_force(settings),
            )
        )


def settings_in_force(settings: Settings) -> list[SettingAnswer]:
    return [
        SettingAnswer(
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
