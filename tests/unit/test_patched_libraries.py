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

import aiormq
import pamqp.decode
import pytest
from bullmq.redis_connection import loadScript
from pymongo import lock

from webloom.adapters.bullmq import lua
from webloom.adapters.mongodb.driver_wait import wait_here, wait_in_the_call_itself
from webloom.adapters.rabbitmq.session import _is_blocked
from webloom.adapters.rabbitmq.transport import read_anything

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
