"""Runs of watches as documents and back, without a database.

    job_runs  {_id, jobId, runId, status, trigger, pagesTotal, pagesProcessed, pagesFailed,
               changesDetected, priceChangesDetected, runDuration, startedAt, updatedAt, lastRunAt,
               finishedAt, lastEventAt, publishedAt, failures: [{url, reason}], made, nextRunAt,
               insteadOf, expireAt, carried: {what it had counted in another store}, writeId}

`made` keeps runs apart, and in order, that start within a millisecond. A run that has ended says
when its watch runs next, and instead of when: what an edit has set meanwhile stands.
"""

from __future__ import annotations

from datetime import timedelta

from bson.objectid import ObjectId

from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.values import document_of, value_of
from webloom.domain.watch import EVENTS, PageFailure, RunStatus, Tally, WatchRun
from webloom.domain.watch_run import NextRun, RunState

_MILLISECOND = timedelta(milliseconds=1)


_APART = ("run_id", "watch_id", "tally")
_COUNTERS = ("pagesProcessed", "pagesFailed", "changesDetected", "priceChangesDetected")


def run_of(document: Document) -> WatchRun:
    return value_of(
        WatchRun,
        document,
        run_id=document["_id"],
        watch_id=document["jobId"],
        status=RunStatus(document["status"]),
        tally=_tally_of(document),
        failures=[value_of(PageFailure, each) for each in document.get("failures", ())],
    )


def run_state_of(document: Document) -> RunState:
    run = run_of(document)
    has_ended = run.trigger != EVENTS and run.status is not RunStatus.IN_PROGRESS
    return RunState(
        run=run,
        published_at=document.get("publishedAt"),
        last_event_at=document.get("lastEventAt") if run.trigger == EVENTS else None,
        next_run=(
            NextRun(document.get("nextRunAt"), document.get("insteadOf")) if has_ended else None
        ),
        expires_at=document.get("expireAt"),
        carried=_tally_of(document["carried"]) if "carried" in document else Tally(),
    )


def _tally_of(document: Document) -> Tally:
    return Tally.of(document[name] for name in _COUNTERS)


def tally_fields(tally: Tally) -> Document:
    return dict(zip(_COUNTERS, tally.values, strict=True))


def run_document(state: RunState) -> Document:
    """Without its _id and `made`."""
    run = state.run
    document: Document = {
        "jobId": plain(run.watch_id),
        "runId": plain(run.run_id),
        **document_of(run, without=_APART),
        **tally_fields(run.tally),
        "runDuration": run.duration // _MILLISECOND,
        "lastRunAt": run.updated_at,
        "publishedAt": state.published_at,
    }
    if state.last_event_at is not None:
        document["lastEventAt"] = state.last_event_at
    if state.next_run is not None:
        document |= {"nextRunAt": state.next_run.at, "insteadOf": state.next_run.instead_of}
    if state.expires_at is not None:
        document["expireAt"] = state.expires_at
    return document


def made() -> Document:
    return {"made": ObjectId()}
