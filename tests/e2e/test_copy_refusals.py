"""What `webloom copy` refuses, and what it says then."""

from __future__ import annotations

import asyncio
import subprocess
import time
from pathlib import Path

import pytest

from e2e.copying import (
    fill,
    records,
)
from e2e.running import finished
from forks import run_command
from servers.private import free_port

SECRET = "s3cr3t"


async def refused(
    env: dict[str, str], source: str, target: str
) -> subprocess.CompletedProcess[str]:
    ended = await finished("copy", "--from", source, "--to", target, env=env)
    assert ended.returncode in (1, 2)
    assert ended.stdout == ""
    assert "Traceback" not in ended.stderr
    assert SECRET not in ended.stderr
    return ended


# What can't be copied.


async def test_a_file_that_does_not_exist_is_not_made(tmp_path: Path, env: dict[str, str]) -> None:
    target = tmp_path / "target.db"
    ended = await refused(env, f"sqlite:///{tmp_path / 'none.db'}", f"sqlite:///{target}")
    assert ended.returncode == 2
    assert f"--from: {tmp_path / 'none.db'} does not exist" in ended.stderr
    assert not target.exists()


ADDRESSES = [
    (f"postgres://u:{SECRET}@host/db", "got 'postgres://host/db', which is not a store"),
    ("amqp://host", "got 'amqp://host', which is not a store"),
    ("webloom.db", "an address begins with sqlite:///, mongodb:// or mongodb+srv://"),
    ("", "got '', which is not a store"),
    ("@missing", "can't read missing"),
]


@pytest.mark.parametrize(("address", "says"), ADDRESSES)
async def test_another_address_is_refused(
    tmp_path: Path, env: dict[str, str], address: str, says: str
) -> None:
    source = await fill(tmp_path / "source.db", [])
    ended = await refused(env, source, address)
    assert ended.returncode == 2
    assert says in ended.stderr
    assert "webloom: --to: " in ended.stderr
    assert "--from: " in (await refused(env, address, source)).stderr


@pytest.mark.parametrize("content", [SECRET.encode(), b"\xff" + SECRET.encode()])
async def test_what_an_address_file_holds_is_in_no_message(
    tmp_path: Path, env: dict[str, str], content: bytes
) -> None:
    source = await fill(tmp_path / "source.db", [])
    (tmp_path / "address").write_bytes(content)
    ended = await refused(env, source, f"@{tmp_path / 'address'}")
    assert ended.returncode == 2
    assert str(tmp_path / "address") in ended.stderr
    assert SECRET not in ended.stderr
    assert "0xff" not in ended.stderr


async def test_an_address_comes_from_standard_input(tmp_path: Path, env: dict[str, str]) -> None:
    source = await fill(tmp_path / "source.db", [])
    target = f"sqlite:///{tmp_path / 'target.db'}"
    done = await asyncio.to_thread(
        run_command, "copy", "--from", source, "--to", "@-", env=env, stdin=f"{target}\n".encode()
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "target.db").exists()


async def test_a_password_in_an_address_on_the_command_line_is_warned_of(
    tmp_path: Path, env: dict[str, str]
) -> None:
    source = await fill(tmp_path / "source.db", [])
    ended = await refused(env, source, f"postgres://u:{SECRET}@host/db")
    assert "--to is on the command line, and other users of this machine can see it" in ended.stderr
    ended = await refused(env, source, "amqp://host")
    assert "command line" not in ended.stderr


async def test_a_store_is_not_copied_onto_itself(
    tmp_path: Path, env: dict[str, str], mongodb: str
) -> None:
    file = tmp_path / "source.db"
    await fill(file, records(3))
    (tmp_path / "link.db").symlink_to(file)
    host, _, options = mongodb.partition("?")
    for source, target in (
        (f"sqlite:///{file}", f"sqlite:///{file}"),
        (f"sqlite:///{file}", f"sqlite:///{tmp_path}/./source.db"),
        (f"sqlite:///{file}", f"sqlite:///{tmp_path / 'link.db'}"),
        (mongodb, mongodb),
        (mongodb, f"{host.replace('//', f'//u:{SECRET}@')}/?{options}&appName=other"),
    ):
        ended = await refused(env, source, target)
        assert ended.returncode == 2
        assert "--from and --to are the same store" in ended.stderr


async def test_an_unreachable_server_is_reported_within_seconds(
    tmp_path: Path, env: dict[str, str]
) -> None:
    source = await fill(tmp_path / "source.db", records(3))
    absent = f"mongodb://u:{SECRET}@127.0.0.1:{free_port()}/db"
    took = []
    for addresses in ((source, absent), (absent, f"sqlite:///{tmp_path / 'target.db'}")):
        begun = time.monotonic()
        ended = await refused(env, *addresses)
        took.append(time.monotonic() - begun)
        assert ended.returncode == 1
        assert f"MongoDB at mongodb://127.0.0.1:{absent.rpartition(':')[2]}" in ended.stderr
    assert min(took) < 30, "the driver's own patience"


@pytest.mark.parametrize("through_file", [False, True], ids=["argument", "file"])
async def test_a_wrong_password_is_reported_and_never_shown(
    tmp_path: Path, env: dict[str, str], mongodb: str, through_file: bool
) -> None:
    source = await fill(tmp_path / "source.db", records(3))
    address = mongodb.replace("//", f"//someone:{SECRET}@")
    if through_file:
        (tmp_path / "to").write_text(address)
        address = f"@{tmp_path / 'to'}"
    ended = await refused(env, source, address)
    assert ended.returncode == 1
    assert "refuses the user name or the password" in ended.stderr


async def test_another_programs_file_is_left_alone(tmp_path: Path, env: dict[str, str]) -> None:
    source = await fill(tmp_path / "source.db", records(3))
    (tmp_path / "text.db").write_text("this is not a database\n" * 100)
    ended = await refused(env, source, f"sqlite:///{tmp_path / 'text.db'}")
    assert "text.db can't be opened as Webloom's database" in ended.stderr
    assert (tmp_path / "text.db").read_text().startswith("this is not a database\n")
