"""Rows of `change_logs`, each with the key and the number of its version."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from webloom.adapters.sqlite.batches import upsert
from webloom.adapters.sqlite.page_versions import Slot
from webloom.adapters.sqlite.primitives import Row
from webloom.adapters.sqlite.values import columns_of, instant, milliseconds
from webloom.deltas import restored
from webloom.domain.inbox import InboxState, Triage
from webloom.domain.reason import PlainReason
from webloom.domain.storage_event import Place, previous_number
from webloom.ports.dump import WholeLog
from webloom.stores.whole import json_value

COLUMNS = (
    "snapshots.key, pages.job_id, pages.url, number, change_logs.ts, claimed, hash, run_id, body, "
    "change_logs.expire_at, batch, untold, is_keyed, inbox, inbox_at, inbox_decided_at"
)
SOURCE = (
    "change_logs JOIN snapshots ON snapshots.id = snapshot "
    "JOIN pages ON pages.id = change_logs.page"
)
_ELSEWHERE = (
    "key",
    "url",
    "number",
    "place",
    "changes",
    "alerts",
    "reasons",
    "expires_at",
    "triage",
)


def content(
    changes: Mapping[str, Any], alerts: list[str], reasons: list[PlainReason]
) -> dict[str, Any]:
    """What `body` holds, as JSON."""
    found: dict[str, Any] = {"changes": changes, "alerts": alerts}
    return found | {"reasons": reasons} if reasons else found


def find(connection: sqlite3.Connection, snapshot: int) -> tuple[WholeLog, int] | None:
    """With the version that it compares with."""
    found = connection.execute(
        f"""
        SELECT {COLUMNS},
               (SELECT max(others.number) FROM snapshots AS others
                WHERE others.page = pages.id AND others.number < snapshots.number)
        FROM {SOURCE} WHERE snapshot = ?
        """,
        (snapshot,),
    ).fetchone()
    if found is None:
        return None
    *row, before = found
    item = log_of(row)
    return item, previous_number(item.number, before or 0)


def log_of(row: Row) -> WholeLog:
    key, watch_id, url, number, ts, claimed, snapshot_hash, run_id, body, *rest = row
    expire_at, batch, is_pending, is_keyed, *triage = rest
    found = json_value(restored(body))
    return WholeLog(
        key=key.hex(),
        watch_id=watch_id,
        url=url,
        number=number,
        place=Place(ts, claimed, snapshot_hash),
        run_id=run_id,
        changes=found["changes"],
        alerts=found["alerts"],
        reasons=found.get("reasons", []),
        expires_at=instant(expire_at),
        batch=batch,
        is_pending=bool(is_pending),
        is_keyed=bool(is_keyed),
        triage=triage_of(*triage),
    )


def triage_of(state: str | None, at: int | None, decided_at: int | None) -> Triage | None:
    return None if state is None else Triage(state=InboxState(state), at=at, decided_at=decided_at)


def triage_columns(triage: Triage | None) -> dict[str, Any]:
    if triage is None:
        return {"inbox": None, "inbox_at": None, "inbox_decided_at": None}
    return {
        "inbox": triage.state.value,
        "inbox_at": triage.at,
        "inbox_decided_at": triage.decided_at,
    }


def put(connection: sqlite3.Connection, slot: Slot, item: WholeLog, body: bytes, rank: int) -> None:
    """`body` is its `content`, compressed."""
    row = columns_of(item, without=_ELSEWHERE) | {
        "snapshot": slot.id,
        "page": slot.page,
        "ts": item.place.ts,
        "rank": rank,
        "body": body,
        "expire_at": milliseconds(item.expires_at),
        **triage_columns(item.triage),
    }
    upsert(connection, "change_logs", "snapshot", row)
