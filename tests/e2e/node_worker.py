"""A worker of another program on the queue of imports: tests/node/import_worker.mjs."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from servers.private import Missing, program
from timeouts import TIMEOUT_SECONDS

NODE = Path(__file__).parent.parent / "node"


def node_program() -> str:
    """With the packages that the worker needs."""
    if not (NODE / "node_modules" / "mongodb").is_dir():
        raise Missing(
            "Node", "make test installs the packages of tests/node where npm is installed"
        )
    return program("Node", "apt-get install nodejs npm", "node")


class NodeWorker:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.batches: list[dict[str, Any]] = []  # as they came
        self.failures: list[dict[str, Any]] = []
        self._is_ready = asyncio.Event()

    async def read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            said = json.loads(line)
            if "ready" in said:
                self._is_ready.set()
            elif "batch" in said:
                self.batches.append(said["batch"])
            elif "failed" in said:
                self.failures.append(said)

    async def ready(self) -> None:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await self._is_ready.wait()

    async def ended(self) -> int:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            return await self.process.wait()


@asynccontextmanager
async def node_worker(
    redis: str, mongodb: str, database: str, **options: Any
) -> AsyncIterator[NodeWorker]:
    process = await asyncio.create_subprocess_exec(
        node_program(),
        str(NODE / "import_worker.mjs"),
        redis,
        mongodb,
        database,
        json.dumps(options),
        stdout=asyncio.subprocess.PIPE,
        cwd=NODE,
        env={"PATH": os.environ["PATH"]},
        limit=1 << 20,
    )
    worker = NodeWorker(process)
    reading = asyncio.create_task(worker.read())
    try:
        await worker.ready()
        yield worker
        if process.returncode is None:
            process.terminate()
            assert await worker.ended() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        await reading
