"""The tables of pages, versions, prices and changes, for a dump."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import NamedTuple

from webloom.adapters.sqlite import page_codec, page_contents, page_versions
from webloom.adapters.sqlite.batches import plain
from webloom.adapters.sqlite.dump import Row, Table, upsert
from webloom.adapters.sqlite.page_codec import NEVER
from webloom.adapters.sqlite.page_storage import DAY
from webloom.adapters.sqlite.values import encoded, instant, milliseconds
from webloom.deltas import applied, compressed, restored
from webloom.domain.errors import StoreUnavailable
from webloom.domain.page_check import OUTCOMES, Validators
from webloom.domain.retention import Retention
from webloom.domain.storage_event import Place, next_number
from webloom.parsing.storage_event import canonical
from webloom.ports.dump import PagePart, PagePrice, WholeLog, WholePage, WholePrice, WholeVersion
from webloom.stores.whole import Packed, json_value, packed, plain_amount, plain_price


class Expiry(NamedTuple):
    """Of what is superseded now, in milliseconds."""

    versions: int
    prices: int

    @classmethod
    def at(cls, wall: int, keep: Retention) -> Expiry:
        return cls(wall + int(keep.snapshots * DAY), wall + int(keep.prices * DAY))


_PRICE = ("current", "list", "currency", "change_percent")


def page_tables(expiry: Callable[[], Expiry]) -> dict[str, Table]:
    return {
        "pages": Table(
            columns="pages.job_id, pages.url, last_updated, classification, price, availability, "
            "checked_at, outcome, error, validated_at, etag, last_modified, body_hash",
            source="pages LEFT JOIN page_checks ON page_checks.page = pages.id",
            order="pages.id",
            find_by="pages.key",
            key=lambda _, item: page_codec.key_of(item.job_id, item.url),
            item=_page,
            put=_put_pages,
        ),
        "snapshots": Table(
            columns="snapshots.id, pages.job_id, pages.url, number, ts, claimed, hash, "
            "snapshots.key, base, bytes, expire_at",
            source="snapshots JOIN pages ON pages.id = snapshots.page",
            order="page DESC, ts DESC, claimed DESC, hash DESC, snapshots.key DESC",
            find_by="snapshots.key",
            key=lambda _, item: bytes.fromhex(item.key),
            carried="(bytes > 0 OR content_rank IS NULL)",
            items=_versions,
            prepare=lambda items: (expiry(), packed(items, _may_be_delta)),
            put=_put_versions,
        ),
        "price_history": Table(
            columns="price_history.key, job_id, url, ts, price_history.price, currency, "
            "change_percent, claimed, version_key, expire_at",
            source="price_history JOIN pages ON pages.id = price_history.page",
            order="page, ts DESC, price_history.key DESC",
            find_by="price_history.key",
            key=lambda _, item: bytes.fromhex(item.key),
            item=_price,
            prepare=lambda items: expiry(),
            put=_put_prices,
        ),
        "change_logs": Table(
            columns="snapshots.key, pages.job_id, pages.url, number, change_logs.ts, claimed, "
            "hash, run_id, body, change_logs.expire_at, batch, untold, is_keyed",
            source="change_logs JOIN snapshots ON snapshots.id = snapshot "
            "JOIN pages ON pages.id = change_logs.page",
            order="snapshot",
            find_by="snapshots.key",
            key=lambda _, item: bytes.fromhex(item.key),
            item=_log,
            prepare=lambda items: expiry(),
            put=_put_logs,
        ),
    }


# Pages


def _page(row: Row) -> WholePage:
    job_id, url, last_updated, classification, price, availability, *checked = row
    checked_at, outcome, error, validated_at, etag, last_modified, body_hash = checked
    return WholePage(
        job_id=job_id,
        url=url,
        last_updated=None if last_updated == NEVER else last_updated,
        classification=_part(classification),
        price=_placed_price(price),
        availability=_part(availability),
        checked_at=checked_at,
        outcome=None if outcome is None else OUTCOMES[outcome],
        error=error,
        validated_at=None if validated_at == NEVER else validated_at,
        validators=Validators(etag=etag, last_modified=last_modified, body_hash=body_hash),
    )


def _part(text: str | None) -> PagePart | None:
    if text is None:
        return None
    part = json_value(text)
    return PagePart(place=Place(*part["place"]), value=part["value"])


def _placed_price(text: str | None) -> PagePrice | None:
    if text is None:
        return None
    part = page_codec.price_parts.decode(text)
    return PagePrice(place=Place(*part.place), price=plain_price(part.value))


def _price_part(part: PagePrice | None) -> PagePart | None:
    if part is None:
        return None
    return PagePart(place=part.place, value={each: getattr(part.price, each) for each in _PRICE})


def _text(part: PagePart | None) -> str | None:
    return None if part is None else encoded({"place": part.place, "value": part.value})


def _put_pages(connection: sqlite3.Connection, items: list[WholePage], _: None) -> None:
    for item in items:
        number, _is_new = page_codec.numbered(connection, item.job_id, item.url)
        kind = item.classification and item.classification.value.get("type")
        row = {
            "id": number,
            "last_updated": NEVER if item.last_updated is None else item.last_updated,
            "classification": _text(item.classification),
            "type": plain(kind) if isinstance(kind, str) else None,
            "price": _text(_price_part(item.price)),
            "availability": _text(item.availability),
        }
        connection.execute(
            f"UPDATE pages SET {', '.join(f'{name} = :{name}' for name in row)} WHERE id = :id", row
        )
        if item.checked_at is not None or item.validated_at is not None:
            validators = item.validators
            check = {
                "page": number,
                "checked_at": item.checked_at,
                "outcome": None if item.outcome is None else OUTCOMES.index(item.outcome),
                "error": item.error and plain(item.error),
                "validated_at": NEVER if item.validated_at is None else item.validated_at,
                "etag": validators.etag and plain(validators.etag),
                "last_modified": validators.last_modified and plain(validators.last_modified),
                "body_hash": validators.body_hash and plain(validators.body_hash),
            }
            upsert(connection, "page_checks", "page", check)


# Versions


def _versions(connection: sqlite3.Connection, rows: Iterable[Row]) -> Iterator[WholeVersion]:
    """Each is read with the content of the one before, where it is a delta against that."""
    last, data = None, b""
    for number, job_id, url, version, *place, key, base, size, expire_at in rows:
        content = None
        if size:
            try:
                if base is not None and base == last:
                    [body] = connection.execute(
                        "SELECT body FROM snapshot_bodies WHERE id = ?", (number,)
                    ).fetchone()
                    data = applied(body, data)
                else:
                    data = page_contents.content(connection, number)
            except ValueError as error:
                problem = f"version {version} of {url} can't be read: {error}"
                raise StoreUnavailable(problem) from error
            last, content = number, json_value(data)
        yield WholeVersion(
            key=key.hex(),
            job_id=job_id,
            url=url,
            number=version,
            place=Place(*place),
            content=content,
            expires_at=instant(expire_at),
        )


def _may_be_delta(version: WholeVersion, newer: WholeVersion) -> bool:
    """No base goes before what depends on it."""
    if newer.expires_at is None or version.expires_at is None:
        return newer.expires_at is None
    return version.expires_at <= newer.expires_at


def _put_versions(
    connection: sqlite3.Connection,
    items: list[WholeVersion],
    prepared: tuple[Expiry, dict[str, Packed]],
) -> None:
    expiry, made = prepared
    fresh: dict[str, int] = {}  # versions that got their content just now, by key
    pages = {}
    for version in items:
        page = pages[version.job_id, version.url] = _put_slot(connection, version)
        slot = page_versions.by_key(connection, bytes.fromhex(version.key))
        assert slot is not None  # noqa: S101 - it was just written
        if version.content is None or slot.size:
            continue
        data = canonical(version.content)
        pack = made.get(version.key)
        if pack is None or (pack.base is not None and pack.base not in fresh):
            pack = Packed(compressed(data), None, 0)
        base = None if pack.base is None else fresh[pack.base]
        expire_at = milliseconds(version.expires_at)
        page_contents.write_content(connection, slot.id, pack.body, base=base, expire_at=expire_at)
        digest = hashlib.blake2b(data, digest_size=16).digest()
        connection.execute(
            "UPDATE snapshots SET content_rank = rank, digest = ?, below = ? WHERE id = ?",
            (digest, pack.below, slot.id),
        )
        fresh[version.key] = slot.id
    for page in pages.values():
        _settle(connection, page, expiry)


def _put_slot(connection: sqlite3.Connection, version: WholeVersion | WholeLog) -> int:
    """Another version that has the number gets a new one when the page is settled. A version stays
    for as long as others are deltas against it."""
    page, _ = page_codec.numbered(connection, version.job_id, version.url)
    place, key = version.place, bytes.fromhex(version.key)
    connection.execute(
        "UPDATE snapshots SET number = -id - 1 WHERE page = ? AND number = ? AND key != ?",
        (page, version.number, key),
    )
    [needed] = connection.execute(
        "SELECT max(delta.expire_at) FROM snapshots AS delta JOIN snapshots AS base "
        "ON base.id = delta.base WHERE base.key = ?",
        (key,),
    ).fetchone()
    expire_at = milliseconds(version.expires_at)
    row = {
        "page": page,
        "key": key,
        "number": version.number,
        "ts": place.ts,
        "claimed": place.claimed,
        "hash": plain(place.snapshot_hash),
        "rank": place.ts,
        "expire_at": None if expire_at is None else max(expire_at, needed or 0),
    }
    upsert(connection, "snapshots", "key", row, below=0, bytes=0)
    return page


def _settle(connection: sqlite3.Connection, page: int, expiry: Expiry) -> None:
    """Numbers of versions that only this store has; what the page shows; what is superseded."""
    rows = connection.execute(
        """
        SELECT id, number, ts, claimed, hash FROM snapshots WHERE page = ?
        ORDER BY ts, claimed, hash, key
        """,
        (page,),
    ).fetchall()
    before, changed = 0, []
    for slot, number, *place in rows:
        if number <= before:
            number = next_number(place[1], before)
            changed.append((number, slot))
        before = number
    page_versions.set_numbers(connection, changed)
    newest = page_versions.newest(connection, page)
    if newest is None:
        return
    if newest.base is not None or newest.expire_at is not None:
        whole = compressed(page_contents.content(connection, newest.id))
        page_contents.write_content(connection, newest.id, whole, base=None, expire_at=None)
    connection.execute(
        """
        UPDATE snapshots SET expire_at = ?
        WHERE page = ? AND bytes > 0 AND expire_at IS NULL AND id != ?
        """,
        (expiry.versions, page, newest.id),
    )
    connection.execute(
        "UPDATE pages SET last_updated = max(last_updated, ?) WHERE id = ?", (newest.ts, page)
    )
    [shown] = connection.execute("SELECT newest FROM pages WHERE id = ?", (page,)).fetchone()
    if shown != newest.id:
        page_codec.note_content(connection, page, newest.id)


# Prices and changes


def _price(row: Row) -> WholePrice:
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


def _put_prices(connection: sqlite3.Connection, items: list[WholePrice], expiry: Expiry) -> None:
    pages = set()
    for item in items:
        page, _ = page_codec.numbered(connection, item.job_id, item.url)
        row = {
            "key": bytes.fromhex(item.key),
            "page": page,
            "ts": item.ts,
            "price": f"{item.price:f}",
            "currency": item.currency and plain(item.currency),
            "change_percent": None if (it := item.change_percent) is None else f"{it:f}",
            "claimed": item.claimed,
            "version_key": bytes.fromhex(item.version_key),
            "expire_at": milliseconds(item.expires_at),
        }
        upsert(connection, "price_history", "key", row)
        pages.add(page)
    for page in pages:
        latest = "(SELECT key FROM price_history WHERE page = :page ORDER BY ts DESC, key DESC)"
        for wanted, where in (
            (None, f"key = {latest} AND expire_at IS NOT NULL"),
            (expiry.prices, f"key != {latest} AND expire_at IS NULL"),
        ):
            connection.execute(
                f"UPDATE price_history SET expire_at = :wanted WHERE page = :page AND {where}",
                {"page": page, "wanted": wanted},
            )


def _log(row: Row) -> WholeLog:
    key, job_id, url, number, ts, claimed, snapshot_hash, run_id, body, *rest = row
    expire_at, batch, untold, is_keyed = rest
    told = json_value(restored(body))
    return WholeLog(
        key=key.hex(),
        job_id=job_id,
        url=url,
        number=number,
        place=Place(ts, claimed, snapshot_hash),
        run_id=run_id,
        changes=told["changes"],
        alerts=told["alerts"],
        expires_at=instant(expire_at),
        batch=batch,
        untold=bool(untold),
        is_keyed=bool(is_keyed),
    )


def _put_logs(connection: sqlite3.Connection, items: list[WholeLog], expiry: Expiry) -> None:
    """A version that is not in the dump is known without its content, as if that had expired."""
    for item in items:
        slot = page_versions.by_key(connection, bytes.fromhex(item.key))
        if slot is None:
            page = _put_slot(connection, item)
            slot = page_versions.by_key(connection, bytes.fromhex(item.key))
            assert slot is not None  # noqa: S101 - it was just written
            connection.execute(
                "UPDATE snapshots SET content_rank = rank, digest = x'' WHERE id = ?", (slot.id,)
            )
            _settle(connection, page, expiry)
        told = {"changes": item.changes, "alerts": item.alerts}
        row = {
            "snapshot": slot.id,
            "page": slot.page,
            "job_id": plain(item.job_id),
            "ts": item.place.ts,
            "rank": item.place.ts,
            "run_id": item.run_id and plain(item.run_id),
            "body": compressed(canonical(told)),
            "expire_at": milliseconds(item.expires_at),
            "batch": item.batch,
            "untold": item.untold,
            "is_keyed": item.is_keyed,
        }
        upsert(connection, "change_logs", "snapshot", row)
