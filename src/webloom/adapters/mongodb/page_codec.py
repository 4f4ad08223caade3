"""Pages, their versions, change logs and prices as documents and back, without a database.

    pages          {_id, jobId, url, title, text, metadata, images, links, classification, price,
                    currency, listPrice, changePercent, availability, version, snapshotHash,
                    lastUpdated, lastChecked, lastOutcome, lastError, validators,
                    contentKey, order, places: {content, price, ...}, exact, muted, mutedAt}
    snapshots      {_id, jobId, url, snapshotHash, parsed, version, createdAt, expireAt,
                    page, place, claimed, previous: {key, number}, base, bare, moved}
    price_history  {_id, jobId, url, price, currency, changePercent, timestamp, version, expireAt,
                    page, place, rank, versionKey, claimed}
    change_logs    {_id, jobId, url, changes, version: {previous, current}, timestamp, runId,
                    alerts, reasons, reasonsPlace, untold, batch, joining, expireAt, page, place,
                    numbered, keyed, exact, inbox, inboxAt, inboxDecidedAt}

A place is a text that sorts as the events do. Each part of a page has the place of the event that
it came with. `parsed` is compressed, alone or as a delta against `base`. A version that is `bare`
has no content: true if only its change log came, "emptied" once it has expired. `exact` is there
where BSON can't carry what was given.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

import bson
from bson.decimal128 import Decimal128
from bson.int64 import Int64
from pymongo import UpdateMany

from webloom.adapters.mongodb.conditional_writes import Codec
from webloom.adapters.mongodb.documents import Document, as_written, literal, plain, plain_values
from webloom.adapters.mongodb.indexes import Collection
from webloom.deltas import compressed, restored
from webloom.domain import page_parts
from webloom.domain.change_log import LoggedChange
from webloom.domain.errors import EventRefused
from webloom.domain.inbox import InboxState, Muting, Triage
from webloom.domain.page_check import OUTCOMES, Checked, Validators, check_of
from webloom.domain.reason import PlainReason
from webloom.domain.storage_event import (
    EventPrice,
    Place,
    StorageEvent,
    moment_of,
    page_key,
    price_rank,
)
from webloom.domain.watch import Outcome
from webloom.ports.dump import WholeLog, WholePrice, WholeVersion
from webloom.ports.page_history import Version
from webloom.ports.pages import StoredPage
from webloom.stores.page_contents import decoded, encoded
from webloom.stores.whole import plain_amount, without_nul

MOST_BYTES = 16_000_000  # of a document; MongoDB takes a little more
MOST_NESTED = 60  # MongoDB takes 100, with what stands around it
NO_ORDER = Int64(-1)  # of a page that no event was stored of

_SURELY_SMALL = 1_000_000  # bytes of JSON: as BSON they are never more than MOST_BYTES
_ODD = re.compile(rb"\\u0000|\\ud[89a-f]|\d{19}")  # NUL, what may be half a character, long numbers
_CONTENT = ("title", "text", "metadata", "images", "links")
_LOGGED = ("changes", "exact", "alerts", "reasons", "reasonsPlace", "runId", "place", "timestamp")
_TS_BITS = 1 << 62


def place_at(ts: int, claimed: int = 0, *rest: str) -> str:
    return "\0".join((f"{ts + _TS_BITS:016x}{claimed:016x}", *map(plain, rest)))


def placed(text: str, more: int = 0) -> Place:
    """What `place_at` was given, without so many texts at its end."""
    place = text.rsplit("\0", more)[0]
    ts, claimed = int(place[:16], 16) - _TS_BITS, int(place[16:32], 16)
    return Place(ts, claimed, without_nul(place[33:]) or "")


def place_of(event: StorageEvent) -> str:
    return place_at(event.ts, event.claimed, event.snapshot_hash)


def version_place(event: StorageEvent) -> str:
    """No two versions have the same."""
    return place_at(event.ts, event.claimed, event.snapshot_hash, event.snapshot_key)


def price_place(event: StorageEvent) -> str:
    """Of a price record."""
    return place_at(event.ts, 0, event.price_key)


# Values from outside


def json_bytes(value: Any) -> bytes:
    """Raises EventRefused."""
    return encoded(value, with_surrogates=lambda odd: json.dumps(odd).encode())


def bson_fields(fields: Document, data: bytes, what: str) -> Document:
    """The fields as BSON can carry them, and `exact` if that is not how they were given.

    `data` is what they hold, as JSON. Raises EventRefused.
    """
    kept: Document = dict(fields)
    is_deep = data.count(b"{") + data.count(b"[") > MOST_NESTED
    if (is_deep or _ODD.search(data) is not None) and not _is_exact(fields, MOST_NESTED, what):
        kept = plain_values(fields)
        kept["exact"] = compressed(json_bytes(fields))
    if "exact" in kept or len(data) > _SURELY_SMALL:
        refuse_large(kept, what)
    return kept


def refuse_large(document: Document, what: str) -> None:
    size = len(bson.encode(document))
    if size > MOST_BYTES:
        raise EventRefused(
            f"{what} takes {size:,} bytes, and MongoDB holds {MOST_BYTES:,} in a document"
        )


def _is_exact(value: Any, levels: int, what: str) -> bool:
    """Whether BSON carries it as it is."""
    if isinstance(value, str):
        return plain(value) is value
    if isinstance(value, int):
        return -(1 << 63) <= value < 1 << 63
    if not isinstance(value, Mapping | list):
        return True
    if levels == 0:
        raise EventRefused(f"{what} is nested deeper than {MOST_NESTED} levels")
    within = value if isinstance(value, list) else value.values()
    are_exact = [_is_exact(each, levels - 1, what) for each in within]  # all: for their depth
    if isinstance(value, Mapping):
        are_exact += ["\0" not in name and plain(name) is name for name in value]
    return all(are_exact)


def amount(value: Decimal | None) -> Int64 | Decimal128 | None:
    if value is None:
        return None
    if value == value.to_integral_value() and abs(value) < 1 << 63:
        return Int64(int(value))
    return Decimal128(value)


def decimal_of(value: Decimal128 | int) -> Decimal:
    return value.to_decimal() if isinstance(value, Decimal128) else Decimal(value)


def decimal_or_none(value: Decimal128 | int | None) -> Decimal | None:
    return None if value is None else decimal_of(value)


# Pages


def content_fields(
    parsed: Mapping[str, Any], data: bytes, snapshot_hash: str, key: str
) -> Document:
    """Without the version's number. `data` is `parsed` as JSON."""
    given = {name: parsed.get(name) for name in _CONTENT}
    fields = bson_fields(given, data, "the page")
    return fields | {
        "exact": fields.get("exact"),
        "snapshotHash": plain(snapshot_hash),
        "contentKey": key,
    }


def price_fields(price: EventPrice) -> Document:
    return {
        "price": amount(price.current),
        "currency": price.currency and plain(price.currency),
        "listPrice": amount(price.list),
        "changePercent": amount(price.change_percent),
    }


def validator_fields(validators: Validators) -> Document:
    named = {
        "etag": validators.etag,
        "lastModified": validators.last_modified,
        "bodyHash": validators.body_hash,
    }
    return {"validators": {name: given and plain(given) for name, given in named.items()}}


Parts = dict[str, tuple[str, Document]]  # name -> the place that it has, its fields


def checked_part(ts: int, outcome: Outcome, error: str | None) -> tuple[str, Document]:
    return place_at(ts, OUTCOMES.index(outcome)), {
        "lastChecked": moment_of(ts),
        "lastOutcome": outcome.value,
        "lastError": error and plain(error),
    }


def check_parts(checked: Checked) -> Parts:
    ts, _ = checked.order
    parts: Parts = {"checked": checked_part(ts, checked.outcome, checked.error)}
    if (given := checked.validators) is not None:
        parts["validators"] = place_at(ts, 0, *given.order), validator_fields(given)
    return parts


def parts_of(event: StorageEvent, content: Document | None) -> Parts:
    """What the event says of the page."""
    place = place_of(event)
    parts = check_parts(check_of(event))
    if content is not None:
        parts["content"] = version_place(event), content
    if event.price is not None:
        parts["record"] = price_place(event), {}
    for name, value in page_parts.parts_of(event).items():
        parts[name] = _part_place(place, value), _PART_FIELDS[name](value)
    return parts


def _part_place(place: str, value: Any) -> str:
    tie = page_parts.tie_of(value)
    return f"{place}\0{tie}" if tie else place


def _classification(value: Mapping[str, Any]) -> Document:
    fields = {"classification": dict(value)}
    kept = bson_fields(fields, json_bytes(fields), "the classification")
    return {"classificationExact": kept.pop("exact", None)} | kept


_PART_FIELDS: dict[str, Callable[[Any], Document]] = {
    "classification": _classification,
    "price": price_fields,
    "availability": lambda value: {"availability": plain(value)},
}


def muting_part(muting: Muting) -> tuple[str, Document]:
    """`mutedAt`: when either was decided."""
    fields: Document = {"muted": muting.is_muted, "mutedAt": Int64(muting.decided_at)}
    return place_at(muting.decided_at), fields


def muting_of(document: Document) -> Muting | None:
    decided_at = document.get("mutedAt")
    if decided_at is None:
        return None
    return Muting(is_muted=document["muted"], decided_at=int(decided_at))


def page_update(watch_id: str, url: str, parts: Parts, ts: int | None) -> list[Document]:
    """Each part where it is newer than what is there; `ts` is that of an event."""

    def newer(name: str, place: str, fields: Document) -> Document:
        is_newer = {"$gt": [literal(place), {"$ifNull": [f"$places.{name}", ""]}]}
        return {"$cond": [is_newer, literal(fields), {}]}

    places: Document = {
        name: {"$max": [f"$places.{name}", literal(place)]} for name, (place, _) in parts.items()
    }
    kept: Document = {"places": {"$mergeObjects": ["$places", places]}}
    if ts is None:
        kept["order"] = {"$ifNull": ["$order", NO_ORDER]}
    else:
        kept["lastUpdated"] = {"$max": ["$lastUpdated", Int64(ts)]}
        kept["order"] = {"$max": ["$order", Int64(ts)]}
    whose = literal({"jobId": plain(watch_id), "url": plain(url)})
    changed = [newer(name, *part) for name, part in parts.items()]
    return [{"$replaceWith": {"$mergeObjects": ["$$ROOT", whose, *changed, kept]}}]


def page_of(document: Document) -> StoredPage:
    exact = document.get("exact")
    content = document if exact is None else decoded(restored(exact))
    last_updated, outcome = document.get("lastUpdated"), document.get("lastOutcome")
    validators = document.get("validators") or {}
    classification = document.get("classification")
    if document.get("classificationExact") is not None:
        classification = decoded(restored(document["classificationExact"]))["classification"]
    return StoredPage(
        watch_id=document["jobId"],
        url=document["url"],
        title=content.get("title"),
        text=content.get("text"),
        metadata=as_written(content.get("metadata")),
        images=as_written(content.get("images")) or [],
        links=as_written(content.get("links")) or [],
        classification=as_written(classification),
        version=document.get("version"),
        snapshot_hash=document.get("snapshotHash"),
        last_updated=None if last_updated is None else int(last_updated),
        price=decimal_or_none(document.get("price")),
        list_price=decimal_or_none(document.get("listPrice")),
        currency=document.get("currency"),
        change_percent=decimal_or_none(document.get("changePercent")),
        availability=document.get("availability"),
        last_checked=document.get("lastChecked"),
        last_outcome=None if outcome is None else Outcome(outcome),
        last_error=document.get("lastError"),
        validators=Validators(
            etag=validators.get("etag"),
            last_modified=validators.get("lastModified"),
            body_hash=validators.get("bodyHash"),
        ),
    )


# What is kept of each event


def _of_page(item: StorageEvent | WholeVersion | WholePrice | WholeLog, key: str) -> Document:
    return {
        "_id": key,
        "jobId": plain(item.watch_id),
        "url": plain(item.url),
        "page": page_key(item.watch_id, item.url),
    }


def version_document(item: StorageEvent | WholeVersion, key: str, parsed: bytes | None) -> Document:
    """Without its number; `parsed` is compressed. Raises EventRefused."""
    if parsed is not None and len(parsed) > MOST_BYTES:
        raise EventRefused(
            f"a version of {item.url} takes {len(parsed):,} bytes, and MongoDB holds "
            f"{MOST_BYTES:,} in a document"
        )
    document = _of_page(item, key) | {
        "place": place_at(*item.place, key),
        "snapshotHash": plain(item.place.snapshot_hash),
        "createdAt": Int64(item.place.ts),
        "claimed": item.place.claimed,
    }
    return document | ({"bare": True} if parsed is None else {"parsed": parsed})


def log_document(item: WholeLog) -> Document:
    """Without its numbers."""
    changes, place = {"changes": item.changes}, place_at(*item.place, item.key)
    document = (
        _of_page(item, item.key)
        | bson_fields(changes, json_bytes(changes), "the diff")
        | {
            "place": place,
            "timestamp": Int64(item.place.ts),
            "runId": item.run_id and plain(item.run_id),
            "alerts": [plain(each) for each in item.alerts],
            "reasons": item.reasons,
            "reasonsPlace": place,
            "untold": item.is_pending,
            "numbered": True,
            "keyed": item.is_keyed,
            "expireAt": item.expires_at,
        }
    )
    if item.triage is not None:
        document |= triage_fields(item.triage)
    return document if item.batch is None else document | {"batch": item.batch}


def triage_fields(triage: Triage) -> Document:
    times = {"inboxAt": triage.at, "inboxDecidedAt": triage.decided_at}
    numbers = {name: None if time is None else Int64(time) for name, time in times.items()}
    return {"inbox": triage.state.value} | numbers


def triage_of(document: Document) -> Triage | None:
    if document.get("inbox") is None:
        return None
    at, decided_at = document.get("inboxAt"), document.get("inboxDecidedAt")
    return Triage(
        state=InboxState(document["inbox"]),
        at=None if at is None else int(at),
        decided_at=None if decided_at is None else int(decided_at),
    )


def whole_log(document: Document) -> WholeLog:
    changes = as_written(document["changes"])
    if document.get("exact") is not None:
        changes = decoded(restored(document["exact"]))["changes"]
    return WholeLog(
        key=document["_id"],
        watch_id=document["jobId"],
        url=document["url"],
        number=document["version"]["current"],
        place=placed(document["place"], more=1),
        run_id=document["runId"],
        changes=changes,
        alerts=document["alerts"],
        reasons=_reasons(document),
        expires_at=document["expireAt"],
        batch=document.get("batch"),
        is_pending=document.get("untold", False),
        is_keyed=document.get("keyed", False),
        triage=triage_of(document),
    )


def _reasons(document: Document) -> list[PlainReason]:
    """A process of the previous version, which knows no reasons, may have put the alerts of an
    earlier event beside those of a later one: then they are of another place."""
    is_own = document.get("reasonsPlace") == document["place"]
    return (is_own and as_written(document.get("reasons"))) or []


def logged_change(document: Document) -> LoggedChange:
    return LoggedChange(
        rank=document["place"],
        ts=int(document["timestamp"]),
        content={name: document.get(name) for name in _LOGGED},
        is_pending=document.get("untold", False),
        is_keyed=document.get("keyed", False),
        batch=document.get("batch"),
    )


def log_codec(collection: Collection) -> Codec[LoggedChange]:
    return Codec(
        collection,
        decode=logged_change,
        encode=lambda log: {**log.content, "keyed": log.is_keyed, "untold": log.is_pending},
        guards=("place", "timestamp", "batch", "untold", "keyed"),
        fields=(),
    )


def price_document(item: WholePrice) -> Document:
    """Without its version's number."""
    rank = price_rank(item.claimed, item.version_key, item.currency, item.change_percent)
    return _of_page(item, item.key) | {
        "place": place_at(item.ts, 0, item.key),
        "price": amount(item.price),
        "currency": item.currency and plain(item.currency),
        "changePercent": amount(item.change_percent),
        "timestamp": Int64(item.ts),
        "version": item.claimed or None,
        "claimed": item.claimed or None,
        "versionKey": item.version_key,
        "rank": place_at(0, *rank),
    }


def superseding(page: str, latest: str, expires: datetime) -> UpdateMany:
    """Prices of a page get a date of expiry, except the latest, which is at that place."""
    earlier = {"page": page, "expireAt": None, "place": {"$lt": latest}}
    return UpdateMany(earlier, {"$set": {"expireAt": expires}})


def whole_price(document: Document) -> WholePrice:
    return WholePrice(
        key=document["_id"],
        watch_id=document["jobId"],
        url=document["url"],
        ts=int(document["timestamp"]),
        price=plain_amount(decimal_of(document["price"])),
        currency=document["currency"],
        change_percent=plain_amount(decimal_or_none(document["changePercent"])),
        claimed=document["claimed"] or 0,
        version_key=document["versionKey"],
        expires_at=document.get("expireAt"),
    )


def version_of(document: Document) -> Version:
    return Version(
        watch_id=document["jobId"],
        url=document["url"],
        version=document["version"],
        snapshot_hash=document["snapshotHash"],
        created_at=int(document["createdAt"]),
        bytes=document["bytes"],
        is_delta="base" in document,
        expires_at=document.get("expireAt"),
    )
