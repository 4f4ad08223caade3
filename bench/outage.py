"""How long a POST takes while MongoDB is up, killed, or hangs, with RabbitMQ up."""

import asyncio
import tempfile
import time
from pathlib import Path

import aiohttp

from bench.api import free_port
from bench.processes import PYTHON, running, wait_for_url
from bench.stack import running_server
from bench.table import Row
from servers.mongod import MongoServer
from servers.rabbitmq import RabbitServer

POSTS = 200
PER_SECOND = 20
LIMIT = 1000.0  # milliseconds


async def measure() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        mongod, rabbitmq = MongoServer(Path(folder) / "m"), RabbitServer(Path(folder) / "r")
        async with running_server(mongod), running_server(rabbitmq):
            port = free_port()
            env = {
                "WEBLOOM_DATA_DIR": folder,
                "WEBLOOM_PORT": str(port),
                "WEBLOOM_STORE": mongod.url,
                "WEBLOOM_BROKER": rabbitmq.url,
                "WEBLOOM_QUEUE_LIMIT": "1000000",
                "WEBLOOM_LOG_LEVEL": "error",
            }
            base = f"http://127.0.0.1:{port}"
            async with running([PYTHON, "-m", "webloom", "api"], env=env):
                await wait_for_url(f"{base}/health/live")
                rows = [_row("MongoDB up", await _slowest(base, "up"))]
                mongod.pause()
                rows.append(_row("MongoDB hanging", await _slowest(base, "hanging")))
                mongod.resume()
                await wait_for_url(f"{base}/health/ready")
                await asyncio.to_thread(mongod.kill)
                rows.append(_row("MongoDB killed", await _slowest(base, "killed")))
            async with running([PYTHON, "-m", "webloom", "api"], env=env):
                await wait_for_url(f"{base}/health/live")
                rows.append(_row("an API started meanwhile", await _slowest(base, "started")))
            return rows


def _row(when: str, slowest: float) -> Row:
    return Row(
        measure=f"slowest of {POSTS} POSTs, {when}",
        unit="ms",
        webloom=slowest,
        peer="the limit",
        peer_value=LIMIT,
        must=1.0,
        lower_is_better=True,
    )


async def _slowest(base: str, name: str) -> float:
    """Milliseconds. The first ones count: they find out that the store is down."""
    async with aiohttp.ClientSession(base) as session, asyncio.TaskGroup() as group:
        tasks = []
        for number in range(POSTS):
            tasks.append(group.create_task(_post(session, f"http://s.test/{name}/{number}")))
            await asyncio.sleep(1 / PER_SECOND)
    return max(task.result() for task in tasks)


async def _post(session: aiohttp.ClientSession, url: str) -> float:
    started = time.perf_counter()
    async with session.post("/metadata", json={"url": url}) as answer:
        if answer.status != 202:
            raise AssertionError(f"{answer.status}: {await answer.text()}")
    return (time.perf_counter() - started) * 1000
