"""Feeds on loopback, however broken: each path answers with bytes, as many as it likes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from faults.site import Site


@dataclass(frozen=True, kw_only=True)
class Served:
    body: Callable[[], Iterator[bytes]]
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, body: bytes | str, status: int = 200, **headers: str) -> Served:
        whole = body.encode() if isinstance(body, str) else body
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return cls(body=lambda: iter((whole,)), status=status, headers=named)


class FeedSite(Site):
    """Ends each answer by closing the connection, so that a length is only claimed where a feed's
    headers do."""

    def __init__(self) -> None:
        super().__init__()
        self.feeds: dict[str, Served] = {}
        self.requested: Counter[str] = Counter()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await reader.readuntil(b"\r\n\r\n")
            path = request.split(b" ", 2)[1].decode()
            self.requested[path] += 1
            served = self.feeds.get(path) or Served.of("not here", 404)
            etag = served.headers.get("ETag", "").encode()
            if etag and b"If-None-Match: " + etag in request:
                served = Served.of(b"", 304)
            lines = [f"HTTP/1.1 {served.status} X", "Connection: close"]
            lines += [f"{name}: {value}" for name, value in served.headers.items()]
            writer.write("\r\n".join([*lines, "", ""]).encode())
            for piece in served.body():
                writer.write(piece)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has seen enough, or was killed
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
