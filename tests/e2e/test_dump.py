"""`webloom dump` and `webloom load` as a user runs them."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from contracts.previous.load import COMMITS, DATA
from e2e.copying import COLLECTIONS, by_url, fill, held, records, start
from e2e.running import finished
from forks import run_command


def of_store(env: dict[str, str], file: Path) -> dict[str, str]:
    return env | {"WEBLOOM_STORE": f"sqlite:///{file}"}


async def reports(*command: str, env: dict[str, str], code: int = 0) -> dict[str, dict[str, Any]]:
    ended = await finished(*command, "--json", env=env)
    assert ended.returncode == code, ended.stderr
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    return {each.pop("collection"): each for each in lines}


async def test_a_backup_is_made_and_restored(tmp_path: Path, env: dict[str, str]) -> None:
    items = records(1_200)
    await fill(tmp_path / "source.db", items)
    file = tmp_path / "backup.zst"
    file.write_text("an older one, which others can read")
    file.chmod(0o644)
    made = await reports("dump", str(file), env=of_store(env, tmp_path / "source.db"))
    assert list(made) == COLLECTIONS
    assert made["metadata"]["items"] == 1_200
    assert file.stat().st_mode & 0o777 == 0o600
    target = tmp_path / "target.db"
    for _ in range(2):
        found = await reports("load", str(file), env=of_store(env, target))
        assert found["metadata"]["equal"] == 1_200
        assert found["metadata"]["target_hash"] == made["metadata"]["fingerprint"]
        assert all(each["verified"] for each in found.values())
        assert await held(target) == by_url(items)


@pytest.mark.parametrize("commit", COMMITS)
async def test_a_dump_of_an_earlier_version_is_loaded(
    tmp_path: Path, env: dict[str, str], commit: str
) -> None:
    file = DATA / commit / "dump.zst"
    found = await reports("load", str(file), env=of_store(env, tmp_path / "target.db"))
    assert all(each["verified"] for each in found.values())
    kept = [found[name]["equal"] for name in ("metadata", "jobs", "pages")]  # others expire
    assert kept == [7, 5, 4]


async def test_a_dump_goes_through_a_pipe_into_a_load(tmp_path: Path, env: dict[str, str]) -> None:
    items = records(700)
    await fill(tmp_path / "source.db", items)
    target = tmp_path / "target.db"
    both = f"{sys.executable} -m webloom dump - | WEBLOOM_STORE=sqlite:///{target} "
    done = await asyncio.to_thread(
        subprocess.run,
        ["sh", "-c", f"{both} {sys.executable} -m webloom load -"],
        env=of_store(env, tmp_path / "source.db"),
        cwd=env["HOME"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "metadata: 700 items, 700 equal in the target" in done.stdout
    assert await held(target) == by_url(items)


async def test_damage_is_reported_in_a_sentence(tmp_path: Path, env: dict[str, str]) -> None:
    await fill(tmp_path / "source.db", records(3_000))
    file, target = tmp_path / "backup", tmp_path / "target.db"
    await reports("dump", str(file), env=of_store(env, tmp_path / "source.db"))
    data = file.read_bytes()
    for spoiled, says in (
        (
            data[: len(data) * 9 // 10],
            "the dump is truncated: its last line is missing; get the whole dump. "
            "What comes before that is loaded",
        ),
        (data[:2000] + bytes(100) + data[2100:], "can't be decompressed, "),
        (b"something else", "can't be decompressed, it does not begin as a dump does"),
        (None, "can't read"),
    ):
        if spoiled is None:
            file.unlink()
        else:
            file.write_bytes(spoiled)
        ended = await finished("load", str(file), env=of_store(env, target))
        assert ended.returncode == 1
        assert says in " ".join(ended.stderr.split())
        assert "Traceback" not in ended.stderr


async def test_nothing_is_made_where_there_is_nothing_to_dump(
    tmp_path: Path, env: dict[str, str]
) -> None:
    ended = await finished("dump", str(tmp_path / "backup"), env=env)
    assert ended.returncode == 1
    assert "webloom.db does not exist" in ended.stderr
    assert not (tmp_path / "backup").exists()
    await fill(tmp_path / "source.db", [])
    ended = await finished(
        "dump", str(tmp_path / "no" / "backup"), env=of_store(env, tmp_path / "source.db")
    )
    assert ended.returncode == 1
    assert "can't write" in ended.stderr


async def test_a_terminal_gets_no_binary_and_sees_the_progress(
    tmp_path: Path, env: dict[str, str]
) -> None:
    await fill(tmp_path / "source.db", records(600))
    into = of_store(env, tmp_path / "source.db") | {"TERM": "xterm", "COLUMNS": "120"}
    mine, theirs = os.openpty()
    try:
        refused = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-m", "webloom", "dump", "-"],
            env=into,
            cwd=env["HOME"],
            stdout=theirs,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
        assert refused.returncode == 1
        assert "redirect it" in refused.stderr
        process = start("dump", str(tmp_path / "backup"), env=into, stderr=theirs)
        assert process.wait(60) == 0
        process.communicate()
        os.set_blocking(mine, False)
        assert "600/600" in os.read(mine, 100_000).decode()
    finally:
        os.close(mine)
        os.close(theirs)


def test_help_says_what_is_in_a_dump(env: dict[str, str]) -> None:
    done = run_command("dump", "--help", env=env)
    assert done.returncode == 0
    assert "secrets of notification targets" in " ".join(str(done.stdout).split())
