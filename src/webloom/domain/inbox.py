"""Changes that wait until someone has looked at them, and what was decided about each.

Everyone who uses an installation shares one inbox. An entry is a change log, and disappears with
it. One that an earlier version of Webloom has stored has no triage: it is not in the inbox.

    unread -> done, or snoozed -> unread again, once its time has passed
    muted: it came while its page was muted
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from webloom.domain.storage_event import milliseconds_of

COUNTED_DAYS = 30  # for which it is known how many entries went unread

_FIRST, _LAST = -(1 << 63), (1 << 63) - 1  # of all times
_DAY = 24 * 3600 * 1000  # milliseconds
_ID = re.compile(r"page-([0-9a-f]{32})")


class EntryKind(StrEnum):
    PAGE = "page"  # the change of a watched page


class InboxState(StrEnum):
    UNREAD = "unread"
    SNOOZED = "snoozed"
    DONE = "done"
    MUTED = "muted"


WAITING = frozenset({InboxState.UNREAD, InboxState.SNOOZED})


@dataclass(frozen=True, kw_only=True, slots=True)
class Triage:
    """What was decided about an entry. Times are milliseconds since 1970."""

    state: InboxState  # as it was decided: a snoozed entry stays so when its time has passed
    # Its place among the entries that wait: when its page changed, or until when it is snoozed.
    at: int | None = None  # None: it does not wait
    decided_at: int | None = None  # None: nobody has decided yet

    def state_at(self, now: int) -> InboxState:
        if self.state is InboxState.SNOOZED and (self.at or 0) <= now:
            return InboxState.UNREAD
        return self.state


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """What someone decides about entries: any state but muted."""

    state: InboxState
    until: datetime | None = None  # of snoozed ones; in the past: they are unread

    def __post_init__(self) -> None:
        if (self.state is InboxState.SNOOZED) != (self.until is not None):
            raise ValueError("an entry is snoozed until a time, and only then")


@dataclass(frozen=True, kw_only=True, slots=True)
class Muting:
    """What was decided about a page."""

    is_muted: bool
    decided_at: int  # milliseconds since 1970


class Range(NamedTuple):
    """Of entries with a state: those whose `at` is later than `after` and not later than `to`."""

    state: InboxState
    after: int
    to: int


def arrived(ts: int, *, is_muted: bool) -> Triage:
    """Of a change at this time that is stored for the first time."""
    return Triage(state=InboxState.MUTED) if is_muted else Triage(state=InboxState.UNREAD, at=ts)


def decided(known: Triage, wanted: Decision, *, ts: int, now: int) -> Triage:
    """The same decision again changes nothing. `ts` is the time of the change."""
    at = ts if wanted.state is InboxState.UNREAD else None
    is_known = known.state_at(now) is wanted.state
    if wanted.until is not None:
        at = milliseconds_of(wanted.until)
        is_known = (known.state, known.at) == (wanted.state, at)
    decided_at = max(now, _decided_at(known) + 1)  # also if the clock was set back
    return known if is_known else Triage(state=wanted.state, at=at, decided_at=decided_at)


def latest_triage(here: Triage | None, new: Triage | None) -> Triage | None:
    """Of an entry that two stores have: the latest decision, and the one that is here otherwise."""
    if here is None or new is None:
        return here or new
    return new if _decided_at(new) > _decided_at(here) else here


def muted(known: Muting | None, *, is_muted: bool, now: int) -> Muting | None:
    """The same decision again changes nothing."""
    if is_muted == (known is not None and known.is_muted):
        return known
    decided_at = now if known is None else max(now, known.decided_at + 1)
    return Muting(is_muted=is_muted, decided_at=decided_at)


def latest_muting(here: Muting | None, new: Muting | None) -> Muting | None:
    if here is None or new is None:
        return here or new
    return new if new.decided_at > here.decided_at else here


def _decided_at(triage: Triage) -> int:
    return _FIRST if triage.decided_at is None else triage.decided_at


def waiting_ranges(state: InboxState, now: int) -> list[Range]:
    """Where the entries are that wait in this state. An unread one is never hidden by a clock that
    is behind."""
    if state is InboxState.SNOOZED:
        return [Range(InboxState.SNOOZED, now, _LAST)]
    return [Range(InboxState.UNREAD, _FIRST, _LAST), Range(InboxState.SNOOZED, _FIRST, now)]


def entry_id(key: str) -> str:
    """Of the change log with this key. The kind tells where it is kept."""
    return f"{EntryKind.PAGE}-{key}"


def key_of(entry_id: str) -> str | None:
    """None: no entry has this id."""
    found = _ID.fullmatch(entry_id)
    return None if found is None else found[1]


# How many went unread


def day_of(moment: datetime) -> int:
    return milliseconds_of(moment) // _DAY


def first_counted_day(now: datetime) -> int:
    return day_of(now - timedelta(days=COUNTED_DAYS)) + 1


def with_unread(days: Mapping[int, int], now: datetime, number: int) -> dict[int, int]:
    """Counts by day, with so many that went unread now. Those of old days go."""
    first, today = first_counted_day(now), day_of(now)
    kept = {day: count for day, count in days.items() if day >= first}
    return kept | {today: kept.get(today, 0) + number} if number else kept
