"""Requests and responses of the routes that serve the admin UI."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from webloom.application.dead_letters import DeadLetterAction
from webloom.application.overview import build_overview, facts
from webloom.application.overview.troubles import Trouble as FoundTrouble
from webloom.domain.feed import AUTO
from webloom.domain.inventory import Status
from webloom.domain.price import Price
from webloom.entrypoints.advice import advice_on
from webloom.entrypoints.api.formats import (
    Address,
    AtMost,
    Ids,
    Instant,
    LetterIds,
    Mapping,
    Query,
)
from webloom.entrypoints.api.import_schemas import FormatName, ImportFailure, ImportLog, import_log
from webloom.entrypoints.api.schemas import Page
from webloom.entrypoints.api.watch_page_schemas import ChangeResponse, change_response
from webloom.entrypoints.api.watch_schemas import Amount, SelectionBody
from webloom.entrypoints.settings_shown import SettingResponse
from webloom.parsing.job_posting import Salary


class Minute(msgspec.Struct, kw_only=True):
    at: datetime  # its beginning
    done: int
    failed: int


class Pipeline(msgspec.Struct, kw_only=True, rename="camel"):
    """One of inventory (URLs), imports (feed items) and watch (pages)."""

    queued: int | None  # messages that wait, delayed ones too; null: the broker is unreachable
    in_flight: int | None  # null: the broker does not report it
    stored: int  # records, postings, pages
    done_last_hour: int
    failed_last_hour: int
    minutes: list[Minute]  # the last 60 that are known, the oldest first; the last one is going on


class Trouble(msgspec.Struct, kw_only=True):
    """A problem that needs attention."""

    level: str  # error, warning
    what: str  # one sentence, which no other problem has now
    advice: str  # what to do about it, one sentence
    where: str  # the page of the admin UI that shows more: /queues/import-feed


class TroublesPage(Page[Trouble]):
    """All of them, errors first."""


class Overview(msgspec.Struct, kw_only=True, rename="camel"):
    """What is going on now."""

    at: datetime
    counted_since: datetime  # what was done before is not in the minutes
    inventory: Pipeline
    imports: Pipeline
    watch: Pipeline
    feeds: int
    watches: int
    running: list[ImportLog]  # imports, the latest started first
    changes: list[ChangeResponse]  # the latest 10, without the text that differs
    troubles: list[Trouble]


class RecordCounts(msgspec.Struct, kw_only=True):
    """Records of the inventory by state."""

    counts: dict[Status, int]


class QueueState(msgspec.Struct, kw_only=True, rename="camel"):
    name: str
    limit: int
    ready: int | None  # null, here and below: the broker does not report it
    delayed: int | None
    in_flight: int | None
    dead: int | None
    handled: list[int]  # per minute, up to 60, the oldest first; the last minute is going on
    handled_per_minute: float  # over the last five minutes


class QueuesPage(Page[QueueState]):
    """Every queue, its depth and its rate."""


def overview_response(overview: build_overview.Overview) -> Overview:
    return Overview(
        at=overview.at,
        counted_since=overview.counted_since,
        inventory=_pipeline(overview.inventory),
        imports=_pipeline(overview.imports),
        watch=_pipeline(overview.watch),
        feeds=overview.feeds,
        watches=overview.watches,
        running=[import_log(run) for run in overview.running],
        changes=[change_response(change) for change in overview.changes],
        troubles=trouble_responses(overview.troubles),
    )


def trouble_responses(found: Sequence[FoundTrouble]) -> list[Trouble]:
    return [
        Trouble(level=each.level, what=each.what, advice=advice.text, where=advice.page)
        for each in found
        for advice in [advice_on(each)]
    ]


def _pipeline(pipeline: build_overview.Pipeline) -> Pipeline:
    return msgspec.convert(pipeline, Pipeline, from_attributes=True)


def queue_response(queue: facts.QueueState) -> QueueState:
    return msgspec.convert(queue, QueueState, from_attributes=True)


class DeadLetterResponse(msgspec.Struct, kw_only=True, rename="camel"):
    """A message that no worker could handle."""

    id: str
    reason: str
    buried_at: datetime
    body: str  # the first 65,536 characters
    is_cut: bool  # there is more of the body


class DeadLettersPage(Page[DeadLetterResponse], kw_only=True):
    """Dead letters, the oldest first."""

    at: datetime  # none of these died later; `before` of a choice of all that had died by then


class DeadLetterChoice(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which dead letters are meant: up to 1,000 by their ids, or all that there are now; with
    `before`, all that had died by then."""

    ids: LetterIds = []
    all: bool = False
    before: Instant | None = None  # only with all


class DeadLetterFilter(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """All that a list with these parameters shows."""

    q: Query | None = None
    before: Instant | None = None  # only those that had died by then


class BulkDeadLettersBody(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    """An action on the dead letters with these ids, or on all that the filter finds."""

    action: DeadLetterAction
    ids: Ids | None = None
    filter: DeadLetterFilter | None = None
    at_most: AtMost | None = None


class DeadLettersDone(msgspec.Struct, kw_only=True):
    done: int
    missing: list[str]  # ids without a dead letter; the first 100


class FeedPreviewBody(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A feed that is not stored yet, or a change of one."""

    url: Address
    format: FormatName = AUTO
    mapping: Mapping = {}


class PostingPreview(msgspec.Struct, kw_only=True, rename="camel"):
    title: str
    external_id: str | None
    job_url: str | None
    company: str | None
    location: str | None
    remote: bool | None
    job_type: str | None
    salary: Salary | None
    categories: list[str]
    description: str | None
    published_at: datetime | None
    expires_at: datetime | None


class FeedPreview(msgspec.Struct, kw_only=True, rename="camel"):
    """What a feed would give; nothing is stored."""

    url: str  # as it would be kept
    format: FormatName | None
    bytes: int
    is_whole: bool  # it was read to its proper end
    is_cut: bool  # only its beginning was read, and counted; else, if not whole, it ends too early
    fetched: int
    duplicates: int
    failed: int
    repairs: dict[str, int]
    failure_reasons: dict[str, int]
    failures: list[ImportFailure]  # the first 20
    postings: list[PostingPreview]  # the first 20


class WatchPreviewBody(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A page, and what of it would count."""

    url: Address
    selection: SelectionBody = msgspec.field(default_factory=SelectionBody)


class PreviewPrice(msgspec.Struct, kw_only=True):
    current: Amount
    list: Amount | None
    currency: str | None
    source: str


def preview_price(price: Price | None) -> PreviewPrice | None:
    return None if price is None else msgspec.convert(price, PreviewPrice, from_attributes=True)


class WatchPreview(msgspec.Struct, kw_only=True, rename="camel"):
    """What a watch would see on the page; nothing is stored."""

    url: str  # that it was served at, after redirects
    status_code: int
    title: str | None
    text: str  # that is selected; the first 50,000 characters
    lines: int  # of the whole selected text
    is_cut: bool
    price: PreviewPrice | None
    availability: str
    classification: dict[str, Any]
    problem: str | None  # why a check would report this page as failed: a wall, an error page
    needs_javascript: str | None  # a sentence: the text of this page appears only with JavaScript


class SystemResponse(msgspec.Struct, kw_only=True, rename="camel"):
    """This installation: version and settings in force."""

    version: str
    python: str
    host: str
    started_at: datetime
    disk_free: int | None  # bytes, where the data is; null: nothing is kept on this machine
    database_bytes: int | None  # of the SQLite file; null: there is none
    settings: list[SettingResponse]
