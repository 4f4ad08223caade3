"""What the last import of a feed made of each record, as a reader asks and tells it."""

from __future__ import annotations

import hashlib
from typing import Final, Protocol

HASH_BYTES: Final = 8
POSTING_BYTES: Final = 36  # 20 of the dedupe key, 16 of the content hash


def hash_of(record: bytes) -> bytes:
    return hashlib.sha1(record, usedforsecurity=False).digest()[:HASH_BYTES]


class KnownPostings(Protocol):
    def find(self, record_hash: bytes, /) -> bytes | None:
        """The posting's POSTING_BYTES; None: the record is read again."""


class LearntPostings(Protocol):
    def add(self, record_hash: bytes, posting: bytes, /) -> None: ...
