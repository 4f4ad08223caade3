"""What a worker makes of a message on `import-feed`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from unit.deliveries import Deliver
from webloom.adapters.sqlite.database import Database
from webloom.adapters.sqlite.imports import sqlite_imports
from webloom.adapters.sqlite.postings import SqlitePostings
from webloom.application.imports.store_batch import MOST_DELIVERIES, MOST_POSTINGS, StoreBatch
from webloom.domain.feed import FeedConfig
from webloom.domain.import_run import Counts, Failure, Mark, Phase, Reading
from webloom.domain.import_transitions import NewRun
from webloom.parsing.job_posting import JobPosting, dedupe_key
from webloom.ports.postings import Batch

FEED = "http://feed.example/jobs.xml"


class Store(SqlitePostings):
    """Notes what it is asked for."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, durable_batches=False)
        self.imports = sqlite_imports(database, durable_batches=False)
        self.batches: list[Batch] = []
        self.failed: list[tuple[Mark, list[Failure], int]] = []

    async def apply_batch(self, batch: Batch) -> Counts | None:
        self.batches.append(batch)
        return await super().apply_batch(batch)

    async def fail_batch(self, mark: Mark, failures: Sequence[Failure], *, failed: int) -> None:
        self.failed.append((mark, list(failures), failed))
        await super().fail_batch(mark, failures, failed=failed)


@pytest.fixture
async def store(database: Database) -> Store:
    """With a run in progress."""
    opened = Store(database)
    await opened.imports.feeds.add("feed", FeedConfig(url=FEED, name="Feed"), next_run_at=None)
    new = NewRun(run_id="run", trigger="manual", batch_size=200, concurrency=1)
    assert await opened.imports.runs.start("feed", new) is not None
    return opened


async def counted(store: Store) -> Counts:
    """What the run has in its ledger."""
    claim = await store.imports.runs.claim("producer", lease=60, run_id="run")
    assert claim is not None
    run = await store.imports.runs.note_reading(claim, Reading(phase=Phase.READING))
    assert run is not None
    return run.counts


def posting(external_id: str, **more: Any) -> dict[str, Any]:
    made = JobPosting(
        dedupe_key=dedupe_key(FEED, external_id, None),
        content_hash="0" * 32,
        source_url=FEED,
        source_name="Feed",
        title=f"Job {external_id}",
        external_id=external_id,
    )
    return {**msgspec.to_builtins(made), **more}


def message(jobs: Sequence[Any], **more: Any) -> bytes:
    fields = {"runId": "run", "sourceUrl": FEED, "batchIndex": 7, "totalBatches": None, **more}
    return msgspec.json.encode({**fields, "jobs": jobs})


async def stored(store: Store, deliver: Deliver, jobs: Sequence[Any]) -> Batch:
    delivery = await deliver(message(jobs))
    await StoreBatch(store=store)(delivery)
    assert delivery.settled == [("ack", None)]
    [batch] = store.batches
    assert await counted(store) == Counts(
        new=len(batch.postings), duplicate=batch.duplicates, failed=len(batch.failures)
    )
    return batch


async def test_a_batch_is_applied_and_then_acknowledged(store: Store, deliver: Deliver) -> None:
    batch = await stored(store, deliver, [posting("a"), posting("b")])
    assert batch.mark == Mark("run", 7)
    assert [job.external_id for job in batch.postings] == ["a", "b"]
    assert (batch.duplicates, list(batch.failures)) == (0, [])
    assert await store.count() == (2, 0)


async def test_the_first_of_two_with_one_key_counts(store: Store, deliver: Deliver) -> None:
    jobs = [posting("a", title="first"), posting("b"), posting("a", title="second")]
    batch = await stored(store, deliver, jobs)
    assert [job.title for job in batch.postings] == ["first", "Job b"]
    assert batch.duplicates == 1


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (posting("x", title="  "), "title is missing"),
        ({"title": "no identity"}, "externalId and jobUrl are missing"),
        ("no object", "Expected `object`, got `str`"),
        (posting("x", title=5), "Expected `str`, got `int`"),
        (posting("x", publishedAt="yesterday"), "Invalid RFC3339"),
    ],
)
async def test_an_invalid_posting_does_not_affect_the_others(
    store: Store, deliver: Deliver, bad: Any, reason: str
) -> None:
    batch = await stored(store, deliver, [posting("a"), bad, posting("b")])
    assert [job.external_id for job in batch.postings] == ["a", "b"]
    [failure] = batch.failures
    assert reason in failure.reason
    assert failure.sample


async def test_a_posting_of_another_producer_is_completed(store: Store, deliver: Deliver) -> None:
    """A Node program that sends what the queue's contract names and leaves the rest to us."""
    batch = await stored(
        store,
        deliver,
        [
            {
                "title": "Weaver",
                "externalId": 4711,
                "jobUrl": "https://jobs.example/4711",
                "publishedAt": "2026-02-01T10:00:00",
                "company": None,
            }
        ],
    )
    [job] = batch.postings
    assert job.external_id == "4711"
    assert job.dedupe_key == dedupe_key(FEED, "4711", None)
    assert job.source_url == FEED
    assert job.content_hash
    assert job.published_at == datetime(2026, 2, 1, 10, tzinfo=UTC)
    kept = await store.find(job.dedupe_key)
    assert kept is not None
    assert kept.posting == job


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"\xff", message([], batchIndex=-1), message([], batchIndex="x"), b"null"],
)
async def test_an_invalid_batch_is_buried(store: Store, deliver: Deliver, body: bytes) -> None:
    delivery = await deliver(body)
    await StoreBatch(store=store)(delivery)
    [(verb, reason)] = delivery.settled
    assert verb == "dead_letter"
    assert str(reason).startswith("not an import batch: ")
    assert store.batches == []


@pytest.mark.parametrize(
    ("body", "limit"),
    [
        (message([None] * (MOST_POSTINGS + 1)), "more than 10,000 postings"),
        (message([], known="0" * 72 * (MOST_POSTINGS + 1)), "more than 10,000 postings"),
        (message([[0] * 500_000]), "more than 500,000 values"),
    ],
    ids=["postings", "postings that are known", "values"],
)
async def test_a_batch_that_is_too_long_is_buried_with_the_limit(
    store: Store, deliver: Deliver, body: bytes, limit: str
) -> None:
    delivery = await deliver(body)
    await StoreBatch(store=store)(delivery)
    assert delivery.settled == [("dead_letter", f"not an import batch: {limit}")]
    assert store.batches == []


async def test_a_posting_too_large_to_complete_does_not_affect_the_others(
    store: Store, deliver: Deliver
) -> None:
    deep: Any = None
    for _ in range(70):
        deep = [deep]
    batch = await stored(
        store, deliver, [{"title": 1, "x": [0] * 10_001}, {"title": 1, "x": deep}, posting("b")]
    )
    assert [each.external_id for each in batch.postings] == ["b"]
    reasons = [each.reason for each in batch.failures]
    assert reasons == [
        "not a posting: more than 10,000 values",
        "not a posting: objects or arrays nested more than 64 levels deep",
    ]


async def test_a_batch_that_kills_its_workers_is_given_up_and_counted(
    store: Store, deliver: Deliver
) -> None:
    patient = await deliver(message([posting("a")]), attempt=MOST_DELIVERIES, redelivered=True)
    await StoreBatch(store=store)(patient)
    assert patient.settled == [("ack", None)]
    body = message([posting("a")] * 3, batchIndex=8)
    deadly = await deliver(body, attempt=MOST_DELIVERIES + 1, redelivered=True)
    await StoreBatch(store=store)(deadly)
    [(mark, [failure], failed)] = store.failed
    assert (mark, failed) == (Mark("run", 8), 3)
    assert deadly.settled == [("dead_letter", failure.reason)]
    assert await counted(store) == Counts(new=1, failed=3)
