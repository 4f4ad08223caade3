"""What a worker makes of a message on `import-feed`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from webloom.application.imports.store_batch import MOST_DELIVERIES, StoreBatch
from webloom.domain.import_run import Counts, Failure, Mark
from webloom.parsing.job_posting import JobPosting, dedupe_key
from webloom.ports.import_store import Batch

FEED = "http://feed.example/jobs.xml"


class Store:
    """What StoreBatch needs of an ImportStore."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.failed: list[tuple[Mark, list[Failure], int]] = []

    async def apply_batch(self, batch: Batch) -> Counts | None:
        self.batches.append(batch)
        return Counts(new=len(batch.jobs))

    async def fail_batch(self, mark: Mark, failures: Sequence[Failure], *, failed: int) -> None:
        self.failed.append((mark, list(failures), failed))


class Delivered:
    def __init__(self, body: bytes, *, attempt: int = 1, redelivered: bool = False) -> None:
        self.message_id = "m"
        self.body = body
        self.attempt = attempt
        self.redelivered = redelivered
        self.settled: list[str] = []

    async def ack(self) -> None:
        self.settled.append("ack")

    async def retry(self, after: float = 0.0) -> None:
        self.settled.append("retry")

    async def bury(self, reason: str) -> None:
        self.settled.append(reason)


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


async def stored(jobs: Sequence[Any]) -> Batch:
    store, delivery = Store(), Delivered(message(jobs))
    await StoreBatch(store=store)(delivery)  # type: ignore[arg-type]  # the two verbs that it uses
    assert delivery.settled == ["ack"]
    [batch] = store.batches
    return batch


async def test_a_batch_is_applied_and_then_acknowledged() -> None:
    batch = await stored([posting("a"), posting("b")])
    assert batch.mark == Mark("run", 7)
    assert [job.external_id for job in batch.jobs] == ["a", "b"]
    assert (batch.duplicates, list(batch.failures)) == (0, [])


async def test_the_first_of_two_with_one_key_counts() -> None:
    batch = await stored([posting("a", title="first"), posting("b"), posting("a", title="second")])
    assert [job.title for job in batch.jobs] == ["first", "Job b"]
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
async def test_a_record_that_is_no_posting_costs_no_other(bad: Any, reason: str) -> None:
    batch = await stored([posting("a"), bad, posting("b")])
    assert [job.external_id for job in batch.jobs] == ["a", "b"]
    [failure] = batch.failures
    assert reason in failure.reason
    assert failure.sample


async def test_a_posting_of_another_producer_is_completed() -> None:
    """A Node program that sends what the queue's contract names and leaves the rest to us."""
    batch = await stored(
        [
            {
                "title": "Weaver",
                "externalId": 4711,
                "jobUrl": "https://jobs.example/4711",
                "publishedAt": "2026-02-01T10:00:00",
                "company": None,
            }
        ]
    )
    [job] = batch.jobs
    assert job.external_id == "4711"
    assert job.dedupe_key == dedupe_key(FEED, "4711", None)
    assert job.source_url == FEED
    assert job.content_hash
    assert job.published_at == datetime(2026, 2, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"\xff", message([], batchIndex=-1), message([], batchIndex="x"), b"null"],
)
async def test_what_is_no_batch_is_buried(body: bytes) -> None:
    store, delivery = Store(), Delivered(body)
    await StoreBatch(store=store)(delivery)  # type: ignore[arg-type]
    assert delivery.settled[0].startswith("not an import batch: ")
    assert store.batches == []


async def test_a_batch_that_kills_its_workers_is_given_up_and_counted() -> None:
    store = Store()
    patient = Delivered(message([posting("a")]), attempt=MOST_DELIVERIES, redelivered=True)
    await StoreBatch(store=store)(patient)  # type: ignore[arg-type]
    assert patient.settled == ["ack"]
    deadly = Delivered(message([posting("a")] * 3), attempt=MOST_DELIVERIES + 1, redelivered=True)
    await StoreBatch(store=store)(deadly)  # type: ignore[arg-type]
    [(mark, [failure], failed)] = store.failed
    assert (mark, failed) == (Mark("run", 7), 3)
    assert deadly.settled == [failure.reason]
