"""List the dead letters of a queue, redeliver them, or discard them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from webloom.application.bulk import Act, Done, Failure, Finished, act_on_all, refuse_grown
from webloom.domain.search import Term, contains, searchable, terms_of
from webloom.ports.broker import Broker, DeadLetter

PAGE = 100
MOST_SCANNED = 1000  # letters looked at for one page
MOST_SEARCHED = 20_000  # bytes of a body
NOT_THERE = "It is not there any more"


class DeadLetterAction(StrEnum):
    PUT_BACK = "put-back"  # deliver it again, as if new
    DISCARD = "discard"


@dataclass(frozen=True, kw_only=True, slots=True)
class DeadLetters:
    broker: Broker

    async def each(self, queue: str) -> AsyncIterator[DeadLetter]:
        """Each once, oldest first: RabbitMQ may hold a letter twice if an answer was lost when it
        was made."""
        async for fresh in self._pages(queue):
            for letter in fresh:
                yield letter

    async def _pages(self, queue: str) -> AsyncIterator[list[DeadLetter]]:
        seen: set[str] = set()
        after = None
        while True:
            page = await self.broker.dead_letters(queue, limit=PAGE, after=after)
            fresh = [letter for letter in page if letter.id not in seen]
            yield fresh
            if len(page) < PAGE or not fresh:
                return
            seen.update(letter.id for letter in fresh)
            after = page[-1].id

    async def page(
        self, queue: str, text: str | None, *, limit: int, after: str | None
    ) -> tuple[list[DeadLetter], str | None]:
        """The oldest first, with what the next page comes after. Of a text (domain/search.py) in
        their bodies and reasons, MOST_SCANNED are looked at: a page may be short."""
        terms = terms_of(text or "")
        if not terms:
            letters = await self.broker.dead_letters(queue, limit=limit, after=after)
            return letters, letters[-1].id if len(letters) == limit else None
        found: list[DeadLetter] = []
        for _ in range(MOST_SCANNED // PAGE):
            some = await self.broker.dead_letters(queue, limit=PAGE, after=after)
            matches = await asyncio.to_thread(_matches, some, terms)
            for letter, is_match in zip(some, matches, strict=True):
                after = letter.id
                if is_match:
                    found.append(letter)
                if len(found) == limit:
                    return found, after
            if len(some) < PAGE:
                return found, None
        return found, after

    async def ids(
        self,
        queue: str,
        before: datetime | None = None,
        *,
        text: str | None = None,
        at_most: float | None = None,
    ) -> list[str]:
        """Those that exist now, so that a letter that dies again meanwhile is not selected again.
        With `before`, only those made by then. Raises BulkGrown."""
        terms = terms_of(text or "")
        ids: list[str] = []
        async for letters in self._pages(queue):
            matches = await asyncio.to_thread(_matches, letters, terms)
            ids += [
                letter.id
                for letter, is_match in zip(letters, matches, strict=True)
                if is_match and (before is None or letter.buried_at <= before)
            ]
            refuse_grown(len(ids), at_most)
        return ids

    def act(self, queue: str, action: DeadLetterAction) -> Act:
        one = self.broker.discard if action is DeadLetterAction.DISCARD else self.broker.put_back

        async def act(message_id: str) -> Done | Failure:
            if await one(queue, message_id):
                return Done()
            return Failure(id=message_id, name=None, reason=NOT_THERE)

        return act

    async def all(self, queue: str, action: DeadLetterAction, ids: list[str]) -> Finished:
        """What came of them."""
        return await act_on_all(ids, self.act(queue, action))


def _matches(letters: Sequence[DeadLetter], terms: Sequence[Term]) -> list[bool]:
    return [contains(_searchable(each), terms) for each in letters]


def _searchable(letter: DeadLetter) -> str:
    body = letter.body[:MOST_SEARCHED].decode(errors="replace")
    return searchable([letter.reason, body])
