"""One action on many items.

    ids -> a batch of them at once -> its failures and old values -> the next batch ... -> all

An item that fails does not affect the others. If a dependency can't be used, the rest is not tried,
and says why.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from webloom.domain.errors import (
    BackendRefused,
    BulkGrown,
    BulkRefused,
    Unavailable,
    WebloomError,
)

log = logging.getLogger(__name__)

AT_ONCE = 100
MOST_GIVEN = 10_000  # items that a request names
MOST_CHOSEN = 100_000  # that a filter finds
NOT_TRIED = "Not tried: "  # begins the reason of a failure after a dependency has failed
MOST_FAILURES = 100  # that are listed; all are counted
MOST_UNDONE = 10_000  # items whose old values are returned; if there are more, none are


async def all_chosen(
    page: Callable[[str | None], Awaitable[tuple[list[str], str | None]]],
    at_most: float | None = None,
) -> list[str]:
    """The ids of all that a filter finds, page by page. Raises as `refuse_many`."""
    ids: list[str] = []
    cursor: str | None = None
    while True:
        more, cursor = await page(cursor)
        ids += more
        refuse_many(len(ids), at_most)
        if cursor is None:
            return ids


@dataclass(frozen=True, slots=True)
class Done:
    before: Mapping[str, Any] | None = None  # the values that have changed; None: none has


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    id: str
    name: str | None  # None: it is not known
    reason: str
    is_skipped: bool = False  # there was nothing to do


@dataclass(kw_only=True, slots=True)
class Tally:
    """What came of some of the items."""

    failed: int = 0
    skipped: int = 0
    failures: list[Failure] = field(default_factory=list)  # and what was skipped; the first
    # Old values of what has changed; None: too much has, in this tally or the one it is part of.
    before: dict[str, Mapping[str, Any]] | None = field(default_factory=dict)

    def add(self, item_id: str, result: Done | Failure) -> None:
        if isinstance(result, Failure):
            self.failed += not result.is_skipped
            self.skipped += result.is_skipped
            if len(self.failures) < MOST_FAILURES:
                self.failures.append(result)
        elif result.before is not None and self.before is not None:
            self.before[item_id] = result.before
            if len(self.before) > MOST_UNDONE:
                self.before = None


@dataclass(kw_only=True, slots=True)
class Progress(Tally):
    """After a batch, with what came of it: who can't wait for the end can still undo it."""

    done: int  # with any outcome
    total: int


@dataclass(kw_only=True, slots=True)
class Finished(Tally):
    """What came of all."""

    total: int


UNEXPECTED = "Webloom failed to do this; its log says why"

Act = Callable[[str], Awaitable[Done | Failure]]


def refuse_grown(count: int, at_most: float | None) -> None:
    """Of what a filter has found so far; `at_most` is what a person saw. Raises BulkGrown."""
    if at_most is not None and count > at_most:
        raise BulkGrown(
            f"Nothing was done: more than {at_most:,.0f} match now. Look at the list again before "
            "you repeat this"
        )


def refuse_many(count: int, at_most: float | None) -> None:
    """As `refuse_grown`. Raises BulkRefused also if they are too many for one action."""
    refuse_grown(count, at_most)
    if count > MOST_CHOSEN:
        raise BulkRefused(f"filter: it finds more than {MOST_CHOSEN:,}; narrow it")


_batches: set[asyncio.Future[Any]] = set()  # that a cancelled caller has left to end


async def act_on_each(ids: Iterable[str], act: Act) -> AsyncIterator[Progress | Finished]:
    """Progress after each batch, and in the end what came of it. If the caller is cancelled, the
    batch in progress is still finished. Whatever `act` raises is a failure of its item."""
    wanted = list(dict.fromkeys(ids))
    finished = Finished(total=len(wanted))
    for start in range(0, len(wanted), AT_ONCE):
        some = wanted[start : start + AT_ONCE]
        batch = asyncio.gather(*(_tried(act, each) for each in some))
        _batches.add(batch)
        batch.add_done_callback(_batches.discard)
        results = await asyncio.shield(batch)
        progress = Progress(done=start + len(some), total=len(wanted))
        listed = len(finished.failures)
        for each, (result, _) in zip(some, results, strict=True):
            finished.add(each, result)
            progress.add(each, result)
        progress.failures = finished.failures[listed:]
        progress.before = None if finished.before is None else progress.before
        if away := next((why for _, why in results if why is not None), None):
            for each in wanted[start + AT_ONCE :]:
                finished.add(each, Failure(id=each, name=None, reason=f"{NOT_TRIED}{away}"))
            break
        yield progress
    yield finished


async def act_on_all(ids: Iterable[str], act: Act) -> Finished:
    """As `act_on_each`, for callers that wait for the end."""
    result = Finished(total=0)
    async for each in act_on_each(ids, act):
        if isinstance(each, Finished):
            result = each
    return result


async def _tried(act: Act, item_id: str) -> tuple[Done | Failure, str | None]:
    """With why a dependency can't be used; None: they can."""
    try:
        return await act(item_id), None
    except WebloomError as error:
        failure = Failure(id=item_id, name=None, reason=str(error))
        is_away = isinstance(error, Unavailable | BackendRefused)
        return failure, failure.reason if is_away else None
    except Exception:
        log.exception("an action on an item failed", extra={"id": item_id})
        return Failure(id=item_id, name=None, reason=UNEXPECTED), None
