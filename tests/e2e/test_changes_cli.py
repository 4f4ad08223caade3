"""`webloom changes` as a user runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts.page_samples import TS, event
from e2e.test_cli import Environment, environment, webloom
from webloom.bootstrap.connections import open_services
from webloom.domain.schedule import Schedule
from webloom.domain.watch import WatchConfig
from webloom.settings import load_settings

URL = "https://shop.test/chair"


@pytest.fixture
async def env(tmp_path: Path) -> Environment:
    """Two watches, with three changes."""
    made = environment(tmp_path)
    async with open_services(load_settings(made)) as services:
        config = WatchConfig(name="[red]Chairs", urls=[URL], schedule=Schedule(every_minutes=60))
        await services.watches.add_watch("chairs", config, next_run_at=None)
        for number, watch_id in enumerate(("chairs", "chairs", "removed"), 1):
            changed = event(f"{number}", ts=TS + number, watch_id=watch_id, url=URL, is_change=True)
            await services.pages.store_event(changed)
    return made


async def test_changes_are_listed_and_marked_as_done(env: Environment) -> None:
    shown = await webloom("changes", "list", env=env)
    assert shown.code == 0, shown.err
    assert shown.out.index("removed") < shown.out.index("[red]Chairs")
    assert "2024-04-05" in shown.out
    listed = (await webloom("changes", "list", "--limit", "2", "--json", env=env)).objects
    assert [each["name"] for each in listed] == ["removed", "[red]Chairs"]
    assert [each["state"] for each in listed] == ["unread", "unread"]
    [one, _] = (each["id"] for each in listed)
    done = await webloom("changes", "done", one, env=env)
    assert (done.code, done.out) == (0, "1 change marked as done\n")
    missing = await webloom("changes", "done", one, "page-none", env=env)
    assert (missing.code, missing.out) == (1, "1 change marked as done\n")
    assert "changes not found: page-none; `webloom changes list`" in missing.err
    every = await webloom("changes", "done", "--all", "--watch", "chairs", env=env)
    assert every.out == "2 changes marked as done\n"
    assert (await webloom("changes", "list", env=env)).out == "nothing is unread\n"
    done_ones = await webloom("changes", "list", "--state", "done", "--json", env=env)
    assert len(done_ones.objects) == 3


async def test_which_changes_are_done_must_be_said_once(env: Environment) -> None:
    for arguments in ((), ("page-x", "--all"), ("page-x", "--watch", "chairs")):
        refused = await webloom("changes", "done", *arguments, env=env)
        assert refused.code == 2, arguments
