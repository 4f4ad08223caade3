"""Feeds, runs and postings for the suites of the Imports."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import msgspec

from webloom.domain.feed import Feed, FeedConfig
from webloom.domain.import_run import Counts, Failure, ImportRun, Mark, Phase, Reading
from webloom.domain.import_transitions import Ending, NewRun
from webloom.parsing.job_posting import JobPosting, dedupe_key
from webloom.ports.import_runs import Claim
from webloom.ports.imports import Imports
from webloom.ports.postings import Batch, PostingFilter, StoredPosting

SOURCE = "http://jobs.example/feed.xml"
LEASE = 15.0
MAY = datetime(2026, 5, 1, 12, 0, 0, 250_000, tzinfo=UTC)

_numbers = count(1)


def source(name: str) -> str:
    return SOURCE if name == "feed" else f"http://{name}.example/feed.xml"


def config(name: str = "feed", **changes: Any) -> FeedConfig:
    return FeedConfig(**{"url": source(name), "name": name} | changes)


async def add_feed(
    store: Imports, name: str = "feed", *, due: datetime | None = None, **changes: Any
) -> Feed:
    feed, is_new = await store.feeds.add(f"id of {name}", config(name, **changes), next_run_at=due)
    assert is_new
    return feed


async def feed_now(store: Imports, name: str = "feed") -> Feed:
    feed = await store.feeds.find(f"id of {name}")
    assert feed is not None
    return feed


def new_run(run_id: str | None = None, **changes: Any) -> NewRun:
    usual: dict[str, Any] = {"trigger": "manual", "batch_size": 3, "concurrency": 2}
    return NewRun(run_id=run_id or f"run {next(_numbers)}", **usual | changes)


async def started(store: Imports, name: str = "feed", new: NewRun | None = None) -> ImportRun:
    run = await store.runs.start(f"id of {name}", new or new_run())
    assert run is not None
    return run


async def claimed(
    store: Imports, owner: str = "producer", run_id: str | None = None, lease: float = LEASE
) -> Claim:
    claim = await store.runs.claim(owner, lease=lease, run_id=run_id)
    assert claim is not None
    return claim


async def begin(store: Imports, name: str = "feed") -> Claim:
    """A run of the feed, which is added if need be, in a producer's hands."""
    if await store.feeds.at_url(source(name)) is None:
        await add_feed(store, name)
    run = await started(store, name)
    return await claimed(store, run_id=run.run_id, lease=1e6)


def reading(phase: Phase = Phase.READING, **changes: Any) -> Reading:
    return Reading(phase=phase, **changes)


def all_read(fetched: int, published: int, **changes: Any) -> Reading:
    return reading(
        Phase.STORING, fetched=fetched, published=published, all_published=True, **changes
    )


async def end(store: Imports, claim: Claim, read: Reading, **changes: Any) -> ImportRun:
    run = await store.runs.finish(claim, read, Ending(**changes))
    assert run is not None
    return run


async def run_now(store: Imports, run_id: str) -> ImportRun:
    run = await store.listed_runs.find(run_id)
    assert run is not None
    return run


def key_of(name: str, source_url: str = SOURCE) -> str:
    return dedupe_key(source_url, name, None)


def posting(name: str, text: str = "as it was", **changes: Any) -> JobPosting:
    """Two with the same text, name and changes are the same."""
    source_url = changes.pop("source_url", SOURCE)
    made = JobPosting(
        **{
            "dedupe_key": key_of(name, source_url),
            "content_hash": "",
            "source_url": source_url,
            "source_name": "feed",
            "title": f"Title of {name}",
            "external_id": name,
            "description": text,
        }
        | changes
    )
    content = repr(made).encode(errors="replace")
    return msgspec.structs.replace(made, content_hash=hashlib.sha1(content).hexdigest())


def postings(*names: str, text: str = "as it was") -> list[JobPosting]:
    return [posting(name, text) for name in names]


def batch(run_id: str, index: int, jobs: Sequence[JobPosting], **changes: Any) -> Batch:
    return Batch(mark=Mark(run_id, index), source_url=SOURCE, postings=jobs, **changes)


async def apply(
    store: Imports, claim: Claim, index: int, jobs: Sequence[JobPosting], **changes: Any
) -> Counts:
    counts = await store.postings.apply_batch(batch(claim.run.run_id, index, jobs, **changes))
    assert counts is not None
    return counts


async def import_all(
    store: Imports, jobs: Sequence[JobPosting], name: str = "feed", *, size: int = 200
) -> ImportRun:
    """A whole import, as its run ends."""
    claim = await begin(store, name)
    parts = [jobs[start : start + size] for start in range(0, len(jobs), size)]
    for index, part in enumerate(parts):
        await apply(store, claim, index, part)
    return await end(store, claim, all_read(len(jobs), len(parts)))


async def stored(store: Imports, name: str, source_url: str = SOURCE) -> StoredPosting:
    found = await store.postings.find(key_of(name, source_url))
    assert found is not None
    return found


async def names_listed(
    store: Imports,
    chosen: PostingFilter | None = None,
    *,
    limit: int = 3,
    oldest_first: bool = False,
) -> list[str]:
    """External ids of everything that the filter finds, page by page."""
    names: list[str] = []
    cursor = None
    for _ in range(2000):
        page = await store.postings.page(
            chosen or PostingFilter(), limit=limit, cursor=cursor, oldest_first=oldest_first
        )
        assert len(page.postings) <= limit
        names += [each.posting.external_id or "" for each in page.postings]
        cursor = page.next_cursor
        if cursor is None:
            return names
    raise AssertionError("the pages do not end")


def failure(reason: str = "no title", sample: str = "<item/>", index: int | None = None) -> Failure:
    return Failure(reason=reason, sample=sample, index=index)


def later(seconds: float) -> datetime:
    return MAY + timedelta(seconds=seconds)
