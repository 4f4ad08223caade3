"""A feed's file -> postings in batches, with exact counts.

bytes -> records (records) -> postings (normalise) -> without those that came before (keys)
      -> JSON, once -> batches
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from webloom.domain.import_run import (
    LONGEST_SAMPLE,
    MOST_FAILURES,
    Failure,
    merged_reasons,
)
from webloom.parsing.feeds.element import Element
from webloom.parsing.feeds.formats import detect
from webloom.parsing.feeds.keys import KeyTable
from webloom.parsing.feeds.normalise import Normaliser, Rejected, sample
from webloom.parsing.feeds.records import Records, Unreadable

LARGEST_BATCH = 4 * 1024 * 1024  # bytes; one posting alone may be more
RECORDS_BETWEEN_SIGNS = 2000  # of life


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """The totals up to here. `count` is of the batch that comes with it, and may be 0 for the
    last."""

    count: int
    fetched: int
    duplicates: int
    failed: int
    failures: list[Failure]  # since the one before
    failure_reasons: dict[str, int]
    repairs: dict[str, int]
    bytes_read: int
    format: str
    is_last: bool = False
    is_whole: bool = False


class FeedReading:
    """Reads one feed. `keys` are those of all postings that were read so far."""

    def __init__(
        self,
        records: Records,
        *,
        source_url: str,
        source_name: str,
        wanted_format: str,
        mapping: Mapping[str, str],
        batch_size: int,
    ) -> None:
        self.keys = KeyTable()
        self._records = records
        self._format = detect(records.head, wanted_format)
        self._normaliser = Normaliser(
            self._format,
            records.head,
            source_url=source_url,
            source_name=source_name,
            mapping=mapping,
        )
        self._batch_size = batch_size
        self._encode = msgspec.json.Encoder().encode
        self._fetched = self._duplicates = self._failed = 0
        self._failures: list[Failure] = []
        self._shown = 0
        self._reasons: dict[str, int] = {}

    def batches(self) -> Iterator[tuple[bytes, Progress] | None]:
        """JSON arrays of postings, the last marked as such; None is a sign of life, where nothing
        comes of many records. Raises FeedUnreadable."""
        jobs: list[bytes] = []
        size = 0
        told = 0
        for record in self._records.read(self._format.record_names):
            job = self._posting(record)
            self._fetched += 1
            if job is None:
                if self._fetched - told >= RECORDS_BETWEEN_SIGNS:
                    told = self._fetched
                    yield None
                continue
            if jobs and size + len(job) > LARGEST_BATCH:
                # It was counted already, though it is in the next batch.
                yield b"[%b]" % b",".join(jobs), self._progress(len(jobs), ahead=1)
                jobs, size, told = [], 0, self._fetched
            jobs.append(job)
            size += len(job) + 1
            if len(jobs) >= self._batch_size:
                yield b"[%b]" % b",".join(jobs), self._progress(len(jobs))
                jobs, size, told = [], 0, self._fetched
        yield b"[%b]" % b",".join(jobs), self._progress(len(jobs), is_last=True)

    def _posting(self, record: Element | Unreadable) -> bytes | None:
        """As JSON; None for one that is none, or was there before."""
        if isinstance(record, Unreadable):
            self._fail(record.reason, record.sample)
            return None
        try:
            posting = self._normaliser.posting(record)
            job = self._encode(posting)
        except Rejected as rejected:
            self._fail(rejected.reason, rejected.sample)
            return None
        except Exception as error:
            # A record that nobody foresaw must not cost the others.
            self._fail(f"the record can't be read ({type(error).__name__})", sample(record))
            return None
        if not self.keys.add(posting.dedupe_key):
            self._duplicates += 1
            return None
        return job

    def _fail(self, reason: str, record: str) -> None:
        self._failed += 1
        self._reasons = merged_reasons(self._reasons, {reason: 1})
        if self._shown < MOST_FAILURES:
            self._shown += 1
            shortened = record[:LONGEST_SAMPLE]
            self._failures.append(Failure(reason=reason, sample=shortened, index=self._fetched))

    def _progress(self, count: int, *, ahead: int = 0, is_last: bool = False) -> Progress:
        failures, self._failures = self._failures, []
        return Progress(
            count=count,
            fetched=self._fetched - ahead,
            duplicates=self._duplicates,
            failed=self._failed,
            failures=failures,
            failure_reasons=self._reasons,
            repairs={**self._records.repairs, **self._normaliser.notes},
            bytes_read=self._records.position,
            format=self._format.name,
            is_last=is_last,
            is_whole=is_last and self._records.is_whole,
        )
