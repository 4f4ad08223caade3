"""`webloom copy` and `webloom load`, killed again and again, and servers that die under a copy.

The checker: what the source holds is in the target, each record once, whatever happened; and a copy
goes on from where the one before was, which the note in the target tells.
"""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.copying import by_url, fill, held, records, start
from e2e.running import environment
from faults.database import DatabaseFile, database_on
from faults.processes import eventually
from servers.mongod import MongoServer
from servers.shared import SharedServers
from topologies import LARGE


@dataclass(frozen=True, kw_only=True)
class Size:
    records: int
    kills: int


SIZES = [
    pytest.param(Size(records=4_000, kills=2), id="4,000"),
    pytest.param(Size(records=15_000, kills=6), id="15,000", marks=LARGE),
]

DATABASE = "copied"

Say = Callable[[str], None]
Position = Callable[[], int]  # items that are loaded, by the target's note; 0: there is none


@pytest.fixture(params=SIZES)
def size(request: pytest.FixtureRequest) -> Size:
    assert isinstance(request.param, Size)
    return request.param


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return environment(tmp_path / "home" / "data")


@pytest.fixture
def server(shared_servers: SharedServers) -> MongoServer:
    """One that a test may kill, with nothing in it yet."""
    server = shared_servers.get("mongodb-to-kill", MongoServer)
    assert isinstance(server, MongoServer)
    server.ensure_running()
    server.drop(DATABASE)
    return server


def address_of(server: MongoServer) -> str:
    return f"mongodb://127.0.0.1:{server.port}/{DATABASE}?directConnection=true"


def position_of(note: str | None) -> int:
    if note is None:
        return 0
    return sum(each.get("items", 0) for each in json.loads(note)["verdicts"].values())


def position_in_file(file: Path) -> int:
    return position_of(DatabaseFile(file).copy_note())


@contextmanager
def position_in(server: MongoServer) -> Iterator[Position]:
    with database_on(server, DATABASE) as database:
        yield lambda: position_of(database.copy_note())


def count_in(server: MongoServer) -> int:
    with database_on(server, DATABASE) as database:
        return database.record_count()


class Runs:
    """Runs of one command, one after the other."""

    def __init__(self, command: Sequence[str], env: dict[str, str], position: Position) -> None:
        self._command = [*command, "--json"]
        self._env = env
        self._position = position
        self.lowest_notes: list[tuple[int, int]] = []  # at the start of a run; the least it made

    async def killed(self, notes: int, seconds: float) -> int:
        """Start it, and kill it after so many notes and some time more; where it was then."""
        before = reached = self._position()
        made: list[int] = []
        process = start(*self._command, env=self._env, slowly=True)
        try:
            deadline = time.monotonic() + 60
            while len(made) < notes and process.poll() is None:
                assert time.monotonic() < deadline
                if (reached := self._position()) not in (before, *made):
                    made.append(reached)
                await asyncio.sleep(0.02)
            await asyncio.sleep(seconds)
            assert process.poll() is None, "it was too quick to be killed"
        finally:
            process.kill()
            process.communicate()
        if made:
            self.lowest_notes.append((before, min(made)))
        return self._position()

    async def finished(self) -> dict[str, object]:
        code, out, err = await self.ended()
        assert code == 0, err
        report: dict[str, object] = json.loads(out.splitlines()[0])
        return report

    async def ended(self) -> tuple[int, str, str]:
        return await reported(start(*self._command, env=self._env))


def copying(source: str, target: str, env: dict[str, str], position: Position = int) -> Runs:
    return Runs(["copy", "--from", source, "--to", target], env, position)


async def reported(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    try:
        out, err = await asyncio.to_thread(process.communicate, timeout=120)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    assert "Traceback" not in err, err
    assert "never retrieved" not in err, err
    return process.returncode, out, err


async def kill_often(copying: Runs, size: Size, rng: random.Random, say: Say) -> None:
    """Run until it has been killed at every stage, then to the end; check the figures."""
    reached = [await copying.killed(notes=0, seconds=rng.uniform(0, 1.0))]
    for _ in range(size.kills):
        reached.append(await copying.killed(rng.randint(1, 2), rng.uniform(0, 0.4)))
    report = await copying.finished()
    say(f"{size.records:,} records, killed {len(reached)} times, at the positions {reached}")
    say(f"notes at the start of a run, and the lowest that it made: {copying.lowest_notes}")
    assert report["items"] == report["equal"] == size.records
    assert report["source_hash"] == report["target_hash"]
    assert reached == sorted(reached)
    assert len(copying.lowest_notes) == size.kills
    for before, lowest in copying.lowest_notes:  # from the start, it would be one batch again
        assert lowest > before


async def test_a_copy_to_mongodb_survives_being_killed(
    tmp_path: Path,
    env: dict[str, str],
    server: MongoServer,
    size: Size,
    rng: random.Random,
    say: Say,
) -> None:
    items = records(size.records)
    source = await fill(tmp_path / "source.db", items)
    with position_in(server) as position:
        await kill_often(copying(source, address_of(server), env, position), size, rng, say)
        assert position() == 0
    with database_on(server, DATABASE) as database:
        assert database.url_count() == size.records
    assert count_in(server) == size.records
    back = tmp_path / "back.db"
    await copying(address_of(server), f"sqlite:///{back}", env).finished()
    assert await held(back) == by_url(items)


async def test_a_copy_to_a_file_survives_being_killed(
    tmp_path: Path,
    env: dict[str, str],
    server: MongoServer,
    size: Size,
    rng: random.Random,
    say: Say,
) -> None:
    items = records(size.records)
    source, target = await fill(tmp_path / "source.db", items), tmp_path / "target.db"
    await copying(source, address_of(server), env).finished()
    runs = copying(address_of(server), f"sqlite:///{target}", env, lambda: position_in_file(target))
    await kill_often(runs, size, rng, say)
    assert await held(target) == by_url(items)
    file = DatabaseFile(target)
    file.check()
    file.check_words()
    assert file.found_count("site") == size.records
    sources = sum(item.metadata.page_source is not None for item in items)
    assert file.page_source_count() == sources


async def test_a_load_survives_being_killed(
    tmp_path: Path, env: dict[str, str], size: Size, rng: random.Random, say: Say
) -> None:
    items = records(size.records)
    await fill(tmp_path / "source.db", items)
    of_source = env | {"WEBLOOM_STORE": f"sqlite:///{tmp_path / 'source.db'}"}
    dump = tmp_path / "dump"
    done = await reported(start("dump", str(dump), env=of_source))
    assert done[0] == 0, done
    target = tmp_path / "target.db"
    into = env | {"WEBLOOM_STORE": f"sqlite:///{target}"}
    runs = Runs(["load", str(dump)], into, lambda: position_in_file(target))
    await kill_often(runs, size, rng, say)
    assert await held(target) == by_url(items)


@pytest.mark.parametrize("role", ["source", "target"])
async def test_a_copy_reports_a_mongod_that_dies_and_the_next_run_ends_it(
    tmp_path: Path, env: dict[str, str], server: MongoServer, size: Size, say: Say, role: str
) -> None:
    items = records(size.records)
    source, file = await fill(tmp_path / "source.db", items), tmp_path / "target.db"
    if role == "source":
        await copying(source, address_of(server), env).finished()
        addresses = (address_of(server), f"sqlite:///{file}")
    else:
        addresses = (source, address_of(server))
    with position_in(server) as in_server:
        position = in_server if role == "target" else lambda: position_in_file(file)
        command = ("copy", "--from", addresses[0], "--to", addresses[1], "--json")
        process = start(*command, env=env, slowly=True)
        await eventually(position, what="a first note")
        server.kill()
        begun = time.monotonic()
        code, out, err = await reported(process)
        took = time.monotonic() - begun
        server.start()
        left = position()
        say(f"reported {took:.1f} s after the kill, at position {left}: {err.splitlines()[-1]}")
        assert (code, out) == (1, "")
        assert err.splitlines()[-1].startswith(
            f"webloom: MongoDB at mongodb://127.0.0.1:{server.port}/"
        )
        if not left and role == "target":  # on a slow machine all was there before it died
            assert count_in(server) == size.records
        else:
            assert left
        report = await copying(*addresses, env).finished()
    assert report["items"] == report["equal"] == size.records
    if role == "source":
        assert await held(file) == by_url(items)
    else:
        assert count_in(server) == size.records
