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
    known: Path | None = None  # what the last import learnt: see `FeedReader.learnt`
    counts_only: bool = False  # batches come without their postings


class ReadBatch(Progress, frozen=True, kw_only=True):
    """Postings, and the reader's totals up to here. One without postings reports progress, or the
    end."""

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

        Raises FeedUnreadable if it is not a feed, or is refused.
        """

    def learnt(self, path: Path) -> Path:
        """The file in which this import leaves the result of each record for the next one. It is a
        hint, to be compared with the stored postings."""

    def seen_keys(self, path: Path) -> SeenKeys:
        """The keys of all postings of a feed that was read to its end. They stay on disk."""
