"""Memory of `webloom api` under attacks on loopback, and whether others are served meanwhile."""

import asyncio
import random
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import aiohttp

from attacks import ATTACKER, connected, many_headers, memory, request
from bench.api import free_port
from bench.processes import PYTHON, running, wait_for_url
from bench.table import Row
from webloom.bootstrap.connections import open_services
from webloom.domain.inventory import Attempt, Completed, FetchRequest, Received
from webloom.settings import load_settings

MIB = 1 << 20
LIMIT = 512.0  # MB
AFTER_SECONDS = 60.0
DURING_SECONDS = 15.0
POLITE_REQUESTS = 50
VERSION = "/api/watch/pages/versions/1"
LARGE = "http://large.test/page"
KEY = "wl_a-key-for-the-polite-client"
ADDRESSES = tuple(f"127.66.0.{number}" for number in range(1, 51))

SOURCE = random.Random(15).randbytes(7_500_000 // 2).hex()

Attack = Callable[[int], AbstractAsyncContextManager[object]]


def _headers(port: int) -> AbstractAsyncContextManager[object]:
    return connected(port, 400, many_headers(), addresses=ADDRESSES)


def _more_headers(port: int) -> AbstractAsyncContextManager[object]:
    return connected(port, 5_000, many_headers(), addresses=ADDRESSES)


def _idle(port: int) -> AbstractAsyncContextManager[object]:
    return connected(port, 1_100)


def _unread(port: int) -> AbstractAsyncContextManager[object]:
    sent = request(f"/metadata?url={LARGE}", f"X-API-Key: {KEY}")
    return connected(port, 200, sent, addresses=ADDRESSES)


def _unread_versions(port: int) -> AbstractAsyncContextManager[object]:
    sent = request(f"{VERSION}?jobId=shop&url={LARGE}", f"X-API-Key: {KEY}")
    return connected(port, 200, sent, addresses=ADDRESSES)


def _streams(port: int) -> AbstractAsyncContextManager[object]:
    sent = request("/api/live?topics=overview,queues", f"X-API-Key: {KEY}")
    return connected(port, 1_000, sent, addresses=ADDRESSES)


@asynccontextmanager
async def _posting(port: int, path: str, body: bytes, times: int) -> AsyncIterator[None]:
    connector = aiohttp.TCPConnector(limit=0, local_addr=(ATTACKER, 0))
    headers = {"X-API-Key": KEY}
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

        async def post() -> None:
            async with session.post(f"http://127.0.0.1:{port}{path}", data=body) as answer:
                await answer.read()

        posts = [asyncio.create_task(post()) for _ in range(times)]
        yield
        await asyncio.gather(*posts, return_exceptions=True)


def _objects(port: int) -> AbstractAsyncContextManager[object]:
    body = b"[" + b",".join([b"{}"] * 5_500_000) + b"]"
    return _posting(port, "/api/watch/events", body, 4)


def _addresses(port: int) -> AbstractAsyncContextManager[object]:
    body = b"[" + b",".join([b'""'] * 5_500_000) + b"]"
    return _posting(port, "/metadata/batch", body, 4)


@asynccontextmanager
async def _guesses(port: int) -> AsyncIterator[None]:
    connector = aiohttp.TCPConnector(limit=100, local_addr=(ATTACKER, 0))
    async with aiohttp.ClientSession(connector=connector) as session:

        async def guess() -> None:
            while True:
                headers = {"X-API-Key": random.randbytes(20).hex()}
                async with session.get(f"http://127.0.0.1:{port}/health", headers=headers) as it:
                    await it.read()

        guessing = [asyncio.create_task(guess()) for _ in range(100)]
        yield
        for each in guessing:
            each.cancel()
        await asyncio.gather(*guessing, return_exceptions=True)


ATTACKS: dict[str, Attack] = {
    "400 connections, 12,600 headers each": _headers,
    "5,000 connections, 12,600 headers each": _more_headers,
    "1,100 idle connections": _idle,
    "200 clients that don't read 7.5 MB": _unread,
    "200 clients that don't read a version of 7.5 MB": _unread_versions,
    "1,000 unread event streams": _streams,
    "4 bodies of 5.5 million objects": _objects,
    "4 bodies of 5.5 million texts": _addresses,
    "guessing keys on 100 connections": _guesses,
}


async def measure() -> list[Row]:
    rows = []
    for name, attack in ATTACKS.items():
        rows += await _measure(name, attack)
    return rows


async def _measure(name: str, attack: Attack) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        await _store_large_record(Path(folder))
        port = free_port()
        env = {
            "WEBLOOM_DATA_DIR": folder,
            "WEBLOOM_PORT": str(port),
            "WEBLOOM_API_KEYS": KEY,
            "WEBLOOM_LOG_LEVEL": "error",
        }
        async with running([PYTHON, "-m", "webloom", "api"], env=env) as process:
            await wait_for_url(f"http://127.0.0.1:{port}/health/live")
            if attack is _unread_versions:
                await _store_large_version(port, env)
            idle, _ = memory(process.pid)
            async with attack(port):
                served = await _served(port)
                await asyncio.sleep(DURING_SECONDS)
            _, most = memory(process.pid)
            await asyncio.sleep(AFTER_SECONDS)
            after, _ = memory(process.pid)
    return [
        Row(
            measure=f"{name}: most memory", unit="MB", webloom=most / MIB,
            peer="the limit", peer_value=LIMIT, must=1.0, lower_is_better=True,
        ),
        Row(
            measure=f"{name}: a minute after", unit="MB", webloom=after / MIB,
            peer="before", peer_value=idle / MIB, must=None, lower_is_better=True,
        ),
        Row(
            measure=f"{name}: others served", unit="requests", webloom=served,
            peer="sent", peer_value=POLITE_REQUESTS, must=1.0,
        ),
    ]  # fmt: skip


async def _served(port: int) -> int:
    served = 0
    async with aiohttp.ClientSession(
        f"http://127.0.0.1:{port}",
        headers={"X-API-Key": KEY},
        timeout=aiohttp.ClientTimeout(total=30),
    ) as session:
        for _ in range(POLITE_REQUESTS):
            try:
                async with session.get("/metadata/records") as answer:
                    served += answer.status == 200
            except (aiohttp.ClientError, TimeoutError):
                pass
    return served


async def _store_large_version(port: int, env: dict[str, str]) -> None:
    event = {"jobId": "shop", "url": LARGE, "ts": 1, "parsed": {"title": "Loom", "text": SOURCE}}
    page = {"jobId": "shop", "url": LARGE}
    async with (
        running([PYTHON, "-m", "webloom", "storage-agent"], env=env),
        aiohttp.ClientSession(
            f"http://127.0.0.1:{port}", headers={"X-API-Key": KEY}, raise_for_status=True
        ) as session,
        session.post("/api/watch/events", json=event),
        asyncio.timeout(60),
    ):
        while True:
            async with session.get("/api/watch/pages/versions", params=page) as answer:
                if (await answer.json())["data"]:
                    return
            await asyncio.sleep(0.2)


async def _store_large_record(data_dir: Path) -> None:
    async with open_services(load_settings({"WEBLOOM_DATA_DIR": str(data_dir)})) as services:
        request = FetchRequest(url=LARGE, request_id="1")
        attempt = await services.store.begin_attempt(request, lease=15)
        if not isinstance(attempt, Attempt):
            raise AssertionError(attempt)
        page = Received(
            status_code=200, headers={}, cookies={}, page_source=SOURCE, final_url=LARGE, details={}
        )
        await services.store.finish_attempt(attempt, Completed(received=page))
