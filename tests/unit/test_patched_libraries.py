"""Where Webloom changes or relies on the inside of a library, it fails here when that changes.

Each test names the place. When one fails after an upgrade, read that place again: either its reason
is gone, and the place can go, or it has to follow the library.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import sys
from collections.abc import Callable
from typing import Annotated, Any

import aiormq
import pamqp.decode
import pytest
import uvicorn
from bullmq.redis_connection import loadScript
from fastapi import Depends, Query, Request
from fastapi.routing import APIRoute
from pymongo import lock
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from webloom.adapters.bullmq import lua
from webloom.adapters.mongodb.driver_wait import wait_here, wait_in_the_call_itself
from webloom.adapters.rabbitmq.session import _is_blocked
from webloom.adapters.rabbitmq.transport import read_anything
from webloom.entrypoints.api.bounded_http import BoundedHttp
from webloom.entrypoints.api.requests import Parameters

NOT_UTF_8 = b"\x02\xff\xfe"
IN_NANOSECONDS = (10**18).to_bytes(8, "big")
TABLE_OF_THAT = b"\x00\x00\x00\x0b\x01aT" + IN_NANOSECONDS
# Of the scripts that lua.py puts its own text in front of.
SCRIPTS = {
    "addDelayedJob-6.lua": "33d07c0c376c760f",
    "addStandardJob-9.lua": "6f61f23b5d27ad6e",
    "moveJobFromActiveToWait-9.lua": "ac9546cdd23294a2",
    "moveStalledJobsToWait-9.lua": "dad86d89b50d825f",
    "moveToActive-11.lua": "7d35069db0b831af",
    "moveToDelayed-11.lua": "1a7b9311ef92fd66",
    "moveToFinished-14.lua": "8e744ec5d65dbe9e",
    "removeJob-2.lua": "f2acb16fda20ccac",
    "reprocessJob-9.lua": "4ea1093385a87676",
}


@pytest.mark.parametrize(
    ("kind", "decode", "value"),
    [
        ("shortstr", pamqp.decode.short_str, NOT_UTF_8),
        ("timestamp", pamqp.decode.timestamp, IN_NANOSECONDS),
        ("table", pamqp.decode.field_table, TABLE_OF_THAT),
    ],
)
def test_values_that_pamqp_cannot_decode_are_decoded_by_rabbitmq_transport(
    kind: str, decode: Callable[[bytes], object], value: bytes
) -> None:
    with pytest.raises((ValueError, OverflowError, OSError)):  # if not, the patch can go
        decode(value)
    read_anything()
    length, _ = pamqp.decode.by_type(value, kind)
    assert length == len(value)


async def test_rabbitmq_session_sees_when_aiormq_keeps_publishers_waiting() -> None:
    connection = aiormq.Connection("amqp://127.0.0.1/")
    unblocked: asyncio.Event = connection._Connection__connection_unblocked  # type: ignore[attr-defined]
    assert _is_blocked(connection)
    connection.connected.set()
    assert _is_blocked(connection)
    unblocked.set()
    assert not _is_blocked(connection)
    unblocked.clear()
    assert _is_blocked(connection)
    public = {name for name in dir(connection) if not name.startswith("_")}
    assert not {name for name in public if "blocked" in name}, "aiormq tells: use that instead"


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_scripts_of_bullmq_are_those_that_bullmq_lua_was_written_for(name: str) -> None:
    digest = hashlib.sha256(loadScript(name).encode()).hexdigest()[:16]
    assert digest == SCRIPTS[name], "read its KEYS, ARGV and calls against lua.py, then change this"


def test_every_script_of_bullmq_that_is_used_is_compared() -> None:
    used = inspect.getsource(lua)
    assert used.count('loadScript("') == len(SCRIPTS)
    assert all(f'loadScript("{name}")' in used for name in SCRIPTS)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="mongodb/driver_wait.py is for Python 3.11")
async def test_pymongo_waits_in_the_call_itself() -> None:
    assert "await wait_for(condition.wait(), timeout)" in inspect.getsource(lock._async_cond_wait)
    wait_in_the_call_itself()
    assert getattr(lock, "wait_for") is wait_here  # noqa: B009 - not a name that PyMongo exports
    condition = lock._async_create_condition(lock._async_create_lock())

    async def wait() -> None:
        async with condition:
            await lock._async_cond_wait(condition, 60)

    waiting = asyncio.create_task(wait())
    await asyncio.sleep(0)
    async with condition:
        condition.notify()
        for _ in range(3):  # it takes the lock back, and must not leave without it
            await asyncio.sleep(0)
            waiting.cancel()
        await asyncio.sleep(0)
        assert not waiting.done()
        assert condition.locked()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not condition.locked()


DATA_RECEIVED = "010a7ae59a5d3b1a"  # of uvicorn, as bounded_http.py was written against it
LIMITS = {
    "limit_concurrency", "limit_max_requests", "limit_max_requests_jitter",
    "timeout_graceful_shutdown", "timeout_keep_alive", "timeout_notify",
    "timeout_worker_healthcheck",
    "h11_max_incomplete_event_size", "ws_max_queue", "ws_max_size",  # not of httptools
}  # fmt: skip


def test_bounded_http_replaces_the_reading_that_uvicorn_has() -> None:
    assert BoundedHttp.data_received is not HttpToolsProtocol.data_received
    source = inspect.getsource(HttpToolsProtocol.data_received)
    digest = hashlib.sha256(source.encode()).hexdigest()[:16]
    assert digest == DATA_RECEIVED, "read it against bounded_http.py, then change this"


def test_uvicorn_has_no_limits_that_could_replace_those_of_bounded_http() -> None:
    names = inspect.signature(uvicorn.Config).parameters
    found = {name for name in names if {"limit", "max", "timeout"} & set(name.split("_"))}
    assert found - LIMITS <= {"ws_ping_timeout"}, "uvicorn limits more: use that instead"


async def test_bounded_http_knows_the_state_in_which_uvicorn_keeps_a_request() -> None:
    made: list[HttpToolsProtocol] = []
    states: list[tuple[bool, bool, bool, bool]] = []
    begun = asyncio.Event()

    def state() -> None:
        cycle = made[0].cycle
        assert cycle is not None
        states.append(
            (cycle.response_started, cycle.response_complete, cycle.more_body, cycle.disconnected)
        )

    async def app(scope: Any, receive: Any, send: Any) -> None:
        state()
        begun.set()
        await receive()
        state()
        await send({"type": "http.response.start", "status": 204, "headers": []})
        state()
        await send({"type": "http.response.body", "body": b""})
        state()
        assert made[0].cycle is not None
        made[0].cycle.response_complete = False
        made[0].cycle.disconnected = True  # as `_end` does for a response that is not needed
        made[0].cycle.message_event.set()
        assert (await receive())["type"] == "http.disconnect"
        made[0].cycle.response_complete = True

    config = uvicorn.Config(app, http="httptools", lifespan="off", log_config=None)

    def make() -> HttpToolsProtocol:
        made.append(HttpToolsProtocol(config, ServerState(), {}))
        return made[0]

    server = await asyncio.get_running_loop().create_server(make, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n")
    await begun.wait()
    writer.write(b"ab")
    assert (await reader.readline()).startswith(b"HTTP/1.1 204")
    [protocol] = made
    await asyncio.gather(*protocol.tasks)
    #         started, complete, more to read, gone
    assert states == [
        (False, False, True, False),
        (False, False, False, False),
        (True, False, False, False),
        (True, True, False, False),
    ]
    timer = protocol.timeout_keep_alive_task
    assert timer is not None
    protocol._unset_keepalive_if_required()
    assert timer.cancelled()
    assert protocol.timeout_keep_alive_task is None
    protocol.flow.pause_reading()
    assert not protocol.transport.is_reading()
    protocol.transport.abort()
    writer.close()
    server.close()
    await server.wait_closed()


def test_openapi_finds_what_a_handler_declares_in_fastapis_dependant() -> None:
    class Chosen(Parameters):
        name: str = ""

    async def read(request: Request) -> bytes:
        return await request.body()

    async def handle(
        chosen: Annotated[Chosen, Query()], body: Annotated[bytes, Depends(read)]
    ) -> None:
        pass

    handle.__annotations__ = {
        "chosen": Annotated[Chosen, Query()], "body": Annotated[bytes, Depends(read)],
    }  # fmt: skip
    route = APIRoute("/", handle, methods=["POST"])
    assert [each.call for each in route.dependant.dependencies] == [read]
    [query] = route.dependant.query_params
    assert query.field_info.annotation is Chosen
    assert route.responses == {}
    assert route.openapi_extra is None
