"""Remove files that are no longer needed from the spool: of runs that have ended (because their
producer died, or another machine continued them), of abandoned downloads, pages and previews, and
of feeds that were removed."""

from __future__ import annotations

import asyncio
import math
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from webloom.application.previews import PREVIEW_FOLDERS
from webloom.domain.import_run import RunStatus
from webloom.domain.spool import KNOWN_FOLDER
from webloom.ports.imports import Imports

PAGE_SECONDS = 3600.0  # far longer than a check or a preview takes


@dataclass(frozen=True, kw_only=True, slots=True)
class ClearSpool:
    store: Imports
    spool: Path
    longest_download: float  # seconds

    async def __call__(self) -> int:
        """How many files were removed. Raises StoreUnavailable."""
        files = await asyncio.to_thread(self._files)
        removed = 0
        for run_id in sorted({path.name.partition(".")[0] for path in files}):
            run = await self.store.listed_runs.find(run_id)
            if run is None or run.status is not RunStatus.RUNNING:
                strays = [path for path in files if path.name.partition(".")[0] == run_id]
                removed += await asyncio.to_thread(_remove, strays)
        removed += await asyncio.to_thread(self._remove_old)
        for path in await asyncio.to_thread(list, self.spool.glob(f"{KNOWN_FOLDER}/*")):
            if await self.store.feeds.find(path.name) is None:
                removed += await asyncio.to_thread(_remove, [path])
        return removed

    def _remove_old(self) -> int:
        """Of checks, previews and downloads whose process died."""
        oldest = time.time() - PAGE_SECONDS
        files = [path for path in self.spool.glob("*.page") if _written(path) < oldest]
        oldest_part = oldest - self.longest_download
        files += [path for path in self.spool.glob("*.part") if _written(path) < oldest_part]
        folders = [path for path in self.spool.glob(PREVIEW_FOLDERS) if _written(path) < oldest]
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        return _remove(files) + len(folders)

    def _files(self) -> list[Path]:
        kinds = ("*.feed", "*.feed.*", "*.part")
        return [path for kind in kinds for path in self.spool.glob(kind)]


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # removed meanwhile
        return math.inf


def _remove(files: list[Path]) -> int:
    for path in files:
        path.unlink(missing_ok=True)
    return len(files)
