"""What is carried of watches and their pages from one store to another, and how it is compared.

Each value is the same whichever store it was read from. What a store works out by itself is not in
it: how a version's content is packed, the number of the version before, what a page shows of its
newest version. A run in progress is told as ended, and its watch as idle: it is due as before.

What expires within the hour is left behind: it might go while it is being compared.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from webloom.deltas import compressed, delta
from webloom.domain.notification import Notification
from webloom.domain.storage_event import EventPrice, Place
from webloom.domain.watch import (
    MOST_FAILURES,
    Outcome,
    PageFailure,
    RunStatus,
    Watch,
    WatchRun,
    status_at_end,
)
from webloom.parsing.storage_event import canonical
from webloom.ports.archive import Archive, Fingerprint
from webloom.ports.page_store import Retention, Validators

SOON = timedelta(hours=1)
KEPT_IN_PROGRESS = timedelta(days=Retention().job_runs)  # from when it was last heard of
NOT_CHECKED = "it was not checked before the watch was moved"
MOST_CHAINED = 63  # deltas, of which each is read with the next

_encoder = msgspec.msgpack.Encoder()


@dataclass(frozen=True, kw_only=True, slots=True)
class WholeRun:
    run: WatchRun
    expires_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class WholeVersion:
    key: str
    job_id: str
    url: str
    number: int
    place: Place
    content: bytes | None  # JSON; None: only its change is known
    expires_at: datetime | None  # None: it is the newest


@dataclass(frozen=True, kw_only=True, slots=True)
class PagePart:
    """What one event says of a page."""

    place: Place
    value: bytes  # JSON


@dataclass(frozen=True, kw_only=True, slots=True)
class PagePrice:
    place: Place
    price: EventPrice


@dataclass(frozen=True, kw_only=True, slots=True)
class WholePage:
    job_id: str
    url: str
    newest: str | None  # the key of the version that it shows
    last_updated: int | None
    classification: PagePart | None
    price: PagePrice | None
    availability: PagePart | None
    checked_at: int | None
    outcome: Outcome | None
    error: str | None
    validated_at: int | None
    validators: Validators

    @property
    def moment(self) -> int:
        known = (self.last_updated, self.checked_at, self.validated_at)
        return max((each for each in known if each is not None), default=-(1 << 63))


@dataclass(frozen=True, kw_only=True, slots=True)
class WholePrice:
    key: str
    job_id: str
    url: str
    ts: int
    price: Decimal
    currency: str | None
    change_percent: Decimal | None
    claimed: int
    version_key: str
    expires_at: datetime | None  # None: it is the latest


@dataclass(frozen=True, kw_only=True, slots=True)
class WholeLog:
    key: str  # of its version
    job_id: str
    url: str
    number: int  # that its version has
    place: Place  # of the event that told of the change
    run_id: str | None
    changes: bytes  # JSON
    alerts: list[str]
    expires_at: datetime
    batch: str | None = None
    untold: bool = False
    is_keyed: bool = False  # `key` of ChangeLog is that of its version


# As they are carried


def carried_watch(watch: Watch) -> Watch:
    config = watch.config
    schedule, thresholds = config.schedule, config.thresholds
    return replace(
        watch,
        active_run_id=None,
        begun=None,
        config=replace(
            config,
            schedule=replace(schedule, every_minutes=_float(schedule.every_minutes)),
            thresholds=replace(
                thresholds,
                price_below=plain_amount(thresholds.price_below),
                price_change_percent=plain_amount(thresholds.price_change_percent),
            ),
            targets=[
                replace(each, digest_minutes=_float(each.digest_minutes)) for each in config.targets
            ],
        ),
    )


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)


def carried_run(
    run: WatchRun, expires_at: datetime | None, unchecked: Callable[[], Sequence[str]]
) -> WholeRun:
    """`unchecked` is asked for the URLs of one in progress that nothing is known of."""
    if expires_at is not None and run.status is not RunStatus.IN_PROGRESS:
        return WholeRun(run=run, expires_at=expires_at)
    missed = unchecked()
    tally = replace(
        run.tally,
        processed=run.tally.processed + len(missed),
        failed=run.tally.failed + len(missed),
    )
    failures = [PageFailure(url=url, reason=NOT_CHECKED) for url in missed]
    ended = replace(
        run,
        status=status_at_end(tally),
        finished_at=run.updated_at,
        tally=tally,
        failures=[*run.failures, *failures][:MOST_FAILURES],
    )
    return WholeRun(run=ended, expires_at=expires_at or run.updated_at + KEPT_IN_PROGRESS)


def plain_amount(value: Decimal | None) -> Decimal | None:
    """Without zeros at its end."""
    return None if value is None else Decimal(f"{value.normalize():f}")


def plain_price(price: EventPrice) -> EventPrice:
    current = plain_amount(price.current)
    assert current is not None  # noqa: S101 - as it was given
    return EventPrice(
        current=current,
        list=plain_amount(price.list),
        currency=price.currency,
        change_percent=plain_amount(price.change_percent),
    )


def plain_json(value: Any) -> bytes:
    """The same for the same value. Half a character, which only some stores hold, is replaced."""
    try:
        return canonical(value)
    except UnicodeEncodeError:
        return canonical(_mended(value))


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {_mended(name): _mended(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_mended(each) for each in value]
    return value


def plain_content(stored: bytes) -> bytes:
    try:
        value = msgspec.json.decode(stored)
    except msgspec.DecodeError:
        value = json.loads(stored)
    return plain_json(value)


# How they are packed


class Packed(NamedTuple):
    body: bytes
    base: str | None  # the version that it is a delta against
    below: int  # how many deltas depend on it, one behind the other


def packed(
    versions: Sequence[WholeVersion], may_be_delta: Callable[[WholeVersion, WholeVersion], bool]
) -> dict[str, Packed]:
    """The contents of versions that stand with the latest of each page first, by their keys.
    `may_be_delta` is asked for a version and the one that is newer."""
    made: dict[str, Packed] = {}
    chained: list[str] = []  # the last is to be the base of the next
    newer: WholeVersion | None = None
    for version in versions:
        if version.content is None:
            continue
        body, base = compressed(version.content), None
        if (
            newer is not None
            and newer.content is not None
            and (newer.job_id, newer.url) == (version.job_id, version.url)
            and len(chained) <= MOST_CHAINED
            and may_be_delta(version, newer)
        ):
            against = delta(version.content, newer.content)
            if len(against) < len(body):
                body, base = against, newer.key
        made[version.key] = Packed(body, base, 0)
        chained = [version.key] if base is None else [*chained, version.key]
        for below, key in enumerate(reversed(chained)):
            made[key] = made[key]._replace(below=max(below, made[key].below))
        newer = version
    return made


# Which of two is newer


def is_newer_watch(one: Watch, other: Watch) -> bool:
    """It was edited or checked later, or has counted more."""
    return _standing(one) > _standing(other)


def _standing(watch: Watch) -> tuple[datetime, int]:
    return moment_of_watch(watch), watch.metrics.pages_processed


def moment_of_watch(watch: Watch) -> datetime:
    return max(watch.updated_at, watch.last_run_at or watch.updated_at)


def is_newer_run(one: WholeRun, other: WholeRun) -> bool:
    return one.run.updated_at > other.run.updated_at


def is_newer_version(one: WholeVersion, other: WholeVersion) -> bool:
    """It has got its content, an earlier place or a higher number, or was superseded since."""
    if (one.content is None) != (other.content is None):
        return one.content is not None
    if one.place < other.place or one.number > other.number:
        return True
    return _is_superseded(one.expires_at, other.expires_at)


def _is_superseded(one: datetime | None, other: datetime | None) -> bool:
    if other is None or one is None:
        return one is not None
    return one > other


def is_newer_page(one: WholePage, other: WholePage) -> bool:
    return one.moment > other.moment


def is_newer_price(one: WholePrice, other: WholePrice) -> bool:
    return _is_superseded(one.expires_at, other.expires_at)


def is_newer_log(one: WholeLog, other: WholeLog) -> bool:
    """Its version has a higher number, an earlier event has told of it since, or people are told
    of it by now."""
    if one.number > other.number or one.place < other.place:
        return True
    return (one.batch is not None, not one.untold) > (other.batch is not None, not other.untold)


def is_newer_notice(one: Notification, other: Notification) -> bool:
    return one.attempts > other.attempts


async def fingerprint_by_reading(
    archive: Archive[Any], at_once: int, progress: Callable[[int], None]
) -> Fingerprint:
    """Of everything in it."""
    total, position = Fingerprint(), None
    while True:
        part = await archive.read(position, at_once)
        total += fingerprint_of(part.items)
        progress(len(part.items))
        position = part.position
        if position is None:
            return total


def fingerprint_of(items: Iterable[object]) -> Fingerprint:
    total = Fingerprint()
    for item in items:
        digest = hashlib.blake2b(_encoder.encode(item), digest_size=16).digest()
        total += Fingerprint(items=1, hash=int.from_bytes(digest, "big"))
    return total


def size_of(item: object) -> int:
    """About, in bytes: of what may be large in it."""
    if isinstance(item, WholeVersion):
        return len(item.content or b"")
    return len(item.changes) if isinstance(item, WholeLog) else 0
