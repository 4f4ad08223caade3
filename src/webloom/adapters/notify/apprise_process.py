"""Apprise in a process of its own for each message, as it opens its own connections."""

from __future__ import annotations

import asyncio
import os
from asyncio.subprocess import Process
from contextlib import suppress

import msgspec

from webloom.adapters.child_process import ended_for_want_of_files, last_words, pipe, start_child
from webloom.adapters.notify.frames import Order, Result
from webloom.adapters.refusal_log import RefusalLog
from webloom.domain.errors import NotSent, ResourcesExhausted
from webloom.domain.exhaustion import FILES_OF_THE_MACHINE
from webloom.domain.network_policy import NetworkPolicy, Refusal
from webloom.domain.watch import Target
from webloom.ports.notifier import Told

_CHILD = "webloom.adapters.notify.child"
TOTAL_SECONDS = 90.0
AT_ONCE = 4  # processes, of 60 MB each
_LONGEST_RESULT = 100_000


class AppriseNotifier:
    def __init__(
        self,
        *,
        policy: NetworkPolicy,
        refusals: RefusalLog | None = None,  # default: one of its own
        total_seconds: float = TOTAL_SECONDS,
    ) -> None:
        self._policy = policy
        self._refusals = refusals or RefusalLog()
        self._total_seconds = total_seconds
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def send(self, target: Target, message: Told) -> None:
        order = Order(
            url=target.url,
            title=message.title,
            lines=message.lines,
            allow=self._policy.allowed.entries(),
            deny=self._policy.denied.entries(),
            own=[(str(address), port) for address, port in self._policy.own],
            parent=os.getpid(),
        )
        async with self._turns:
            result = await self._ask(msgspec.json.encode(order))
        for each in result.refused:
            refusal = Refusal(reason=each.reason, detail=each.detail)
            # The target is a secret, and may be the name of a host.
            self._refusals.note(refusal, host="(Apprise)", address=each.address, port=each.port)
        if result.exhausted:
            raise ResourcesExhausted(result.exhausted)
        if not result.sent:
            raise NotSent(reason=result.reason, retryable=result.retryable)

    async def _ask(self, order: bytes) -> Result:
        child = await start_child(_CHILD)
        words = asyncio.ensure_future(last_words(child))  # an unread pipe would stop the child
        try:
            async with asyncio.timeout(self._total_seconds):
                answer = await _exchange(child, order)
            return msgspec.json.decode(answer, type=Result)
        except TimeoutError as error:
            raise NotSent(
                reason=f"the service did not take the message within {self._total_seconds:g} s",
                retryable=True,
            ) from error
        except msgspec.DecodeError as error:  # what it wrote last may quote the target
            if ended_for_want_of_files(await child.wait(), await words):
                raise ResourcesExhausted(FILES_OF_THE_MACHINE) from error
            raise NotSent(reason="Apprise ended without a result", retryable=True) from error
        finally:
            with suppress(ProcessLookupError):
                child.kill()
            await pipe(child.stdout).read()  # a pipe that is not read to its end is never closed
            await child.wait()
            await words


async def _exchange(child: Process, order: bytes) -> bytes:
    orders = pipe(child.stdin)
    orders.write(order)
    with suppress(ConnectionError):  # a child that ended already has no result either
        await orders.drain()
    orders.close()
    out, answer = pipe(child.stdout), b""
    while len(answer) < _LONGEST_RESULT and (piece := await out.read(_LONGEST_RESULT)):
        answer += piece
    return answer
