"""Hundreds of events, twice, in any order, by two agents, one of which is killed again and again:
what is kept is what one undisturbed pass leaves."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from faults.conftest import MakeFleet
from faults.site import Site
from faults.stack import MakeStack, Say
from faults.watch_room import (
    Havoc,
    State,
    differences,
    make_watch_room,
    message,
    state_of,
)
from faults.watch_room_events import MALFORMED, UNTIMED, events, read
from topologies import FEED_AND_WATCH_KINDS
from webloom.bootstrap.connections import open_services
from webloom.domain.page import STORAGE_QUEUE
from webloom.ports.broker import DeadLetter
from webloom.settings import load_settings

EVENTS = 240
PAGES = 24
KILLS = 4


async def one_pass(folder: Path, bodies: list[bytes]) -> State:
    """Over an embedded store, in the order of the times."""
    async with open_services(load_settings({"WEBLOOM_DATA_DIR": str(folder)})) as services:
        for body in bodies:
            event = read(body)
            assert not isinstance(event, str), event
            await services.pages.store_event(event)
        return masked(await state_of(services))


def masked(state: State) -> State:
    """Without the moments at which events came that have none of their own."""
    kept: State = {}
    runs: Counter[str] = Counter()
    for name, found in state.items():
        if name.startswith(f"run {UNTIMED}:"):
            runs.update(found["tally"])
        elif name == f"watch {UNTIMED}":
            kept[name] = found | {"last_run": None, "last_run_at": None}
        elif name.startswith(f"{UNTIMED} "):
            page = found["page"] | {"last_updated": None, "last_checked": None}
            kept[name] = {
                "page": page,
                "versions": [(each[0], each[1], each[3]) for each in found["versions"]],
                "prices": [each[1:] for each in found["prices"]],
                "changes": [(*each[:2], *each[3:]) for each in found["changes"]],
            }
        else:
            kept[name] = found
    return kept | {f"runs of {UNTIMED}": dict(runs)}


async def dead_letters(services: Any) -> list[DeadLetter]:
    found: list[DeadLetter] = []
    while page := await services.broker.dead_letters(
        STORAGE_QUEUE, limit=10, after=found[-1].id if found else None
    ):
        found += page
    return found


@pytest.mark.parametrize("kind", FEED_AND_WATCH_KINDS)
async def test_what_is_kept_depends_on_the_events_alone(
    kind: str,
    site: Site,
    fleets: MakeFleet,
    stacks: MakeStack,
    tmp_path: Path,
    rng: random.Random,
    say: Say,
) -> None:
    good = events(rng, count=EVENTS, pages=PAGES)
    expected = await one_pass(tmp_path / "one-pass", good)
    room = await make_watch_room(kind, site, fleets, stacks, lease=3, slots=8, queue_limit=10_000)
    sent = [
        message(f"{copy}-{number}", body)
        for copy in "ab"
        for number, body in enumerate([*good, *MALFORMED])
    ]
    rng.shuffle(sent)
    havoc = Havoc(room, rng)
    async with room.services() as services:
        await havoc.begin("storage-agent steady")
        await havoc.begin("storage-agent")
        part = len(sent) // (KILLS + 1) + 1
        for start in range(0, len(sent), part):
            published = await services.broker.publish_many(
                STORAGE_QUEUE, sent[start : start + part]
            )
            assert None not in published
            await asyncio.sleep(rng.uniform(0.0, 0.4))
            if len(havoc.killed) < KILLS:
                await havoc.kill("storage-agent")
        await havoc.settle()
        await room.served(services)
        state = masked(await state_of(services))
        dead = await dead_letters(services)
    wrong = differences(expected, state)
    assert not wrong, f"{len(wrong)}: " + "\n".join(wrong[:20])
    reasons = Counter((each.body, each.reason) for each in dead)
    assert reasons == Counter({(body, str(read(body))): 2 for body in MALFORMED})
    say(f"{len(state)} pages and runs; {len(dead)} dead letters; killed {len(havoc.killed)} times")
