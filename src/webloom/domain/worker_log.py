"""What the processes of Webloom did, and why things failed: the collection `worker_logs`.

An entry is a log line with its fields. A process keeps what it logs in a buffer and stores it
together about once a second. Everything is bounded: the characters of an entry, entries with the
same message and level per minute, entries that wait to be stored, and stored entries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice

MOST_STORED = 20_000  # entries; the oldest go first
MOST_WAITING = (
    1000  # entries of a process that are not stored yet; info goes first, then the oldest
)
MOST_FIELDS = 20
MOST_CHARACTERS = 500  # of the message, and of each field
MOST_OF_NAME = 100  # characters, also of the role and the host
MOST_IN_ENTRY = 4000  # characters; 20,000 entries then take 80 MB at most, or twice that in Chinese
MOST_ALIKE = 30  # entries with the same message and level that a process stores per minute
MOST_MESSAGES = 200  # different ones that are counted at a time
_MINUTE = timedelta(minutes=1)
_CUT = "…"


class Level(StrEnum):
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @property
    def and_above(self) -> list[Level]:
        levels = list(Level)
        return levels[levels.index(self) :]


@dataclass(frozen=True, kw_only=True, slots=True)
class LogEntry:
    at: datetime
    level: Level
    role: str  # of the process: worker, scheduler, api, storage-agent, or several with a plus
    host: str
    pid: int
    message: str  # constant: what varies is in the fields
    fields: Mapping[str, str] = field(default_factory=dict)


def bounded(entry: LogEntry) -> LogEntry:
    """The entry with its texts cut to size. Fields that are too long together have equal shares."""
    message = shortened(entry.message)
    role, host = shortened(entry.role, MOST_OF_NAME), shortened(entry.host, MOST_OF_NAME)
    fields = {
        shortened(name, MOST_OF_NAME): shortened(value)
        for name, value in islice(entry.fields.items(), MOST_FIELDS)
    }
    if (left_out := len(entry.fields) - MOST_FIELDS) > 0:
        fields[_CUT] = f"{left_out} more"
    room = MOST_IN_ENTRY - len(message) - len(role) - len(host)
    if sum(len(name) + len(value) for name, value in fields.items()) > room:
        share = room // len(fields)
        fields = {name: shortened(value, share - len(name)) for name, value in fields.items()}
    return replace(entry, role=role, host=host, message=message, fields=fields)


def shortened(text: str, most: int = MOST_CHARACTERS) -> str:
    return text if len(text) <= most else text[: most - 1] + _CUT


@dataclass(slots=True)
class _Minute:
    """One message at one level, counted for a minute."""

    first: LogEntry
    count: int = 1

    def is_over(self, now: datetime) -> bool:
        return not self.first.at <= now < self.first.at + _MINUTE  # the clock may be set back

    def summary(self, now: datetime) -> LogEntry | None:
        """Stands for the entries that were left out."""
        left_out = self.count - MOST_ALIKE
        if left_out <= 0:
            return None
        return replace(self.first, at=now, fields={"more_in_a_minute": str(left_out)})


_Alike = tuple[Level, str]  # with the message: many successes leave room for the failures


class LogBuffer:
    """Entries of one process that wait to be stored."""

    def __init__(self) -> None:
        self._waiting: list[LogEntry] = []
        self._minutes: dict[_Alike, _Minute] = {}

    def add(self, entry: LogEntry) -> None:
        alike = entry.level, entry.message
        minute = self._minutes.get(alike)
        if minute is not None and minute.is_over(entry.at):
            self._end(alike, entry.at)
            minute = None
        if minute is not None:
            minute.count += 1
            if minute.count > MOST_ALIKE:
                return
        elif len(self._minutes) < MOST_MESSAGES:
            self._minutes[alike] = _Minute(entry)
        self._wait(self._waiting, [entry])

    def take(self, now: datetime) -> list[LogEntry]:
        """All that wait, in their order; they are no longer in the buffer."""
        for alike in [each for each, minute in self._minutes.items() if minute.is_over(now)]:
            self._end(alike, now)
        taken, self._waiting = self._waiting, []
        return taken

    def put_back(self, entries: list[LogEntry]) -> None:
        """Entries that could not be stored wait again, before those that came since."""
        self._wait(entries, self._waiting)

    def _end(self, alike: _Alike, now: datetime) -> None:
        if summary := self._minutes.pop(alike).summary(now):
            self._wait(self._waiting, [summary])

    def _wait(self, older: list[LogEntry], newer: list[LogEntry]) -> None:
        """If there is no room for all, the oldest are lost: the failures only after all others."""
        entries = [*older, *newer]
        if (surplus := len(entries) - MOST_WAITING) > 0:
            info = [at for at, entry in enumerate(entries) if entry.level is Level.INFO]
            lost = set(info[:surplus])
            entries = [entry for at, entry in enumerate(entries) if at not in lost]
        self._waiting = entries[-MOST_WAITING:]
