"""Webloom as real processes: started, waited for, watched and ended by tests.

    async with running("up", data_dir=tmp_path / "data", slots=4) as it:
        async with it.client.get("/health") as answer: ...
        assert await it.stop() == 0
    assert "worker stopped" in it.log

Keyword arguments become settings: `slots=4` is WEBLOOM_SLOTS=4. Nothing else of the environment
that is called WEBLOOM_… reaches the process. A module that shares one server starts it by
`running_for_module` in a synchronous fixture, and opens a client for each test by `opened_client`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import TypeVar

import aiohttp

from forks import Service, run_command, start_service
from servers.private import free_port
from timeouts import TIMEOUT_SECONDS
from webloom.settings import ALIASES

Value = TypeVar("Value")

POLL_SECONDS = 0.05
SERVES_HTTP = frozenset({"up", "api"})
SAYS_WHEN_READY = {
    "up": "Webloom is running",
    "api": "Webloom's API listens on",
    "worker": "worker started",
    "scheduler": "scheduler started",
    "storage-agent": "storage agent started",
}
PORT_TAKEN = "can't listen on"


@dataclass(kw_only=True)
class Webloom:
    """One process; `client` is there inside `running` and `opened_client`."""

    command: str
    port: int
    data_dir: Path
    process: Service
    log_file: Path
    _client: aiohttp.ClientSession | None = field(default=None, repr=False)

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def client(self) -> aiohttp.ClientSession:
        assert self._client is not None, "opened by `running` or `opened_client`"
        return self._client

    @property
    def log(self) -> str:
        """Standard output and standard error so far."""
        return self.log_file.read_text(encoding="utf-8", errors="replace")

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def send(self, number: signal.Signals) -> None:
        if self.alive:
            self.process.send_signal(number)

    async def ended(self, within: float = TIMEOUT_SECONDS) -> int:
        """The exit code, once there is one."""
        return await asyncio.to_thread(self.process.wait, within)

    async def stop(self, within: float = TIMEOUT_SECONDS) -> int:
        """SIGTERM, then the exit code."""
        self.send(signal.SIGTERM)
        return await self.ended(within)

    async def kill(self) -> int:
        """As a power cut does."""
        self.send(signal.SIGKILL)
        return await self.ended()

    async def logged(self, text: str, within: float = TIMEOUT_SECONDS) -> None:
        await until(lambda: text in self.log, within=within, what=f"{text!r} in the log")

    @asynccontextmanager
    async def opened_client(self) -> AsyncIterator[aiohttp.ClientSession]:
        async with aiohttp.ClientSession(
            self.base,
            connector=aiohttp.TCPConnector(limit=0),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=TIMEOUT_SECONDS),
        ) as client:
            yield client


@asynccontextmanager
async def running(command: str, *, data_dir: Path, **settings: object) -> AsyncIterator[Webloom]:
    """Ready when it is handed out; ended at the end, by SIGKILL if the test did not stop it."""
    it = await asyncio.to_thread(_started, command, data_dir, settings)
    try:
        async with it.opened_client() as client:
            it._client = client
            yield it
    finally:
        _end(it)


@contextmanager
def running_for_module(command: str, *, data_dir: Path, **settings: object) -> Iterator[Webloom]:
    """For synchronous fixtures, which outlive the event loop of one test."""
    it = _started(command, data_dir, settings)
    try:
        yield it
    finally:
        _end(it)


async def finished(
    *arguments: str,
    env: dict[str, str],
    through: tuple[str, ...] = (),
) -> subprocess.CompletedProcess[str]:
    """A command that ends by itself, run by the program `through` if there is one: its exit code,
    and what it said."""
    if not through:
        return await asyncio.to_thread(run_command, *arguments, env=env)
    return await asyncio.to_thread(
        subprocess.run,
        [*through, sys.executable, "-m", "webloom", *arguments],
        env=env,
        cwd=env["HOME"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_SECONDS,
    )


def environment(data_dir: Path, **settings: object) -> dict[str, str]:
    """As a person's shell has it, with these settings and no others."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("WEBLOOM_") and name not in ALIASES.values()
    }
    data_dir.parent.mkdir(parents=True, exist_ok=True)
    return kept | {
        "HOME": str(data_dir.parent),
        "WEBLOOM_DATA_DIR": str(data_dir),
        **{f"WEBLOOM_{name.upper()}": str(value) for name, value in settings.items()},
    }


async def until(
    met: Callable[[], bool | Awaitable[bool]],
    *,
    within: float = TIMEOUT_SECONDS,
    what: str = "the condition",
) -> None:
    """Another process has no event for us, so look again and again, for so long."""

    async def look() -> bool | None:
        result = met()
        return (result if isinstance(result, bool) else await result) or None

    await until_some(look, within=within, what=what)


async def until_some(
    look: Callable[[], Awaitable[Value | None]],
    *,
    within: float = TIMEOUT_SECONDS,
    what: str = "an answer",
) -> Value:
    """The first result that is not None."""
    deadline = time.monotonic() + within
    while (value := await look()) is None:
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {within:.0f} s for {what}")
        await asyncio.sleep(POLL_SECONDS)
    return value


_numbers = iter(range(1_000_000))


def _started(command: str, data_dir: Path, settings: dict[str, object]) -> Webloom:
    """Another program may take a port that was free a moment ago: then try another."""
    for _ in range(5):
        it = _start(command, data_dir, {"port": free_port()} | settings)
        try:
            _wait_until_ready(it)
        except BaseException as error:
            _end(it)
            if "port" not in settings and PORT_TAKEN in it.log:
                continue
            raise AssertionError(f"{error}; its log:\n{it.log}") from error
        return it
    raise AssertionError("no port was free")


def _start(command: str, data_dir: Path, settings: dict[str, object]) -> Webloom:
    env = environment(data_dir, **settings)
    log_file = data_dir.parent / f"{command}-{os.getpid()}-{next(_numbers)}.log"
    process = start_service(*command.split(), env=env, folder=data_dir.parent, log=log_file)
    return Webloom(
        command=command.split()[0],
        port=int(str(settings["port"])),
        data_dir=data_dir,
        process=process,
        log_file=log_file,
    )


def _wait_until_ready(it: Webloom) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not _is_ready(it):
        if not it.alive:
            raise AssertionError(f"webloom {it.command} ended with {it.process.returncode}")
        if time.monotonic() > deadline:
            raise AssertionError(f"webloom {it.command} is not ready")
        time.sleep(POLL_SECONDS)


def _is_ready(it: Webloom) -> bool:
    """By its own words: on a port that was taken meanwhile, another server may answer."""
    if SAYS_WHEN_READY.get(it.command, "") not in it.log:
        return False
    if it.command not in SERVES_HTTP:
        return True
    with (
        contextlib.suppress(OSError, HTTPException),
        urllib.request.urlopen(f"{it.base}/health/live", timeout=5) as answer,
    ):
        return bool(answer.status == 200)
    return False


def _end(it: Webloom) -> None:
    if it.alive:
        it.process.kill()
    it.process.wait(TIMEOUT_SECONDS)
