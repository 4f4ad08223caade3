"""Watches as documents and back, without a database.

    watches   {_id, jobId, name, urls, schedule: {everyMinutes, cron, timeZone}, enabled, selection,
               thresholds, targets, createdAt, updatedAt, nextRunAt, activeRunId, lastRunId,
               lastStatus, lastRunAt, failures, activeRun, pagesProcessed, changesDetected,
               priceChangesDetected, external, acceptsEvents, tags, tagKeys, search, searchedAt,
               writeId}

`activeRunId` names the active run. `activeRun` is the document that this run began with: a
process that finds the run missing inserts it from there.
"""

from __future__ import annotations

import hashlib
from dataclasses import fields
from functools import cache
from typing import Any

import msgspec
from bson.decimal128 import Decimal128
from bson.int64 import Int64
from bson.objectid import ObjectId

from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.page_codec import decimal_of
from webloom.adapters.mongodb.sorted_list import derived
from webloom.adapters.mongodb.values import document_of, value_of
from webloom.adapters.mongodb.watch_run_codec import run_document
from webloom.domain.watch import Begun, Metrics, RunStatus, Watch, WatchConfig
from webloom.domain.watch_run import new_run

METRICS = ("pagesProcessed", "changesDetected", "priceChangesDetected")  # of runs and watches
GUARDS = (
    *("updatedAt", "nextRunAt", "activeRunId", "lastRunId", "lastStatus", "lastRunAt", "failures"),
    *METRICS,
)
FIELDS = (
    *("name", "urls", "schedule", "enabled", "selection", "thresholds", "targets"),
    *("acceptsEvents", "tags", "tagKeys", "search", "searchedAt"),
    *("external", "createdAt", "activeRun", *GUARDS),
)


_CONFIG = frozenset(each.name for each in fields(WatchConfig))
_APART = ("watch_id", "config", "metrics", "is_external", "begun")


@cache
def _snake(name: str) -> str:
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in name)


def _part_of(value: Any) -> Any:
    if isinstance(value, dict):
        return {_snake(name): _part_of(each) for name, each in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [_part_of(each) for each in value]
    return decimal_of(value) if isinstance(value, Decimal128 | Int64) else value


def _config_of(document: Document) -> WatchConfig:
    """Earlier versions did not have all fields."""
    named = ((_snake(name), value) for name, value in document.items())
    parts = {name: _part_of(value) for name, value in named if name in _CONFIG}
    return msgspec.convert(parts, WatchConfig)


def metrics_fields(metrics: Metrics) -> Document:
    values = (metrics.pages_processed, metrics.changes, metrics.price_changes)
    return dict(zip(METRICS, values, strict=True))


def watch_of(document: Document) -> Watch:
    status, begun = document["lastStatus"], document.get("activeRun")
    return value_of(
        Watch,
        document,
        watch_id=document["_id"],
        config=_config_of(document),
        last_status=None if status is None else RunStatus(status),
        metrics=_metrics_of(document),
        is_external=document.get("external") or False,
        begun=begun and Begun(begun["_id"], begun["trigger"], begun["startedAt"]),
    )


def watch_document(watch: Watch) -> Document:
    """Without its _id."""
    return {
        "jobId": plain(watch.watch_id),
        **document_of(watch.config),
        **derived(watch.config, watch.updated_at),
        **document_of(watch, without=_APART),
        **metrics_fields(watch.metrics),
        "external": watch.is_external or None,
        "activeRun": watch.begun and _begun_document(watch, watch.begun),
    }


def _begun_document(watch: Watch, begun: Begun) -> Document:
    """As processes of earlier versions make the run from it."""
    run_id = plain(begun.run_id)
    seconds = int(begun.started_at.timestamp()).to_bytes(4, "big")
    digest = hashlib.blake2b(run_id.encode(), digest_size=8).digest()
    state = new_run(watch, begun)
    return {"_id": run_id, **run_document(state), "made": ObjectId(seconds + digest)}


def _metrics_of(document: Document) -> Metrics:
    processed, changes, price_changes = (document.get(name, 0) for name in METRICS)
    return Metrics(pages_processed=processed, changes=changes, price_changes=price_changes)
