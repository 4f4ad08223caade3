from __future__ import annotations

import msgspec

from webloom.domain.import_run import Failure


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """Totals up to the end of its batch."""

    known: bytes = b""  # of each unchanged posting: 20 bytes of key, 16 of content hash
    count: int  # in the batch: postings, and unchanged ones; may be 0
    fetched: int  # records read so far, those in this batch included
    duplicates: int
    failed: int
    failures: list[Failure] = []  # since the batch before
    failure_reasons: dict[str, int] = {}
    repairs: dict[str, int] = {}
    bytes_read: int  # of the file on disk
    format: str
    title: str | None = None  # of the feed, as it calls itself
    is_last: bool = False
    is_whole: bool = False  # in the last one: the feed was read to its proper end
