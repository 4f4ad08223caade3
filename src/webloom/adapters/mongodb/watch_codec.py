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
from dataclasses import fields, is_dataclass
from decimal import Decimal
from functools import cache
from typing import Any

import msgspec
from bson.decimal128 import Decimal128
from bson.int64 import Int64
from bson.objectid import ObjectId

from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.page_codec import amount, decimal_of
from webloom.domain.watch import Begun, Metrics, RunStatus, Tally, Watch, WatchConfig

METRICS = ("pagesProcessed", "changesDetected", "priceChangesDetected")  # of runs and watches
GUARDS = (
    *("updatedAt", "nextRunAt", "activeRunId", "lastRunId", "lastStatus", "lastRunAt", "failures"),
    *METRICS,
)
FIELDS = (
    *("name", "urls", "schedule", "enabled", "selection", "thresholds", "targets"),
    *("acceptsEvents", "external", "createdAt", "activeRun", *GUARDS),
)


@cache
def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(each.capitalize() for each in rest)


_NAMES = {_camel(each.name): each.name for each in fields(WatchConfig)}


@cache
def _snake(name: str) -> str:
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in name)


def _part_document(value: Any) -> Any:
    """A part of the configuration: its fields in camel case."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, Decimal):
        return amount(value)
    if isinstance(value, list):
        return [_part_document(each) for each in value]
    if is_dataclass(value):
        named = ((_camel(each.name), getattr(value, each.name)) for each in fields(value))
        return {name: _part_document(each) for name, each in named}
    return value


def _part_of(value: Any) -> Any:
    if isinstance(value, dict):
        return {_snake(name): _part_of(each) for name, each in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [_part_of(each) for each in value]
    return decimal_of(value) if isinstance(value, Decimal128 | Int64) else value


def _config_of(document: Document) -> WatchConfig:
    """Earlier versions did not have all fields."""
    parts = {_NAMES[name]: _part_of(document[name]) for name in _NAMES.keys() & document.keys()}
    return msgspec.convert(parts, WatchConfig)


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
        **_part_document(watch.config),
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
