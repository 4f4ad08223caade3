"""/api/overview and /api/live: what is going on now."""

from __future__ import annotations

from typing import Annotated

from fastapi import HTTPException, Query, Request
from starlette.responses import Response

from webloom.entrypoints.api.activity import Activity
from webloom.entrypoints.api.answers import answer, problem
from webloom.entrypoints.api.asked import refuse_unknown
from webloom.entrypoints.api.live import EventStream


class OverviewRoutes:
    def __init__(self, activity: Activity) -> None:
        self._activity = activity

    async def overview(self) -> Response:
        """The three pipelines at a glance, what runs, what changed, what is broken."""
        return answer(await self._activity.overview())

    async def record_counts(self) -> Response:
        """How many records of the inventory are in each state; a few seconds old."""
        return answer(await self._activity.record_counts())

    async def live(
        self,
        request: Request,
        topics: Annotated[
            str, Query(description="Any of overview, queues, inventory, watch; with commas between")
        ] = "",
    ) -> Response:
        """Server-Sent Events: `overview` and `queues` with the whole answer of their routes, at
        once and when it has changed, at most once a second; `inventory` and `watch` with a
        revision, at once and when something of that pipeline has changed.

        Only the latest event of a topic is of interest: none is sent again after a break.
        """
        refuse_unknown(request, {"topics"})
        live = self._activity.live
        wanted = dict.fromkeys(each.strip() for each in topics.split(",") if each.strip())
        if not wanted or wanted.keys() - set(live.names):
            raise HTTPException(
                422, f"topics: got {topics[:100]!r}, wants any of {','.join(live.names)}."
            )
        if live.is_full:
            return problem(
                503, "There are too many listeners already. Try again.", {"Retry-After": "5"}
            )
        return EventStream(live.events(wanted))
