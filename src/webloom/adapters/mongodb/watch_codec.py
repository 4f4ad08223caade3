"""Watches as documents and back, without a database.

    watches   {_id, jobId, name, urls, schedule: {everyMinutes, cron, timeZone}, enabled, selection,
               thresholds, targets, createdAt, updatedAt, nextRunAt, activeRunId, lastRunId,
               lastStatus, lastRunAt, failures, activeRun, pagesProcessed, changesDetected,
               priceChangesDetected, external, acceptsEvents, writeId}

`activeRunId` names the active run. `activeRun` is the document that this run began with: whoever
finds that it is missing makes it from this.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from bson.objectid import ObjectId

from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.page_documents import amount, decimal_of
from webloom.domain.page import Selection
from webloom.domain.schedule import Schedule
from webloom.domain.watch import (
    Begun,
    Metrics,
    RunStatus,
    Tally,
    Target,
    Thresholds,
    Watch,
    WatchConfig,
)

METRICS = ("pagesProcessed", "changesDetected", "priceChangesDetected")  # of runs and watches
GUARDS = (
    *("updatedAt", "nextRunAt", "activeRunId", "lastRunId", "lastStatus", "lastRunAt", "failures"),
    *METRICS,
)
FIELDS = (
    *("name", "urls", "schedule", "enabled", "selection", "thresholds", "targets"),
    *("acceptsEvents", "external", "createdAt", "activeRun", *GUARDS),
)


def _texts(texts: Sequence[str]) -> list[str]:
    return [plain(text) for text in texts]


def _selection_document(selection: Selection) -> Document:
    return {
        "keep": _texts(selection.keep),
        "drop": _texts(selection.drop),
        "ignoreText": _texts(selection.ignore_text),
        "ignorePattern": _texts(selection.ignore_pattern),
        "sortLines": selection.sort_lines,
        "uniqueLines": selection.unique_lines,
    }


def _config_document(config: WatchConfig) -> Document:
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
        "selection": _selection_document(config.selection),
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


def metrics_fields(metrics: Metrics) -> Document:
    values = (metrics.pages_processed, metrics.changes, metrics.price_changes)
    return dict(zip(METRICS, values, strict=True))


def watch_of(document: Document) -> Watch:
    status, begun = document["lastStatus"], document.get("activeRun")
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
        is_external=document.get("external") or False,
        begun=begun and Begun(begun["_id"], begun["trigger"], begun["startedAt"]),
    )


def watch_document(watch: Watch) -> Document:
    """Without its _id."""
    return {
        "jobId": plain(watch.watch_id),
        **_config_document(watch.config),
        "createdAt": watch.created_at,
        "updatedAt": watch.updated_at,
        "nextRunAt": watch.next_run_at,
        "activeRunId": watch.active_run_id and plain(watch.active_run_id),
        "lastRunId": watch.last_run_id and plain(watch.last_run_id),
        "lastStatus": watch.last_status and watch.last_status.value,
        "lastRunAt": watch.last_run_at,
        "failures": watch.failures,
        **metrics_fields(watch.metrics),
        "external": watch.is_external or None,
        "activeRun": watch.begun and _begun_document(watch, watch.begun),
    }


def _begun_document(watch: Watch, begun: Begun) -> Document:
    """As processes of earlier versions make the run from it."""
    run_id = plain(begun.run_id)
    seconds = int(begun.started_at.timestamp()).to_bytes(4, "big")
    digest = hashlib.blake2b(run_id.encode(), digest_size=8).digest()
    return {
        "_id": run_id,
        "jobId": plain(watch.watch_id),
        "runId": run_id,
        "status": RunStatus.IN_PROGRESS.value,
        "trigger": plain(begun.trigger),
        "pagesTotal": len(watch.config.urls),
        **tally_fields(Tally()),
        "runDuration": 0,
        "startedAt": begun.started_at,
        "updatedAt": begun.started_at,
        "lastRunAt": begun.started_at,
        "finishedAt": None,
        "publishedAt": None,
        "failures": [],
        "made": ObjectId(seconds + digest),
    }


def _metrics_of(document: Document) -> Metrics:
    processed, changes, price_changes = (document.get(name, 0) for name in METRICS)
    return Metrics(pages_processed=processed, changes=changes, price_changes=price_changes)


def tally_fields(tally: Tally) -> Document:
    return {
        "pagesProcessed": tally.processed,
        "pagesFailed": tally.failed,
        "changesDetected": tally.changes,
        "priceChangesDetected": tally.price_changes,
    }
