"""The jobs of one BullMQ queue, and the operations on them, each atomic in Redis."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeGuard

from bullmq.job import Job
from bullmq.scripts import Scripts

from webloom.adapters.bullmq import lua
from webloom.adapters.bullmq.job_ids import (
    job_id_from,
    possible_job_ids,
    to_job_id,
    to_message_id,
)
from webloom.adapters.bullmq.refusals import CommandRefused
from webloom.adapters.bullmq.server import Script, Server
from webloom.domain.import_run import IMPORT_BATCH, IMPORT_QUEUE
from webloom.ports.broker import Message

PREFIX = "bull"  # the default of Node's package
JOB_NAMES = {IMPORT_QUEUE: IMPORT_BATCH}  # other jobs have the name of their queue
# For Node's workers: Webloom's settle jobs explicitly.
OPTIONS = {
    "attempts": 3,
    "backoff": {"type": "exponential", "delay": 2000},
    "delay": 0,
    "removeOnComplete": True,
    "removeOnFail": False,
}
MOST_REASON = 4000  # characters
MOST_COUNT = 1 << 31  # for BullMQ's scripts
UNLIMITED = 1_000_000_000  # stalls of a job, each followed by a redelivery


@dataclass(frozen=True, slots=True)
class HeldJob:
    """A job that this process holds, as long as the lock in Redis has its token."""

    job: Any  # of the bullmq package
    token: str
    fields: dict[bytes, bytes]  # as Redis has them
    removal: bool | int | dict[str, int]  # BullMQ's removeOnComplete

    @property
    def id(self) -> str:
        return str(self.job.id)

    @property
    def message_id(self) -> str:
        return to_message_id(self.id)

    @property
    def body(self) -> bytes:
        return self.fields[b"data"]

    @property
    def attempt(self) -> int:
        return max(1, int(self.fields[b"ats"]))

    @property
    def redelivered(self) -> bool:
        stalled = self.fields.get(b"stc", b"")
        return stalled.isdigit() and stalled.strip(b"0") != b""

    @property
    def unfit(self) -> str | None:
        """Why it can't be handled: its failure was already decided, or its fields were removed."""
        if reason := self.fields.get(b"defa"):
            return reason.decode(errors="replace")
        return None if b"data" in self.fields else "the job was removed while it waited"


class Nothing(NamedTuple):
    """There is no ready job."""

    due: float | None  # when the next delayed job is, in seconds since 1970
    pause: float  # seconds for which the queue's rate limit holds jobs back


@dataclass(frozen=True, slots=True)
class _Direct:
    """In place of the package's connection: its scripts go through `Server.call`."""

    server: Server
    conn: None = None

    @property
    def commands(self) -> dict[str, Any]:
        return {
            "moveToActive": self._calling(lua.TAKE),
            "moveStalledJobsToWait": self._calling(lua.FREE_STALLED),
        }

    def _calling(self, script: Script) -> Any:
        def call(keys: Sequence[str], args: Sequence[Any]) -> asyncio.Future[Any]:
            return self.server.call(script, keys, args)

        return call


class _Options(NamedTuple):
    """What a job's options say about its end; the rest is for other programs."""

    attempts: int = 1
    removal: bool | int | dict[str, int] = True


@lru_cache(maxsize=64)
def _options(text: bytes) -> _Options:
    """Other programs write options too: what BullMQ's scripts can't use is left out."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return _Options()
    if not isinstance(given, dict):
        return _Options()
    attempts = given.get("attempts")
    return _Options(attempts if _is_count(attempts) else 1, _removal(given.get("removeOnComplete")))


def _removal(given: Any) -> bool | int | dict[str, int]:
    if isinstance(given, dict):
        names = [name for name in ("count", "age", "limit") if _is_count(given.get(name))]
        return {name: given[name] for name in names} or True
    return given if isinstance(given, bool) or _is_count(given) else True


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and -1 <= value < MOST_COUNT


def _cut(reason: str) -> str:
    """Shortened, and without lone surrogates, which Redis can't store."""
    return reason[:MOST_REASON].encode(errors="replace").decode()


class Jobs:
    def __init__(self, server: Server, queue: str, *, limit: int | None, lease: float) -> None:
        if ":" in queue:
            raise ValueError(f"a queue of BullMQ has no colon in its name: {queue}")
        self.server = server
        self.queue = queue
        self._limit = -1 if limit is None else limit
        self._lock_ms = max(1, round(lease * 1000))
        self._name = JOB_NAMES.get(queue, queue)
        self._scripts = Scripts(PREFIX, queue, _Direct(server))
        self.keys: dict[str, str] = self._scripts.keys
        # Attributes that the package's jobs read from their queue.
        self.backend = None
        self.qualifiedName = f"{PREFIX}:{queue}"
        self.opts = {"lockDuration": self._lock_ms}

    def add(self, message: Message, delay: float) -> asyncio.Future[Any]:
        """Answers with lua.FULL if there is no room. The job has the message's id: a repeat adds
        nothing."""
        delay_ms = max(1, round(delay * 1000)) if delay > 0 else 0
        job = Job(self, self._name, None, OPTIONS | {"delay": delay_ms}, to_job_id(message.id))
        job.timestamp = round(self.server.now() * 1000)
        described, _, packed = self._scripts.addJobArgs(job)
        if delay_ms:
            keys = self._keys("marker", "meta", "id", "delayed", "completed", "events")
            arguments = [described, message.body, packed, delay_ms, -1]
            return self.server.call(lua.ADD_DELAYED, keys, arguments)
        keys = self._keys(
            "wait", "paused", "meta", "id", "completed", "delayed", "active", "events", "marker"
        )
        arguments = [described, message.body, packed, job.timestamp, self._limit]
        return self.server.call(lua.ADD, keys, arguments)

    async def take(self, token: str) -> HeldJob | Nothing:
        fields, job_id, limited, due = await self._scripts.moveToActive(
            token, {"lockDuration": self._lock_ms}
        )
        if not fields:
            is_due = due is not None and due > 0
            return Nothing(due=due / 1000 if is_due else None, pause=max(0, limited or 0) / 1000)
        options = _options(fields.get(b"opts", b"{}"))
        job = Job(self, self._name, None, {"attempts": options.attempts}, job_id_from(job_id))
        return HeldJob(job, token, fields, options.removal)

    def complete(self, held: HeldJob) -> asyncio.Future[Any]:
        keys, arguments = self._scripts.moveToCompletedArgs(
            held.job, None, held.removal, held.token, fetchNext=False
        )
        return self.server.call(lua.FINISH, keys, arguments)

    async def fail(self, held: HeldJob, reason: str) -> None:
        keys, arguments = self._scripts.moveToFailedArgs(
            held.job, _cut(reason), False, held.token, fetchNext=False
        )
        with suppress(CommandRefused):
            if await self.server.call(lua.FINISH, keys, arguments) not in lua.UNLOCKED:
                return
        await self.put_aside(held, reason)  # after this or an earlier attempt failed half-way

    def put_aside(self, held: HeldJob, reason: str) -> asyncio.Future[Any]:
        """To the failed jobs, without an event and without notifying dependent jobs."""
        keys = [
            *self._keys("active", "stalled"), self._scripts.toKey(held.id),
            *self._keys("wait", "delayed", "prioritized", "completed", "failed"),
        ]  # fmt: skip
        arguments: list[str | bytes] = [held.id, held.token, held.fields[b"ats"], _cut(reason)]
        return self.server.call(lua.PUT_ASIDE, keys, arguments)

    def delay(self, held: HeldJob, seconds: float) -> asyncio.Future[Any]:
        keys, arguments = self._scripts.moveToDelayedArgs(
            held.id, 0, held.token, max(0, round(seconds * 1000)), {"skipAttempt": True}
        )
        return self.server.call(lua.DELAY, keys, arguments)

    def give_back(self, held: HeldJob) -> asyncio.Future[Any]:
        """As if it had never been taken."""
        keys = self._keys(
            "active", "wait", "stalled", "paused", "meta", "limiter", "prioritized", "marker",
            "events",
        )  # fmt: skip
        arguments = [held.id, held.token, self._scripts.toKey(held.id)]
        return self.server.call(lua.GIVE_BACK, keys, arguments)

    def renew(self, held: Sequence[HeldJob]) -> asyncio.Future[Any]:
        """Answers with the tokens of lost jobs."""
        arguments: list[str | bytes | int] = [self.keys[""], self._lock_ms]
        for each in held:
            arguments += [each.id, each.token, each.fields[b"ats"]]
        return self.server.call(lua.RENEW, self._keys("stalled", "active"), arguments)

    async def free_stalled(self, interval: float) -> list[bytes]:
        """Make jobs with expired locks ready again; once per interval over all processes."""
        freed: list[bytes] = await self._scripts.moveStalledJobsToWait(
            UNLIMITED, max(1, round(interval * 1000))
        )
        return freed

    def pass_on(self, member: bytes, score: float) -> asyncio.Future[Any]:
        return self.server.call(lua.PASS_ON, self._keys("marker"), [member, score])

    def depth(self) -> asyncio.Future[Any]:
        keys = self._keys("wait", "paused", "prioritized", "delayed", "active", "failed")
        return self.server.call(lua.DEPTH, keys, [])

    def dead_letters(self, limit: int, after: str | None) -> asyncio.Future[Any]:
        before = possible_job_ids(after) if after is not None else []
        return self.server.call(
            lua.DEAD_LETTERS, self._keys("failed"), [self.keys[""], limit, *before]
        )

    async def put_back(self, message_id: str) -> bool:
        for job_id in possible_job_ids(message_id):
            keys = [
                self._scripts.toKey(job_id),
                *self._keys(
                    "events", "failed", "wait", "meta", "active", "marker", "prioritized", "pc"
                ),
            ]
            arguments = [job_id, "LPUSH", "failedReason", "failed", "1", "1"]
            if await self.server.call(lua.PUT_BACK, keys, arguments) == 1:
                return True
        return False

    async def discard(self, message_id: str) -> bool:
        for job_id in possible_job_ids(message_id):
            keys = [self._scripts.toKey(job_id), self.keys["repeat"]]
            if await self.server.call(lua.DISCARD, keys, [job_id, 0, self.keys[""]]) == 1:
                return True
        return False

    def _keys(self, *names: str) -> list[str]:
        return [self.keys[name] for name in names]
