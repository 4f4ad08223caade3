"""/api/queues: how deep they are, and their dead letters."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Query, Request
from pydantic import Field
from starlette.responses import Response

from webloom.application.dead_letters import NOT_THERE, PAGE, DeadLetterAction, DeadLetters
from webloom.entrypoints.api.admin_schemas import (
    BulkDeadLettersBody,
    DeadLetterChoice,
    DeadLetterResponse,
    DeadLettersDone,
    DeadLettersPage,
    QueuesPage,
)
from webloom.entrypoints.api.bulk import LIMITS as BULK_LIMITS
from webloom.entrypoints.api.bulk import LINES, bulk_response, one_of
from webloom.entrypoints.api.exports import ExportQuery, as_file, columns, export_response
from webloom.entrypoints.api.openapi import described, lines_of, router
from webloom.entrypoints.api.requests import (
    FEW_BULK_ACTIONS,
    InContext,
    NoParameters,
    Paging,
    Parameters,
    WithServices,
    Words,
    json_body,
    services_of,
)
from webloom.entrypoints.api.responses import RETRY_WHEN_UNAVAILABLE, Json, Refusal
from webloom.parsing.json_limits import JsonLimits
from webloom.ports.broker import DeadLetter

MOST_IDS = 1000
LIMITS = JsonLimits(values=MOST_IDS + 10, items=MOST_IDS, called="ids", items_level=2)
LONGEST_BODY = 65_536  # characters

routes = router("/api/queues", "queues")


class DeadLetterFilters(Parameters):
    q: Words = Field(None, description="Beginnings of words in the reason and the body")


class DeadLettersQuery(Paging, DeadLetterFilters):
    pass


class DeadLettersExport(ExportQuery, DeadLetterFilters):
    columns: str = columns(DeadLetterResponse.__struct_encode_fields__)


async def known_queue(request: Request, queue: Annotated[str, Path(max_length=100)]) -> str:
    """Some brokers would create any other."""
    known = (await services_of(request)).settings.broker_urls
    if queue not in known:
        raise Refusal(404, f"Queue not found. The queues are {', '.join(known)}.")
    return queue


Queue = Annotated[str, Depends(known_queue)]
Choice = Annotated[DeadLetterChoice, Depends(json_body(DeadLetterChoice, LIMITS))]


@routes.get("")
async def list_queues(context: InContext) -> Json[QueuesPage]:
    """List the queues, each with its depth and its rate."""
    return Json(await context.activity.queues())


@routes.get("/{queue}/dead", responses=described({}, 404))
async def list_dead_letters(
    services: WithServices, queue: Queue, query: Annotated[DeadLettersQuery, Query()]
) -> Json[DeadLettersPage]:
    """List messages that no worker could handle, the oldest first. Go on while `nextCursor` is
    given: a page under a rare text can be short."""
    now = services.clock.now()
    letters, following = await services.dead_letters.page(
        queue, query.q, limit=query.limit, after=query.cursor or None
    )
    return Json(
        DeadLettersPage(
            at=max([now, *(each.buried_at for each in letters)]),  # clocks differ
            data=[_letter_response(each) for each in letters],
            next_cursor=following,
        )
    )


@routes.get("/{queue}/dead/export", responses=as_file() | described({}, 404))
async def export_dead_letters(
    services: WithServices, queue: Queue, query: Annotated[DeadLettersExport, Query()]
) -> Response:
    """Export dead letters as CSV or lines of JSON, the oldest first."""

    async def read(cursor: str | None) -> tuple[list[DeadLetter], str | None]:
        return await services.dead_letters.page(queue, query.q, limit=PAGE, after=cursor)

    return await export_response("dead-letters", query, read, _letter_response)


@routes.post(
    "/{queue}/dead/bulk",
    dependencies=[NoParameters, FEW_BULK_ACTIONS],
    responses=lines_of(*LINES) | described({}, 404, 409),
)
async def change_dead_letters(
    services: WithServices,
    queue: Queue,
    body: Annotated[BulkDeadLettersBody, Depends(json_body(BulkDeadLettersBody, BULK_LIMITS))],
) -> Response:
    """Deliver many dead letters again, as if new (`put-back`), or remove them for good (`discard`).
    The response is as for POST /api/watches/bulk, and nothing can be undone."""
    one_of(body.ids, body.filter, "ids")
    letters = services.dead_letters
    act = letters.act(queue, body.action)
    if body.filter is None:
        return bulk_response(body.ids or (), act)
    chosen = body.filter
    ids = await letters.ids(queue, chosen.before, text=chosen.q, at_most=body.at_most)
    return bulk_response(ids, act)


@routes.post("/{queue}/dead/put-back", dependencies=[NoParameters], responses=described({}, 404))
async def put_back_dead_letters(
    services: WithServices, queue: Queue, choice: Choice
) -> Json[DeadLettersDone]:
    """Deliver dead letters again, as if new. For many, /bulk says how far it is."""
    return await _acted(services.dead_letters, queue, DeadLetterAction.PUT_BACK, choice)


@routes.post("/{queue}/dead/discard", dependencies=[NoParameters], responses=described({}, 404))
async def discard_dead_letters(
    services: WithServices, queue: Queue, choice: Choice
) -> Json[DeadLettersDone]:
    """Remove dead letters for good. For many, /bulk says how far it is."""
    return await _acted(services.dead_letters, queue, DeadLetterAction.DISCARD, choice)


async def _acted(
    letters: DeadLetters, queue: str, action: DeadLetterAction, choice: DeadLetterChoice
) -> Json[DeadLettersDone]:
    if bool(choice.ids) == choice.all:
        raise Refusal(422, 'Name the dead letters by "ids", or all of them by "all".')
    if choice.before is not None and not choice.all:
        raise Refusal(422, 'before: only goes with "all".')
    result = await letters.all(queue, action, choice.ids or await letters.ids(queue, choice.before))
    done = result.total - result.failed
    if other := next((each for each in result.failures if each.reason != NOT_THERE), None):
        detail = f"{done:,} of {result.total:,} are done, and then: {other.reason}. Try again."
        raise Refusal(503, detail, {"Retry-After": str(RETRY_WHEN_UNAVAILABLE)})
    return Json(DeadLettersDone(done=done, missing=[each.id for each in result.failures]))


def _letter_response(letter: DeadLetter) -> DeadLetterResponse:
    body = letter.body.decode(errors="replace")
    return DeadLetterResponse(
        id=letter.id,
        reason=letter.reason,
        buried_at=letter.buried_at,
        body=body[:LONGEST_BODY],
        is_cut=len(body) > LONGEST_BODY,
    )
