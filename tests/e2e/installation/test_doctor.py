"""`webloom doctor`."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from e2e.api_client import Api
from e2e.installation.calls import QUEUE, healthy
from e2e.running import (
    Webloom,
    environment,
    finished,
    running,
)
from servers.private import free_port


def _findings(text: str) -> dict[str, dict[str, Any]]:
    return {each["check"]: each for each in map(json.loads, text.splitlines())}


async def test_the_doctor_finds_a_fresh_installation_well(tmp_path: Path) -> None:
    env = environment(tmp_path / "data", port=free_port())
    ended = await finished("doctor", "--json", env=env)
    assert (ended.returncode, ended.stderr) == (0, "")
    findings = _findings(ended.stdout)
    for check in ("webloom", "sqlite", "settings", "disk", "port", "database"):
        assert findings[check]["state"] == "ok", check
    assert "will be created" in findings["database"]["detail"]
    assert not (tmp_path / "data").exists()  # it only looks
    for finding in findings.values():
        assert finding.keys() == {"check", "state", "detail", "advice"}

    said = await finished("doctor", env=env)
    assert said.returncode == 0
    for check in findings:
        assert f"  {check}: " in said.stdout
    assert "PROBLEM" not in said.stdout


async def test_the_doctor_misses_a_worker(tmp_path: Path) -> None:
    async with running("api", data_dir=tmp_path / "data") as it:
        env = environment(it.data_dir, port=it.port)
        await Api(it.client, it.base).submit("http://example.test/")
        ended = await finished("doctor", "--json", env=env)
    assert ended.returncode == 0
    findings = _findings(ended.stdout)
    assert findings[QUEUE]["detail"].startswith("1 ready of 1000")
    assert findings["workers"]["state"] == "warning"
    assert "webloom worker" in findings["workers"]["advice"]


async def test_the_doctor_sees_a_running_installation(whole: Webloom, api: Api) -> None:
    await healthy(api)
    ended = await finished("doctor", "--json", env=environment(whole.data_dir, port=whole.port))
    assert ended.returncode == 0
    findings = _findings(ended.stdout)
    assert (findings["workers"]["state"], findings["workers"]["detail"]) == ("ok", "1 alive")
    assert findings["port"]["state"] == "warning"
    assert "Fine if that is Webloom" in findings["port"]["advice"]


async def test_the_doctor_finds_addresses_that_are_allowed_and_denied(tmp_path: Path) -> None:
    lists = {"allow_addresses": "10.0.0.1,10.0.0.2:80,10.1.0.1", "deny_addresses": "10.0.0.0/16"}
    ended = await finished("doctor", "--json", env=environment(tmp_path / "data", **lists))
    findings = _findings(ended.stdout)
    assert findings["gate"]["state"] == "warning"
    assert findings["gate"]["detail"].endswith("refused: 10.0.0.1, 10.0.0.2 port 80")
    assert "WEBLOOM_DENY_ADDRESSES=10.0.0.0/16" in findings["settings"]["detail"]


async def test_the_doctor_shows_settings_and_misspelt_ones(tmp_path: Path) -> None:
    env = environment(tmp_path / "data", port=free_port(), cache_ttl=60, slot=4)
    ended = await finished("doctor", "--json", env=env)
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    settings = [line for line in lines if line["check"] == "settings"]
    assert "WEBLOOM_CACHE_TTL=60" in settings[0]["detail"]
    [warning] = [line for line in settings if line["state"] == "warning"]
    assert "WEBLOOM_SLOT " in warning["detail"]
    assert warning["advice"] == "Did you mean WEBLOOM_SLOTS?"


def _a_file_in_its_place(data_dir: Path) -> None:
    data_dir.write_text("not a folder")


def _text_for_a_database(data_dir: Path) -> None:
    data_dir.mkdir()
    (data_dir / "webloom.db").write_bytes(b"not a database " * 1000)


def _a_folder_for_a_database(data_dir: Path) -> None:
    (data_dir / "webloom.db").mkdir(parents=True)


def _damaged_pages(data_dir: Path) -> None:
    data_dir.mkdir()
    with closing(sqlite3.connect(data_dir / "webloom.db")) as database:
        database.execute("CREATE TABLE other (text)")
        database.executemany("INSERT INTO other VALUES (?)", [("x" * 1000,)] * 100)
        database.commit()
    with (data_dir / "webloom.db").open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 40_000)


BROKEN = [
    (_a_file_in_its_place, "a file where the folder should be"),
    (_text_for_a_database, "a file that is not a database"),
    (_a_folder_for_a_database, "a folder where the file should be"),
    (_damaged_pages, "a database with damaged pages"),
]


@pytest.mark.parametrize(("broken", "why"), BROKEN, ids=[row[1] for row in BROKEN])
async def test_the_doctor_says_what_is_wrong_with_the_database(
    tmp_path: Path, broken: Any, why: str
) -> None:
    broken(tmp_path / "data")
    ended = await finished("doctor", "--json", env=environment(tmp_path / "data", port=free_port()))
    assert ended.returncode == 1, ended.stdout
    assert "Traceback" not in ended.stderr
    finding = _findings(ended.stdout)["database"]
    assert finding["state"] == "problem"
    assert str(tmp_path / "data") in finding["detail"]
    assert finding["advice"]


LOCKED = [("", "the folder itself"), ("inside/data", "a folder above it")]


@pytest.mark.parametrize(("below", "why"), LOCKED, ids=[row[1] for row in LOCKED])
async def test_a_folder_without_permission_is_reported(
    tmp_path: Path, below: str, why: str
) -> None:
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(0)
    env = environment(tmp_path / "data", port=free_port())
    env["WEBLOOM_DATA_DIR"] = str(locked / below)
    try:
        doctor = await finished("doctor", "--json", env=env, through=_without_privileges())
        start = await finished("up", env=env, through=_without_privileges())
    finally:
        locked.chmod(0o700)
    assert doctor.returncode == 1, doctor.stderr
    assert _findings(doctor.stdout)["database"]["state"] == "problem"
    assert start.returncode == 1
    for ended in (doctor, start):
        assert str(locked) in ended.stdout + ended.stderr
        assert "Traceback" not in ended.stderr


def _without_privileges() -> tuple[str, ...]:
    """Permissions mean nothing to root, as whom tests run in a container."""
    if os.geteuid() != 0:
        return ()
    assert shutil.which("setpriv"), "of util-linux"
    most = "-dac_override,-dac_read_search"
    return ("setpriv", f"--bounding-set={most}", f"--inh-caps={most}")
