"""A bad network in front of a server: on loopback, and changed while connections are open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

CHUNK = 1 << 16


class Proxy:
    """Passes bytes on to a port of this machine, and does to them what its fields say."""

    def __init__(self, server_port: int) -> None:
        self.server_port = server_port
        self.port = 0
        self.holding = False  # half-open: connections are taken and stand, and nothing passes
        self.dropping_replies = False  # the server hears, and is not heard
        self.delay = 0.0  # seconds that every byte takes, in each direction
        self.dropped = 0  # bytes of replies that were not passed on
        self._writers: set[asyncio.StreamWriter] = set()
        self._serving: set[asyncio.Task[None]] = set()

    def hold(self) -> None:
        """What is under way is lost; connections made from now on get no further."""
        self.holding = True

    def drop_replies(self) -> None:
        self.dropping_replies = True

    def cut(self) -> None:
        """End every connection at once, without a word (RST)."""
        for writer in list(self._writers):
            writer.transport.abort()

    def pass_all(self) -> None:
        """Connections that were tampered with are cut: bytes are missing in them."""
        if self.holding or self.dropping_replies:
            self.cut()
        self.holding = self.dropping_replies = False
        self.delay = 0.0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Proxy]:
        listening = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = listening.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            listening.close()
            while self._serving:
                self.cut()
                await asyncio.wait(self._serving, timeout=0.1)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        self._writers.add(writer)
        try:
            await self._serve(reader, writer)
        finally:
            self._serving.discard(task)
            self._writers.discard(writer)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.holding:
            with suppress(OSError):
                while await reader.read(CHUNK):
                    pass
            return
        try:
            answers, server = await asyncio.open_connection("127.0.0.1", self.server_port)
        except OSError:
            return
        self._writers.add(server)
        ways = [
            asyncio.create_task(self._pass(reader, server, replies=False)),
            asyncio.create_task(self._pass(answers, writer, replies=True)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.wait(ways)
            self._writers.discard(server)
            server.transport.abort()

    async def _pass(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, *, replies: bool
    ) -> None:
        """Each chunk is passed on by a timer, so that latency does not become a limit of speed."""
        loop = asyncio.get_running_loop()
        with suppress(OSError):
            while data := await source.read(CHUNK):
                if self.holding or (replies and self.dropping_replies):
                    self.dropped += len(data) if replies else 0
                    continue
                if self.delay:
                    loop.call_later(self.delay, self._write, target, data)
                else:
                    target.write(data)

    @staticmethod
    def _write(target: asyncio.StreamWriter, data: bytes) -> None:
        if not target.transport.is_closing():
            target.write(data)
