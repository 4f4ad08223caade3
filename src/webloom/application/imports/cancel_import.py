"""Ask a running import to end."""

from __future__ import annotations

from dataclasses import dataclass

from webloom.domain.import_run import ImportRun
from webloom.ports.import_runs import ImportRuns


@dataclass(frozen=True, kw_only=True, slots=True)
class CancelImport:
    store: ImportRuns

    async def __call__(self, run_id: str) -> ImportRun | None:
        """The run, running still or ended before; None: there is no such run. What it has stored
        stays. Raises StoreUnavailable."""
        return await self.store.cancel(run_id)
