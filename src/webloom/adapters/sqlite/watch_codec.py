"""Rows of `watches` as watches and back. The configuration is one JSON object."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from webloom.adapters.sqlite.primitives import Row, Table
from webloom.adapters.sqlite.sorted_list import config_without_tags, derived, tags_of, words_of
from webloom.adapters.sqlite.values import Columns
from webloom.domain.watch import Metrics, Watch

_WATCH = Columns(Watch, without=("metrics", "begun"))
_METRICS = Columns(Metrics, changes="changes_detected", price_changes="price_changes_detected")


def watch_of(row: Row) -> Watch:
    watch = _WATCH.decode(row, metrics=_METRICS.decode(row[len(_WATCH.names) :]))
    if row[-1] == "[]":
        return watch
    return replace(watch, config=replace(watch.config, tags=tags_of(row[-1])))


def _encode(watch: Watch) -> dict[str, Any]:
    config = watch.config
    columns = _WATCH.encode(watch) | _METRICS.encode(watch.metrics) | {"name": config.name}
    return columns | derived(config, watch.updated_at)


WATCHES = Table(
    "watches",
    key="watch_id",
    columns=(*_WATCH.names[1:], *_METRICS.names, "tags"),
    decode=watch_of,
    encode=_encode,
    convert={"config": config_without_tags, "search": words_of},
)
