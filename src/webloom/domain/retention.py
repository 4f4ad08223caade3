"""How long superseded data is kept, and how much of it goes when storage runs out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import NamedTuple, TypeVar

from webloom.domain.errors import StorageFull

Moment = TypeVar("Moment", int, datetime)  # as a store keeps it

PRUNED_TO = 0.9  # of the budget
_LEAST_RELIEF = 1 << 20  # bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Retention:
    """Days for which superseded data is kept."""

    snapshots: float = 7.0
    change_logs: float = 30.0
    job_runs: float = 14.0
    prices: float = 90.0
    worker_logs: float = 3.0

    @property
    def kept_runs(self) -> timedelta:
        return timedelta(days=self.job_runs)

    @property
    def emptied_versions(self) -> float:
        """Versions without their content, whose events change nothing when they come again."""
        return max(1.0, self.prices, self.change_logs)


def outlives(expires: Moment | None, newer: Moment | None) -> bool:
    """Whether a superseded version can't be a delta against the next newer one, as that goes first
    or at the same time: they may have been loaded from a dump. None: it does not expire."""
    return expires is not None and newer is not None and expires >= newer


class PruneGoal(NamedTuple):
    """Bytes to prune to."""

    bytes: int
    pending: int  # the same for change logs with pending notifications, which go last


class Prunable(Enum):
    """Superseded data, in the order in which it goes. Of each, what expires first goes first."""

    CONTENTS = "contents"  # of versions
    CHANGE_LOGS = "change logs"
    PRICES = "price records"
    EMPTIED_VERSIONS = "versions without content and change log"
    PENDING_CHANGE_LOGS = "change logs with pending notifications"


def prune_steps(goal: PruneGoal) -> Iterator[tuple[Prunable, int]]:
    """What goes, one after the other, each until no more bytes are used than that."""
    for each in Prunable:
        yield each, goal.pending if each is Prunable.PENDING_CHANGE_LOGS else goal.bytes


def prune_goal(
    used: int, budget: int, *, excess: int = 0, is_database_full: bool = False
) -> PruneGoal | None:
    """None: nothing has to go. `excess`: bytes that the database is too large by. Change logs with
    pending notifications go only if there is no room for them."""
    if is_database_full:
        excess = max(excess, relief(used))
    goal = min(used - excess, int(budget * PRUNED_TO) if used > budget else used)
    if goal >= used:
        return None
    return PruneGoal(goal, goal if is_database_full else max(goal, budget))


def relief(used: int) -> int:
    """Bytes that one round of pruning frees in a database that is full."""
    return max(_LEAST_RELIEF, used // 20)


def is_storage_full(used: int, superseded: int, budget: int) -> bool:
    return used > budget and superseded == 0


def storage_full(used: int, budget: int) -> StorageFull:
    return StorageFull(
        f"the watched pages take {used:,} bytes, and the budget is {budget:,}; nothing superseded "
        "is left to remove: raise the budget, or remove watches"
    )
