"""What a start says, and what it refuses."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from e2e.api_client import Api
from e2e.running import (
    Webloom,
    environment,
    finished,
    running,
)
from servers.private import free_port

BAD_SETTINGS = [
    ("port", "eighty", "a port from 1 to 65535", "a word for a number"),
    ("slots", "0", "a whole number from 1 to 1000", "below the smallest"),
    ("queue_limit", "1.5", "a whole number", "a broken number"),
    ("retry_delay", "nan", "0 to 300", "not a number"),
    ("store", "postgres://127.0.0.1/", "sqlite:///", "a store that there is not"),
    ("allow_addresses", "10.0.0.0/8,intranet", "'intranet'", "a name among addresses"),
    ("deny_addresses", "10.0.0.0/8,intranet", "'intranet'", "a name among denied addresses"),
    ("log_level", "loud", "debug, info, warning or error", "a level that there is not"),
]


@pytest.mark.parametrize(
    ("name", "value", "wanted", "why"), BAD_SETTINGS, ids=[row[3] for row in BAD_SETTINGS]
)
async def test_a_bad_setting_is_refused_at_start_by_its_name(
    tmp_path: Path, name: str, value: str, wanted: str, why: str
) -> None:
    settings = {"port": free_port()} | {name: value}
    ended = await finished("up", env=environment(tmp_path / "data", **settings))
    assert ended.returncode == 2
    [line] = ended.stderr.splitlines()
    assert f"WEBLOOM_{name.upper()}: got {value!r}" in line
    assert wanted in line
    assert not (tmp_path / "data").exists()


async def test_all_bad_settings_are_reported_at_once(tmp_path: Path) -> None:
    (tmp_path / "webloom.env").write_text("# mine\nexport WEBLOOM_SLOTS='none'\n")
    ended = await finished("up", env=environment(tmp_path / "data", port="x", log_level="loud"))
    assert ended.returncode == 2
    for name in ("PORT", "SLOTS", "LOG_LEVEL"):
        assert f"WEBLOOM_{name}: got" in ended.stderr


UNREADABLE = [
    ({"WEBLOOM_API_KEYS_FILE": "/nonexistent/keys"}, "WEBLOOM_API_KEYS_FILE", "a secret"),
    ({"WEBLOOM_ENV_FILE": "/nonexistent/env"}, "WEBLOOM_ENV_FILE", "the settings file"),
]


@pytest.mark.parametrize(("given", "name", "why"), UNREADABLE, ids=[row[2] for row in UNREADABLE])
async def test_a_missing_settings_file_is_reported(
    tmp_path: Path, given: dict[str, str], name: str, why: str
) -> None:
    ended = await finished("up", env=environment(tmp_path / "data", port=free_port()) | given)
    assert ended.returncode == 2
    assert name in ended.stderr
    assert "/nonexistent/" in ended.stderr


async def test_a_variable_that_no_setting_has_is_warned_of(tmp_path: Path) -> None:
    async with running("api", data_dir=tmp_path / "data", slot=4) as it:
        assert "WEBLOOM_SLOT" in it.log
        assert (await Api(it.client, it.base).call("GET", "/health/live")).status == 200


async def test_a_port_in_use_is_reported(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        ended = await finished("up", env=environment(tmp_path / "data", port=port))
    assert ended.returncode == 2
    assert f"can't listen on 127.0.0.1 port {port}" in ended.stderr
    assert "Address already in use" in ended.stderr
    assert "WEBLOOM_PORT" in ended.stderr
    assert "Traceback" not in ended.stderr


async def test_an_address_of_another_machine_is_reported(tmp_path: Path) -> None:
    settings = {"host": "192.0.2.1", "port": free_port(), "api_keys": "wl_an-unknown-api-key-0001"}
    ended = await finished("api", env=environment(tmp_path / "data", **settings))
    assert ended.returncode == 2
    assert "can't listen on 192.0.2.1" in ended.stderr
    assert "WEBLOOM_HOST" in ended.stderr


async def test_the_start_says_where_to_look(whole: Webloom) -> None:
    assert f"{whole.base}/health" in whole.log
    assert str(whole.data_dir) in whole.log
