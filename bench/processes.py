"""Processes that a bench starts, waits for, measures and ends by their pid."""

import asyncio
import json
import os
import sys
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PYTHON = sys.executable
ROOT = Path(__file__).resolve().parent.parent

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_POLL_SECONDS = 0.02  # between two looks at a port, which has no event to wait for
_LINE_LIMIT = 2**20
_KEPT_LINES = 1000  # how many of the newest lines are kept


class ProcessFailed(Exception):
    """A process ended, or was not ready in time; the message says which and what it printed."""


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What a process and its descendants have used so far."""

    cpu_seconds: float  # user and system, including children that have ended
    rss_bytes: int  # of the living ones; shared pages count once for each

    def cpu_since(self, earlier: "Usage") -> float:
        return self.cpu_seconds - earlier.cpu_seconds


class Process:
    """A started process; its standard output is read as it comes, so that it never blocks."""

    def __init__(self, process: asyncio.subprocess.Process, command: Sequence[str]) -> None:
        self.command = tuple(command)
        self.lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._process = process
        self._changed = asyncio.Condition()
        self._ended = False
        self._reader = asyncio.create_task(self._read())

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.returncode

    async def wait_for_line(self, prefix: str, *, timeout_seconds: float = 30.0) -> str:
        """The first line that starts with the prefix. Raises ProcessFailed."""

        def found() -> str | None:
            return next((line for line in self.lines if line.startswith(prefix)), None)

        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds), self._changed:
                await self._changed.wait_for(lambda: self._ended or found() is not None)
        line = found()
        if line is None:
            raise ProcessFailed(self._say(f"did not print {prefix!r}"))
        return line

    async def wait_until_ended(self, *, timeout_seconds: float) -> None:
        """Raises ProcessFailed if it is still running then, or ends with an error."""
        try:
            async with asyncio.timeout(timeout_seconds):
                code = await self._process.wait()
                await self._reader
        except TimeoutError:
            raise ProcessFailed(self._say("did not end in time")) from None
        if code != 0:
            raise ProcessFailed(self._say(f"ended with {code}"))

    async def stop(self, *, grace_seconds: float = 10.0) -> None:
        """SIGTERM, then SIGKILL after the grace. Does nothing to a process that has ended."""
        with suppress(ProcessLookupError):
            if self._process.returncode is None:
                self._process.terminate()
        try:
            async with asyncio.timeout(grace_seconds):
                await self._process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        self._reader.cancel()
        with suppress(asyncio.CancelledError):
            await self._reader

    async def _read(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        try:
            while line := await stdout.readline():
                async with self._changed:
                    self.lines.append(line.decode(errors="replace").rstrip("\n"))
                    self._changed.notify_all()
        finally:
            async with self._changed:
                self._ended = True
                self._changed.notify_all()

    def _say(self, what: str) -> str:
        tail = "\n".join(list(self.lines)[-10:])
        return f"{' '.join(self.command)} {what}; it printed: {tail or 'nothing'}"


@asynccontextmanager
async def running(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path = ROOT,
    cpus: set[int] | None = None,
) -> AsyncIterator[Process]:
    """Start a command; stop it at the end.

    `env` is added to ours; `cpus` pins it; its standard error is ours, so that nothing is hidden.
    """
    started = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        limit=_LINE_LIMIT,
        env={**os.environ, **(env or {})},
        cwd=cwd,
    )
    process = Process(started, command)
    try:
        if cpus is not None:
            pin(started.pid, cpus)
        yield process
    finally:
        await process.stop()


async def run_json(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cpus: set[int] | None = None,
    timeout_seconds: float = 300.0,
) -> dict[str, Any]:
    """Run a command to its end; its last line of output as an object. Raises ProcessFailed."""
    async with running(command, env=env, cpus=cpus) as process:
        await process.wait_until_ended(timeout_seconds=timeout_seconds)
        if not process.lines:
            raise ProcessFailed(f"{' '.join(command)} printed nothing")
        answer: dict[str, Any] = json.loads(process.lines[-1])
        return answer


def pin(pid: int, cpus: set[int]) -> None:
    """Pin a process just started, before it has threads, as far as this machine has these CPUs."""
    with suppress(ProcessLookupError):
        os.sched_setaffinity(pid, cpus & os.sched_getaffinity(0) or os.sched_getaffinity(0))


async def wait_for_port(host: str, port: int, *, timeout_seconds: float = 30.0) -> None:
    """Return as soon as a TCP connection is accepted. Raises ProcessFailed."""

    async def accepted() -> bool:
        _, writer = await asyncio.open_connection(host, port)
        writer.close()
        return True

    await _until(accepted, f"{host}:{port} accepts no connection", timeout_seconds)


async def wait_for_url(url: str, *, status: int = 200, timeout_seconds: float = 30.0) -> None:
    """Return as soon as a GET of an http:// URL answers with that status. Raises ProcessFailed."""
    host, port, path = split_url(url)

    async def answered() -> bool:
        reader, writer = await asyncio.open_connection(host, port)
        try:
            writer.write(
                f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode()
            )
            line = await reader.readline()
        finally:
            writer.close()
        return line.split()[1:2] == [str(status).encode()]

    await _until(answered, f"{url} does not answer {status}", timeout_seconds)


async def _until(
    ready: Callable[[], Awaitable[bool]], complaint: str, timeout_seconds: float
) -> None:
    try:
        async with asyncio.timeout(timeout_seconds):
            while True:
                with suppress(OSError):
                    if await ready():
                        return
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError:
        raise ProcessFailed(complaint) from None


def split_url(url: str) -> tuple[str, int, str]:
    """http://host:port/path as host, port and the path with its query."""
    scheme, _, rest = url.partition("://")
    if scheme != "http" or not rest:
        raise ValueError(f"not an http:// URL: {url}")
    netloc, slash, path = rest.partition("/")
    host, _, port = netloc.partition(":")
    return host, int(port or 80), slash + path or "/"


def usage(pid: int) -> Usage:
    """CPU time and memory of a process and all its descendants, from /proc.

    A process that is gone counts as nothing. The clock ticks 100 times a second, so measure for
    seconds.
    """
    stats = _all_stats()
    ticks = pages = 0
    todo = [pid]
    while todo:
        parent = todo.pop()
        stat = stats.get(parent)
        if stat is None:
            continue
        ticks += stat.ticks
        pages += stat.pages
        todo.extend(child for child, each in stats.items() if each.parent == parent)
    return Usage(cpu_seconds=ticks / _TICKS_PER_SECOND, rss_bytes=pages * _PAGE_BYTES)


@dataclass(frozen=True, kw_only=True)
class _Stat:
    parent: int
    ticks: int
    pages: int


def _all_stats() -> dict[int, _Stat]:
    stats = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                stats[int(entry.name)] = _parse_stat((entry / "stat").read_text())
    return stats


def _parse_stat(text: str) -> _Stat:
    # The second field is the command in parentheses and may hold spaces; count from behind it.
    fields = text[text.rindex(")") + 2 :].split()
    return _Stat(parent=int(fields[1]), ticks=sum(map(int, fields[11:15])), pages=int(fields[21]))
