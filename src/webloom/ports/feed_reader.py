from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from webloom.domain.import_run import Failure


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadOptions:
    source_url: str
    source_name: str
    format: str  # a format's name, or auto
    mapping: dict[str, str]
    batch_size: int
    content_type: str | None = None  # as the server said
    max_bytes: int  # of the feed when it is decompressed
    known: Path | None = None  # what the last import has learnt: see `FeedReader.learnt`
    counts_only: bool = False  # batches come without their postings


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadBatch:
    """Postings, and the reader's totals up to here. One without postings tells how far the reader
    is, or that it has ended."""

    jobs: bytes  # a JSON array of postings; nothing where they are counted only
    known: bytes = b""  # of each posting that is as it was: 20 bytes of key, 16 of content hash
    count: int  # of both
    fetched: int  # records read so far, those in this batch included
    duplicates: int
    failed: int
    failures: list[Failure] = field(default_factory=list)  # since the batch before
    failure_reasons: dict[str, int] = field(default_factory=dict)
    repairs: dict[str, int] = field(default_factory=dict)
    bytes_read: int  # of the file, as it lies on the disk
    format: str
    is_last: bool
    is_whole: bool = False  # of the last: the feed was read to its proper end


class SeenKeys(Protocol):
    def __contains__(self, dedupe_key: str) -> bool: ...


class FeedReader(Protocol):
    """Reads a feed's file apart from the event loop, in memory that does not grow with it."""

    def read(
        self, path: Path, options: ReadOptions
    ) -> AbstractAsyncContextManager[AsyncIterator[ReadBatch]]:
        """Batches in the order of the feed. The same file gives the same postings in the same
        batches, whatever is known of them, whatever comes between, and whether they are counted
        only.

        Raises FeedUnreadable when it is no feed, or one that is refused.
        """

    def learnt(self, path: Path) -> Path:
        """The file that tells the next import what this one made of each record. It is a hint:
        what is known must be compared with what is stored."""

    def seen_keys(self, path: Path) -> SeenKeys:
        """The keys of all postings of a feed that was read to its end, itself part of no memory."""
