"""Accept URLs to fetch.

    normalise -> refuse what can't be fetched -> join pending requests -> publish -> record PENDING

The message is durable before the record says PENDING, so a crash between the two leaves a message
without a record (the worker writes it) and never a record without a message.

For the same reason a URL can be accepted while the store is down: it is published without reading
its record. At worst it is fetched once more than necessary.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import msgspec

from webloom.domain.errors import BackendRefused, QueueFull, StoreUnavailable, UrlRefused
from webloom.domain.inventory import METADATA_QUEUE, FetchRequest, Status, url_key
from webloom.domain.request_state import NotedRequest, RequestState
from webloom.ports.broker import Broker, Message
from webloom.ports.inventory_store import InventoryStore

log = logging.getLogger(__name__)

SLICE = 500
STORE_SECONDS = 0.3  # for each of two calls to the store

Result = TypeVar("Result")

Check = Callable[[str], str]  # a URL as given -> normalised; raises UrlRefused


@dataclass(frozen=True, kw_only=True, slots=True)
class Accepted:
    url: str
    request_id: str
    status: Status


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    url: str  # as it was given
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class NoRoom:
    url: str


Answer = Accepted | Refused | NoRoom


@dataclass(frozen=True, kw_only=True, slots=True)
class SubmitUrl:
    store: InventoryStore
    broker: Broker
    check: Check
    queue_limit: int
    needs_store: bool  # it is the broker too: nothing can be accepted without it

    async def one(self, url: str, *, background: bool = False) -> Accepted:
        """Raises UrlRefused, QueueFull, BrokerUnavailable, and StoreUnavailable with
        `needs_store`."""
        [answer] = await self._submit([self.check(url)], self._store(), background=background)
        if isinstance(answer, NoRoom):
            raise QueueFull(METADATA_QUEUE, self.queue_limit)
        return answer

    async def many(self, urls: Sequence[str]) -> list[Answer]:
        """One answer per URL, in order. Raises BrokerUnavailable, StoreUnavailable."""
        answers: list[Answer] = []
        store = self._store()
        for start in range(0, len(urls), SLICE):  # other tasks run in between
            given = urls[start : start + SLICE]
            checked = await asyncio.to_thread(self._checked, given)
            good = [each for each in checked if isinstance(each, str)]
            submitted = iter(await self._submit(good, store, background=False))
            answers += [next(submitted) if isinstance(each, str) else each for each in checked]
        return answers

    def _checked(self, urls: Sequence[str]) -> list[str | Refused]:
        """Normalised, or refused. Runs in a thread, because long URLs take a while."""
        checked: list[str | Refused] = []
        for url in urls:
            try:
                checked.append(self.check(url))
            except UrlRefused as refusal:
                checked.append(Refused(url=url, reason=str(refusal)))
        return checked

    def _store(self) -> _Store:
        return _Store(self.store, None if self.needs_store else STORE_SECONDS)

    async def _submit(
        self, urls: list[str], store: _Store, *, background: bool
    ) -> list[Accepted | NoRoom]:
        states = await store.states(urls)
        answers: dict[int, Accepted | NoRoom] = {}
        requests: dict[int, FetchRequest] = {}
        noted: list[NotedRequest] = []
        for index, (url, state) in enumerate(zip(urls, states, strict=True)):
            request_id = None if state is None else state.request_id
            request = FetchRequest(
                url=url, request_id=request_id or str(uuid.uuid4()), background=background
            )
            if state is None or request_id is None:
                requests[index] = request
                continue
            status = state.status
            if state.background and not background:  # a client waits for it now
                status = Status.PENDING if state.in_progress_for is None else Status.IN_PROGRESS
                noted.append(NotedRequest(request=request, token=state.token))
            answers[index] = Accepted(url=url, request_id=request_id, status=status)
        if requests:
            for index, standing in (await self._publish(requests)).items():
                state = states[index]
                answers[index] = standing
                if isinstance(standing, Accepted):
                    request = replace(requests[index], request_id=standing.request_id)
                    token = 0 if state is None else state.token
                    noted.append(NotedRequest(request=request, token=token))
        if noted:
            await store.note_requests(noted)
        return [answers[index] for index in range(len(urls))]

    async def _publish(self, requests: dict[int, FetchRequest]) -> dict[int, Accepted | NoRoom]:
        messages = [message_for(request) for request in requests.values()]
        standing = await self.broker.publish_many(METADATA_QUEUE, messages)
        return {
            index: NoRoom(url=request.url)
            if request_id is None
            else Accepted(url=request.url, request_id=request_id, status=Status.PENDING)
            for (index, request), request_id in zip(requests.items(), standing, strict=True)
        }


class _Store:
    """The store during one submission; not used again after it was too slow."""

    def __init__(self, store: InventoryStore, seconds: float | None) -> None:
        self._store = store
        self._seconds = seconds  # None: no limit, and its errors are raised
        self._is_down = False

    async def states(self, urls: list[str]) -> list[RequestState | None]:
        """None for an unknown URL, and for every URL while the store is unavailable."""
        return await self._in_time(lambda: self._store.states(urls)) or [None] * len(urls)

    async def note_requests(self, noted: list[NotedRequest]) -> None:
        await self._in_time(lambda: self._store.note_requests(noted))

    async def _in_time(self, call: Callable[[], Awaitable[Result]]) -> Result | None:
        if self._is_down:
            return None
        if self._seconds is None:
            return await call()
        try:
            async with asyncio.timeout(self._seconds):
                return await call()
        except (TimeoutError, StoreUnavailable, BackendRefused) as error:
            self._is_down = True
            log.warning("accepting without the store", extra={"error": str(error) or "too slow"})
            return None


def message_for(request: FetchRequest) -> Message:
    key = url_key(request.url)
    return Message(id=request.request_id, key=key, body=msgspec.json.encode(request))
