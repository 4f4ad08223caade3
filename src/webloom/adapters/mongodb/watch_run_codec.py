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
from webloom.adapters.mongodb.watch_codec import tally_fields
from webloom.domain.watch import EVENTS, PageFailure, RunStatus, Tally, WatchRun
from webloom.domain.watch_run import NextRun, RunState

_MILLISECOND = timedelta(milliseconds=1)


def run_of(document: Document) -> WatchRun:
    """A run of events has no number of pages."""
    return WatchRun(
        run_id=document["_id"],
        watch_id=document["jobId"],
        status=RunStatus(document["status"]),
        trigger=document["trigger"],
        started_at=document["startedAt"],
        updated_at=document["updatedAt"],
        finished_at=document.get("finishedAt"),
        pages_total=document.get("pagesTotal"),
        tally=Tally(
            processed=document["pagesProcessed"],
            failed=document["pagesFailed"],
            changes=document["changesDetected"],
            price_changes=document["priceChangesDetected"],
        ),
        failures=[
            PageFailure(url=each["url"], reason=each["reason"])
            for each in document.get("failures", [])
        ],
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
    )


def run_document(state: RunState) -> Document:
    """Without its _id and `made`."""
    run = state.run
    document: Document = {
        "jobId": plain(run.watch_id),
        "runId": plain(run.run_id),
        "status": run.status.value,
        "trigger": plain(run.trigger),
        "pagesTotal": run.pages_total,
        **tally_fields(run.tally),
        "runDuration": run.duration // _MILLISECOND,
        "startedAt": run.started_at,
        "updatedAt": run.updated_at,
        "lastRunAt": run.updated_at,
        "finishedAt": run.finished_at,
        "publishedAt": state.published_at,
        "failures": [
            {"url": plain(each.url), "reason": plain(each.reason)} for each in run.failures
        ],
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
