"""The writes of the inventory: load a record's state, let the domain decide, save the change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from webloom.domain.inventory import Attempt, FetchRequest, GivenBack, Outcome
from webloom.domain.request_state import (
    Assumption,
    BeginAttempt,
    BeginResult,
    FinishAttempt,
    NotedRequest,
    RenewAttempt,
    RequestState,
    Tombstone,
    assume_running,
    assume_settled,
    assume_waiting,
    begin_attempt,
    finish_attempt,
    forget,
    note_request,
    renew_attempt,
)
from webloom.stores.primitives import Answer, Decide, Event, Now

Decided = RequestState | Tombstone
Guess = Callable[[Event, Now], Assumption | None]  # None: not to be guessed


class Records(Protocol):
    """As `Documents`, by URL and with guesses. Raises StoreUnavailable."""

    async def read(self, urls: Sequence[str]) -> dict[str, RequestState]: ...

    async def change(
        self,
        decide: Decide[Decided, Event, Answer],
        items: Sequence[tuple[str, Event]],
        *,
        guess: Guess[Event] | None = None,
        durable: bool = True,
    ) -> list[Answer]:
        """Decide about each (URL, event), in order, and write what changed if nothing else did
        meanwhile; otherwise decide again. A tombstone as the new state deletes the record, and is
        what the URL has for TOMBSTONE_SECONDS. Where no crash undoes a record that others have
        seen, every unknown URL has one: with None, a late outcome makes the record again.

        A backend for which reading is expensive decides on the state that `guess` assumes, and
        writes if its conditions hold. Without `durable` a crash may undo such a change.
        """

    async def check_room(self) -> None:
        """Before a write that takes room. Raises StoreFull."""

    def text(self, text: str) -> str:
        """With replacements for characters that the backend can't keep."""


class StoredInventory:
    """The writes of the port `InventoryStore`; a backend adds the queries."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def states(self, urls: Sequence[str]) -> list[RequestState | None]:
        found = await self._records.read(urls)
        return [found.get(url) for url in urls]

    async def note_requests(self, noted: Sequence[NotedRequest]) -> None:
        if any(each.token == 0 for each in noted):
            await self._records.check_room()
        items = []
        for each in noted:
            request = self._storable(each.request)
            event = each if request is each.request else NotedRequest(request, each.token)
            items.append((request.url, event))
        await self._records.change(note_request, items, guess=assume_settled)

    async def begin_attempt(self, request: FetchRequest, *, lease: float) -> BeginResult:
        event = BeginAttempt(self._storable(request), lease)
        [begun] = await self._records.change(
            begin_attempt, [(request.url, event)], guess=assume_waiting, durable=False
        )
        return begun

    async def renew_attempts(self, attempts: Sequence[Attempt], *, lease: float) -> None:
        items = [(each.url, RenewAttempt(each, lease)) for each in attempts]
        await self._records.change(renew_attempt, items, durable=False)

    async def finish_attempt(self, attempt: Attempt, outcome: Outcome) -> bool:
        if not isinstance(outcome, GivenBack):
            await self._records.check_room()
        event = FinishAttempt(attempt, outcome)
        [stands] = await self._records.change(
            finish_attempt, [(attempt.url, event)], guess=assume_running, durable=False
        )
        return stands

    async def forget(self, url: str) -> bool:
        [was_known] = await self._records.change(forget, [(url, None)])
        return was_known

    def _storable(self, request: FetchRequest) -> FetchRequest:
        request_id = request.request_id
        if request_id.isascii() and request_id.isprintable():
            return request
        return replace(request, request_id=self._records.text(request_id))
