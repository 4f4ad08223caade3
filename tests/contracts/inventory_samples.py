"""Requests and outcomes for the suites of the inventory."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from webloom.domain.inventory import (
    AlreadyDone,
    Attempt,
    Busy,
    Completed,
    Failed,
    FetchRequest,
    GiveUp,
    Received,
    Record,
    RetryLater,
    Status,
)
from webloom.domain.request_state import NotedRequest, RequestState
from webloom.ports.inventory_store import InventoryStore

URL = "http://site.example/page"
LEASE = 15.0

RECEIVED = Received(
    status_code=200,
    headers={"content-type": "text/html", "x.dotted.name": "$value", "$set": "a.b"},
    cookies={"sid": "1; ä", "a.b": ""},
    page_source="<p>hello</p>",
    final_url="http://site.example/page?final",
    details={"redirects": ["http://site.example/old"], "sizes": {"body": 12}, "$k.v": None},
)
COMPLETED = Completed(received=RECEIVED)
FAILED = Failed(reason="the server answered 404", retry_count=0)

_numbers = count(1)


def request(
    request_id: str | None = None, *, url: str = URL, background: bool = False
) -> FetchRequest:
    return FetchRequest(
        url=url, request_id=request_id or f"request {next(_numbers)}", background=background
    )


def with_source(source: str | None) -> Completed:
    return Completed(received=replace(RECEIVED, page_source=source))


def later(seconds: float = 30.0, retry_count: int = 1) -> RetryLater:
    return RetryLater(reason="the connection was refused", retry_count=retry_count, seconds=seconds)


async def note(store: InventoryStore, noted: FetchRequest, token: int = 0) -> None:
    await store.note_requests([NotedRequest(request=noted, token=token)])


async def begin(
    store: InventoryStore, wanted: FetchRequest | None = None, lease: float = LEASE
) -> Attempt:
    begun = await begin_any(store, wanted, lease)
    assert isinstance(begun, Attempt), begun
    return begun


async def begin_any(
    store: InventoryStore, wanted: FetchRequest | None = None, lease: float = LEASE
) -> Attempt | Busy | AlreadyDone | GiveUp:
    return await store.begin_attempt(wanted or request(), lease=lease)


async def complete(
    store: InventoryStore, url: str = URL, outcome: Completed | Failed = COMPLETED
) -> Attempt:
    attempt = await begin(store, request(url=url))
    assert await store.finish_attempt(attempt, outcome)
    return attempt


async def found(store: InventoryStore, url: str = URL) -> Record:
    record = await store.find(url)
    assert record is not None
    return record


async def status_of(store: InventoryStore, url: str = URL) -> Status:
    return (await found(store, url)).status


async def state_of(store: InventoryStore, url: str = URL) -> RequestState:
    [state] = await store.states([url])
    assert state is not None
    return state
