"""The API's two hot routes, against the barest FastAPI handlers with the same models."""

import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from urllib.parse import quote

from bench.load import Request, write_requests
from bench.processes import PYTHON, run_json, running, wait_for_url
from bench.table import Row

CONNECTIONS = 64
SECONDS = 4
ROUNDS = 3
POSTS = 150_000  # more than one run can send
RECORDS = 2_000


async def measure() -> list[Row]:
    from bench.records import record_url, write_records

    posts = [
        Request(
            method="POST",
            path="/metadata",
            body=f'{{"url": "https://shop.example.com/item/{number}"}}',
            headers=(("Content-Type", "application/json"),),
        )
        for number in range(POSTS)
    ]
    gets = [
        Request(path=f"/metadata?url={quote(record_url(number), safe='')}&source=false")
        for number in range(RECORDS)
    ]
    bare_gets = [Request(path=request.path.removesuffix("&source=false")) for request in gets]
    rates: dict[str, list[float]] = {"post": [], "bare post": [], "get": [], "bare get": []}
    for _ in range(ROUNDS):
        async with _bare_fastapi() as base:
            rates["bare post"].append(await _rate(base, posts, 202))
            rates["bare get"].append(await _rate(base, bare_gets, 200))
        with tempfile.TemporaryDirectory() as folder:
            await write_records(Path(folder), RECORDS)
            async with _api(folder) as base:
                rates["post"].append(await _rate(base, posts, 202))
                rates["get"].append(await _rate(base, gets, 200))
    return [
        _row("POST /metadata, accepted durably", rates["post"], rates["bare post"], 0.5),
        _row("GET of a completed record without source", rates["get"], rates["bare get"], 0.6),
    ]


def _row(measure: str, ours: list[float], theirs: list[float], must: float) -> Row:
    ratio = median(a / b for a, b in zip(ours, theirs, strict=True))
    return Row(
        measure=measure,
        unit="requests/s",
        webloom=ratio * median(theirs),
        peer="barest FastAPI handler",
        peer_value=median(theirs),
        must=must,
    )


async def _rate(base: str, requests: list[Request], expected: int) -> float:
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        write_requests(Path(file.name), requests)
        command = ["-m", "bench.load", "--url", base, "--requests", file.name]
        sizes = ["--connections", str(CONNECTIONS), "--seconds", str(SECONDS)]
        result = await run_json([PYTHON, *command, *sizes])
    if set(result["statuses"]) != {str(expected)} or result["errors"]:
        raise RuntimeError(f"unexpected answers: {result}")
    return float(result["rps"])


@asynccontextmanager
async def _bare_fastapi() -> AsyncIterator[str]:
    port = free_port()
    async with running([PYTHON, "-m", "bench.peers.bare_fastapi", str(port)]):
        await wait_for_url(f"http://127.0.0.1:{port}/metadata?url=x")
        yield f"http://127.0.0.1:{port}"


@asynccontextmanager
async def _api(folder: str) -> AsyncIterator[str]:
    port = free_port()
    env = {
        "WEBLOOM_DATA_DIR": folder,
        "WEBLOOM_PORT": str(port),
        "WEBLOOM_QUEUE_LIMIT": "1000000",
        "WEBLOOM_CACHE_TTL": "1000000",
        "WEBLOOM_LOG_LEVEL": "warning",
    }
    async with running([PYTHON, "-m", "webloom", "api"], env=env):
        await wait_for_url(f"http://127.0.0.1:{port}/health/live")
        yield f"http://127.0.0.1:{port}"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
