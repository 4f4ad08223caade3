"""Requests and responses of /api/backup and /api/restore."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec

from webloom.application.move.load import Verdict
from webloom.application.move.restore import UnfinishedRestore
from webloom.application.move.stream import Header, Total
from webloom.entrypoints.api.schemas import filled

ZSTD = "application/zstd"
BACKUP: dict[str, Any] = {
    "type": "string",
    "format": "binary",
    "description": "A file of GET /api/backup or `webloom dump`",
}


class BackedUpCollection(msgspec.Struct, kw_only=True):
    collection: str
    items: int
    fingerprint: str


class BackupContents(msgspec.Struct, kw_only=True, rename="camel"):
    """What is in a backup, which is complete and undamaged."""

    id: str  # no two backups have the same
    webloom: str  # the version that made it
    items: int
    collections: list[BackedUpCollection]


class RestoreState(msgspec.Struct, kw_only=True, rename="camel"):
    """Whether a restore has begun and not ended. Until then nothing scheduled starts."""

    state: Literal["none", "running", "unfinished"]
    backup_id: str | None
    webloom: str | None  # the version that made the backup
    begun_at: datetime | None


class RestoreProgress(msgspec.Struct, kw_only=True):
    """A line of a restore that continues."""

    collection: str
    done: int
    items: int


class RestoredCollection(msgspec.Struct, kw_only=True, rename="camel"):
    """What became of the items of one collection."""

    collection: str
    items: int
    equal: int
    newer_here: int  # and left as they were
    expired: int  # or about to, and left out
    missing: int
    different: int
    fingerprint: str  # of what is in the backup
    fingerprint_here: str  # of what is stored under the same keys
    samples: list[str]  # of what is missing or different


class RestoreResult(msgspec.Struct, kw_only=True):
    """The last line of a restore."""

    verified: bool  # every item is here, or newer here, or expired
    error: str | None  # why it has stopped; then there are no collections
    collections: list[RestoredCollection]


def backup_contents(header: Header, totals: Mapping[str, Total]) -> BackupContents:
    return BackupContents(
        id=header.id,
        webloom=header.webloom,
        items=sum(each.items for each in totals.values()),
        collections=[
            BackedUpCollection(collection=name, items=each.items, fingerprint=each.fingerprint)
            for name, each in totals.items()
        ],
    )


def restore_state(begun: UnfinishedRestore | None, *, is_running: bool) -> RestoreState:
    return RestoreState(
        state="running" if is_running else "none" if begun is None else "unfinished",
        backup_id=None if begun is None else begun.dump_id,
        webloom=None if begun is None else begun.webloom,
        begun_at=None if begun is None else begun.at,
    )


def restore_result(verdicts: Mapping[str, Verdict]) -> RestoreResult:
    return RestoreResult(
        verified=all(each.holds for each in verdicts.values()),
        error=None,
        collections=[
            filled(
                RestoredCollection,
                each,
                collection=name,
                newer_here=each.newer,
                fingerprint=each.source_hash,
                fingerprint_here=each.target_hash,
            )
            for name, each in verdicts.items()
        ],
    )
