"""Pages, their changes and prices of a SQLite file, whole: to be carried elsewhere, or brought
here.
"""

from __future__ import annotations

import sqlite3
from decimal import Decimal

import msgspec

from webloom.adapters.sqlite import page_rows
from webloom.adapters.sqlite.batches import plain
from webloom.adapters.sqlite.page_rows import NEVER, OUTCOMES
from webloom.adapters.sqlite.page_versions import by_key
from webloom.adapters.sqlite.values import encoded, instant, milliseconds
from webloom.adapters.sqlite.version_archives import add_row, make_newest, settle_numbers
from webloom.adapters.sqlite.watch_archives import Row, WatchArchive
from webloom.domain.storage_event import EventPrice, Place
from webloom.parsing.deltas import compressed, restored
from webloom.ports.page_store import Validators
from webloom.ports.watch_archive import (
    PagePart,
    PagePrice,
    WholeLog,
    WholePage,
    WholePrice,
    is_newer_log,
    is_newer_page,
    is_newer_price,
    plain_amount,
    plain_json,
    plain_price,
)


class SqlitePageArchive(WatchArchive[WholePage]):
    """After the versions: a page shows one of them."""

    name = "pages"
    source = """
        pages LEFT JOIN snapshots ON snapshots.id = newest
        LEFT JOIN page_checks ON page_checks.page = pages.id
    """
    columns = (
        "pages.id, pages.job_id, pages.url, snapshots.key, last_updated, classification, price, "
        "availability, checked_at, outcome, error, validated_at, etag, last_modified, body_hash"
    )
    place, first = "pages.id", 0
    by_key = "pages.key = ?"

    def key(self, item: WholePage) -> bytes:
        return page_rows.key_of(item.job_id, item.url)

    def item(self, connection: sqlite3.Connection, row: Row) -> WholePage:
        key, last_updated, outcome, validated_at = row[3], row[4], row[9], row[11]
        return WholePage(
            job_id=row[1],
            url=row[2],
            newest=key and key.hex(),
            last_updated=None if last_updated == NEVER else last_updated,
            classification=_part(row[5]),
            price=_price(row[6]),
            availability=_part(row[7]),
            checked_at=row[8],
            outcome=None if outcome is None else OUTCOMES[outcome],
            error=row[10],
            validated_at=None if validated_at == NEVER else validated_at,
            validators=Validators(etag=row[12], last_modified=row[13], body_hash=row[14]),
        )

    def put(self, connection: sqlite3.Connection, item: WholePage) -> None:
        page, _ = page_rows.numbered(connection, item.job_id, item.url)
        settle_numbers(connection, page)
        [here] = self.here(connection, [item])
        if here is not None and self.is_newer(here, item):
            return
        kind = item.classification and msgspec.json.decode(item.classification.value).get("type")
        connection.execute(
            """
            UPDATE pages SET last_updated = ?, classification = ?, type = ?, price = ?,
                availability = ?
            WHERE id = ?
            """,
            (
                NEVER if item.last_updated is None else item.last_updated,
                _part_text(item.classification),
                plain(kind) if isinstance(kind, str) else None,
                _price_text(item.price),
                _part_text(item.availability),
                page,
            ),
        )
        shown = item.newest and by_key(connection, bytes.fromhex(item.newest))
        if shown:
            make_newest(connection, shown)
            page_rows.note_content(connection, page, shown.id)
        if item.checked_at is not None or item.validated_at is not None:
            connection.execute(
                "INSERT OR REPLACE INTO page_checks VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    page,
                    item.checked_at,
                    None if item.outcome is None else OUTCOMES.index(item.outcome),
                    item.error,
                    NEVER if item.validated_at is None else item.validated_at,
                    *(
                        each and plain(each)
                        for each in (
                            item.validators.etag,
                            item.validators.last_modified,
                            item.validators.body_hash,
                        )
                    ),
                ),
            )

    def is_newer(self, one: WholePage, other: WholePage) -> bool:
        return is_newer_page(one, other)


def _part(text: str | None) -> PagePart | None:
    if text is None:
        return None
    part = msgspec.json.decode(text)
    return PagePart(place=Place(*part["place"]), value=plain_json(part["value"]))


def _part_text(part: PagePart | None) -> str | None:
    if part is None:
        return None
    return encoded({"place": part.place, "value": msgspec.Raw(part.value)})


def _price(text: str | None) -> PagePrice | None:
    if text is None:
        return None
    part = page_rows.placed_parts.decode(text)
    given = page_rows.price_parts.decode(part.value)
    price = EventPrice(
        current=given.current,
        list=given.list,
        currency=given.currency,
        change_percent=given.change_percent,
    )
    return PagePrice(place=Place(*part.place), price=plain_price(price))


def _price_text(part: PagePrice | None) -> str | None:
    if part is None:
        return None
    price = part.price
    value = {
        "current": price.current,
        "list": price.list,
        "currency": price.currency,
        "change_percent": price.change_percent,
    }
    return encoded({"place": part.place, "value": value})


class SqliteChangeLogArchive(WatchArchive[WholeLog]):
    """After the versions, whose numbers they have."""

    name = "change_logs"
    source = """
        change_logs JOIN snapshots ON snapshots.id = snapshot
        JOIN pages ON pages.id = change_logs.page
    """
    columns = (
        "snapshot, snapshots.key, pages.job_id, pages.url, number, change_logs.ts, claimed, hash, "
        "run_id, body, change_logs.expire_at, batch, untold, is_keyed"
    )
    place, first = "snapshot", 0
    carried = "change_logs.expire_at > :soon"
    by_key = "snapshots.key = ?"

    def key(self, item: WholeLog) -> bytes:
        return bytes.fromhex(item.key)

    def item(self, connection: sqlite3.Connection, row: Row) -> WholeLog:
        _, key, job_id, url, number, ts, claimed, snapshot_hash, run_id, body, *telling = row
        expire_at, batch, untold, is_keyed = telling
        told = msgspec.json.decode(restored(body))
        return WholeLog(
            key=key.hex(),
            job_id=job_id,
            url=url,
            number=number,
            place=Place(ts, claimed, snapshot_hash),
            run_id=run_id,
            changes=plain_json(told["changes"]),
            alerts=told["alerts"],
            expires_at=instant(expire_at),
            batch=batch,
            untold=bool(untold),
            is_keyed=bool(is_keyed),
        )

    def put(self, connection: sqlite3.Connection, item: WholeLog) -> None:
        """Its version is made, as one whose content was here, where it has gone from the source."""
        slot = by_key(connection, self.key(item))
        page, _ = page_rows.numbered(connection, item.job_id, item.url)
        number = add_row(connection, page, item) if slot is None else slot.id
        if slot is None:
            connection.execute(
                "UPDATE snapshots SET content_rank = rank, digest = x'' WHERE id = ?", (number,)
            )
        told = {"changes": msgspec.json.decode(item.changes), "alerts": item.alerts}
        connection.execute(
            """
            INSERT INTO change_logs (snapshot, page, job_id, ts, rank, run_id, body, expire_at,
                                     batch, untold, is_keyed)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (snapshot) DO UPDATE SET ts = excluded.ts, rank = excluded.rank,
                run_id = excluded.run_id, body = excluded.body, expire_at = excluded.expire_at,
                is_keyed = excluded.is_keyed,
                batch = coalesce(batch, excluded.batch), untold = min(untold, excluded.untold)
            WHERE excluded.ts <= change_logs.ts
            """,
            (
                number,
                page,
                plain(item.job_id),
                item.place.ts,
                item.place.ts,
                item.run_id and plain(item.run_id),
                compressed(plain_json(told)),
                milliseconds(item.expires_at),
                item.batch,
                item.untold,
                item.is_keyed,
            ),
        )

    def is_newer(self, one: WholeLog, other: WholeLog) -> bool:
        return is_newer_log(one, other)


class SqlitePriceArchive(WatchArchive[WholePrice]):
    name = "price_history"
    source = "price_history JOIN pages ON pages.id = price_history.page"
    columns = (
        "price_history.key, job_id, url, ts, price_history.price, currency, change_percent, "
        "claimed, version_key, expire_at"
    )
    place, first = "price_history.key", b""
    carried = "(expire_at IS NULL OR expire_at > :soon)"
    by_key = "price_history.key = ?"

    def key(self, item: WholePrice) -> bytes:
        return bytes.fromhex(item.key)

    def item(self, connection: sqlite3.Connection, row: Row) -> WholePrice:
        key, job_id, url, ts, price, currency, percent, claimed, version_key, expire_at = row
        return WholePrice(
            key=key.hex(),
            job_id=job_id,
            url=url,
            ts=ts,
            price=Decimal(price),
            currency=currency,
            change_percent=None if percent is None else plain_amount(Decimal(percent)),
            claimed=claimed,
            version_key=version_key.hex(),
            expires_at=instant(expire_at),
        )

    def put(self, connection: sqlite3.Connection, item: WholePrice) -> None:
        page, _ = page_rows.numbered(connection, item.job_id, item.url)
        connection.execute(
            """
            INSERT INTO price_history (page, ts, key, price, currency, change_percent, claimed,
                                       version_key, expire_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (key) DO UPDATE SET currency = excluded.currency,
                change_percent = excluded.change_percent, claimed = excluded.claimed,
                version_key = excluded.version_key, expire_at = excluded.expire_at
            WHERE excluded.expire_at >= coalesce(price_history.expire_at, 0)
            """,
            (
                page,
                item.ts,
                self.key(item),
                f"{item.price:f}",
                item.currency and plain(item.currency),
                None if item.change_percent is None else f"{item.change_percent:f}",
                item.claimed,
                bytes.fromhex(item.version_key),
                milliseconds(item.expires_at),
            ),
        )

    def is_newer(self, one: WholePrice, other: WholePrice) -> bool:
        return is_newer_price(one, other)
