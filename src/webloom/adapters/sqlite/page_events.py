"""What an event writes, inside one transaction with others.

    page -> version, content -> price record -> change log -> the run's counters

What is stored depends on which events there were, and not on their order. Where several speak of
one version or price record, the one with the lowest rank is taken: the earliest.
"""

from __future__ import annotations

import hashlib
import sqlite3
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import msgspec

from webloom.adapters.sqlite import page_pruning, page_rows, page_versions, watch_ledger
from webloom.adapters.sqlite.batches import plain
from webloom.adapters.sqlite.page_pruning import DAY, row_expiry
from webloom.adapters.sqlite.page_versions import (
    Content,
    Delta,
    Ready,
    Slot,
    rank_of,
)
from webloom.adapters.sqlite.values import encoded
from webloom.domain.errors import EventRefused, StorageFull
from webloom.domain.storage_event import StorageEvent, moment_of
from webloom.domain.watch import Outcome
from webloom.parsing.deltas import compressed, delta, restored
from webloom.parsing.storage_event import canonical
from webloom.ports.page_store import Checked, Retention, Stored, Validators

LARGEST_CONTENT = 64_000_000  # bytes


class Newest(NamedTuple):
    """The newest content of a page."""

    digest: bytes
    body: bytes  # whole


class Log(NamedTuple):
    """What a change log tells."""

    text: bytes
    body: bytes  # the same, compressed


@dataclass(kw_only=True, slots=True)
class Draft:
    """An event, with what can be made of it before its transaction."""

    event: StorageEvent
    content: Content | None = None
    ready: Ready | None = None
    log: Log | None = None
    key: bytes = field(init=False)

    def __post_init__(self) -> None:
        self.key = bytes.fromhex(self.event.snapshot_key)

    def encode(self) -> None:
        """Raises EventRefused."""
        event = self.event
        try:
            data = None if event.parsed is None else _canonical(event.parsed)
            if event.is_change:
                text = _canonical({"changes": event.changes, "alerts": event.alerts})
                self.log = Log(text, compressed(text))
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise EventRefused(f"it can't be stored as JSON: {error}") from error
        if data is None:
            return
        if len(data) > LARGEST_CONTENT:
            raise EventRefused(
                f"parsed takes {len(data):,} bytes, and {LARGEST_CONTENT:,} is the limit"
            )
        self.content = Content(data, hashlib.blake2b(data, digest_size=16).digest())

    def compress(self, newest: Newest | None) -> None:
        if self.content is not None:
            data = self.content.data
            superseded = newest and Delta(newest.digest, delta(restored(newest.body), data))
            self.ready = Ready(compressed(data), superseded)


def _canonical(parsed: Any) -> bytes:
    try:
        return canonical(parsed)
    except UnicodeEncodeError:
        return canonical(msgspec.json.decode(encoded(parsed)))


def outlook(connection: sqlite3.Connection, draft: Draft) -> tuple[bool, Newest | None]:
    """Whether the version is new, and what it will then supersede: most probably."""
    with page_rows.one_view(connection):
        if page_versions.by_key(connection, draft.key) is not None:
            return False, None
        page = page_rows.number_of(connection, draft.event.job_id, draft.event.url)
        newest = None if page is None else page_versions.newest(connection, page)
        if newest is None or newest.digest is None or newest.ts > draft.event.ts:
            return True, None
        [body] = connection.execute(
            "SELECT body FROM snapshot_bodies WHERE id = ?", (newest.id,)
        ).fetchone()
    return True, Newest(newest.digest, body)


class Writing:
    """A transaction of events."""

    def __init__(
        self, connection: sqlite3.Connection, *, wall: int, retention: Retention, budget: int
    ) -> None:
        self._connection = connection
        self._wall = wall
        self._retention = retention
        self._budget = budget

    def store(self, draft: Draft) -> Stored | StorageFull:
        has_room = self._has_room()
        slot = page_versions.by_key(self._connection, draft.key)
        event = self._timed(draft.event, slot)
        if not has_room and not self._is_known(event, slot):
            return StorageFull(
                f"watch data takes its budget of {self._budget:,} bytes, and nothing superseded "
                "is left to prune: raise the budget, or remove watches"
            )
        page, is_new = page_rows.numbered(self._connection, event.job_id, event.url)
        version = None
        if event.parsed is not None or event.is_change:
            is_new |= self._store_version(page, slot, event, draft)
            slot = page_versions.by_key(self._connection, draft.key)
            assert slot is not None  # noqa: S101 - it was just stored
            version = None if event.parsed is None else slot.number
            if draft.log is not None:
                is_new |= self._log_change(slot, event, draft.log)
        if event.price is not None:
            is_new |= self._record_price(page, event, draft.key)
        is_new |= page_rows.note_parts(self._connection, page, event)
        is_new |= page_rows.note_update(self._connection, page, event.ts)
        self._note_check(page, event)
        expire_at = self._after(self._retention.job_runs)
        watch_ledger.count_event(self._connection, event, self._wall, expire_at)
        return Stored(version=version, is_new=is_new)

    def check(self, checked: Checked) -> None:
        page, _ = page_rows.numbered(self._connection, checked.job_id, checked.url)
        page_rows.note_check(self._connection, page, checked)
        watch_ledger.count_check(self._connection, checked, self._wall)

    def _after(self, days: float) -> int:
        return self._wall + int(days * DAY)

    def _has_room(self) -> bool:
        usage = page_pruning.taken(self._connection)
        aim = page_pruning.goal(usage.bytes, self._budget)
        if aim is None:
            return True
        page_pruning.relieve(self._connection, aim, self._wall, self._retention)
        usage = page_pruning.taken(self._connection)
        return usage.bytes <= self._budget or usage.superseded > 0

    def _is_known(self, event: StorageEvent, slot: Slot | None) -> bool:
        has_content = slot is not None and slot.content_rank is not None
        has_price = event.price is None or self._price_row(event) is not None
        return (has_content or event.parsed is None) and has_price

    def _timed(self, event: StorageEvent, slot: Slot | None) -> StorageEvent:
        """An event that has no time of its own has that of its first delivery."""
        if event.has_ts:
            return event
        known = None if event.price is None else self._price_row(event)
        if slot is not None:
            return replace(event, ts=slot.ts)
        return event if known is None else replace(event, ts=known[0])

    # Versions

    def _store_version(
        self, page: int, slot: Slot | None, event: StorageEvent, draft: Draft
    ) -> bool:
        """Whether it changes what is known."""
        connection, is_new = self._connection, False
        before = page_versions.newest(connection, page)
        if slot is None:
            expire_at = row_expiry(self._wall, self._retention)
            page_versions.add(connection, page, event, draft.key, expire_at)
            is_new = True
        elif rank_of(event) < slot.rank:
            page_versions.move(connection, slot, event)
            self._settle_newest(before)
            is_new = True
        slot = page_versions.by_key(connection, draft.key)
        assert slot is not None  # noqa: S101 - it is there by now
        is_new |= self._store_content(slot, event, draft)
        newest = page_versions.newest(connection, page)
        if newest is not None and _shown(newest) != _shown(before):
            page_rows.note_content(connection, page, newest.id)
        return is_new

    def _settle_newest(self, before: Slot | None) -> None:
        """After a version has moved."""
        newest = None if before is None else page_versions.newest(self._connection, before.page)
        if before is not None and newest is not None and newest.id != before.id:
            expire_at = self._after(self._retention.snapshots)
            page_versions.make_newest(self._connection, newest, before, expire_at)

    def _store_content(self, slot: Slot, event: StorageEvent, draft: Draft) -> bool:
        if draft.content is None:
            return False
        rank = rank_of(event)
        if slot.content_rank is None or slot.digest is None:
            expire_at = self._after(self._retention.snapshots)
            page_versions.fill(self._connection, slot, draft.content, rank, expire_at, draft.ready)
            return True
        if slot.size == 0 or (slot.content_rank, slot.digest) <= (rank, draft.content.digest):
            return False
        page_versions.exchange(self._connection, slot, draft.content, rank)
        return True

    def _log_change(self, slot: Slot, event: StorageEvent, log: Log) -> bool:
        rank = rank_of(event)
        row = self._connection.execute(
            "SELECT rank, body, coalesce(run_id, '') FROM change_logs WHERE snapshot = ?",
            (slot.id,),
        ).fetchone()
        run_id = None if event.run_id is None else plain(event.run_id)
        if row is not None and (rank, log.text, run_id or "") >= (row[0], restored(row[1]), row[2]):
            return False
        expire_at = self._after(self._retention.change_logs)
        self._connection.execute(
            """
            INSERT INTO change_logs (snapshot, page, job_id, ts, rank, run_id, body, expire_at,
                                     untold, is_keyed)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1)
            ON CONFLICT (snapshot) DO UPDATE SET ts = excluded.ts, rank = excluded.rank,
                run_id = excluded.run_id, body = excluded.body, expire_at = excluded.expire_at,
                is_keyed = iif(ts = excluded.ts, is_keyed, 1),
                untold = iif(batch IS NULL, excluded.untold, untold)
            """,
            (
                slot.id,
                slot.page,
                plain(event.job_id),
                event.ts,
                rank,
                run_id,
                log.body,
                expire_at,
                bool(event.alerts),
            ),
        )
        return True

    # Prices

    def _price_row(self, event: StorageEvent) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self._connection.execute(
            """
            SELECT ts, claimed, version_key, currency, change_percent FROM price_history
            WHERE key = ?
            """,
            (bytes.fromhex(event.price_key),),
        ).fetchone()
        return row

    def _record_price(self, page: int, event: StorageEvent, version_key: bytes) -> bool:
        price = event.price
        assert price is not None  # noqa: S101 - the caller has looked
        row = (
            event.ts,
            event.claimed,
            version_key,
            None if price.currency is None else plain(price.currency),
            None if price.change_percent is None else f"{price.change_percent:f}",
        )
        known = self._price_row(event)
        if known is not None and _sortable(known) <= _sortable(row):
            return False
        expire_at = self._after(self._retention.prices)
        self._connection.execute(
            """
            INSERT INTO price_history (ts, claimed, version_key, currency, change_percent, page,
                                       key, price, expire_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (key) DO UPDATE SET ts = excluded.ts, claimed = excluded.claimed,
                version_key = excluded.version_key, currency = excluded.currency,
                change_percent = excluded.change_percent, expire_at = excluded.expire_at
            """,
            (
                *row,
                page,
                bytes.fromhex(event.price_key),
                f"{price.current.normalize():f}",
                expire_at,
            ),
        )
        self._keep_latest_price(page, expire_at)
        return True

    def _keep_latest_price(self, page: int, expire_at: int) -> None:
        """The latest record has no expiry, and the one that it supersedes has one."""
        latest = self._connection.execute(
            """
            SELECT ts, key, expire_at FROM price_history WHERE page = ?
            ORDER BY ts DESC, key DESC LIMIT 2
            """,
            (page,),
        ).fetchall()
        for place, (ts, key, expires) in enumerate(latest):
            wanted = None if place == 0 else expires or expire_at
            if expires != wanted:
                self._connection.execute(
                    "UPDATE price_history SET expire_at = ? WHERE page = ? AND ts = ? AND key = ?",
                    (wanted, page, ts, key),
                )

    def _note_check(self, page: int, event: StorageEvent) -> None:
        validators = None
        if event.validators:
            validators = Validators(
                etag=event.validators.get("etag"),
                last_modified=event.validators.get("lastModified"),
                body_hash=event.validators.get("bodyHash"),
            )
        checked = Checked(
            job_id=event.job_id,
            url=event.url,
            run_id=event.run_id or "",
            at=moment_of(event.ts),
            outcome=Outcome.CHANGED,
            validators=validators,
        )
        page_rows.note_check(self._connection, page, checked)


def _shown(newest: Slot | None) -> tuple[Any, ...]:
    return () if newest is None else (newest.id, newest.digest)


def _sortable(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*row[:3], str(row[3]), str(row[4]))
