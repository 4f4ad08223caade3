"""One import at a time, by Webloom or by the peer, timed from outside.

Both are driven over the same routes: an import is started by POST /api/import/run and looked at by
GET /api/import-logs/{runId} until it is no longer running.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, ClientTimeout

from bench.api import free_port
from bench.processes import PYTHON, ROOT, Process, ProcessFailed, running, usage, wait_for_url
from bench.processes import _all_stats as all_stats
from servers.private import program

PEER = ROOT / "bench" / "peers" / "node_import"
HOST = "127.0.0.1"
POLL_SECONDS = 0.5
START_SECONDS = 60.0
SLOWEST = 300  # items a second; who is slower is stopped
_LOOK_SECONDS = 0.2  # between two looks at the memory


@dataclass(frozen=True, kw_only=True)
class Imported:
    """What one import took."""

    log: dict[str, Any]  # the run's, at its end
    seconds: float  # from the request to the finishedAt of the log
    cpu: dict[str, float]  # seconds by process of the system, children included
    peaks: dict[str, int]  # bytes by process, each child apart

    @property
    def cpu_seconds(self) -> float:
        return sum(self.cpu.values())

    @property
    def peak_bytes(self) -> int:
        return max(self.peaks.values())


class System:
    """Processes that import feeds, and the address of their API."""

    def __init__(self, base: str, processes: Sequence[Process], *, has_feeds: bool) -> None:
        self.base = base
        self._processes = processes
        self._has_feeds = has_feeds  # a feed is added before it is imported

    async def import_feed(self, source_url: str, items: int, **expected: int) -> Imported:
        """Import a feed of so many items. `expected` are counters of the log, and are checked."""
        async with self._session() as session, _watched(self._processes) as peaks:
            await self._add(session, source_url)
            before = self._cpu()
            started = time.time()
            log = await _run(session, source_url, START_SECONDS + items / SLOWEST)
            used = {name: seconds - before[name] for name, seconds in self._cpu().items()}
        _check(log, {"totalFetched": items} | expected)
        return Imported(
            log=log,
            seconds=datetime.fromisoformat(log["finishedAt"]).timestamp() - started,
            cpu=used,
            peaks=peaks,
        )

    async def cpu_of_runs(self, source_url: str, runs: int, **expected: int) -> float:
        """CPU seconds of one run of a feed that was imported before, of so many runs one after
        the other. What the processes use when only their log is looked at is subtracted."""
        async with self._session() as session:
            cpu, started = sum(self._cpu().values()), time.perf_counter()
            for _ in range(runs):
                log = await _run(session, source_url, START_SECONDS)
                _check(log, expected)
            used, seconds = sum(self._cpu().values()) - cpu, time.perf_counter() - started
            cpu, started = sum(self._cpu().values()), time.perf_counter()
            while time.perf_counter() - started < seconds:
                await asyncio.sleep(POLL_SECONDS)
                await _look_up(session, log["runId"])
            idle = (sum(self._cpu().values()) - cpu) / (time.perf_counter() - started)
        return (used - idle * seconds) / runs

    def _cpu(self) -> dict[str, float]:
        """Seconds that each process has used until now, by the last word of its command."""
        return {process.command[-1]: usage(process.pid).cpu_seconds for process in self._processes}

    async def _add(self, session: ClientSession, source_url: str) -> None:
        if self._has_feeds:
            feed = {"url": source_url, "name": source_url.rpartition("/")[2]}
            async with session.post("/api/feeds", json=feed) as answer:
                await _body(answer, 201, 409)  # 409: it is there already

    def _session(self) -> ClientSession:
        # The peer does not answer while it parses.
        return ClientSession(self.base, timeout=ClientTimeout(total=600))


@asynccontextmanager
async def webloom_up(folder: Path, **settings: str) -> AsyncIterator[System]:
    """The embedded default, but for these settings."""
    env = _webloom(folder) | settings
    async with running([PYTHON, "-m", "webloom", "up"], env=env) as process:
        base = await _answering(env)
        await _beating(base, {"api": process, "scheduler": process, "worker": process})
        yield System(base, [process], has_feeds=True)


@asynccontextmanager
async def webloom_on_stack(
    folder: Path, *, mongodb: str, database: str, redis: str
) -> AsyncIterator[System]:
    env = _webloom(folder) | {
        "WEBLOOM_STORE": mongodb,
        "WEBLOOM_MONGODB_DATABASE": database,
        "WEBLOOM_BROKER": redis,
    }
    async with running([PYTHON, "-m", "webloom", "api"], env=env) as api:
        base = await _answering(env)  # has made the collections: see `peer_on_stack`
        async with (
            running([PYTHON, "-m", "webloom", "scheduler"], env=env) as scheduler,
            running([PYTHON, "-m", "webloom", "worker"], env=env) as worker,
        ):
            await _beating(base, {"scheduler": scheduler, "worker": worker})
            yield System(base, [api, scheduler, worker], has_feeds=True)


@asynccontextmanager
async def peer_on_stack(*, mongodb: str, database: str, redis: str) -> AsyncIterator[System]:
    node = program("Node", "install Node 20 or later, with npm", "node")
    await _install_peer()
    host, _, options = mongodb.partition("/?")
    env = {"MONGODB_URI": f"{host}/{database}?{options}", "REDIS_URL": redis}
    async with running([node, "producer.mjs"], env=env, cwd=PEER) as producer:
        # One after the other: a mongod under Wine dies when two connections make one collection.
        port = (await producer.wait_for_line("ready ")).split()[1]
        async with running([node, "worker.mjs"], env=env, cwd=PEER) as worker:
            await worker.wait_for_line("ready")
            yield System(f"http://{HOST}:{port}", [producer, worker], has_feeds=False)


async def _install_peer() -> None:
    if not (PEER / "node_modules").exists():
        command = ["npm", "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund"]
        async with running(command, cwd=PEER) as npm:
            await npm.wait_until_ended(timeout_seconds=300)


def _webloom(folder: Path) -> dict[str, str]:
    return {
        "WEBLOOM_DATA_DIR": str(folder),
        "WEBLOOM_PORT": str(free_port()),
        "WEBLOOM_ALLOW_ADDRESSES": HOST,
        "WEBLOOM_LOG_LEVEL": "warning",
    }


async def _answering(env: dict[str, str]) -> str:
    base = f"http://{HOST}:{env['WEBLOOM_PORT']}"
    await wait_for_url(f"{base}/health/live")
    return base


async def _beating(base: str, roles: dict[str, Process]) -> None:
    """Wait until each of these has begun its work, so that its start is not measured."""
    wanted = {(role, process.pid) for role, process in roles.items()}
    async with ClientSession(base) as session, asyncio.timeout(START_SECONDS):
        while True:
            async with session.get("/health") as answer:
                health = await answer.json()
            found = {(each["role"], each["pid"]) for each in health["workers"] + health["others"]}
            if wanted <= found:
                return
            await asyncio.sleep(POLL_SECONDS)


async def _run(session: ClientSession, source_url: str, most_seconds: float) -> dict[str, Any]:
    """Start an import; its log when it has ended. Raises ProcessFailed."""
    deadline = time.monotonic() + most_seconds
    async with session.post("/api/import/run", json={"sourceUrl": source_url}) as answer:
        run_id = (await _body(answer, 202))["runs"][0]["runId"]
    while True:
        await asyncio.sleep(POLL_SECONDS)
        log = await _look_up(session, run_id)
        if log["status"] != "running":
            return log
        if time.monotonic() > deadline:
            raise ProcessFailed(f"the import did not end in {most_seconds:.0f} s: {log}")


async def _look_up(session: ClientSession, run_id: str) -> dict[str, Any]:
    async with session.get(f"/api/import-logs/{run_id}") as answer:
        return await _body(answer, 200)


async def _body(answer: Any, *statuses: int) -> dict[str, Any]:
    if answer.status not in statuses:
        raise ProcessFailed(f"{answer.url} answered {answer.status}: {await answer.text()}")
    body: dict[str, Any] = await answer.json()
    return body


def _check(log: dict[str, Any], expected: dict[str, int]) -> None:
    found = {name: log.get(name) for name in expected}
    if log["status"] != "completed" or found != expected:
        raise ProcessFailed(f"the import ended with {log}; expected {expected}")


@asynccontextmanager
async def _watched(processes: Sequence[Process]) -> AsyncIterator[dict[str, int]]:
    """The most memory that each process of these trees has had, kept up to date in the block."""
    peaks: dict[str, int] = {}

    async def look() -> None:
        while True:
            for pid in _tree([process.pid for process in processes]):
                with suppress(OSError, StopIteration):
                    name, bytes_ = _most_memory(pid)
                    peaks[name] = max(bytes_, peaks.get(name, 0))
            await asyncio.sleep(_LOOK_SECONDS)

    looking = asyncio.create_task(look())
    try:
        yield peaks
    finally:
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking


def _tree(pids: list[int]) -> list[int]:
    stats = all_stats()
    found = list(pids)
    for pid in found:  # grows while it is walked
        found += [child for child, stat in stats.items() if stat.parent == pid]
    return found


def _most_memory(pid: int) -> tuple[str, int]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    high = next(line for line in lines if line.startswith("VmHWM:"))
    command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    words = [Path(word.decode(errors="replace")).name for word in command[:4]]
    return f"{' '.join(words).strip()} ({pid})", int(high.split()[1]) * 1024
