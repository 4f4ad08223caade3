"""Requests and responses of the inbox."""

from __future__ import annotations

from datetime import datetime

import msgspec

from webloom.domain.errors import UrlRefused
from webloom.domain.inbox import EntryKind, InboxState
from webloom.entrypoints.api.formats import DecidedIds, DecidedState, Moment, PageUrl, WatchId
from webloom.entrypoints.api.schemas import CountedPage, Page, filled
from webloom.entrypoints.api.watch_page_schemas import ChangeResponse, change_response
from webloom.parsing.web_url import host_of, normalise
from webloom.ports.inbox import InboxEntry, MutedPage


class EntryResponse(ChangeResponse, kw_only=True, rename="camel"):
    """A change in the inbox."""

    id: str
    kind: EntryKind
    name: str  # of the watch; its id if it was removed
    host: str | None  # null: the URL of another program's event has none that Webloom can read
    state: InboxState
    snoozed_until: datetime | None  # null: it is not snoozed
    is_muted: bool  # the page, now


class EntriesPage(CountedPage[EntryResponse]):
    """Entries of the inbox, the latest first."""


class InboxCounts(msgspec.Struct, kw_only=True, rename="camel"):
    """How many entries wait."""

    unread: int
    unread_is_exact: bool  # false: there are at least `unread`
    snoozed: int
    snoozed_is_exact: bool
    went_unread: int  # that expired or were pruned unread or snoozed in the last 30 days


class DecideBody(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What becomes of the entries with these ids."""

    ids: DecidedIds
    state: DecidedState
    until: Moment | None = None  # only with snoozed; in the past: they are unread


class Decided(msgspec.Struct, kw_only=True, rename="camel"):
    """What came of it."""

    found: int  # entries that have the state now
    not_found: list[str]  # ids that no entry has: it has expired, or never existed


class MuteBody(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    """A page whose changes don't wait in the inbox, or wait again."""

    watch_id: WatchId = msgspec.field(name="jobId")
    url: PageUrl
    is_muted: bool = True


class PageMuting(msgspec.Struct, kw_only=True, rename="camel"):
    """Whether the changes of a page wait in the inbox."""

    watch_id: str = msgspec.field(name="jobId")
    url: str
    is_muted: bool


class MutedPageResponse(msgspec.Struct, kw_only=True, rename="camel"):
    """A page whose changes don't wait in the inbox."""

    watch_id: str = msgspec.field(name="jobId")
    url: str
    muted_at: datetime


class MutedPages(Page[MutedPageResponse]):
    """Muted pages, the latest muted first."""


def entry_response(entry: InboxEntry, name: str) -> EntryResponse:
    return filled(
        EntryResponse,
        entry,
        change_response(entry.change),
        id=entry.entry_id,
        name=name,
        host=_host(entry.change.url),
    )


def muted_page_response(page: MutedPage) -> MutedPageResponse:
    return filled(MutedPageResponse, page)


def _host(url: str) -> str | None:
    try:
        return host_of(normalise(url))
    except UrlRefused:
        return None
