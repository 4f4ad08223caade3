from __future__ import annotations

import msgspec

from webloom.domain.import_run import Failure


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """The totals up to the end of the batch that comes with it."""

    known: bytes = b""  # of each posting that is as it was: 20 bytes of key, 16 of content hash
    count: int  # of the batch: postings, and those that are as they were; may be 0
    fetched: int  # records read so far, those in this batch included
    duplicates: int
    failed: int
    failures: list[Failure] = []  # since the batch before
    failure_reasons: dict[str, int] = {}
    repairs: dict[str, int] = {}
    bytes_read: int  # of the file, as it lies on the disk
    format: str
    is_last: bool = False
    is_whole: bool = False  # of the last: the feed was read to its proper end
