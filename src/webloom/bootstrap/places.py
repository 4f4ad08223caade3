"""The files of an installation, and who else may read them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from pathlib import Path

from webloom.parsing.backend_url import SQLITE
from webloom.private_files import Places, protect
from webloom.settings import Settings

log = logging.getLogger(__name__)


def places_of(settings: Settings, databases: Iterable[Path] | None = None) -> Places:
    """Default for `databases`: all in the settings. The default one is always included."""
    if databases is None:
        urls = (settings.store_url, *settings.broker_urls.values())
        named = (url for url in urls if url.startswith(SQLITE))
        databases = (Path(url.removeprefix(SQLITE)) for url in named)
    return Places(
        data_dir=settings.data_dir,
        spool=settings.spool,
        databases=tuple(dict.fromkeys((settings.usual_database, *databases))),
        is_default="data_dir" not in settings.model_fields_set,
    )


async def protect_files(settings: Settings, opened: Iterable[Path]) -> None:
    """`opened` are the databases that are known to be Webloom's."""
    changed = await asyncio.to_thread(protect, places_of(settings, opened))
    if changed:
        log.warning(
            "other users could access files of Webloom; they are private now",
            extra={"files": len(changed), "first": str(changed[0])},
        )
