"""Requests and responses of watches, their runs and notifications."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

import msgspec

from webloom.application.bulk import MOST_GIVEN
from webloom.application.watch.manage_watches import MOST_TARGETS
from webloom.application.watch.send_notifications import lines_of
from webloom.domain.notification import Notification
from webloom.domain.page import Selection
from webloom.domain.schedule import Schedule
from webloom.domain.watch import (
    Outcome,
    RunStatus,
    Target,
    Thresholds,
    Watch,
    WatchConfig,
    WatchRun,
)
from webloom.entrypoints.api.bulk import BulkBody, ListChoice
from webloom.entrypoints.api.formats import (
    Address,
    Cron,
    DigestMinutes,
    Ignored,
    Instant,
    LongUrl,
    Milliseconds,
    Minutes,
    Name,
    PageType,
    Patterns,
    Phrases,
    Query,
    RequiredName,
    Secret,
    Selectors,
    SomeUrls,
    Tags,
    TargetUrl,
    TimeZone,
    Urls,
    schema,
)
from webloom.entrypoints.api.schemas import CountedPage, Page, Problem, filled
from webloom.parsing.amounts import LARGEST_AMOUNT
from webloom.parsing.target_url import shown_target
from webloom.ports.pages import PageFilter

Amount = Decimal  # a JSON number
Threshold = Annotated[Decimal, schema(minimum=0.000001, maximum=int(LARGEST_AMOUNT))]


class ScheduleBody(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    """Either an interval, or a cron line of five fields."""

    every_minutes: Minutes | None = None
    cron: Cron | None = None
    time_zone: TimeZone = "UTC"


class SelectionBody(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    """What of a page counts. A selector is CSS; XPath where it begins with /, ( or xpath:."""

    keep: Selectors = []  # none: the main text
    drop: Selectors = []
    ignore_text: Ignored = []  # lines that contain it
    ignore_pattern: Patterns = []  # lines that the regular expression (RE2) finds
    sort_lines: bool = False
    unique_lines: bool = False


class ThresholdsBody(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    """Which changes are notified. Nothing set: all."""

    text_contains: Phrases = []
    price_below: Threshold | None = None
    price_change_percent: Threshold | None = None


class TargetBody(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    """Where notifications go: an Apprise URL or a webhook. In an edit, a URL as in a response, with
    …, keeps the target and its secret."""

    url: TargetUrl
    secret: Secret | None = None
    digest_minutes: DigestMinutes | None = None
    signed: bool | msgspec.UnsetType = msgspec.UNSET  # ignored: the secret decides


Targets = Annotated[list[TargetBody], schema(maxItems=MOST_TARGETS)]


class AddWatchBody(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    """Pages to watch."""

    urls: Urls = []
    url: Address | None = None  # instead of urls, or before them
    name: Name | None = None  # the first URL, where there is none
    schedule: ScheduleBody | None = None  # null: every WATCH_INTERVAL_MINUTES
    enabled: bool = True
    selection: SelectionBody = msgspec.field(default_factory=SelectionBody)
    thresholds: ThresholdsBody = msgspec.field(default_factory=ThresholdsBody)
    targets: Targets = []
    accepts_events: bool = False  # other programs may send events for its pages, too
    tags: Tags = []


class EditWatchBody(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    """Changes to a watch."""

    urls: SomeUrls | msgspec.UnsetType = msgspec.UNSET
    name: RequiredName | msgspec.UnsetType = msgspec.UNSET
    schedule: ScheduleBody | msgspec.UnsetType = msgspec.UNSET
    enabled: bool | msgspec.UnsetType = msgspec.UNSET
    selection: SelectionBody | msgspec.UnsetType = msgspec.UNSET
    thresholds: ThresholdsBody | msgspec.UnsetType = msgspec.UNSET
    targets: Targets | msgspec.UnsetType = msgspec.UNSET
    accepts_events: bool | msgspec.UnsetType = msgspec.UNSET
    tags: Tags | msgspec.UnsetType = msgspec.UNSET


class WatchBefore(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    """What an action has changed of a watch, as it was before."""

    id: str
    enabled: bool | msgspec.UnsetType = msgspec.UNSET
    tags: Tags | msgspec.UnsetType = msgspec.UNSET
    schedule: ScheduleBody | msgspec.UnsetType = msgspec.UNSET
    next_run_at: Instant | msgspec.UnsetType = msgspec.UNSET


WatchesBefore = Annotated[list[WatchBefore], schema(maxItems=MOST_GIVEN)]


class PageChoice(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    """All pages that a list with these parameters shows."""

    watch_id: Query | None = msgspec.field(default=None, name="jobId")
    url: LongUrl | None = None
    q: Query | None = None
    type: PageType | None = None
    outcome: Outcome | None = None
    changed_since: Milliseconds | None = None


class WatchChoice(ListChoice, forbid_unknown_fields=True, kw_only=True):
    """All watches that a list with these parameters shows, or the watches of all these pages."""

    pages: PageChoice | None = None  # with no other; atMost counts the pages then


class BulkWatchesBody(BulkBody, forbid_unknown_fields=True, kw_only=True):
    """An action on the watches with these ids, or on all that the filter finds."""

    filter: WatchChoice | None = None
    schedule: ScheduleBody | None = None  # for schedule
    pages: bool = False  # for remove: also all that is kept of their pages
    items: WatchesBefore = msgspec.field(default_factory=list)  # for restore


class TargetResponse(msgspec.Struct, kw_only=True, rename="camel"):
    url: str  # without what is secret in it
    signed: bool
    digest_minutes: float | None


class WatchResponse(msgspec.Struct, kw_only=True, rename="camel"):
    """A watch, its schedule, how its last run went, and what its runs have counted."""

    watch_id: str = msgspec.field(name="jobId")
    name: str
    urls: list[str]
    schedule: ScheduleBody
    enabled: bool
    selection: SelectionBody
    thresholds: ThresholdsBody
    targets: list[TargetResponse]
    accepts_events: bool
    tags: list[str]
    created_at: datetime
    updated_at: datetime
    next_run_at: datetime | None  # null: it is paused, or external
    active_run_id: str | None
    last_run_id: str | None
    last_run_at: datetime | None
    last_status: RunStatus | None
    last_error: str | None  # why a page of the last run failed
    consecutive_failures: int
    external: bool  # another program checks its pages and sends events; it has no schedule
    pages_processed: int
    changes_detected: int
    price_changes_detected: int


# Fields of a response that are ignored when they are sent back.
READ_ONLY = frozenset(WatchResponse.__struct_encode_fields__) - frozenset(
    AddWatchBody.__struct_encode_fields__
)


class WatchesPage(CountedPage[WatchResponse], kw_only=True):
    """Watches, in the order of `sort`."""

    at: datetime  # none of these was created later; `before` of a bulk action's filter


class RunFailure(msgspec.Struct, kw_only=True):
    url: str
    reason: str


class JobRun(msgspec.Struct, kw_only=True, rename="camel"):
    """One run of a watch, or of the events of another program. Each page counts once."""

    run_id: str
    watch_id: str = msgspec.field(name="jobId")
    status: RunStatus
    trigger: str
    started_at: datetime
    finished_at: datetime | None
    last_run_at: datetime
    run_duration: int  # milliseconds
    pages_total: int | None
    pages_processed: int
    pages_failed: int
    changes_detected: int
    price_changes_detected: int
    failures: list[RunFailure]  # the first 100


class JobRunsPage(CountedPage[JobRun]):
    """Runs, the latest first. Go on while `nextCursor` is given: a page under two filters can be
    short."""


class WatchBusy(Problem, kw_only=True):
    """The watch is being checked already."""

    run: JobRun


class NotificationResponse(msgspec.Struct, kw_only=True, rename="camel"):
    """A notification, sent or pending."""

    notice_id: str
    watch_id: str = msgspec.field(name="jobId")
    run_id: str
    target: str
    lines: list[str]
    due_at: datetime
    attempts: int
    sent_at: datetime | None
    error: str | None
    given_up: bool


class NotificationsPage(Page[NotificationResponse]):
    """Notifications, the latest first."""


def watch_response(watch: Watch, last_error: str | None = None) -> WatchResponse:
    config = watch.config
    return filled(
        WatchResponse,
        watch,
        config,
        watch.metrics,
        schedule=msgspec.convert(config.schedule, ScheduleBody, from_attributes=True),
        selection=msgspec.convert(config.selection, SelectionBody, from_attributes=True),
        thresholds=msgspec.convert(config.thresholds, ThresholdsBody, from_attributes=True),
        targets=[
            filled(
                TargetResponse,
                each,
                url=shown_target(each.url),
                signed=each.secret is not None,
            )
            for each in config.targets
        ],
        last_error=last_error,
        consecutive_failures=watch.failures,
        external=watch.is_external,
        changes_detected=watch.metrics.changes,
        price_changes_detected=watch.metrics.price_changes,
    )


_KEPT_AS: dict[type, type] = {
    ScheduleBody: Schedule,
    SelectionBody: Selection,
    ThresholdsBody: Thresholds,
}


def config_of(body: AddWatchBody | EditWatchBody | WatchBefore) -> dict[str, Any]:
    """The fields of WatchConfig that are given, as the domain has them."""
    config: dict[str, Any] = {}
    for name in WatchConfig.__dataclass_fields__:
        value = getattr(body, name, msgspec.UNSET)
        if value is msgspec.UNSET or (name == "schedule" and value is None):
            continue
        if kind := _KEPT_AS.get(type(value)):
            value = msgspec.convert(value, kind, from_attributes=True)
        elif name == "targets":
            value = msgspec.convert(value, list[Target], from_attributes=True)
        config[name] = value
    return config


def schedule_of(body: BulkWatchesBody) -> dict[str, Any]:
    """The field of WatchConfig, if it is given."""
    if body.schedule is None:
        return {}
    return {"schedule": msgspec.convert(body.schedule, Schedule, from_attributes=True)}


def page_filter(given: PageChoice) -> PageFilter:
    since = given.changed_since
    return PageFilter(
        watch_id=given.watch_id or None,
        url=given.url or None,
        text=given.q or None,
        type=given.type or None,
        outcome=given.outcome,
        changed_since=None if since is None else int(since),
    )


def watch_before(watch_id: str, before: Mapping[str, Any]) -> WatchBefore:
    given = {**before}
    if "schedule" in before:
        given["schedule"] = msgspec.convert(before["schedule"], ScheduleBody, from_attributes=True)
    return WatchBefore(id=watch_id, **given)


def restored(before: WatchBefore) -> dict[str, Any]:
    """What to change, to have it as it was."""
    due = before.next_run_at
    return config_of(before) | ({} if due is msgspec.UNSET else {"next_run_at": due})


def job_run(run: WatchRun) -> JobRun:
    return filled(
        JobRun,
        run,
        last_run_at=run.updated_at,
        run_duration=round(run.duration.total_seconds() * 1000),
        pages_processed=run.tally.processed,
        pages_failed=run.tally.failed,
        changes_detected=run.tally.changes,
        price_changes_detected=run.tally.price_changes,
        failures=msgspec.convert(run.failures, list[RunFailure], from_attributes=True),
    )


def notification_response(notification: Notification) -> NotificationResponse:
    return filled(
        NotificationResponse,
        notification,
        notice_id=notification.notification_id,
        target=shown_target(notification.target_url),
        lines=lines_of(notification),
    )
