"""Remove files of runs that have ended: of producers that died, and of runs that another machine
has gone on with. And what was learnt of feeds that are no more."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from webloom.domain.import_run import RunStatus
from webloom.ports.import_store import ImportStore


@dataclass(frozen=True, kw_only=True, slots=True)
class ClearSpool:
    store: ImportStore
    spool: Path

    async def __call__(self) -> int:
        """How many files were removed. Raises StoreUnavailable."""
        files = await asyncio.to_thread(self._files)
        removed = 0
        for run_id in sorted({path.name.partition(".")[0] for path in files}):
            run = await self.store.find_run(run_id)
            if run is None or run.status is not RunStatus.RUNNING:
                strays = [path for path in files if path.name.partition(".")[0] == run_id]
                removed += await asyncio.to_thread(_remove, strays)
        for path in await asyncio.to_thread(list, self.spool.glob("known/*")):
            if await self.store.find_feed(path.name) is None:
                removed += await asyncio.to_thread(_remove, [path])
        return removed

    def _files(self) -> list[Path]:
        kinds = ("*.feed", "*.feed.*", "*.part")
        return [path for kind in kinds for path in self.spool.glob(kind)]


def _remove(files: list[Path]) -> int:
    for path in files:
        path.unlink(missing_ok=True)
    return len(files)
