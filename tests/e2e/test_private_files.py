"""Permissions of the files that Webloom keeps."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from e2e.running import environment, finished, running, until
from servers.private import free_port
from webloom_demo.feeds import demo_feeds
from webloom_demo.site import Site, serve

MARKER = ".made-by-webloom"
UMASKS = ["000", "022"]


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serve([feed.page for feed in demo_feeds()]) as serving:
        yield serving


def mode(path: Path) -> str:
    return f"{stat.S_IMODE(path.lstat().st_mode):03o}"


def modes(folder: Path) -> dict[str, str]:
    """Of the folder and all that is in it."""
    inside = {str(path.relative_to(folder)): mode(path) for path in folder.rglob("*")}
    return {".": mode(folder)} | inside


def through(umask: str) -> tuple[str, ...]:
    return ("sh", "-c", f'umask {umask}; exec "$@"', "sh")


async def create_database(env: dict[str, str]) -> None:
    done = await finished("feeds", "add", "https://example.test/feed.xml", env=env)
    assert done.returncode == 0, done.stderr


@contextmanager
def up(umask: str, env: dict[str, str]) -> Iterator[None]:
    log = Path(env["HOME"]) / "up.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*through(umask), sys.executable, "-m", "webloom", "up"],
            env=env | {"WEBLOOM_PORT": str(free_port())},
            cwd=env["HOME"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        asyncio.run(until(lambda: "Webloom is running" in log.read_text(), what="its start"))
        yield
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


@pytest.mark.parametrize("umask", UMASKS)
def test_what_webloom_creates_is_private_whatever_the_umask(tmp_path: Path, umask: str) -> None:
    data = tmp_path / "deep" / "data"
    env = environment(tmp_path / "home" / "data") | {"WEBLOOM_DATA_DIR": str(data)}
    with up(umask, env):
        found = modes(data)
        assert {"webloom.db", "webloom.db-wal", "webloom.db-shm", MARKER} <= found.keys()
        assert found.pop(".") == "700"
        assert set(found.values()) == {"600"}, found
        assert mode(data.parent) == "700", "Webloom has made it too"


@pytest.mark.parametrize("umask", UMASKS)
async def test_the_spool_and_what_children_write_there_is_private(
    tmp_path: Path, site: Site, umask: str
) -> None:
    data = tmp_path / "data"
    env = environment(data, allow_addresses=site.address)
    feed = f"http://{site.address}/jobs/loom.rss"
    done = await finished("import", feed, env=env, through=through(umask))
    assert done.returncode == 0, done.stderr
    found = modes(data)
    [learnt] = [name for name in found if name.startswith("spool/known/")]
    folders = {".", "spool", "spool/known"}
    assert {found[name] for name in folders} == {"700"}, found
    assert {found[name] for name in found.keys() - folders} == {"600"}, found
    assert (data / learnt).stat().st_size > 0


@pytest.mark.parametrize(("umask", "expected"), [("000", "666"), ("022", "644")])
async def test_an_output_file_follows_the_users_umask(
    tmp_path: Path, umask: str, expected: str
) -> None:
    env = environment(tmp_path / "data")
    await create_database(env)
    records, feeds = tmp_path / "records.ndjson", tmp_path / "feeds.opml"
    for command in (["export", "--output", str(records)], ["feeds", "export-opml", str(feeds)]):
        done = await finished(*command, env=env, through=through(umask))
        assert done.returncode == 0, done.stderr
    assert (mode(records), mode(feeds)) == (expected, expected)
    feeds.chmod(0o640)
    again = await finished("feeds", "export-opml", str(feeds), env=env, through=through(umask))
    assert again.returncode == 0, again.stderr
    assert mode(feeds) == "640", "who may read a file that exists is its owner's decision"


async def test_files_that_are_too_open_are_closed_at_start_up(tmp_path: Path, site: Site) -> None:
    data = tmp_path / "data"
    env = environment(data, allow_addresses=site.address)
    feed = f"http://{site.address}/jobs/loom.rss"
    assert (await finished("import", feed, env=env)).returncode == 0
    theirs = data / "notes.txt"
    theirs.write_text("a file of another owner")
    for path in (data, *data.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    spooled = data / "spool" / "0123.feed"
    spooled.touch()
    spooled.chmod(0o644)
    async with running("api", data_dir=data) as it:
        found = modes(data)
        assert found.pop("notes.txt") == "666"
        assert set(found.values()) == {"700", "600"}, found
        assert found["."] == found["spool"] == found["spool/known"] == "700"
        assert found["spool/0123.feed"] == found["webloom.db"] == "600"
        assert it.log.count("other users could access files of Webloom") == 1
    async with running("api", data_dir=data) as it:
        assert "other users could access files of Webloom" not in it.log


async def test_a_folder_that_webloom_did_not_make_is_left_alone_and_doctor_warns(
    tmp_path: Path,
) -> None:
    data = tmp_path / "shared"
    data.mkdir()
    data.chmod(0o775)
    env = environment(data)
    for _ in range(2):
        await create_database(env)
        assert mode(data) == "775"
        assert mode(data / "webloom.db") == "600"
        (data / "webloom.db").chmod(0o644)
    reported = await finished("doctor", "--json", env=env)
    assert reported.returncode == 0, reported.stdout
    findings = [json.loads(line) for line in reported.stdout.splitlines()]
    [warning] = [each for each in findings if each["check"] == "privacy"]
    assert warning["state"] == "warning"
    assert f"{data} has the mode 775" in warning["detail"]
    assert "other users of this machine can change it" in warning["detail"]
    assert warning["advice"].endswith(f"chmod 700 {data}")
    assert mode(data / "webloom.db") == "600", "the database is closed first"
    data.chmod(0o700)
    assert "privacy" not in (await finished("doctor", "--json", env=env)).stdout


async def test_what_is_not_a_file_of_ours_is_neither_followed_nor_changed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    env = environment(data)
    await create_database(env)
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    outside.chmod(0o644)
    (data / "spool").mkdir(exist_ok=True)
    (data / "spool" / "link.feed").symlink_to(outside)
    (data / "spool" / "hard.feed").hardlink_to(outside)
    backup = data / "webloom.db.backup"
    backup.touch()
    backup.chmod(0o644)
    assert (await finished("export", env=env)).returncode == 0
    assert (mode(outside), mode(backup)) == ("644", "644")


@pytest.mark.parametrize(
    ("foreign", "database", "expected"),
    [
        (None, 0o644, "700"),
        ("notes.txt", 0o644, "755"),
        (None, 0o600, "755"),
    ],
    ids=["as an older version leaves it", "with a file of another owner", "made by a person"],
)
async def test_the_usual_folder_of_an_older_version_is_closed(
    tmp_path: Path, foreign: str | None, database: int, expected: str
) -> None:
    data = tmp_path / "data"
    env = environment(data)
    del env["WEBLOOM_DATA_DIR"]
    await create_database(env)
    (data / MARKER).unlink()
    data.chmod(0o755)
    (data / "webloom.db").chmod(database)
    if foreign:
        (data / foreign).touch()
    assert (await finished("export", env=env)).returncode == 0
    assert mode(data) == expected
    assert mode(data / "webloom.db") == "600"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
async def test_a_file_of_another_user_does_not_stop_the_start(tmp_path: Path) -> None:
    data = tmp_path / "data"
    env = environment(data)
    await create_database(env)
    (data / "webloom.db").chmod(0o644)
    os.chown(data / "webloom.db", 12345, 12345)
    data.chmod(0o755)
    (data / MARKER).unlink()
    done = await finished("export", env=env)
    assert done.returncode == 0, done.stderr
    reported = await finished("doctor", env=env)
    assert f"chmod 600 {data / 'webloom.db'}" in reported.stdout


async def test_a_database_that_is_elsewhere_and_the_one_before_it_are_closed(
    tmp_path: Path,
) -> None:
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    before = environment(data)
    await create_database(before)
    (data / "webloom.db").chmod(0o644)
    env = environment(data, store=f"sqlite:///{elsewhere / 'own.db'}")
    await create_database(env)
    assert modes(elsewhere) == {".": "700", MARKER: "600", "own.db": "600"}
    assert mode(data / "webloom.db") == "600"
    elsewhere.chmod(0o750)
    (elsewhere / "own.db").chmod(0o640)
    await create_database(env)
    assert (mode(elsewhere), mode(elsewhere / "own.db")) == ("700", "600")


async def test_several_processes_may_start_at_once(tmp_path: Path) -> None:
    data = tmp_path / "data"
    env = environment(data)
    started = await asyncio.gather(
        *(finished("feeds", "add", f"https://a.test/{each}", env=env) for each in range(4))
    )
    assert {each.returncode for each in started} == {0}, [each.stderr for each in started]
    assert (mode(data), mode(data / "webloom.db")) == ("700", "600")


async def test_a_settings_file_that_others_can_change_stops_every_command(tmp_path: Path) -> None:
    env = environment(tmp_path / "data")
    planted = tmp_path / "webloom.env"
    planted.write_text("WEBLOOM_STORE=mongodb://evil.test/\n")
    planted.chmod(0o646)
    for command in (["feeds", "list"], ["doctor"], ["up"]):
        ended = await finished(*command, env=env)
        assert (ended.returncode, ended.stdout) == (2, "")
        [line] = ended.stderr.splitlines()
        assert f"{planted} has the mode 646, so that other users can change it" in line
        assert line.endswith(f"chmod go-w {planted}")
        assert "evil.test" not in line
    assert not (tmp_path / "data").exists()
    planted.chmod(0o644)
    planted.write_text("WEBLOOM_SLOTS=7\n")
    assert "WEBLOOM_SLOTS=7" in (await finished("doctor", env=env)).stdout
