"""What an address is: a feed, a page, or something else."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from webloom.application.recognise_address import Recognised
from webloom.bootstrap.services import Services
from webloom.bootstrap.use_cases import open_recognise_address
from webloom.domain.errors import FetchFailed, UrlRefused
from webloom.entrypoints.api.openapi import router
from webloom.entrypoints.api.previews import while_connected
from webloom.entrypoints.api.recognise_schemas import (
    RecogniseBody,
    RecognisedAddress,
    recognised_response,
)
from webloom.entrypoints.api.requests import InContext, json_body
from webloom.entrypoints.api.responses import Json, Refusal

routes = router("/api/recognise", "addresses")


@routes.post("")
async def recognise_address(
    request: Request,
    context: InContext,
    body: Annotated[RecogniseBody, Depends(json_body(RecogniseBody))],
) -> Json[RecognisedAddress]:
    """Fetch an address once, and say what it is. Nothing is stored.

    `https://` may be missing; if no secure connection can be made, `http://` is tried.
    """
    with context.page_previews.one():
        try:
            recognised = await while_connected(
                request.receive, _recognise(context.services, body.address)
            )
        except (UrlRefused, FetchFailed) as error:
            raise Refusal(422, f"This address can't be fetched: {error}.") from error
    return Json(recognised_response(recognised))


async def _recognise(services: Services, address: str) -> Recognised:
    async with open_recognise_address(services) as recognise:
        return await recognise(address)
