from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from redis.asyncio import Redis

from servers.private import PrivateServer, program


class RedisServer(PrivateServer):
    def __init__(self, folder: Path, *options: str) -> None:
        super().__init__(folder)
        self.options = options
        self._program = program("Redis", "apt-get install redis-server", "redis-server")

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Redis]:
        """As another program would have it."""
        async with Redis.from_url(self.url) as client:
            yield client

    async def limit_memory(self, spare: int) -> None:
        """To what is used now and so many bytes more, or fewer if negative."""
        async with self.client() as client:
            used = (await client.info("memory"))["used_memory"]
            await client.config_set("maxmemory", used + spare)

    async def lift_limit(self) -> None:
        async with self.client() as client:
            await client.config_set("maxmemory", 0)

    async def add_ballast(self, size: int) -> None:
        async with self.client() as client:
            await client.setrange("ballast", size, "x")

    async def drop_ballast(self) -> None:
        async with self.client() as client:
            await client.delete("ballast")

    async def flush(self) -> None:
        """Lose every key and script."""
        async with self.client() as client:
            await client.flushall()
            await client.script_flush()

    async def client_count(self) -> int:
        async with self.client() as client:
            return len(await client.client_list())

    async def keys(self, pattern: str = "*", *, expiring: bool) -> dict[str, int]:
        """The length of each stream of events, 1 for any other key; with or without those that
        expire."""
        async with self.client() as client:
            found = [key.decode() async for key in client.scan_iter(pattern)]
            keys = [key for key in found if expiring or await client.ttl(key) < 0]
            return {
                key: int(await client.xlen(key)) if key.endswith(":events") else 1 for key in keys
            }

    def command(self) -> Sequence[str]:
        # With "everysec" it answers before it writes, while an fsync takes its time; with "no" it
        # has written first, and a kill loses nothing.
        return (
            self._program, "--port", str(self.port), "--bind", "127.0.0.1",
            "--dir", str(self.folder), "--save", "", "--appendonly", "yes",
            "--appendfsync", "no", *self.options,
        )  # fmt: skip

    def answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                answer = connection.recv(64)
        except OSError:
            return False
        return answer.startswith((b"+PONG", b"-NOAUTH"))
