"""Output of commands to a closed pipe, a full disk, and a closed stream."""

from __future__ import annotations

import asyncio
import signal
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from e2e.running import environment


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "old").write_text("".join(f"line {n}\n" for n in range(100_000)))
    (tmp_path / "new").write_text("".join(f"row € {n}\n" for n in range(100_000)))
    return {**environment(tmp_path / "data"), "HOME": str(tmp_path)}


async def shell(command: str, env: dict[str, str], **more: str) -> tuple[int, str, str]:
    """`webloom` in it is the command."""
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", f'webloom() {{ "{sys.executable}" -m webloom "$@"; }}; {command}',
        stdout=PIPE, stderr=PIPE, env={**env, **more}, cwd=env["HOME"],
    )  # fmt: skip
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def test_output_that_cannot_be_written_is_reported(env: dict[str, str]) -> None:
    listed, compared, inspected, closed = await asyncio.gather(
        shell("webloom feeds list >/dev/full", env),
        shell("webloom diff old new >/dev/full", env),
        shell("webloom inspect --json old >/dev/full", env),
        shell("webloom feeds list >&-", env),
    )
    reported = "webloom: the output can't be written: No space left on device\n"
    assert (listed[0], listed[2]) == (1, reported)
    assert (compared[0], compared[2].splitlines(keepends=True)[-1]) == (2, reported)
    assert (inspected[0], inspected[2].splitlines(keepends=True)[-1]) == (1, reported)
    assert (closed[0], closed[2]) == (0, "")


async def test_a_reader_who_has_seen_enough_ends_a_command_quietly(env: dict[str, str]) -> None:
    listed, compared = await asyncio.gather(
        shell("webloom feeds list | true; exit ${PIPESTATUS[0]}", env),
        shell("webloom diff old new | head -1; exit ${PIPESTATUS[0]}", env),
    )
    assert (listed[0], listed[2]) == (0, "")
    assert (compared[0], compared[1]) == (1, "--- old\n")


async def test_a_character_that_the_output_does_not_have_is_spelt(env: dict[str, str]) -> None:
    code, out, _ = await shell("webloom diff old new", env, PYTHONIOENCODING="latin-1")
    assert code == 1
    assert "+row \\u20ac 99999" in out.splitlines()


async def test_an_interrupt_while_a_command_is_loaded_says_nothing(
    env: dict[str, str], tmp_path: Path
) -> None:
    slow = tmp_path / "slow"
    slow.mkdir()
    (slow / "typer.py").write_text("import time; print('loading', flush=True); time.sleep(300)")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "webloom", "feeds", "list",
        stdout=PIPE, stderr=PIPE, env={**env, "PYTHONPATH": str(slow)},
    )  # fmt: skip
    assert process.stdout is not None
    assert await process.stdout.readline() == b"loading\n"
    process.send_signal(signal.SIGINT)
    _, err = await process.communicate()
    assert (process.returncode, err) == (-signal.SIGINT, b"")
