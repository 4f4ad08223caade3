"""The CPU of two versions, side by side: `python -m bench compare CHECKOUT`.

CHECKOUT is another checkout of Webloom, with its own .venv (`make .venv/.dev`); "old" in the table.
Both run the same small workloads in turns (old, new, new, old, ...), each in a process of its own
with that checkout's interpreter and sources (compare_worker.py), on servers that they share.

What counts is user and system time of Webloom's processes: unlike elapsed time it says little about
who else works on the machine. `rounds` are the lowest and the highest ratio of a round.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import aio_pika
import uvloop

from bench.compare_worker import WORKLOADS, Rows, Servers
from bench.imports import CACHE_GB, _clear
from bench.processes import ROOT, run_json
from bench.site import start_site
from bench.stack import running_server
from bench.watch_unchanged import _site as unchanged_site
from servers.mongod import MongoServer
from servers.rabbitmq import RabbitServer
from servers.redis import RedisServer

ROUNDS = 5
LIMIT = 1.05
WORKER = Path(__file__).with_name("compare_worker.py")
SECONDS = 600.0
TITLES = ("workload", "old", "new", "ratio", "rounds")


@dataclass(frozen=True, kw_only=True)
class Compared:
    """CPU seconds per item of each round."""

    name: str
    old: list[float] = field(default_factory=list)
    new: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        return median(self.new) / median(self.old)

    @property
    def ratios(self) -> list[float]:
        return [new / old for old, new in zip(self.old, self.new, strict=True)]


async def compare(old: Path, names: Sequence[str], rounds: int) -> list[Compared]:
    found: list[Compared] = []
    async with _servers() as servers:
        for name in names:
            started = time.monotonic()
            print(f"{name} ...", end=" ", flush=True, file=sys.stderr)
            found += await _compare(old, name, rounds, servers)
            print(f"{time.monotonic() - started:.0f} s", file=sys.stderr)
    return found


async def _compare(old: Path, name: str, rounds: int, servers: Servers) -> list[Compared]:
    found: dict[str, Compared] = {}
    for turn in range(rounds):
        pair = [("old", old), ("new", ROOT)]
        for side, checkout in pair if turn % 2 == 0 else reversed(pair):
            for row, (seconds, items) in (await _run(checkout, name, servers)).items():
                compared = found.setdefault(row, Compared(name=row))
                getattr(compared, side).append(seconds / items)
    return list(found.values())


@asynccontextmanager
async def _servers() -> AsyncIterator[Servers]:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        mongod = MongoServer(folder / "mongod", cache_gb=CACHE_GB)
        rabbitmq, redis = RabbitServer(folder / "rabbitmq"), RedisServer(folder / "redis")
        for server in (mongod, rabbitmq, redis):
            await stack.enter_async_context(running_server(server))
        yield {
            "mongodb": mongod.url,
            "database": "compare",
            "rabbitmq": rabbitmq.url,
            "redis": redis.url,
            "site": (await stack.enter_async_context(start_site())).url,
            "unchanged": await stack.enter_async_context(unchanged_site()),
        }


async def _run(checkout: Path, name: str, servers: Servers) -> Rows:
    """One run of a workload. Its servers are empty afterwards."""
    command = [str(checkout / ".venv/bin/python"), "-P", str(WORKER), name, json.dumps(servers)]
    # Its own benches, and the same order of sets in every process.
    env = {"PYTHONPATH": str(checkout), "PYTHONHASHSEED": "0"}
    rows: Rows = await run_json(command, env=env, timeout_seconds=SECONDS)
    await _clear(**{key: servers[key] for key in ("mongodb", "redis", "database")})
    async with await aio_pika.connect(servers["rabbitmq"]) as connection:
        channel = await connection.channel()
        for queue in ("metadata_queue", "storage-agent"):
            await channel.queue_delete(queue)
    return rows


def render(rows: Sequence[Compared]) -> str:
    """A Markdown table."""
    lines = [f"| {' | '.join(TITLES)} |", f"|{'---|' * len(TITLES)}"]
    for row in rows:
        spread = f"{min(row.ratios):.2f} to {max(row.ratios):.2f}"
        mark = " (!)" if row.ratio > LIMIT else ""
        cells = (row.name, _shown(row.old), _shown(row.new), f"{row.ratio:.2f}{mark}", spread)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _shown(seconds: Sequence[float]) -> str:
    micros = median(seconds) * 1e6
    return f"{micros:.1f} µs" if micros < 1000 else f"{micros / 1000:.2f} ms"


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench compare", description=__doc__)
    parser.add_argument("checkout", type=Path, help="of the version to compare with")
    parser.add_argument("names", nargs="*", default=list(WORKLOADS), help=", ".join(WORKLOADS))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_intermixed_args(arguments)
    if unknown := set(given.names) - set(WORKLOADS):
        parser.error(f"no workload is called {', '.join(unknown)}")
    load = os.getloadavg()[0]
    rows = uvloop.run(compare(given.checkout.resolve(), given.names, given.rounds))
    print(render(rows))
    print(f"\nLoad average: {load:.1f} before, {os.getloadavg()[2]:.1f} over the last 15 minutes")
    sys.exit(0 if all(row.ratio <= LIMIT for row in rows) else 1)
