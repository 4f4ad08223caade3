"""A quota in front of a MongoDB server, as MongoDB's cloud has one: over it, writes but not deletes
are refused, by the same code and in the same words."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import bson

from servers.mongod import MongoServer

REFUSED = frozenset({"insert", "update", "findAndModify", "create", "createIndexes"})
CODE = 8000
OVER_QUOTA = "you are over your space quota, using 513 MB of 512 MB"
_HEADER = struct.Struct("<iiii")  # length, request, response to, kind
_MESSAGE = 2013  # the kind of all messages but a first hello
_FIRST_SECTION = 4 + 1  # behind flags and the kind of the section


class Quota:
    def __init__(self, server: MongoServer) -> None:
        self.server = server
        self.is_used_up = False
        self.refused = 0
        self._port = 0

    @property
    def url(self) -> str:
        return f"mongodb://127.0.0.1:{self._port}/?directConnection=true"

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Quota]:
        serving = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._port = serving.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            serving.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            answers, server = await asyncio.open_connection("127.0.0.1", self.server.port)
        except OSError:
            writer.close()
            return
        passing = asyncio.create_task(_pass(answers, writer))
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                while True:
                    header = await reader.readexactly(_HEADER.size)
                    length, request, _, kind = _HEADER.unpack(header)
                    body = await reader.readexactly(length - _HEADER.size)
                    if self.is_used_up and kind == _MESSAGE and _command(body) in REFUSED:
                        self.refused += 1
                        writer.write(_refusal(request))
                    else:
                        server.write(header + body)
        finally:
            passing.cancel()
            server.close()
            writer.close()


def _command(body: bytes) -> str:
    document = bson.decode(body[_FIRST_SECTION:][: struct.unpack_from("<i", body, 5)[0]])
    return next(iter(document))


def _refusal(request: int) -> bytes:
    document = {"ok": 0.0, "errmsg": OVER_QUOTA, "code": CODE, "codeName": "AtlasError"}
    body = bytes(_FIRST_SECTION) + bson.encode(document)
    return _HEADER.pack(_HEADER.size + len(body), 0, request, _MESSAGE) + body


async def _pass(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await source.read(1 << 16):
            target.write(data)
    target.close()
