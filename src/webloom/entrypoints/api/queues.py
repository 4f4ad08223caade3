"""/api/queues: how deep they are, and their dead letters."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated

import msgspec
from fastapi import HTTPException, Path, Query, Request
from starlette.responses import Response

from webloom.application.dead_letters import act_on, all_ids
from webloom.bootstrap import Services
from webloom.entrypoints.api.activity import Activity
from webloom.entrypoints.api.admin_schemas import (
    DeadLetterAnswer,
    DeadLetterChoice,
    DeadLettersDone,
    DeadLettersPage,
)
from webloom.entrypoints.api.answers import answer
from webloom.entrypoints.api.asked import decode, refuse_unknown
from webloom.parsing.json_limits import JsonLimits
from webloom.ports.broker import DeadLetter

MOST_IDS = 1000
MOST_MISSING = 100  # that are named
LIMITS = JsonLimits(values=MOST_IDS + 10, items=MOST_IDS, called="ids", items_level=2)
LONGEST_BODY = 65_536  # characters

QueueName = Annotated[str, Path(alias="queue", max_length=100)]

_choices = msgspec.json.Decoder(DeadLetterChoice)


class QueueRoutes:
    def __init__(self, services: Services, activity: Activity) -> None:
        self._services = services
        self._activity = activity

    async def listing(self) -> Response:
        """Every queue, its depth and its rate."""
        return answer(await self._activity.queues())

    async def dead_letters(
        self,
        request: Request,
        queue: QueueName,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
        after: Annotated[str | None, Query(max_length=300)] = None,
    ) -> Response:
        """Messages that no worker could handle, the oldest first."""
        refuse_unknown(request, {"limit", "after"})
        self._refuse_unknown_queue(queue)
        now = self._services.clock.now()
        letters = await self._services.broker.dead_letters(queue, limit=limit, after=after or None)
        return answer(
            DeadLettersPage(
                at=max([now, *(each.buried_at for each in letters)]),  # clocks differ
                data=[_letter_answer(each) for each in letters],
                next_after=letters[-1].id if len(letters) == limit else None,
            )
        )

    async def put_back(self, request: Request, queue: QueueName) -> Response:
        """Deliver dead letters again, as if new."""
        return await self._act_on_chosen(request, queue, self._services.broker.put_back)

    async def discard(self, request: Request, queue: QueueName) -> Response:
        """Remove dead letters for good."""
        return await self._act_on_chosen(request, queue, self._services.broker.discard)

    async def _act_on_chosen(
        self, request: Request, queue: str, act: Callable[[str, str], Awaitable[bool]]
    ) -> Response:
        refuse_unknown(request, set())
        self._refuse_unknown_queue(queue)
        choice = decode(_choices, await request.body(), LIMITS)
        if bool(choice.ids) == choice.all:
            raise HTTPException(422, 'Name the dead letters by "ids", or all of them by "all".')
        if choice.before is not None and not choice.all:
            raise HTTPException(422, 'before: only goes with "all".')
        ids = list(dict.fromkeys(choice.ids)) or await all_ids(
            self._services.broker, queue, choice.before
        )
        missing = await act_on(ids, partial(act, queue))
        return answer(DeadLettersDone(done=len(ids) - len(missing), missing=missing[:MOST_MISSING]))

    def _refuse_unknown_queue(self, queue: str) -> None:
        """Some brokers would make it."""
        known = self._services.settings.broker_urls
        if queue not in known:
            raise HTTPException(404, f"There is no such queue. There are {', '.join(known)}.")


def _letter_answer(letter: DeadLetter) -> DeadLetterAnswer:
    body = letter.body.decode(errors="replace")
    return DeadLetterAnswer(
        id=letter.id,
        reason=letter.reason,
        buried_at=letter.buried_at,
        body=body[:LONGEST_BODY],
        is_cut=len(body) > LONGEST_BODY,
    )
