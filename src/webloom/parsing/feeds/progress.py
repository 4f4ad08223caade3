from __future__ import annotations

import msgspec

from webloom.domain.import_run import Failure


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """The totals up to the end of the batch that comes with it, whose `count` may be 0."""

    count: int
    known: bytes = b""  # 20 bytes of key and 16 of content hash, for each that is known
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
