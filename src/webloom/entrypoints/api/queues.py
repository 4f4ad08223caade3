"""/api/queues: how deep they are, and their dead letters."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Query, Request

from webloom.application.dead_letters import DeadLetters
from webloom.entrypoints.api.admin_schemas import (
    DeadLetterChoice,
    DeadLetterResponse,
    DeadLettersDone,
    DeadLettersPage,
    QueuesPage,
)
from webloom.entrypoints.api.openapi import described, router
from webloom.entrypoints.api.requests import (
    InContext,
    NoParameters,
    Paging,
    WithServices,
    json_body,
    services_of,
)
from webloom.entrypoints.api.responses import Json, Refusal
from webloom.parsing.json_limits import JsonLimits
from webloom.ports.broker import DeadLetter

MOST_IDS = 1000
MOST_MISSING = 100  # that are named
LIMITS = JsonLimits(values=MOST_IDS + 10, items=MOST_IDS, called="ids", items_level=2)
LONGEST_BODY = 65_536  # characters

routes = router("/api/queues", "queues")


async def known_queue(request: Request, queue: Annotated[str, Path(max_length=100)]) -> str:
    """Some brokers would create any other."""
    known = (await services_of(request)).settings.broker_urls
    if queue not in known:
        raise Refusal(404, f"There is no such queue. There are {', '.join(known)}.")
    return queue


Queue = Annotated[str, Depends(known_queue)]
Choice = Annotated[DeadLetterChoice, Depends(json_body(DeadLetterChoice, LIMITS))]


@routes.get("")
async def list_queues(context: InContext) -> Json[QueuesPage]:
    """List the queues, each with its depth and its rate."""
    return Json(await context.activity.queues())


@routes.get("/{queue}/dead", responses=described({}, 404))
async def list_dead_letters(
    services: WithServices, queue: Queue, query: Annotated[Paging, Query()]
) -> Json[DeadLettersPage]:
    """List messages that no worker could handle, the oldest first."""
    now = services.clock.now()
    letters = await services.broker.dead_letters(
        queue, limit=query.limit, after=query.cursor or None
    )
    return Json(
        DeadLettersPage(
            at=max([now, *(each.buried_at for each in letters)]),  # clocks differ
            data=[_letter_response(each) for each in letters],
            next_cursor=letters[-1].id if len(letters) == query.limit else None,
        )
    )


@routes.post("/{queue}/dead/put-back", dependencies=[NoParameters], responses=described({}, 404))
async def put_back_dead_letters(
    services: WithServices, queue: Queue, choice: Choice
) -> Json[DeadLettersDone]:
    """Deliver dead letters again, as if new."""
    ids = await _chosen(services.dead_letters, queue, choice)
    return _done(ids, await services.dead_letters.put_back(queue, ids))


@routes.post("/{queue}/dead/discard", dependencies=[NoParameters], responses=described({}, 404))
async def discard_dead_letters(
    services: WithServices, queue: Queue, choice: Choice
) -> Json[DeadLettersDone]:
    """Remove dead letters for good."""
    ids = await _chosen(services.dead_letters, queue, choice)
    return _done(ids, await services.dead_letters.discard(queue, ids))


async def _chosen(letters: DeadLetters, queue: str, choice: DeadLetterChoice) -> list[str]:
    if bool(choice.ids) == choice.all:
        raise Refusal(422, 'Name the dead letters by "ids", or all of them by "all".')
    if choice.before is not None and not choice.all:
        raise Refusal(422, 'before: only goes with "all".')
    return list(dict.fromkeys(choice.ids)) or await letters.ids(queue, choice.before)


def _done(ids: list[str], missing: list[str]) -> Json[DeadLettersDone]:
    return Json(DeadLettersDone(done=len(ids) - len(missing), missing=missing[:MOST_MISSING]))


def _letter_response(letter: DeadLetter) -> DeadLetterResponse:
    body = letter.body.decode(errors="replace")
    return DeadLetterResponse(
        id=letter.id,
        reason=letter.reason,
        buried_at=letter.buried_at,
        body=body[:LONGEST_BODY],
        is_cut=len(body) > LONGEST_BODY,
    )
