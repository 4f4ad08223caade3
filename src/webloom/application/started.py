"""What starting a run of a feed or a watch gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from webloom.domain.import_run import ImportRun
from webloom.domain.watch import WatchRun

Run = TypeVar("Run", ImportRun, WatchRun)


@dataclass(frozen=True, kw_only=True, slots=True)
class Started(Generic[Run]):
    run: Run
    is_new: bool  # False: it was in progress already


def started(run: Run | None, run_id: str) -> Started[Run] | None:
    """The run in progress, after one with this id was to be started."""
    return None if run is None else Started(run=run, is_new=run.run_id == run_id)
