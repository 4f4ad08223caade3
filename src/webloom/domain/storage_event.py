"""What a page was like at one moment, on its way into the store; and how versions are numbered.

Events of a page come twice, late, and in any order. What is stored depends on which events there
were, not on when they arrived: versions are in the order of `place`, and each has the number that
its sender gave it, or the next free one if that number was taken.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

from webloom.domain.reason import Reason
from webloom.domain.watch import RunStatus

Version = TypeVar("Version")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNTIMED = 1 << 62  # any time is lower


class Origin(StrEnum):
    """Who put an event on the queue. The API sets it, so it can't be forged over HTTP."""

    CHECKER = "checker"  # a worker of ours, of a page that it has read
    API = "api"  # POST /api/watch/events


class Place(NamedTuple):
    """The position of a version among those of its page."""

    ts: int
    claimed: int
    snapshot_hash: str


@dataclass(frozen=True, kw_only=True, slots=True)
class EventPrice:
    current: Decimal
    previous: Decimal | None = None
    change_percent: Decimal | None = None
    currency: str | None = None
    list: Decimal | None = None  # what it is reduced from

    @property
    def is_change(self) -> bool:
        return self.previous is not None and self.previous != self.current


@dataclass(frozen=True, kw_only=True, slots=True)
class StorageEvent:
    """A message of `storage-agent`. What its sender left out is computed, or None."""

    watch_id: str
    url: str
    snapshot_hash: str
    ts: int  # milliseconds since 1970
    claimed: int = 0  # the version that the sender gave it; 0: none
    parsed: Mapping[str, Any] | None = None  # None: the event says nothing of the page's content
    classification: Mapping[str, Any] | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)  # the diff, as it was given
    is_change: bool = False
    price: EventPrice | None = None
    availability: str | None = None
    run_id: str | None = None
    closes_run: RunStatus | None = None  # its run is over, and this is how it went
    reasons: list[Reason] = field(default_factory=list)  # to notify the watch's targets
    # In sentences: of the reasons, or, where there are none, as another program gave them. The
    # first are for processes of the previous version, which read no reasons: from the next version
    # on, they need not be sent or stored.
    alerts: list[str] = field(default_factory=list)
    validators: Mapping[str, str] = field(default_factory=dict)  # etag, lastModified, bodyHash
    has_ts: bool = True  # False: `ts` is when it was received
    origin: Origin | None = None  # None: another program's, or of a version that did not say
    problems: list[str] = field(default_factory=list)  # parts that could not be used

    @property
    def place(self) -> Place:
        return Place(self.ts, self.claimed, self.snapshot_hash)

    @property
    def has_version(self) -> bool:
        """Whether it has content, or a change log, which needs a number."""
        return self.parsed is not None or self.is_change

    @property
    def rank(self) -> int:
        """Of events that bring one version, the lowest decides its place and its change."""
        return self.ts if self.has_ts else _UNTIMED

    @property
    def snapshot_key(self) -> str:
        """The same for all events of one version. Without a number, the time tells two visits with
        the same content apart."""
        stamp = self.ts if self.claimed == 0 and self.has_ts else ""
        return digest(self.watch_id, self.url, str(self.claimed), self.snapshot_hash, str(stamp))

    @property
    def price_key(self) -> str:
        """Of a price record: one for each time and value. A check whose worker died is repeated at
        another time: there the version takes its place."""
        assert self.price is not None  # noqa: S101 - asked for events with a price only
        by_version = not self.has_ts or (self.run_id is not None and self.claimed > 0)
        stamp = f"version {self.claimed}" if by_version else self.ts
        return digest(self.watch_id, self.url, str(stamp), f"{self.price.current.normalize():f}")

    @property
    def counted_as(self) -> str:
        """The same for deliveries that count once. A run counts each page once."""
        if self.run_id is not None:
            return page_in_run(self.url)
        stamp = self.ts if self.has_ts else ""
        return digest(self.url, str(self.claimed), self.snapshot_hash, str(stamp))

    @property
    def counting_run(self) -> str:
        """The run that it counts for. Events that name none count for one run per job and day."""
        return self.run_id or run_of_day(self.watch_id, self.ts)

    def needs_room(self, *, has_content: bool, has_price: bool) -> bool:
        """Whether a full storage refuses it, by what is stored of its version and its price
        record."""
        is_new = self.parsed is not None and not has_content
        return is_new or (self.price is not None and not has_price)

    @property
    def without_run(self) -> StorageEvent:
        """As it counts if its run belongs to another job: programs may number the runs of each job
        separately."""
        return replace(self, run_id=None, closes_run=None)

    @property
    def without_content(self) -> StorageEvent:
        """As far as its run needs it."""
        return StorageEvent(
            watch_id=self.watch_id,
            url=self.url,
            snapshot_hash=self.snapshot_hash,
            ts=self.ts,
            run_id=self.run_id,
            closes_run=self.closes_run,
        )

    @property
    def opening_status(self) -> RunStatus:
        """Of a new run that it counts for. A day of events has no end to wait for."""
        return RunStatus.COMPLETED if self.run_id is None else RunStatus.IN_PROGRESS


def next_number(claimed: int, before: int) -> int:
    """Of a version whose sender gave it a number (0: none), behind one with the number `before` (0:
    there is none)."""
    return max(claimed, before + 1)


def renumbered(
    versions: Iterable[tuple[Version, int, int]], before: int, *, can_fall: bool = False
) -> Iterator[tuple[Version, int, int]]:
    """The number of each version and the one that it should have. `versions` are in their order,
    behind one with the number `before`, and have their number and the claimed one. A version that
    is inserted lowers no number: an apparent gap was left by versions that have expired."""
    for version, number, claimed in versions:
        rises = can_fall or number <= before
        before = next_number(claimed, before) if rises else number
        yield version, number, before


def previous_number(number: int, before: int) -> int:
    """The version that a change log compares with, if the one before has the number `before` (0: it
    is not known)."""
    return before or number - 1


def price_rank(
    claimed: int, version_key: str, currency: str | None, percent: Decimal | None
) -> tuple[int, str, str, str]:
    """Of events that bring one price record, the lowest is kept, with the time that was stored
    first."""
    return claimed, version_key, str(currency), "None" if percent is None else f"{percent:f}"


def with_first_time(
    event: StorageEvent, version_ts: int | None, price_ts: int | None
) -> StorageEvent:
    """An event without a time takes that of its first delivery, which stored these."""
    first = price_ts if version_ts is None else version_ts
    return event if event.has_ts or first is None else replace(event, ts=first)


def run_of_day(watch_id: str, ts: int) -> str:
    return f"{watch_id}:{moment_of(ts):%Y-%m-%d}"


def page_in_run(url: str) -> str:
    """The key under which a run counts a page."""
    return digest(url)


def page_key(watch_id: str, url: str) -> str:
    return digest(watch_id, url)


def moment_of(ts: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=ts)


def milliseconds_of(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def digest(*parts: str) -> str:
    """A key that is the same for the same parts."""
    joined = "\0".join(parts).encode(errors="replace")
    return hashlib.blake2b(joined, digest_size=16).hexdigest()
