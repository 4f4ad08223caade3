"""Serve one delivery of `watch-pages`: check a page of a run.

    fetch -> unchanged? -> read in a child process -> a wall or an error? -> what has changed?
       |         |                                            |                     |
       |   record the check                            record the failure  publish on storage-agent
       `- failed: retry later, finally record the failure

The message is settled only after the store or the queue has the result. If the process dies before,
the page is checked again; its run counts it once.

If this machine runs out of resources, the check waits: that says nothing about the page.

A deferred check becomes a new message, which carries its history: the number of a delivery can't
tell a page that failed from one whose host was busy.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeGuard

import msgspec

from webloom.application.deliveries import defer, publish_when_room, request_in
from webloom.application.host_turns import HostTurns
from webloom.application.retrying import retry_until_available, when_resources_allow
from webloom.application.watch.page_event import page_event
from webloom.application.watch.page_problems import content_problem, size_problem, status_problem
from webloom.domain.backoff import Backoff
from webloom.domain.errors import FetchFailed, PageUnreadable
from webloom.domain.feed import LastFetch
from webloom.domain.inventory import MAX_ATTEMPTS
from webloom.domain.page import CHECK_QUEUE
from webloom.domain.page_check import Checked, Validators
from webloom.domain.politeness import Defer
from webloom.domain.retry import is_retryable
from webloom.domain.storage_event import Origin, milliseconds_of
from webloom.domain.watch import Outcome, Watch
from webloom.jitter import jitter
from webloom.parsing.pages.page import ParsedPage
from webloom.parsing.storage_event import LAST_TS, encoded
from webloom.parsing.web_url import host_of
from webloom.ports.broker import Broker, Delivery, Message
from webloom.ports.clock import Clock
from webloom.ports.fetcher import Downloaded, Downloader
from webloom.ports.page_reader import PageOrder, PageRead, PageReader
from webloom.ports.pages import Pages, StoredPage
from webloom.ports.watch_runs import WatchRuns
from webloom.ports.watches import Watches
from webloom.private_files import make_spool

log = logging.getLogger(__name__)

MOST_DEATHS = 5  # of workers in a row, after which the check counts as their cause
FULL_PAUSE = 1.0  # seconds, while the storage queue is full


class PageCheck(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The message on `watch-pages`."""

    run_id: str
    watch_id: str = msgspec.field(name="jobId")
    url: str
    failed: int = 0  # fetches in this run
    deaths: int = 0  # of workers that had it

    @property
    def message(self) -> Message:
        key = f"{self.run_id} {self.url}"
        return Message(id=uuid.uuid4().hex, body=msgspec.json.encode(self), key=key)

    def checked(self, at: datetime, outcome: Outcome, **details: Any) -> Checked:
        return Checked(
            watch_id=self.watch_id,
            url=self.url,
            run_id=self.run_id,
            at=at,
            outcome=outcome,
            **details,
        )


_checks = msgspec.json.Decoder(PageCheck)


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckPage:
    watches: Watches
    runs: WatchRuns
    pages: Pages
    broker: Broker
    storage_queue: str
    downloader: Downloader
    reader: PageReader
    turns: HostTurns
    retries: Backoff
    clock: Clock
    spool: Path

    async def __call__(self, delivery: Delivery) -> None:
        request = await request_in(delivery, _checks, "a check of a page")
        if request is None:
            return
        check: PageCheck = request
        began = self.clock.now()  # before the watch is read: its selection may change meanwhile
        watch = await retry_until_available(lambda: self.watches.find_watch(check.watch_id))
        if watch is None or not await retry_until_available(
            lambda: self.runs.is_open(check.run_id, check.url)
        ):
            await retry_until_available(delivery.ack)
            return
        if delivery.redelivered:
            check = msgspec.structs.replace(check, deaths=check.deaths + delivery.attempt - 1)
        if check.deaths >= MOST_DEATHS:
            await self._fail(check, began, f"its worker died {check.deaths} times")
            await retry_until_available(delivery.ack)
            return
        turn = await self.turns.take(host_of(check.url))
        if isinstance(turn, Defer):
            await self._defer(delivery, check, turn.seconds * (1 + jitter() / 2))
            return
        try:
            await self._check(delivery, check, watch, began)
        finally:
            turn.end()

    async def _check(
        self, delivery: Delivery, check: PageCheck, watch: Watch, began: datetime
    ) -> None:
        page = await retry_until_available(lambda: self.pages.find_page(check.watch_id, check.url))
        path = self.spool / f"{uuid.uuid4().hex}.page"
        await asyncio.to_thread(make_spool, self.spool)
        try:
            got = await when_resources_allow(
                lambda: self.downloader.download(check.url, path, known=_known(page))
            )
            self.turns.heed(check.url, got.status_code, got.retry_after)
            _refuse_status(got)
            if _is_same(page, got):
                await self._note_unchanged(check, began, got)
            else:
                order = _order(path, got, watch, page)
                read = await when_resources_allow(lambda: self.reader.read(order))
                await self._compare(check, began, watch, page, got, read)
        except FetchFailed as failure:
            check = msgspec.structs.replace(check, failed=check.failed + 1)
            if failure.retryable and check.failed < MAX_ATTEMPTS:
                seconds = self.retries.delay(
                    check.failed, jitter=jitter(), retry_after=failure.retry_after
                )
                await self._defer(delivery, check, seconds)
                return
            await self._fail(check, began, failure.reason)
        except PageUnreadable as error:
            await self._fail(check, began, str(error))
        except OSError as error:
            reason = f"the page can't be kept in {self.spool}: {error.strerror or error}"
            await self._fail(check, began, reason)
        finally:
            await asyncio.to_thread(path.unlink, missing_ok=True)
        await retry_until_available(delivery.ack)

    async def _defer(self, delivery: Delivery, check: PageCheck, seconds: float) -> None:
        await defer(delivery, self.broker, CHECK_QUEUE, check.message, seconds)

    async def _compare(
        self,
        check: PageCheck,
        began: datetime,
        watch: Watch,
        page: StoredPage | None,
        got: Downloaded,
        read: PageRead,
    ) -> None:
        if problem := content_problem(read.reading):
            raise PageUnreadable(problem)
        if page is not None and page.snapshot_hash == read.reading.snapshot_hash:
            await self._note_unchanged(check, began, got)
            return
        message = {
            "jobId": check.watch_id,
            "runId": check.run_id,
            "url": check.url,
            "ts": _timestamp(page, began),
            "origin": Origin.CHECKER.value,
            **page_event(watch, page, got, read),
        }
        if problem := size_problem(message["parsed"]):
            raise PageUnreadable(problem)
        event = Message(id=uuid.uuid4().hex, body=encoded(message))
        await publish_when_room(self.broker, self.storage_queue, event, FULL_PAUSE)

    async def _note_unchanged(self, check: PageCheck, began: datetime, got: Downloaded) -> None:
        validators = Validators(
            etag=got.etag, last_modified=got.last_modified, body_hash=got.sha256
        )
        kept = None if got.status_code == 304 else validators
        checked = check.checked(began, Outcome.UNCHANGED, validators=kept)
        await retry_until_available(lambda: self.pages.note_checked(checked))

    async def _fail(self, check: PageCheck, began: datetime, reason: str) -> None:
        checked = check.checked(began, Outcome.FAILED, error=reason[:500])
        await retry_until_available(lambda: self.pages.note_checked(checked))


def _timestamp(page: StoredPage | None, began: datetime) -> int:
    """A timestamp after the page's last update: another worker's clock may be ahead of ours."""
    known = -1 if page is None or page.last_updated is None else page.last_updated
    return min(LAST_TS, max(milliseconds_of(began), known + 1))


def _known(page: StoredPage | None) -> LastFetch:
    if not _has_text(page):
        return LastFetch()
    return LastFetch(etag=page.validators.etag, last_modified=page.validators.last_modified)


def _refuse_status(got: Downloaded) -> None:
    problem = status_problem(got.status_code)
    if problem is None or got.status_code == 304:
        return
    retryable = is_retryable(got.status_code)
    raise FetchFailed(reason=problem, retryable=retryable, retry_after=got.retry_after)


def _is_same(page: StoredPage | None, got: Downloaded) -> bool:
    if not _has_text(page):
        return False
    return got.status_code == 304 or page.validators.body_hash == got.sha256


def _has_text(page: StoredPage | None) -> TypeGuard[StoredPage]:
    """A page that is stored without text is read at each check, which tells why it has none."""
    return page is not None and page.version is not None and bool(page.text)


def _order(path: Path, got: Downloaded, watch: Watch, page: StoredPage | None) -> PageOrder:
    return PageOrder(
        path=path,
        url=got.final_url,
        status_code=got.status_code,
        content_type=got.content_type,
        selection=watch.config.selection,
        previous=_previous(page),
    )


def _previous(page: StoredPage | None) -> ParsedPage | None:
    if page is None or page.version is None:
        return None
    return ParsedPage(
        title=page.title,
        text=page.text or "",
        images=[each for each in page.images if isinstance(each, str)],
        links=[each for each in page.links if isinstance(each, str)],
    )
