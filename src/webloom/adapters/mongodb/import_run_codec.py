"""Import runs as documents and back.

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
from typing import Any

from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.primitives import Codec
from webloom.adapters.mongodb.values import document_of, value_of
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
_OF_READING = ("duplicates", "failed", "failures", "published", "allPublished", "batches")
_OF_META = ("phase", "format", "bytesRead", "bytesTotal", "contentHash", "isUnmodified")
_APART = ("reading", "counts", "thirdParty", "batchSize", "concurrency", "processedBatches")


def run_codec(database: MongoDatabase) -> Codec[RunState]:
    """Workers of other programs change what they count, and the status."""
    return Codec(
        database.import_logs,
        decode=state_of,
        encode=state_document,
        guards=(
            "status",
            "cancelRequested",
            "finishedAt",
            *COUNTERS,
            "failures",
            "meta",
            "work",
        ),
    )


def state_document(state: RunState) -> Document:
    lease, ending = state.lease, state.ending
    work = {
        "token": state.token,
        "owner": lease and plain(lease.owner),
        "lease": 0.0 if lease is None else lease.until,
        "started": state.started,
        "revision": state.revision,
        "ending": None if ending is None else document_of(ending),
    }
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
    if not document:
        return None
    fetch = document["lastFetch"]
    return value_of(Ending, document, last_fetch=fetch and value_of(LastFetch, fetch))


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
    """As a list: a text with dots and dollars can't be the name of a field."""
    return [{name: plain(each), "times": number} for each, number in times.items()]


def run_document(run: ImportRun) -> Document:
    """Without `work`."""
    fields, reading, others = document_of(run), document_of(run.reading), run.third_party
    own = Tally(run.counts.minus(others.counts), run.processed_batches - others.batches)
    meta = {
        "batchSize": run.batch_size,
        "concurrency": run.concurrency,
        "totalBatches": run.total_batches,
        "processedBatches": run.processed_batches,
        "durationMs": fields.pop("durationMs"),
    }
    read = {
        "failureReasons": pairs(run.reading.failure_reasons),
        "repairs": pairs(run.reading.repairs, "repair"),
        "own": _tally_document(own),
        "thirdParty": _tally_document(others),
    }
    for name in _APART:
        del fields[name]
    return fields | {
        "_id": fields["runId"],
        "totalFetched": run.reading.fetched,
        "totalImported": run.counts.new + run.counts.updated,
        **dict(zip(COUNTERS, run.counts, strict=True)),
        "repaired": sum(run.reading.repairs.values()),
        "failureReasons": pairs(run.failure_reasons),
        "meta": meta | {name: reading[name] for name in _OF_META},
        "reading": {name: reading[name] for name in _OF_READING} | read,
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
    return value_of(
        ImportRun,
        document,
        run_id=document["_id"],
        status=_status_of(document["status"]),
        updated_at=moment_of(document["updatedAt"]) or document["startedAt"],
        batch_size=meta["batchSize"],
        concurrency=meta["concurrency"],
        reading=_reading_of(document),
        counts=counts,
        processed_batches=processed,
        failures=_failures_of(document["failures"]),
        failure_reasons=_times_of(document["failureReasons"]),
        finished_at=moment_of(document["finishedAt"]),
        duration_ms=_number(meta["durationMs"]),
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
    return value_of(
        Reading,
        meta | reading,
        phase=Phase(meta["phase"]),
        fetched=number_of(document["totalFetched"]),
        failures=_failures_of(reading["failures"]),
        failure_reasons=_times_of(reading["failureReasons"]),
        repairs=_times_of(reading["repairs"], "repair"),
        bytes_read=int(meta["bytesRead"]),
        bytes_total=_number(meta["bytesTotal"]),
    )


def _number(value: int | None) -> int | None:
    """PyMongo has a type of its own for a number of 64 bits."""
    return None if value is None else number_of(value)


def _failures_of(documents: object) -> list[Failure]:
    return [failure_of(each) for each in documents] if isinstance(documents, list) else []


def _times_of(documents: Sequence[Document], name: str = "reason") -> dict[str, int]:
    return {each[name]: each["times"] for each in documents}
