from __future__ import annotations

import asyncio
import ssl
from typing import Self


class LoopbackSite:
    """A server for one test, in its event loop. Each connection has a task, which ends with it."""

    def __init__(
        self, *, host: str = "127.0.0.1", ssl_context: ssl.SSLContext | None = None
    ) -> None:
        self.host = host
        self.port = 0
        self.connections = 0
        self._ssl = ssl_context
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._accept, self.host, 0, ssl=self._ssl, backlog=512
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise NotImplementedError
