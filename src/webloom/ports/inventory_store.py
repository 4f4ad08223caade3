from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from webloom.domain.inventory import (
    Attempt,
    FetchRequest,
    Outcome,
    Record,
)
from webloom.domain.request_state import BeginResult, NotedRequest, RequestState


class InventoryStore(Protocol):
    """One record for each normalised URL.

    Every write is idempotent and atomic for its record. All verbs raise StoreUnavailable when the
    store can't be reached; nothing was changed then, or the same call can be made again.
    """

    async def find(self, url: str, *, most: int | None = None) -> Record | None:
        """The record, as LargeSource when its page source has more bytes than `most`. 0: without
        looking at its source."""

    async def states(self, urls: Sequence[str]) -> list[RequestState | None]:
        """For each URL, in order, where it stands; None for an unknown one."""

    async def note_requests(self, noted: Sequence[NotedRequest]) -> None:
        """Show requests whose messages are durable: new URLs appear as PENDING, and a record that
        is fetched again goes back to PENDING unless the request is a background one. A request that
        is outstanding already is quiet from now on.

        A request whose record has begun an attempt since (its token has grown) is left alone:
        the worker was faster and what it wrote is newer.
        """

    async def begin_attempt(self, request: FetchRequest, *, lease: float) -> BeginResult:
        """Decide (`request_state.begin_attempt`) and write the decision, as one step.

        For Attempt the record is IN_PROGRESS for `lease` seconds under a new token, which is the
        time in microseconds or one more than the token before, whichever is greater; no other
        attempt begins meanwhile. For GiveUp it is FAILED_PERMANENT. An unknown URL is created.
        """

    async def renew_attempts(self, attempts: Sequence[Attempt], *, lease: float) -> None:
        """Lengthen the leases of attempts whose tokens still stand; others are left alone."""

    async def finish_attempt(self, attempt: Attempt, outcome: Outcome) -> bool:
        """Write the outcome, if the attempt's token still stands, even when its lease has run out.

        False, and nothing is changed, when a newer attempt has begun, the record is gone, or the
        outcome was written before. A failure without a response leaves what an earlier response
        brought in place.
        """

    async def forget(self, url: str) -> bool:
        """Drop what is known of the URL. A record with an outstanding request loses its metadata
        and stays, so that the request still gets its answer. False: the URL was unknown."""

    async def forgotten_requests(self, *, quiet_for: float, limit: int) -> list[NotedRequest]:
        """Outstanding requests that nothing has happened to for so many seconds: no attempt runs,
        no retry is due later. Their messages may have been lost with their broker."""
