"""Serve one delivery of `metadata_queue`.

    decode -> the host's turn -> begin the attempt -> fetch -> write the outcome -> settle

The message is settled only after the store has the outcome. If a process dies between two steps,
the message is redelivered and the store decides what is left to do. If this machine runs out of
resources, the fetch waits: that says nothing about the URL.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field

import msgspec

from webloom.application.deliveries import request_in
from webloom.application.host_turns import HostTurns
from webloom.application.retrying import retry_until_available, when_resources_allow
from webloom.domain.backoff import Backoff
from webloom.domain.errors import FetchFailed, Unavailable
from webloom.domain.inventory import (
    AlreadyDone,
    Attempt,
    Busy,
    Completed,
    Failed,
    FetchRequest,
    GivenBack,
    GiveUp,
    Outcome,
    Received,
    RetryLater,
)
from webloom.domain.politeness import Defer
from webloom.domain.retry import decide_outcome
from webloom.jitter import jitter
from webloom.parsing.web_url import host_of
from webloom.ports.broker import Delivery
from webloom.ports.fetcher import Fetcher
from webloom.ports.inventory_store import InventoryStore

log = logging.getLogger(__name__)

RENEWAL_PAUSE = 0.1  # after a renewal that failed

_decoder = msgspec.json.Decoder(FetchRequest)


@dataclass(kw_only=True, slots=True)
class Tally:
    """What this process has done since it started."""

    completed: int = 0
    retried: int = 0
    failed: int = 0


@dataclass(kw_only=True, slots=True)
class FetchUrl:
    store: InventoryStore
    fetcher: Fetcher
    turns: HostTurns
    retries: Backoff
    lease: float
    tally: Tally = field(default_factory=Tally)
    in_flight: dict[int, Attempt] = field(default_factory=dict)
    beginning: int = 0  # attempts that are being recorded in the store
    closing: bool = False  # begin no more
    # A message that a worker held when it died may have killed it: such messages are tried one at a
    # time, so that none is blamed for another.
    _alone: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def __call__(self, delivery: Delivery) -> None:
        request = await request_in(delivery, _decoder, "a fetch request")
        if request is None:
            return
        if not delivery.redelivered:
            await self._in_turn(delivery, request)
        elif self._alone.locked():  # the slot is free for others meanwhile
            await retry_until_available(lambda: delivery.retry(1 + jitter()))
        else:
            async with self._alone:
                await self._in_turn(delivery, request)

    async def renew_leases(self) -> None:
        """Runs beside the deliveries, so that this worker keeps their attempts."""
        pause = self.lease / 3
        while True:
            await asyncio.sleep(pause)
            pause = self.lease / 3
            try:
                if self.in_flight:
                    await self.store.renew_attempts(list(self.in_flight.values()), lease=self.lease)
            except Unavailable as error:
                pause = min(pause, RENEWAL_PAUSE)
                log.warning("cannot renew attempts", extra={"error": str(error)})

    async def _in_turn(self, delivery: Delivery, request: FetchRequest) -> None:
        turn = await self.turns.take(host_of(request.url))
        if isinstance(turn, Defer):
            seconds = turn.seconds * (1 + jitter() / 2)
            await retry_until_available(lambda: delivery.retry(seconds))
            return
        try:
            await self._attempt(delivery, request)
        finally:
            turn.end()

    async def _attempt(self, delivery: Delivery, request: FetchRequest) -> None:
        if self.closing:
            await retry_until_available(delivery.retry)
            return
        self.beginning += 1
        try:
            begun = await retry_until_available(
                lambda: self.store.begin_attempt(request, lease=self.lease)
            )
        finally:
            self.beginning -= 1
        match begun:
            case AlreadyDone() | GiveUp():
                self.tally.failed += isinstance(begun, GiveUp)
                await retry_until_available(delivery.ack)
            case Busy(seconds=seconds):
                await retry_until_available(lambda: delivery.retry(seconds))
            case Attempt() as attempt:
                await self._fetch(delivery, attempt)

    async def _fetch(self, delivery: Delivery, attempt: Attempt) -> None:
        self.in_flight[id(attempt)] = attempt
        try:
            result = await self._result(attempt.url)
            if isinstance(result, Received):
                self.turns.heed(attempt.url, result.status_code, result.retry_after)
            outcome = decide_outcome(
                result, retry_count=attempt.retry_count, backoff=self.retries, jitter=jitter()
            )
            stands = await retry_until_available(
                lambda: self.store.finish_attempt(attempt, outcome)
            )
        except asyncio.CancelledError:
            await self._give_back(delivery, attempt)
            raise
        finally:
            del self.in_flight[id(attempt)]
        if stands:
            self._note(attempt, outcome)
        else:
            log.warning(
                "attempt was superseded", extra={"url": attempt.url, "token": attempt.token}
            )
        if stands and isinstance(outcome, RetryLater):
            await retry_until_available(lambda: delivery.retry(outcome.seconds))
        else:
            await retry_until_available(delivery.ack)

    async def _result(self, url: str) -> Received | FetchFailed:
        try:
            return await when_resources_allow(lambda: self.fetcher.fetch(url))
        except FetchFailed as failure:
            return failure
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return _unexpected(url, error)
        except Exception as error:
            return _unexpected(url, error)

    async def _give_back(self, delivery: Delivery, attempt: Attempt) -> None:
        try:
            await self.store.finish_attempt(attempt, GivenBack())
            await delivery.retry()
        except Unavailable as error:  # then the leases run out
            log.warning("cannot give back", extra={"url": attempt.url, "error": str(error)})

    def _note(self, attempt: Attempt, outcome: Outcome) -> None:
        match outcome:
            case Completed():
                self.tally.completed += 1
            case RetryLater(reason=reason):
                self.tally.retried += 1
                log.info("a URL will be fetched again", extra={"url": attempt.url, "error": reason})
            case Failed(reason=reason):
                self.tally.failed += 1
                log.warning("a URL failed", extra={"url": attempt.url, "error": reason})


def _unexpected(url: str, error: BaseException) -> FetchFailed:
    log.error("unexpected error in a fetch", exc_info=error, extra={"url": url})
    return FetchFailed(reason=f"unexpected {type(error).__name__}: {error}", retryable=False)
