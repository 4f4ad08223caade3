"""What an event writes, inside one transaction with others.

    page -> version, content -> change log -> price record -> the run's counters

What is stored depends on which events there were, and not on their order, with two exceptions: the
content of a version and the time of a price record stay as they were first stored.
"""

from __future__ import annotations

import sqlite3
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from webloom.adapters.sqlite import (
    page_codec,
    page_contents,
    page_logs,
    page_prices,
    page_versions,
    watch_ledger,
)
from webloom.adapters.sqlite.index_scan import consistent_read
from webloom.adapters.sqlite.page_contents import Content, Delta, digest_of
from webloom.adapters.sqlite.page_storage import expiry, prune, used_bytes
from webloom.adapters.sqlite.page_versions import Slot
from webloom.adapters.sqlite.values import encoded as encoded_text
from webloom.adapters.sqlite.values import instant
from webloom.deltas import compressed, delta, restored
from webloom.domain.change_log import LoggedChange, earliest
from webloom.domain.errors import StorageFull
from webloom.domain.page_check import Checked, check_of
from webloom.domain.retention import Retention, is_storage_full, prune_goal, storage_full
from webloom.domain.storage_event import StorageEvent, with_first_time
from webloom.parsing.reasons import stored_reasons
from webloom.parsing.storage_event import canonical
from webloom.ports.dump import WholePrice
from webloom.ports.pages import Stored
from webloom.stores.page_contents import encoded
from webloom.stores.page_items import log_of, price_of
from webloom.stores.whole import is_settled, merged

# Before the transaction


class Draft(NamedTuple):
    """An event, with what can be made of it before its transaction."""

    event: StorageEvent
    content: Content | None = None
    log: bytes | None = None  # the content of its change log, compressed

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
        content = Content(data, digest_of(data))
    if event.is_change:
        reasons = stored_reasons(event.reasons)
        log = compressed(_json(page_logs.content(event.changes, event.alerts, reasons)))
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
        page = page_codec.number_of(connection, draft.event.watch_id, draft.event.url)
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
        if slot is not None and slot.is_emptied and draft.event.has_version:
            return Stored(version=draft.content and slot.number, is_new=False)
        new_price = price_of(draft.event, key.hex())
        price = new_price and page_prices.by_key(connection, new_price.key)
        event = with_first_time(
            draft.event, None if slot is None else slot.ts, None if price is None else price.ts
        )
        has_content = slot is not None and slot.content_rank is not None
        if full is not None and event.needs_room(
            has_content=has_content, has_price=price is not None
        ):
            return full
        page, is_new = page_codec.numbered(connection, event.watch_id, event.url)
        version = None
        if event.has_version:
            is_new |= self._store_version(page, slot, event, key, draft.content)
            slot = page_versions.by_key(connection, key)
            assert slot is not None  # noqa: S101 - it was just stored
            version = None if event.parsed is None else slot.number
            if draft.log is not None:
                is_new |= self._log_change(slot, event, draft.log)
        if new_price is not None:
            is_new |= self._record_price(page, new_price, price, event.ts)
        is_new |= page_codec.note_parts(connection, page, event)
        page_codec.note_check(connection, page, check_of(event))
        self._count(event)
        return Stored(version=version, is_new=is_new)

    def note_checked(self, checked: Checked) -> None:
        page, _ = page_codec.numbered(self._connection, checked.watch_id, checked.url)
        page_codec.note_check(self._connection, page, checked)
        self._count(checked)

    def _count(self, seen: StorageEvent | Checked) -> None:
        watch_ledger.count(self._connection, seen, self._wall, self._retention.kept_runs)

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
        if newest is not None and (before is None or newest.id != before.id):
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
        if slot.content_rank is not None:
            return False
        expire_at = self._expiry(self._retention.snapshots)
        page_contents.fill(self._connection, slot, content, event.rank, expire_at)
        return True

    def _log_change(self, slot: Slot, event: StorageEvent, log: bytes) -> bool:
        row = self._connection.execute(
            "SELECT rank, ts, body, untold, is_keyed, batch, inbox, inbox_at, inbox_decided_at "
            "FROM change_logs WHERE snapshot = ?",
            (slot.id,),
        ).fetchone()
        change = LoggedChange(event.rank, event.ts, log, bool(event.alerts))
        if row is not None:
            *values, state, at, decided_at = row
            known = LoggedChange(*values)
            known = known._replace(triage=page_logs.triage_of(state, at, decided_at))
            change = earliest(known, change)
            if change is known:
                return False
        expires_at = instant(self._expiry(self._retention.change_logs))
        is_muted = page_codec.is_muted(self._connection, slot.page)
        item = log_of(event, slot.key.hex(), expires_at, is_muted=is_muted)
        if row is not None:
            item = replace(
                item,
                is_pending=change.is_pending,
                is_keyed=change.is_keyed,
                batch=change.batch,
                triage=change.triage,
            )
        page_logs.put(self._connection, slot, item, log, event.rank)
        return True

    def _record_price(
        self, page: int, price: WholePrice, known: WholePrice | None, ts: int
    ) -> bool:
        if known is not None and is_settled(known, price):
            return False
        if price.ts != ts:
            price = replace(price, ts=ts)
        expire_at = self._expiry(self._retention.prices)
        page_prices.put(self._connection, page, merged(known, price), expire_at)
        page_prices.keep_latest(self._connection, page, expire_at)
        return True
