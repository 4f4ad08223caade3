"""Runs as documents and back, without a database.

{_id: the run's id, runId, feedId, sourceUrl, sourceName, status, trigger, startedAt, updatedAt,
 finishedAt, error, retryOf, cancelRequested, totalFetched, totalImported, newJobs, updatedJobs,
 unchangedJobs, duplicateJobs, failedJobs, closedJobs, repaired, failures: [{index, reason,
 sample}], failureReasons: [{reason, times}], meta: {batchSize, concurrency, totalBatches,
 processedBatches, durationMs, phase, ...},           what the documents' readers know
 reading: {..., own: {...}, thirdParty: {...}},       what the producer has done of it
 work: {token, owner, lease, revision, ending}}       whose it is, and how it ends

Workers of other programs add to the counters, add failures, and set `status`, `finishedAt` and
`meta.durationMs`. `reading.own` is what Webloom counted when it last wrote the document: what is
shown beyond it was counted by others (domain/third_party.py). `reading.thirdParty` is how much of
that Webloom has seen. A run is in its producer's hands until `work.ending` is there, whatever its
status.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from webloom.adapters.mongodb.documents import Document, plain
from webloom.domain.feed import LastFetch
from webloom.domain.import_run import (
    LONGEST_SAMPLE,
    Counts,
    Failure,
    ImportRun,
    Phase,
    Reading,
    RunStatus,
    Tally,
)
from webloom.domain.import_transitions import Ending, RunState
from webloom.domain.lease import Lease
from webloom.domain.third_party import counted_by_others
from webloom.parsing.foreign_values import moment_of, number_of, text_of

COUNTERS = ("newJobs", "updatedJobs", "unchangedJobs", "duplicateJobs", "failedJobs")


def whole_milliseconds(moment: datetime) -> datetime:
    """As MongoDB keeps it."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def fetch_document(fetch: LastFetch) -> Document:
    return {
        "etag": fetch.etag and plain(fetch.etag),
        "lastModified": fetch.last_modified and plain(fetch.last_modified),
        "contentHash": fetch.content_hash and plain(fetch.content_hash),
    }


def fetch_of(document: Document) -> LastFetch:
    return LastFetch(
        etag=document["etag"],
        last_modified=document["lastModified"],
        content_hash=document["contentHash"],
    )


def state_document(state: RunState) -> Document:
    lease, ending = state.lease, state.ending
    work: Document = {
        "token": state.token,
        "owner": lease and plain(lease.owner),
        "lease": 0.0 if lease is None else lease.until,
        "started": state.started,
        "revision": state.revision,
        "ending": None,
    }
    if ending is not None:
        next_run_at = ending.next_run_at and whole_milliseconds(ending.next_run_at)
        last_fetch = ending.last_fetch and fetch_document(ending.last_fetch)
        work["ending"] = {"nextRunAt": next_run_at, "lastFetch": last_fetch}
    return run_document(state.run) | {"work": work}


def state_of(document: Document) -> RunState:
    work = document["work"]
    return RunState(
        run=run_of(document),
        started=work["started"],
        lease=lease_of(document),
        revision=work["revision"],
        is_closed=work["ending"] is not None,
        ending=_ending_of(work["ending"]),
        noted=_noted(document),
    )


def lease_of(document: Document) -> Lease | None:
    work = document["work"]
    return Lease(work["owner"] or "", work["token"], work["lease"]) if work["token"] else None


def _ending_of(document: Document | None) -> Ending | None:
    """Of a run that was copied from elsewhere, nothing is known."""
    if not document:
        return None
    fetch = document["lastFetch"]
    return Ending(next_run_at=document["nextRunAt"], last_fetch=fetch and fetch_of(fetch))


def failure_document(failure: Failure) -> Document:
    return {
        "index": failure.index,
        "reason": plain(failure.reason),
        "sample": plain(failure.sample),
    }


def failure_of(document: object) -> Failure:
    """One that a worker of another program has added may lack anything."""
    if not isinstance(document, Mapping):
        return Failure(reason=text_of(document)[:LONGEST_SAMPLE], sample="")
    index = document.get("index")
    return Failure(
        reason=text_of(document.get("reason", document.get("error", document.get("message")))),
        sample=text_of(document.get("sample", document.get("item"))),
        index=None if index is None else number_of(index),
    )


def pairs(times: dict[str, int], name: str = "reason") -> list[Document]:
    """As a list: a text with dots and dollars is no name for a field."""
    return [{name: plain(each), "times": number} for each, number in times.items()]


def run_document(run: ImportRun) -> Document:
    """Without `work`."""
    reading, counts, others = run.reading, run.counts, run.third_party
    own = Tally(counts.minus(others.counts), run.processed_batches - others.batches)
    return {
        "_id": plain(run.run_id),
        "runId": plain(run.run_id),
        "feedId": plain(run.feed_id),
        "sourceUrl": plain(run.source_url),
        "sourceName": plain(run.source_name),
        "status": run.status.value,
        "trigger": plain(run.trigger),
        "startedAt": run.started_at,
        "updatedAt": run.updated_at,
        "finishedAt": run.finished_at,
        "error": run.error and plain(run.error),
        "retryOf": run.retry_of and plain(run.retry_of),
        "cancelRequested": run.cancel_requested,
        "totalFetched": reading.fetched,
        "totalImported": counts.new + counts.updated,
        "newJobs": counts.new,
        "updatedJobs": counts.updated,
        "unchangedJobs": counts.unchanged,
        "duplicateJobs": counts.duplicate,
        "failedJobs": counts.failed,
        "closedJobs": run.closed_jobs,
        "repaired": sum(reading.repairs.values()),
        "failures": [failure_document(each) for each in run.failures],
        "failureReasons": pairs(run.failure_reasons),
        "meta": {
            "batchSize": run.batch_size,
            "concurrency": run.concurrency,
            "totalBatches": run.total_batches,
            "processedBatches": run.processed_batches,
            "durationMs": run.duration_ms,
            "phase": reading.phase.value,
            "format": reading.format and plain(reading.format),
            "bytesRead": reading.bytes_read,
            "bytesTotal": reading.bytes_total,
            "contentHash": reading.content_hash and plain(reading.content_hash),
            "isUnmodified": reading.is_unmodified,
        },
        "reading": {
            "duplicates": reading.duplicates,
            "failed": reading.failed,
            "failures": [failure_document(each) for each in reading.failures],
            "failureReasons": pairs(reading.failure_reasons),
            "repairs": pairs(reading.repairs, "repair"),
            "published": reading.published,
            "allPublished": reading.all_published,
            "batches": reading.batches,
            "own": _tally_document(own),
            "thirdParty": _tally_document(others),
        },
    }


def _tally_document(tally: Tally) -> Document:
    return tally.counts._asdict() | {"batches": tally.batches}


def _tally_of(document: Document) -> Tally:
    counts = Counts(*(document[name] for name in Counts._fields))
    return Tally(counts, document["batches"])


def _noted(document: Document) -> Tally:
    """What others had counted when Webloom last wrote the run."""
    seen = document["reading"].get("thirdParty")
    return Tally() if seen is None else _tally_of(seen)


def run_of(document: Document) -> ImportRun:
    meta = document["meta"]
    counts = Counts(*(number_of(document[name]) for name in COUNTERS))
    processed = number_of(meta["processedBatches"])
    own = document["reading"].get("own")
    return ImportRun(
        run_id=document["_id"],
        feed_id=document["feedId"],
        source_url=document["sourceUrl"],
        source_name=document["sourceName"],
        status=_status_of(document["status"]),
        trigger=document["trigger"],
        started_at=document["startedAt"],
        updated_at=moment_of(document["updatedAt"]) or document["startedAt"],
        batch_size=meta["batchSize"],
        concurrency=meta["concurrency"],
        reading=_reading_of(document),
        counts=counts,
        processed_batches=processed,
        closed_jobs=document["closedJobs"],
        failures=_failures_of(document["failures"]),
        failure_reasons=_times_of(document["failureReasons"]),
        finished_at=moment_of(document["finishedAt"]),
        duration_ms=_number(meta["durationMs"]),
        error=document["error"],
        retry_of=document["retryOf"],
        cancel_requested=document["cancelRequested"],
        third_party=counted_by_others(Tally(counts, processed), own and _tally_of(own)),
    )


def _status_of(value: Any) -> RunStatus:
    """Another program may call the end of a run as it likes: then not all is known to be well."""
    try:
        return RunStatus(value)
    except ValueError:
        return RunStatus.PARTIAL


def _reading_of(document: Document) -> Reading:
    meta, reading = document["meta"], document["reading"]
    return Reading(
        phase=Phase(meta["phase"]),
        fetched=number_of(document["totalFetched"]),
        duplicates=reading["duplicates"],
        failed=reading["failed"],
        failures=_failures_of(reading["failures"]),
        failure_reasons=_times_of(reading["failureReasons"]),
        repairs=_times_of(reading["repairs"], "repair"),
        published=reading["published"],
        all_published=reading["allPublished"],
        batches=reading.get("batches"),
        bytes_read=int(meta["bytesRead"]),
        bytes_total=_number(meta["bytesTotal"]),
        format=meta["format"],
        content_hash=meta["contentHash"],
        is_unmodified=meta["isUnmodified"],
    )


def _number(value: int | None) -> int | None:
    """PyMongo has a type of its own for a number of 64 bits."""
    return None if value is None else number_of(value)


def _failures_of(documents: object) -> list[Failure]:
    return [failure_of(each) for each in documents] if isinstance(documents, list) else []


def _times_of(documents: Sequence[Document], name: str = "reason") -> dict[str, int]:
    return {each[name]: each["times"] for each in documents}
