"""What an import of a feed would find: fetch -> read the beginning in a child process."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from webloom.application.host_turns import HostTurns
from webloom.application.previews import PREVIEW_SECONDS, preview_folder, too_slow, turn_at_host
from webloom.domain.errors import FetchFailed
from webloom.domain.feed import FeedConfig, LastFetch
from webloom.domain.import_run import Failure, merged_failures
from webloom.parsing.job_posting import JobPosting
from webloom.ports.feed_reader import FeedReader, ReadBatch, ReadOptions
from webloom.ports.fetcher import Downloaded, Downloader

MOST_RECORDS = 2000
SHOWN = 20  # postings, and records that failed
BATCH = 100

_batches = msgspec.json.Decoder(list[msgspec.Raw])
_postings = msgspec.json.Decoder(JobPosting)


@dataclass(kw_only=True)
class FeedSeen:
    bytes: int = 0
    is_beginning: bool = False  # the feed has more than these
    last: ReadBatch | None = None  # it has the counts
    postings: list[JobPosting] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)

    @property
    def is_cut(self) -> bool:
        """Only the beginning was read. Else a feed that is not whole ends too early."""
        return self.is_beginning or self.last is None or not self.last.is_last

    def note(self, batch: ReadBatch) -> None:
        self.last = batch
        self.failures = merged_failures(self.failures, batch.failures, SHOWN)
        if (more := SHOWN - len(self.postings)) > 0:
            some = _batches.decode(batch.jobs)[:more]
            self.postings += map(_postings.decode, some)


@dataclass(frozen=True, kw_only=True, slots=True)
class PreviewFeed:
    downloader: Downloader
    reader: FeedReader
    turns: HostTurns
    spool: Path
    max_bytes: int  # of the feed when it is decompressed
    seconds: float = PREVIEW_SECONDS

    async def __call__(self, config: FeedConfig) -> tuple[FeedSeen, ReadBatch]:
        """The preview, and its last batch. Raises FetchFailed, FeedUnreadable."""
        seen = FeedSeen()
        async with preview_folder(self.spool) as folder:
            with suppress(TimeoutError):  # shows what was read until then
                async with asyncio.timeout(self.seconds):
                    await self._read(config, folder / "feed", seen)
        if seen.last is None:
            raise too_slow("an import", self.seconds)
        return seen, seen.last

    async def _read(self, config: FeedConfig, path: Path, seen: FeedSeen) -> None:
        async with turn_at_host(self.turns, config.url):
            got = await fetched_feed(self.downloader, config.url, path)
        seen.bytes, seen.is_beginning = got.bytes, got.is_cut
        await read_beginning(
            self.reader,
            path,
            ReadOptions(
                source_url=config.url,
                source_name=config.name,
                format=config.format,
                mapping=config.mapping,
                batch_size=BATCH,
                content_type=got.content_type,
                max_bytes=self.max_bytes,
            ),
            seen,
        )


async def read_beginning(
    reader: FeedReader, path: Path, options: ReadOptions, seen: FeedSeen
) -> None:
    """Notes each batch in `seen`. Raises FeedUnreadable."""
    async with reader.read(path, options) as batches:
        async for batch in batches:
            seen.note(batch)
            if batch.fetched >= MOST_RECORDS:
                return


async def fetched_feed(downloader: Downloader, url: str, into: Path) -> Downloaded:
    """Raises FetchFailed, also for any status but success."""
    got = await downloader.download(url, into, known=LastFetch())
    if not 200 <= got.status_code <= 299:
        raise FetchFailed(reason=f"the server answered {got.status_code}", retryable=False)
    return got
