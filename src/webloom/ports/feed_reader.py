from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from webloom.parsing.feeds.progress import Progress


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


class ReadBatch(Progress, frozen=True, kw_only=True):
    """Postings, and the reader's totals up to here. One without postings tells how far the reader
    is, or that it has ended."""

    jobs: bytes  # a JSON array of postings; nothing where they are counted only


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
