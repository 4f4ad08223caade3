"""Watches, their runs and notices as documents and back, without a database.

    watches   {_id, jobId, name, urls, schedule: {everyMinutes, cron, timeZone}, enabled, selection,
               thresholds, targets, createdAt, updatedAt, nextRunAt, activeRunId, lastRunId,
               lastStatus, lastRunAt, failures, activeRun, pagesProcessed, changesDetected,
               priceChangesDetected, external, acceptsEvents}
    job_runs  {_id, jobId, runId, status, trigger, pagesTotal, pagesProcessed, pagesFailed,
               changesDetected, priceChangesDetected, runDuration, startedAt, updatedAt, lastRunAt,
               finishedAt, lastEventAt, publishedAt, failures: [{url, reason}], made, nextRunAt,
               insteadOf, expireAt, carried: {what it had counted in another store}}
    notices   {_id, watchId, targetUrl, runId, dueAt, lines, batch, attempts, error, sentAt,
               givenUp, made, isOpen, expireAt}

`made` keeps those apart, and in order, that are made within a millisecond. `activeRunId` decides
which run is the watch's; `activeRun` is that run as it began, from which its document is made by
whoever finds that it is not there. A run that has ended says when its watch runs next, instead of
when: what an edit has set meanwhile stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from bson.objectid import ObjectId

from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.page_documents import amount, decimal_of
from webloom.domain.page import Selection
from webloom.domain.schedule import Schedule
from webloom.domain.watch import (
    Metrics,
    PageFailure,
    RunStatus,
    Tally,
    Target,
    Thresholds,
    Watch,
    WatchConfig,
    WatchRun,
)
from webloom.ports.watch_store import Notice
from webloom.stores.primitives import whole_milliseconds

METRICS = ("pagesProcessed", "changesDetected", "priceChangesDetected")  # of runs and watches


def moment(value: datetime | None) -> datetime | None:
    return None if value is None else whole_milliseconds(value)


def _texts(texts: Sequence[str]) -> list[str]:
    return [plain(text) for text in texts]


def selection_document(selection: Selection) -> Document:
    return {
        "keep": _texts(selection.keep),
        "drop": _texts(selection.drop),
        "ignoreText": _texts(selection.ignore_text),
        "ignorePattern": _texts(selection.ignore_pattern),
        "sortLines": selection.sort_lines,
        "uniqueLines": selection.unique_lines,
    }


def config_document(config: WatchConfig) -> Document:
    schedule, thresholds = config.schedule, config.thresholds
    return {
        "name": plain(config.name),
        "urls": _texts(config.urls),
        "schedule": {
            "everyMinutes": schedule.every_minutes,
            "cron": schedule.cron and plain(schedule.cron),
            "timeZone": plain(schedule.time_zone),
        },
        "enabled": config.enabled,
        "selection": selection_document(config.selection),
        "thresholds": {
            "textContains": _texts(thresholds.text_contains),
            "priceBelow": amount(thresholds.price_below),
            "priceChangePercent": amount(thresholds.price_change_percent),
        },
        "targets": [
            {
                "url": plain(target.url),
                "secret": target.secret and plain(target.secret),
                "digestMinutes": target.digest_minutes,
            }
            for target in config.targets
        ],
        "acceptsEvents": config.accepts_events,
    }


def _config_of(document: Document) -> WatchConfig:
    schedule, thresholds = document["schedule"], document["thresholds"]
    selection = document["selection"]
    return WatchConfig(
        name=document["name"],
        urls=document["urls"],
        schedule=Schedule(
            every_minutes=schedule["everyMinutes"],
            cron=schedule["cron"],
            time_zone=schedule["timeZone"],
        ),
        enabled=document["enabled"],
        selection=Selection(
            keep=selection["keep"],
            drop=selection["drop"],
            ignore_text=selection["ignoreText"],
            ignore_pattern=selection["ignorePattern"],
            sort_lines=selection["sortLines"],
            unique_lines=selection["uniqueLines"],
        ),
        thresholds=Thresholds(
            text_contains=thresholds["textContains"],
            price_below=decimal_of(thresholds["priceBelow"]),
            price_change_percent=decimal_of(thresholds["priceChangePercent"]),
        ),
        targets=[
            Target(url=each["url"], secret=each["secret"], digest_minutes=each["digestMinutes"])
            for each in document["targets"]
        ],
        accepts_events=document.get("acceptsEvents", False),  # of earlier versions
    )


def new_watch(
    watch_id: str, config: WatchConfig, *, now: datetime, next_run_at: datetime | None
) -> Document:
    return {
        "_id": plain(watch_id),
        "jobId": plain(watch_id),
        **config_document(config),
        "createdAt": now,
        "updatedAt": now,
        "nextRunAt": moment(next_run_at),
        "activeRunId": None,
        "lastRunId": None,
        "lastStatus": None,
        "lastRunAt": None,
        "failures": 0,
        **metrics_fields(Metrics()),
    }


def metrics_fields(metrics: Metrics) -> Document:
    values = (metrics.pages_processed, metrics.changes, metrics.price_changes)
    return dict(zip(METRICS, values, strict=True))


def watch_of(document: Document) -> Watch:
    status = document["lastStatus"]
    return Watch(
        watch_id=document["_id"],
        config=_config_of(document),
        created_at=document["createdAt"],
        updated_at=document["updatedAt"],
        next_run_at=document["nextRunAt"],
        active_run_id=document["activeRunId"],
        last_run_id=document["lastRunId"],
        last_status=None if status is None else RunStatus(status),
        last_run_at=document["lastRunAt"],
        failures=document["failures"],
        metrics=_metrics_of(document),
        is_external=document.get("external", False),
    )


def _metrics_of(document: Document) -> Metrics:
    processed, changes, price_changes = (document.get(name, 0) for name in METRICS)
    return Metrics(pages_processed=processed, changes=changes, price_changes=price_changes)


def new_run(run_id: str, watch: Document, trigger: str, now: datetime) -> Document:
    return {
        "_id": plain(run_id),
        "jobId": watch["_id"],
        "runId": plain(run_id),
        "status": RunStatus.IN_PROGRESS.value,
        "trigger": plain(trigger),
        "pagesTotal": len(watch["urls"]),
        **tally_fields(Tally()),
        "runDuration": 0,
        "startedAt": now,
        "updatedAt": now,
        "lastRunAt": now,
        "finishedAt": None,
        "publishedAt": None,
        "failures": [],
        "made": ObjectId(),
    }


def tally_fields(tally: Tally) -> Document:
    return {
        "pagesProcessed": tally.processed,
        "pagesFailed": tally.failed,
        "changesDetected": tally.changes,
        "priceChangesDetected": tally.price_changes,
    }


def failure_documents(failures: Sequence[PageFailure]) -> list[Document]:
    return [{"url": plain(each.url), "reason": plain(each.reason)} for each in failures]


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


def notice_document(notice: Notice) -> Document:
    return {
        "_id": plain(notice.notice_id),
        "watchId": plain(notice.watch_id),
        "targetUrl": plain(notice.target_url),
        "runId": plain(notice.run_id),
        "dueAt": moment(notice.due_at),
        "lines": _texts(notice.lines),
        "batch": notice.batch and plain(notice.batch),
        "attempts": notice.attempts,
        "error": notice.error and plain(notice.error),
        "sentAt": moment(notice.sent_at),
        "givenUp": notice.given_up,
        "made": ObjectId(),
        "isOpen": notice.sent_at is None and not notice.given_up,
    }


def notice_of(document: Mapping[str, Any]) -> Notice:
    return Notice(
        notice_id=document["_id"],
        watch_id=document["watchId"],
        target_url=document["targetUrl"],
        run_id=document["runId"],
        due_at=document["dueAt"],
        lines=document["lines"],
        batch=document.get("batch"),
        attempts=document["attempts"],
        error=document["error"],
        sent_at=document["sentAt"],
        given_up=document["givenUp"],
    )
