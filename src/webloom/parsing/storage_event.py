"""Messages of `storage-agent`: bytes -> a StorageEvent, and what is sent -> bytes.

Anyone may send them. Missing or null fields get defaults; unusable ones are left out and listed in
`problems`. Only a message that can't be stored at all is refused. Values are counted before they
are decoded.
"""

from __future__ import annotations

import hashlib
import re
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, TypeVar

import msgspec

from webloom.domain.errors import EventRefused, UrlRefused
from webloom.domain.price import Availability, change_percent
from webloom.domain.reason_words import LONGEST_SENTENCE, sentences
from webloom.domain.storage_event import EventPrice, Origin, StorageEvent, milliseconds_of
from webloom.domain.watch import RunStatus
from webloom.parsing.amounts import amount_of, currency_of, decimal_of, rounded
from webloom.parsing.json_limits import JsonLimits, JsonTooLarge, refuse_too_large
from webloom.parsing.reasons import reasons_of
from webloom.parsing.web_url import normalise

MOST_BYTES = 12_000_000  # of a message
MOST_PARSED = 8_000_000  # bytes of JSON
MOST_VALUES = 250_000  # at all levels of a message
DEEPEST = 61  # levels of a message; MongoDB takes 100, with ours around them
MOST_DIFF = 1_000_000
LONGEST_ID = 200
LAST_TS = 253_402_300_799_999  # the end of the year 9999
LARGEST_VERSION = 2**31 - 1
MOST_ALERTS = 20

Member = TypeVar("Member", bound=StrEnum)
LIMITS = JsonLimits(values=MOST_VALUES, depth=DEEPEST)
_NULL = msgspec.Raw(b"null")


class _Message(msgspec.Struct, rename="camel"):
    watch_id: msgspec.Raw = msgspec.field(name="jobId", default=_NULL)
    url: msgspec.Raw = _NULL
    parsed: msgspec.Raw = _NULL
    classification: msgspec.Raw = _NULL
    diff: msgspec.Raw = _NULL
    price: msgspec.Raw = _NULL
    snapshot_hash: msgspec.Raw = _NULL
    version: msgspec.Raw = _NULL
    ts: msgspec.Raw = _NULL
    run_id: msgspec.Raw = _NULL
    run_status: msgspec.Raw = _NULL
    availability: msgspec.Raw = _NULL
    alerts: msgspec.Raw = _NULL
    reasons: msgspec.Raw = _NULL
    validators: msgspec.Raw = _NULL
    origin: msgspec.Raw = _NULL


_messages = msgspec.json.Decoder(_Message)
_anything = msgspec.json.Decoder()
_exact = msgspec.json.Decoder(float_hook=Decimal)
_encoder = msgspec.json.Encoder(decimal_format="number", order="deterministic")
_PARSED: dict[str, tuple[type, str]] = {  # the fields of `parsed` whose kind matters
    **dict.fromkeys(("title", "text"), (str, "a text")),
    **dict.fromkeys(("images", "links"), (list, "a list")),
    "metadata": (dict, "an object"),
}


def event_of(body: bytes, *, received: datetime) -> StorageEvent:
    """Raises EventRefused."""
    refuse_long(body)
    try:
        refuse_too_large(body, LIMITS)
        message = _messages.decode(body)
        problems: list[str] = []
        watch_id = _id(_anything.decode(message.watch_id), "jobId")
        if watch_id is None:
            raise EventRefused("jobId is missing")
        parsed = _parsed(message.parsed, problems)
        version = _version(_anything.decode(message.version), problems)
        given = _hash(_anything.decode(message.snapshot_hash), problems)
        ts = _ts(_exact.decode(message.ts), problems)
        diff = _object(message.diff, "diff", MOST_DIFF, problems)
        stock = _member(
            Availability, _anything.decode(message.availability), "availability", problems
        )
        alerts = _alerts(_anything.decode(message.alerts))
        reasons = reasons_of(_exact.decode(message.reasons), alerts=alerts, problems=problems)
        status = _member(RunStatus, _anything.decode(message.run_status), "runStatus", problems)
        return StorageEvent(
            watch_id=watch_id,
            url=_url(_anything.decode(message.url)),
            snapshot_hash=given or _hash_of(parsed),
            ts=milliseconds_of(received) if ts is None else ts,
            has_ts=ts is not None,
            claimed=version,
            parsed=parsed,
            classification=_object(message.classification, "classification", MOST_DIFF, problems),
            changes=diff or {},
            is_change=version > 1 if diff is None else _says_change(diff),
            price=_price(_exact.decode(message.price), problems),
            availability=stock and stock.value,
            run_id=_id(_anything.decode(message.run_id), "runId"),
            closes_run=None if status is RunStatus.IN_PROGRESS else status,
            reasons=reasons,
            alerts=sentences(reasons) if reasons else alerts,
            validators=_validators(_anything.decode(message.validators)),
            problems=problems,
            origin=_member(Origin, _anything.decode(message.origin)),
        )
    except JsonTooLarge as error:
        raise EventRefused(f"not a message of a page: it has {error}") from error
    except (ValueError, ArithmeticError) as error:  # of msgspec, and of numbers beyond all bounds
        raise EventRefused(f"not a message of a page: {str(error)[:200]}") from error


def refuse_long(body: bytes) -> None:
    """Raises EventRefused."""
    if len(body) > MOST_BYTES:
        raise EventRefused(f"it takes {len(body):,} bytes, and {MOST_BYTES:,} is the limit")


def encoded(message: dict[str, Any]) -> bytes:
    """Amounts become JSON numbers, digit by digit."""
    return _encoder.encode(message)


def with_fields(body: bytes, **fields: Any) -> bytes:
    """A message that `event_of` has read, with these fields instead of its own of that name: of two
    fields with one name a reader takes the last."""
    return b"".join((memoryview(body.rstrip())[:-1], b",", _encoder.encode(fields)[1:]))


def canonical(parsed: Any) -> bytes:
    """The same content, the same bytes."""
    return _encoder.encode(parsed)


def _id(value: Any, name: str) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise EventRefused(f"{name} is not a text")
    if len(value) > LONGEST_ID:
        raise EventRefused(f"{name} is longer than {LONGEST_ID} characters")
    if not value.isprintable():
        raise EventRefused(f"{name} contains a control character")
    return value


def _url(value: Any) -> str:
    if not isinstance(value, str):
        raise EventRefused("url is missing" if value is None else "url is not a text")
    try:
        normalise(value)
    except UrlRefused as error:
        raise EventRefused(f"url: {error}") from error
    return value


def _parsed(raw: msgspec.Raw, problems: list[str]) -> dict[str, Any] | None:
    size = len(bytes(raw))
    if size > MOST_PARSED:
        raise EventRefused(f"parsed takes {size:,} bytes, and {MOST_PARSED:,} is the limit")
    parsed = _anything.decode(raw)
    if not parsed:
        return None
    if not isinstance(parsed, dict):
        problems.append("parsed is not an object")
        return None
    for name, (kind, called) in _PARSED.items():
        if name in parsed and not isinstance(parsed[name], kind):
            if parsed[name] is not None:
                problems.append(f"parsed.{name} is not {called}")
            del parsed[name]
    return parsed


def _object(raw: msgspec.Raw, name: str, most: int, problems: list[str]) -> dict[str, Any] | None:
    if len(bytes(raw)) > most:
        problems.append(f"{name} takes more than {most:,} bytes")
        return None
    value = _anything.decode(raw)
    if value is None or isinstance(value, dict):
        return value
    problems.append(f"{name} is not an object")
    return None


def _version(value: Any, problems: list[str]) -> int:
    if isinstance(value, str) and re.fullmatch("[0-9]{1,10}", value):
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_VERSION:
        return value
    if value is not None:
        problems.append(f"version {_shown(value)} is not a whole number above 0")
    return 0


def _hash(value: Any, problems: list[str]) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if isinstance(value, str) and 0 < len(value) <= LONGEST_ID and value.isprintable():
        return value
    if value not in (None, ""):
        problems.append("snapshotHash is not a short text")
    return None


def _hash_of(parsed: dict[str, Any] | None) -> str:
    return hashlib.blake2b(canonical(parsed), digest_size=16).hexdigest()


def _ts(value: Any, problems: list[str]) -> int | None:
    if isinstance(value, str):
        try:
            moment = msgspec.convert(value, datetime)
        except msgspec.ValidationError:
            pass
        else:
            value = milliseconds_of(moment) if moment.tzinfo else value
    is_number = isinstance(value, int | Decimal) and not isinstance(value, bool)
    if is_number and 0 <= value <= LAST_TS:
        return int(value)
    if value is not None:
        problems.append(f"ts {_shown(value)} is not a time in milliseconds since 1970")
    return None


def _says_change(diff: dict[str, Any]) -> bool:
    """Whether anything in it is true, or not empty."""
    pending: list[Any] = [diff]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            pending.extend(value.values())
        elif value:
            return True
    return False


def _price(value: Any, problems: list[str]) -> EventPrice | None:
    if value is None:
        return None
    fields = value if isinstance(value, dict) else {"current": value}
    current = _amount(fields.get("current"), "price.current", problems)
    if current is None:
        return None
    previous = _amount(fields.get("previous"), "price.previous", problems)
    percent = decimal_of(fields.get("changePercent"))
    percent = None if percent is None else rounded(percent)
    return EventPrice(
        current=current,
        previous=previous,
        change_percent=change_percent(previous, current) if percent is None else percent,
        currency=currency_of(fields.get("currency")),
        list=_amount(fields.get("list"), "price.list", problems),
    )


def _amount(value: Any, name: str, problems: list[str]) -> Decimal | None:
    amount = None if value is None else amount_of(value)
    if amount is None and value is not None:
        problems.append(f"{name} {_shown(value)} is not an amount")
    return amount


def _shown(value: Any) -> str:
    """Only a few digits of a number: formatting a huge one can take minutes."""
    if isinstance(value, int) and abs(value) > 10**40:
        return "with too many digits"
    return repr(f"{value:.6g}" if isinstance(value, Decimal) else str(value)[:40])


def _member(
    kind: type[Member], value: Any, name: str = "", problems: list[str] | None = None
) -> Member | None:
    """One of an enumeration; None for none, and for another, which is a problem if it is named."""
    try:
        return None if value is None else kind(value)
    except ValueError:
        if problems is not None:
            problems.append(f"{name} {_shown(value)} is none of {', '.join(kind)}")
        return None


def _alerts(value: Any) -> list[str]:
    if not isinstance(value, list):
        return []
    return [str(each)[:LONGEST_SENTENCE] for each in value[:MOST_ALERTS]]


def _validators(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {
        name: value[name]
        for name in ("etag", "lastModified", "bodyHash")
        if isinstance(value.get(name), str) and len(value[name]) <= 1000
    }
