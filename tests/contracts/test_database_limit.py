"""The limit of the whole database, over every store: what is superseded goes from 80 % on, nothing
else ever does, and at the limit every pipeline waits."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from contracts.adapters import FIRST_TOPOLOGIES, StoreBackend
from contracts.conftest import place_for
from contracts.inventory_samples import URL, found, note, request
from contracts.page_samples import event, numbers, parsed
from topologies import each
from webloom.bootstrap.connections import open_services
from webloom.bootstrap.services import Services
from webloom.domain.errors import BrokerFull, StoreFull
from webloom.domain.inventory import METADATA_QUEUE, Attempt, GivenBack
from webloom.ports.broker import Message
from webloom.ports.heartbeats import Heartbeat
from webloom.settings import load_settings

pytestmark = pytest.mark.usefixtures("patient")

MIB = 1 << 20
LIMIT = 8 * MIB
BEAT = Heartbeat(
    process_id="p", role="worker", host="h", pid=1, slots=1, in_flight=0, completed=0, retried=0,
    failed=0, started_at=datetime(2026, 3, 1, tzinfo=UTC),
)  # fmt: skip


@dataclass(kw_only=True)
class Installation:
    services: Services
    weigh_down: Callable[[int], None]  # bytes of what is not superseded

    async def store(self, number: int) -> None:
        content = parsed(f"{number}") | {"more": random.Random(number).randbytes(100_000).hex()}
        await self.services.pages.store_event(
            event(f"{number}", version=number + 1, ts=number, content=content)
        )

    async def size(self) -> int:
        """Every process looks at each of its heartbeats."""
        await self.services.heartbeats.beat(BEAT)
        return (await self.services.sizes.size()).bytes


@pytest.fixture(params=each(FIRST_TOPOLOGIES))
async def installation(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[Installation]:
    backend: StoreBackend = request.param
    place = place_for(backend, request, tmp_path)
    limited = {"WEBLOOM_DATA_DIR": str(tmp_path), "WEBLOOM_DATABASE_LIMIT": str(LIMIT)}
    async with open_services(load_settings(limited, **backend.settings(place))) as services:
        yield Installation(services=services, weigh_down=partial(backend.fill, place))


async def test_from_four_fifths_of_the_limit_on_what_is_superseded_goes(
    installation: Installation,
) -> None:
    services = installation.services
    installation.weigh_down(4 * MIB)
    for number in range(60):
        await installation.store(number)
        if await installation.size() > 0.8 * LIMIT:
            await services.page_storage.prune()
        assert await installation.size() < LIMIT
        assert services.room.full is None
    kept = await numbers(services.page_history)
    assert kept == [(n + 1, f"{n}") for n in range(60)][-len(kept) :], "the oldest went"
    assert 1 < len(kept) < 60
    assert await services.page_storage.prune() >= 0
    assert await installation.size() <= 0.85 * LIMIT


async def test_below_that_nothing_goes(installation: Installation) -> None:
    for number in range(5):
        await installation.store(number)
    assert await installation.size() < 0.8 * LIMIT
    assert await installation.services.page_storage.prune() == 0
    assert len(await numbers(installation.services.page_history)) == 5


async def test_at_the_limit_every_pipeline_waits_and_all_can_be_read(
    installation: Installation,
) -> None:
    services = installation.services
    await note(services.store, request("known"))
    held = await services.store.begin_attempt(request("held", url=f"{URL}/held"), lease=15)
    assert isinstance(held, Attempt)
    await installation.store(0)
    installation.weigh_down(9 * MIB)
    assert await installation.size() > LIMIT
    why = services.room.full
    assert why is not None
    assert "WEBLOOM_DATABASE_LIMIT is 8,388,608" in why.what
    with pytest.raises(StoreFull, match="raise the limit"):
        await note(services.store, request("new", url=f"{URL}/new"))
    with pytest.raises(StoreFull, match="raise the limit"):
        await installation.store(1)
    if services.settings.accepts_into_the_store:
        with pytest.raises(BrokerFull, match="raise the limit"):
            await services.broker.publish(METADATA_QUEUE, Message(id="x", body=b"{}"))
    assert await services.store.finish_attempt(held, GivenBack()), "who stops gives back"
    await services.page_storage.prune()
    assert await numbers(services.page_history) == [(1, "0")], "what is not superseded stays"
    assert (await found(services.store)).url == URL


async def test_the_size_of_each_collection_is_reported(installation: Installation) -> None:
    await installation.store(0)
    installation.weigh_down(MIB)
    services = installation.services
    size = await services.sizes.size()
    assert size.limit == LIMIT
    assert size.full is None
    names = {each.name: each for each in size.collections}
    assert {"metadata", "snapshots", "watches", "heartbeats"} <= names.keys()
    assert names["snapshots"].bytes > 40_000
    assert size.collections == sorted(size.collections, key=lambda each: -each.bytes)
    assert all(each.is_ours for name, each in names.items() if name != "theirs")
    assert names["theirs"].bytes >= MIB
    assert names["theirs"].is_ours == services.settings.accepts_into_the_store
    assert sum(each.bytes for each in size.collections) == pytest.approx(size.bytes, rel=0.2)
