"""What an event writes, inside one transaction with others.

    page -> version, content -> change log -> price record -> the run's counters

What is stored depends on which events there were, and not on their order. Of several events for one
version or price record, the one with the lowest rank is kept: the earliest.
"""

from __future__ import annotations

import hashlib
import sqlite3
from typing import Any, NamedTuple

import msgspec

from webloom.adapters.sqlite import page_codec, page_contents, page_versions, watch_ledger
from webloom.adapters.sqlite.batches import plain, upsert
from webloom.adapters.sqlite.index_scan import consistent_read
from webloom.adapters.sqlite.page_contents import Content, Delta
from webloom.adapters.sqlite.page_storage import expiry, prune, used_bytes
from webloom.adapters.sqlite.page_versions import Slot
from webloom.adapters.sqlite.values import encoded as encoded_text
from webloom.deltas import compressed, delta, restored
from webloom.domain.change_log import LoggedChange, earliest
from webloom.domain.errors import StorageFull
from webloom.domain.page_check import Checked, check_of
from webloom.domain.retention import Retention, is_storage_full, prune_goal, storage_full
from webloom.domain.storage_event import StorageEvent, with_first_time
from webloom.parsing.storage_event import canonical
from webloom.ports.pages import Stored
from webloom.stores.page_contents import encoded

# Before the transaction


class Log(NamedTuple):
    """The changes and alerts of a change log."""

    text: bytes
    body: bytes  # the same, compressed


class Draft(NamedTuple):
    """An event, with what can be made of it before its transaction."""

    event: StorageEvent
    content: Content | None = None
    log: Log | None = None

    @property
    def key(self) -> bytes:
        return bytes.fromhex(self.event.snapshot_key)


class Newest(NamedTuple):
    """The newest content of a page."""

    digest: bytes
    body: bytes  # whole


def drafted(event: StorageEvent) -> Draft:
    """Raises EventRefused."""
    content = log = None
    if event.parsed is not None:
        data = _json(event.parsed)
        content = Content(data, hashlib.blake2b(data, digest_size=16).digest())
    if event.is_change:
        text = _json({"changes": event.changes, "alerts": event.alerts})
        log = Log(text, compressed(text))
    return Draft(event, content, log)


def _json(value: Any) -> bytes:
    return encoded(
        value,
        with_surrogates=lambda odd: canonical(msgspec.json.decode(encoded_text(odd))),
    )


def predicted(connection: sqlite3.Connection, draft: Draft) -> tuple[bool, Newest | None]:
    """Whether the version is new, and what it will supersede: most probably."""
    with consistent_read(connection):
        if page_versions.by_key(connection, draft.key) is not None:
            return False, None
        page = page_codec.number_of(connection, draft.event.job_id, draft.event.url)
        newest = None if page is None else page_versions.newest(connection, page)
        if newest is None or newest.digest is None or newest.ts > draft.event.ts:
            return True, None
        [body] = connection.execute(
            "SELECT body FROM snapshot_bodies WHERE id = ?", (newest.id,)
        ).fetchone()
    return True, Newest(newest.digest, body)


def precompressed(draft: Draft, newest: Newest | None) -> Draft:
    if draft.content is None:
        return draft
    data = draft.content.data
    superseded = newest and Delta(newest.digest, delta(restored(newest.body), data))
    content = draft.content._replace(whole=compressed(data), superseded=superseded)
    return draft._replace(content=content)


# In the transaction


class EventWriter:
    def __init__(
        self, connection: sqlite3.Connection, *, wall: int, retention: Retention, budget: int
    ) -> None:
        self._connection = connection
        self._wall = wall
        self._retention = retention
        self._budget = budget

    def store(self, draft: Draft) -> Stored | StorageFull:
        connection, key = self._connection, draft.key
        full = self._make_room()
        slot = page_versions.by_key(connection, key)
        price = None if draft.event.price is None else self._price_row(draft.event)
        event = with_first_time(
            draft.event, None if slot is None else slot.ts, None if price is None else price[0]
        )
        has_content = event.parsed is None or (slot is not None and slot.content_rank is not None)
        has_price = event.price is None or price is not None
        if full is not None and not (has_content and has_price):
            return full
        page, is_new = page_codec.numbered(connection, event.job_id, event.url)
        version = None
        if event.parsed is not None or event.is_change:
            is_new |= self._store_version(page, slot, event, key, draft.content)
            slot = page_versions.by_key(connection, key)
            assert slot is not None  # noqa: S101 - it was just stored
            version = None if event.parsed is None else slot.number
            if draft.log is not None:
                is_new |= self._log_change(slot, event, draft.log)
        if event.price is not None:
            is_new |= self._record_price(page, event, price)
        is_new |= page_codec.note_parts(connection, page, event)
        page_codec.note_check(connection, page, check_of(event))
        expire_at = self._expiry(self._retention.job_runs)
        watch_ledger.count_event(connection, event, self._wall, expire_at)
        return Stored(version=version, is_new=is_new)

    def note_checked(self, checked: Checked) -> None:
        page, _ = page_codec.numbered(self._connection, checked.job_id, checked.url)
        page_codec.note_check(self._connection, page, checked)
        watch_ledger.count_check(self._connection, checked, self._wall)

    def _expiry(self, days: float) -> int:
        return expiry(self._wall, days)

    def _make_room(self) -> StorageFull | None:
        """None: there is room."""
        used = used_bytes(self._connection)
        goal = prune_goal(used.all, self._budget)
        if goal is None:
            return None
        prune(self._connection, goal, self._wall, self._retention)
        used = used_bytes(self._connection)
        is_full = is_storage_full(used.all, used.superseded, self._budget)
        return storage_full(used.all, self._budget) if is_full else None

    # Versions and change logs

    def _store_version(
        self,
        page: int,
        slot: Slot | None,
        event: StorageEvent,
        key: bytes,
        content: Content | None,
    ) -> bool:
        """Whether anything has changed."""
        connection, is_new = self._connection, True
        before = page_versions.newest(connection, page)
        if slot is None:
            expire_at = self._expiry(self._retention.emptied_versions)
            page_versions.add(connection, page, event, key, expire_at)
        elif event.rank < slot.rank:
            page_versions.move(connection, slot, event)
            self._settle_newest(before)
        else:
            is_new = False
        if content is not None:
            is_new |= self._store_content(key, event, content)
        newest = page_versions.newest(connection, page)
        if newest is not None and (
            before is None or (newest.id, newest.digest) != (before.id, before.digest)
        ):
            page_codec.note_content(connection, page, newest.id)
        return is_new

    def _settle_newest(self, before: Slot | None) -> None:
        """After a version has moved."""
        newest = None if before is None else page_versions.newest(self._connection, before.page)
        if before is not None and newest is not None and newest.id != before.id:
            expire_at = self._expiry(self._retention.snapshots)
            page_contents.make_newest(self._connection, newest, before, expire_at)

    def _store_content(self, key: bytes, event: StorageEvent, content: Content) -> bool:
        slot = page_versions.by_key(self._connection, key)
        assert slot is not None  # noqa: S101 - the caller has made it
        if slot.content_rank is None or slot.digest is None:
            expire_at = self._expiry(self._retention.snapshots)
            page_contents.fill(self._connection, slot, content, event.rank, expire_at)
            return True
        if slot.size == 0 or (slot.content_rank, slot.digest) <= (event.rank, content.digest):
            return False
        page_contents.exchange(self._connection, slot, content, event.rank)
        return True

    def _log_change(self, slot: Slot, event: StorageEvent, log: Log) -> bool:
        row = self._connection.execute(
            """
            SELECT rank, body, coalesce(run_id, ''), ts, untold, is_keyed, batch FROM change_logs
            WHERE snapshot = ?
            """,
            (slot.id,),
        ).fetchone()
        run_id = None if event.run_id is None else plain(event.run_id)
        rank = (event.rank, log.text, run_id or "")
        change = LoggedChange(rank, event.ts, log.body, bool(event.alerts))
        if row is not None:
            ranked = (row[0], restored(row[1]), row[2])
            known = LoggedChange(ranked, row[3], row[1], *row[4:])
            change = earliest(known, change)
            if change is known:
                return False
        columns = {
            "snapshot": slot.id,
            "page": slot.page,
            "job_id": plain(event.job_id),
            "ts": change.ts,
            "rank": event.rank,
            "run_id": run_id,
            "body": change.content,
            "expire_at": self._expiry(self._retention.change_logs),
            "untold": change.is_pending,
            "is_keyed": change.is_keyed,
        }
        upsert(self._connection, "change_logs", "snapshot", columns)
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

    def _record_price(self, page: int, event: StorageEvent, known: tuple[Any, ...] | None) -> bool:
        price = event.price
        assert price is not None  # noqa: S101 - the caller has looked
        if known is not None:
            ts, claimed, version_key, currency, percent = known
            rank = (ts, claimed, version_key.hex(), str(currency), str(percent))
            if rank <= (event.ts, *event.price_rank):
                return False
        expire_at = self._expiry(self._retention.prices)
        percent = price.change_percent
        row = {
            "key": bytes.fromhex(event.price_key),
            "page": page,
            "ts": event.ts,
            "price": f"{price.current.normalize():f}",
            "currency": None if price.currency is None else plain(price.currency),
            "change_percent": None if percent is None else f"{percent:f}",
            "claimed": event.claimed,
            "version_key": bytes.fromhex(event.snapshot_key),
            "expire_at": expire_at,
        }
        upsert(self._connection, "price_history", "key", row)
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
