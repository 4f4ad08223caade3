"""A cache of records, for look-ups while the store is down."""

from __future__ import annotations

import sys
from collections import OrderedDict
from dataclasses import dataclass, replace

from webloom.domain.inventory import Record
from webloom.ports.clock import Clock

PER_RECORD = 2048  # bytes beside its texts


@dataclass(frozen=True, kw_only=True, slots=True)
class _Entry:
    record: Record
    has_source: bool
    size: int
    read_at: float  # by the steady clock


class RecentRecords:
    """Bounded in bytes; evicts the least recently stored."""

    def __init__(self, clock: Clock, *, most_bytes: int, seconds: float) -> None:
        self._clock = clock
        self._most_bytes = most_bytes
        self._seconds = seconds
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._bytes = 0

    @property
    def bytes(self) -> int:
        return self._bytes

    def put(self, record: Record, *, has_source: bool) -> None:
        if not has_source:
            record, has_source = self._with_known_source(record)
        self.drop(record.url)
        size = _size(record)
        if size > self._most_bytes:
            return
        self._entries[record.url] = _Entry(
            record=record, has_source=has_source, size=size, read_at=self._clock.steady()
        )
        self._bytes += size
        while self._bytes > self._most_bytes:
            self.drop(next(iter(self._entries)))

    def get(self, url: str, *, with_source: bool) -> Record | None:
        entry = self._entries.get(url)
        if entry is None or (with_source and not entry.has_source):
            return None
        if self._clock.steady() - entry.read_at > self._seconds:
            self.drop(url)
            return None
        if with_source:
            return entry.record
        metadata = replace(entry.record.metadata, page_source=None)
        return replace(entry.record, metadata=metadata)

    def drop(self, url: str) -> None:
        if entry := self._entries.pop(url, None):
            self._bytes -= entry.size

    def _with_known_source(self, record: Record) -> tuple[Record, bool]:
        """With the page source of the same version, if that is cached."""
        known = self._entries.get(record.url)
        if known is None or not known.has_source or known.record.updated_at != record.updated_at:
            return record, False
        source = known.record.metadata.page_source
        return replace(record, metadata=replace(record.metadata, page_source=source)), True


def _size(record: Record) -> int:
    metadata = record.metadata
    texts = [
        record.url,
        metadata.page_source or "",
        *_texts(metadata.headers),
        *_texts(metadata.cookies),
        repr(record.additional_details),
    ]
    return PER_RECORD + sum(map(sys.getsizeof, texts))


def _texts(values: dict[str, str] | None) -> list[str]:
    return [] if values is None else [*values.keys(), *values.values()]
