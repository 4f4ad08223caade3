"""The current activity of this installation, as the API reports it.

    BuildOverview -> Activity -> /api/overview, /api/queues, /api/live

One per API process.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from functools import partial

import msgspec

from webloom.application.overview.build_overview import SHARED_SECONDS
from webloom.bootstrap.services import Services
from webloom.bootstrap.use_cases import build_overview
from webloom.entrypoints.api.admin_schemas import (
    Overview,
    QueuesPage,
    RecordCounts,
    TroublesPage,
    overview_response,
    queue_response,
    trouble_responses,
)
from webloom.entrypoints.api.live_topics import LiveTopics, Look, Said, Source
from webloom.ports.heartbeats import Heartbeat
from webloom.ports.revisions import Changing

LOOK_SECONDS = 0.2  # between two polls for changes
EVENT_SECONDS = 0.25  # between two events of changes

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_encoder = msgspec.json.Encoder(decimal_format="number")


class Activity:
    def __init__(self, services: Services, beat: Heartbeat, stopping: asyncio.Event) -> None:
        self._revisions = services.revisions
        self._builder = build_overview(services, partial(services.send_heartbeat.complete, beat))
        self.sampler = self._builder.sampler
        self.live = LiveTopics(
            {
                "overview": _each_second(self._look_at_overview),
                "queues": _each_second(self._look_at_queues),
                "inventory": _at_changes(partial(self._look_at_revision, "inventory")),
                "watch": _at_changes(partial(self._look_at_revision, "watch")),
            },
            stopping,
        )

    async def overview(self) -> Overview:
        return overview_response(await self._builder.overview())

    async def troubles(self) -> TroublesPage:
        found = (await self._builder.overview()).troubles
        return TroublesPage(data=trouble_responses(found), next_cursor=None)

    async def queues(self) -> QueuesPage:
        return QueuesPage(
            data=[queue_response(each) for each in await self._builder.queues()], next_cursor=None
        )

    async def record_counts(self) -> RecordCounts:
        return RecordCounts(counts=await self._builder.record_counts())

    async def _look_at_overview(self) -> Said:
        overview = await self.overview()
        timeless = msgspec.structs.replace(overview, at=_EPOCH)
        return Said(mark=timeless, data=_encoder.encode(overview))

    async def _look_at_queues(self) -> Said:
        data = _encoder.encode(await self.queues())
        return Said(mark=data, data=data)

    async def _look_at_revision(self, pipeline: Changing) -> Said:
        data = _encoder.encode({"revision": await self._revisions.revision(pipeline)})
        return Said(mark=data, data=data)


def _each_second(look: Look) -> Source:
    return Source(look=look, pause=SHARED_SECONDS, event_pause=SHARED_SECONDS)


def _at_changes(look: Look) -> Source:
    return Source(look=look, pause=LOOK_SECONDS, event_pause=EVENT_SECONDS)
