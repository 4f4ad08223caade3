"""Requests and responses of feeds, imports and postings."""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec

from webloom.application.bulk import MOST_GIVEN
from webloom.application.entry_state import EntryState
from webloom.domain.feed import AUTO, Feed
from webloom.domain.import_run import ImportRun, Phase, RunStatus
from webloom.entrypoints.api.bulk import BulkBody
from webloom.entrypoints.api.formats import (
    Address,
    AtMost,
    FeedUrl,
    Ids,
    Instant,
    Mapping,
    Minutes,
    Moment,
    Query,
    RequiredName,
    Tags,
    schema,
)
from webloom.entrypoints.api.schemas import CountedPage, Problem, filled
from webloom.parsing.feeds.formats import FORMATS
from webloom.parsing.job_posting import Salary
from webloom.ports.postings import StoredPosting

# Checked by the use case, whose error says what is wrong.
FormatName = Annotated[str, msgspec.Meta(extra_json_schema={"enum": [AUTO, *FORMATS]})]


class AddFeedBody(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    """A feed to import from."""

    url: Address
    name: RequiredName | None = None  # default: the URL
    format: FormatName = AUTO
    interval_minutes: Minutes | None = None  # null: IMPORT_INTERVAL_MINUTES
    enabled: bool = True
    mapping: Mapping = {}  # field of a posting: path in the feed's item
    close_missing: bool = False  # the feed lists every open posting, so that others are closed
    tags: Tags = []


class EditFeedBody(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    """Changes to a feed."""

    url: Address | msgspec.UnsetType = msgspec.UNSET  # where it has moved to; sourceUrl stays
    name: RequiredName | msgspec.UnsetType = msgspec.UNSET
    format: FormatName | msgspec.UnsetType = msgspec.UNSET
    interval_minutes: Minutes | msgspec.UnsetType | None = msgspec.UNSET
    enabled: bool | msgspec.UnsetType = msgspec.UNSET
    mapping: Mapping | msgspec.UnsetType = msgspec.UNSET
    close_missing: bool | msgspec.UnsetType = msgspec.UNSET
    tags: Tags | msgspec.UnsetType = msgspec.UNSET


class FeedBefore(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    """What an action has changed of a feed, as it was before."""

    id: str
    enabled: bool | msgspec.UnsetType = msgspec.UNSET
    tags: Tags | msgspec.UnsetType = msgspec.UNSET
    interval_minutes: Minutes | msgspec.UnsetType | None = msgspec.UNSET
    next_run_at: Instant | msgspec.UnsetType = msgspec.UNSET


FeedsBefore = Annotated[list[FeedBefore], schema(maxItems=MOST_GIVEN)]


class BulkFeedsBody(BulkBody, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    """An action on the feeds with these ids, or on all that the filter finds."""

    # For schedule; null: IMPORT_INTERVAL_MINUTES
    interval_minutes: Minutes | msgspec.UnsetType | None = msgspec.UNSET
    items: FeedsBefore = msgspec.field(default_factory=list)  # for restore


class FeedResponse(msgspec.Struct, kw_only=True, rename="camel"):
    """A feed, its schedule, and how its last run went."""

    feed_id: str
    url: str  # where it is fetched
    source_url: str  # that its runs and postings name; another one once the feed has moved
    name: str
    format: FormatName
    interval_minutes: float | None
    enabled: bool
    mapping: dict[str, str]
    close_missing: bool
    tags: list[str]
    created_at: datetime
    updated_at: datetime
    next_run_at: datetime | None  # null: it is paused
    active_run_id: str | None
    last_run_id: str | None
    last_run_at: datetime | None
    last_status: RunStatus | None
    last_error: str | None
    consecutive_failures: int


class FeedsPage(CountedPage[FeedResponse], kw_only=True):
    """Feeds, in the order of `sort`."""

    at: datetime  # none of these was created later; `before` of a bulk action's filter


class FeedExists(Problem, kw_only=True, rename="camel"):
    """The URL is a feed already."""

    feed_id: str
    feed: FeedResponse


class OpmlRefusal(msgspec.Struct, kw_only=True):
    url: str
    name: str
    reason: str


class OpmlImported(msgspec.Struct, kw_only=True):
    """Results for the feeds of an OPML document."""

    added: int
    known: int
    refused: int
    refusals: list[OpmlRefusal]  # the first 100


class ListedFeed(msgspec.Struct, kw_only=True):
    """A feed of an OPML document."""

    url: str
    name: str
    tags: list[str]
    state: EntryState
    reason: str | None  # why it is refused; the name of the feed that has its URL


class OpmlPreview(msgspec.Struct, kw_only=True):
    """What importing an OPML document would do."""

    total: int
    new: int
    known: int
    repeated: int  # their URL comes earlier in the document
    refused: int
    pages: int  # outlines with a page and no feed, which are left out
    entries: list[ListedFeed]  # in the order of the document; the first 500 of each state


class RunImportBody(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    """The feed to import; without one, every enabled feed."""

    source_url: FeedUrl | None = None


class RunChoice(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    """The latest run of each feed among those that a list with these parameters shows."""

    status: RunStatus | None = None
    q: Query | None = None
    since: Moment | None = msgspec.field(default=None, name="from")
    to: Moment | None = None
    source_url: FeedUrl | None = None  # any spelling of the feed's URL


class BulkRunsBody(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    """An action on the runs with these ids, or on those that the filter finds."""

    action: Literal["retry"]
    ids: Ids | None = None
    filter: RunChoice | None = None
    at_most: AtMost | None = None


class StartedRun(msgspec.Struct, kw_only=True, rename="camel"):
    run_id: str
    source_url: str
    source_name: str
    status: RunStatus
    already_running: bool


class RunsStarted(msgspec.Struct, kw_only=True):
    """Runs that are under way now."""

    runs: list[StartedRun]


class AlreadyRunning(Problem, kw_only=True):
    """Every feed of the request is being imported already."""

    runs: list[StartedRun]


class ImportMeta(msgspec.Struct, kw_only=True, rename="camel"):
    batch_size: int
    concurrency: int
    total_batches: int | None  # once it is known
    processed_batches: int
    duration_ms: int | None
    phase: Phase
    bytes_read: int
    bytes_total: int | None
    format: str | None  # once it is recognised
    content_hash: str | None
    not_modified: bool  # the feed has not changed since its last import
    repairs: dict[str, int]


class ImportLog(msgspec.Struct, kw_only=True, rename="camel"):
    """One run of one feed. At its end, totalFetched = newJobs + updatedJobs + unchangedJobs +
    duplicateJobs + failedJobs."""

    run_id: str
    feed_id: str
    source_url: str
    source_name: str
    file_name: str  # the same as sourceUrl
    status: RunStatus
    trigger: str
    started_at: datetime
    updated_at: datetime
    finished_at: datetime | None
    total_fetched: int
    total_imported: int  # newJobs and updatedJobs
    new_jobs: int
    updated_jobs: int
    unchanged_jobs: int
    duplicate_jobs: int
    failed_jobs: int
    closed_jobs: int
    repaired: int
    failure_reasons: dict[str, int]
    error: str | None
    retry_of: str | None
    cancel_requested: bool
    meta: ImportMeta


class ImportFailure(msgspec.Struct, kw_only=True):
    index: int | None  # the record's place in the feed, from 0
    reason: str
    sample: str


class ImportLogDetail(ImportLog, kw_only=True, rename="camel"):
    """One run, with the first 100 records that failed."""

    failures: list[ImportFailure]


class ImportLogsPage(msgspec.Struct, kw_only=True, rename="camel"):
    """Runs, the latest first."""

    data: list[ImportLog]
    page: int
    limit: int
    total: int
    total_pages: int


class JobResponse(msgspec.Struct, kw_only=True, rename="camel"):
    """A posting as it is kept."""

    dedupe_key: str
    content_hash: str
    source_url: str
    source_name: str
    title: str
    external_id: str | None
    job_url: str | None
    company: str | None
    location: str | None
    city: str | None
    region: str | None
    country: str | None
    remote: bool | None
    job_type: str | None
    salary: Salary | None
    categories: list[str]
    description: str | None
    published_at: datetime | None
    expires_at: datetime | None
    open: bool
    created_at: datetime
    updated_at: datetime
    closed_at: datetime | None
    first_run_id: str  # the run that brought it
    last_run_id: str  # the run that last changed it


class JobsPage(CountedPage[JobResponse]):
    """Postings, the latest published first."""


def feed_response(feed: Feed) -> FeedResponse:
    return filled(
        FeedResponse,
        feed,
        feed.config,
        url=feed.config.fetch_url,
        source_url=feed.config.url,
        consecutive_failures=feed.failures,
    )


def given_fields(body: EditFeedBody | FeedBefore) -> dict[str, Any]:
    """Fields of FeedConfig."""
    return {
        name: value
        for name in body.__struct_fields__
        if name != "id" and (value := getattr(body, name)) is not msgspec.UNSET
    }


def feed_before(feed_id: str, before: MappingOf[str, Any]) -> FeedBefore:
    return FeedBefore(id=feed_id, **before)


def import_log(run: ImportRun) -> ImportLog:
    return filled(ImportLog, run, **_log_fields(run))


def import_log_detail(run: ImportRun) -> ImportLogDetail:
    failures = msgspec.convert(run.failures, list[ImportFailure], from_attributes=True)
    return filled(ImportLogDetail, run, **_log_fields(run), failures=failures)


def _log_fields(run: ImportRun) -> dict[str, Any]:
    """Those that have other names in the domain."""
    reading, counts = run.reading, run.counts
    return {
        "file_name": run.source_url,
        "total_fetched": reading.fetched,
        "total_imported": counts.new + counts.updated,
        "new_jobs": counts.new,
        "updated_jobs": counts.updated,
        "unchanged_jobs": counts.unchanged,
        "duplicate_jobs": counts.duplicate,
        "failed_jobs": counts.failed,
        "repaired": sum(reading.repairs.values()),
        "meta": filled(ImportMeta, run, reading, not_modified=reading.is_unmodified),
    }


def job_response(stored: StoredPosting) -> JobResponse:
    posting = stored.posting
    return JobResponse(
        **{name: getattr(posting, name) for name in posting.__struct_fields__},
        open=stored.closed_at is None,
        created_at=stored.created_at,
        updated_at=stored.updated_at,
        closed_at=stored.closed_at,
        first_run_id=stored.created_by.run_id,
        last_run_id=stored.changed_by.run_id,
    )
