"""Take URLs in.

    normalise -> refuse what can't be fetched -> join what is pending -> publish -> note as PENDING

The message is durable before the record says PENDING, so that a crash between the two leaves a
message without a note (the worker writes the record) and never a note without a message.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import msgspec

from webloom.domain.errors import QueueFull, UrlRefused
from webloom.domain.inventory import METADATA_QUEUE, FetchRequest, RequestState, Status
from webloom.ports.broker import Broker, Message
from webloom.ports.inventory_store import InventoryStore, NotedRequest

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

    async def one(self, url: str, *, background: bool = False) -> Accepted:
        """Raises UrlRefused, QueueFull, BrokerUnavailable, StoreUnavailable."""
        [answer] = await self._submit([self.check(url)], background=background)
        if isinstance(answer, NoRoom):
            raise QueueFull(METADATA_QUEUE, self.queue_limit)
        return answer

    async def many(self, urls: Sequence[str]) -> list[Answer]:
        """One answer for each URL, in order. Raises BrokerUnavailable, StoreUnavailable."""
        answers: list[Answer | None] = []
        good: list[str] = []
        for url in urls:
            try:
                good.append(self.check(url))
                answers.append(None)
            except UrlRefused as refusal:
                answers.append(Refused(url=url, reason=str(refusal)))
        submitted = iter(await self._submit(good, background=False))
        return [next(submitted) if answer is None else answer for answer in answers]

    async def _submit(self, urls: list[str], *, background: bool) -> list[Accepted | NoRoom]:
        states = await self.store.states(urls)
        answers: dict[int, Accepted | NoRoom] = {}
        requests: dict[int, FetchRequest] = {}
        for index, (url, state) in enumerate(zip(urls, states, strict=True)):
            if joined := _joined(url, state, background):
                answers[index] = joined
            else:
                requests[index] = FetchRequest(
                    url=url, request_id=str(uuid.uuid4()), background=background
                )
        if requests:
            answers |= await self._publish(requests, states)
        return [answers[index] for index in range(len(urls))]

    async def _publish(
        self, requests: dict[int, FetchRequest], states: list[RequestState | None]
    ) -> dict[int, Accepted | NoRoom]:
        messages = [message_for(request) for request in requests.values()]
        standing = await self.broker.publish_many(METADATA_QUEUE, messages)
        answers: dict[int, Accepted | NoRoom] = {}
        noted = []
        for (index, request), request_id in zip(requests.items(), standing, strict=True):
            if request_id is None:
                answers[index] = NoRoom(url=request.url)
                continue
            state = states[index]
            token = 0 if state is None else state.token
            noted.append(NotedRequest(request=replace(request, request_id=request_id), token=token))
            answers[index] = Accepted(url=request.url, request_id=request_id, status=Status.PENDING)
        if noted:
            await self.store.note_requests(noted)
        return answers


def message_for(request: FetchRequest) -> Message:
    key = hashlib.blake2b(request.url.encode(), digest_size=16).hexdigest()
    return Message(id=request.request_id, key=key, body=msgspec.json.encode(request))


def _joined(url: str, state: RequestState | None, background: bool) -> Accepted | None:
    if state is None or state.request_id is None or (state.background and not background):
        return None
    return Accepted(url=url, request_id=state.request_id, status=state.status)
