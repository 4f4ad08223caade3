"""Apprise, in a separate process for each message, because it opens its own connections."""

from __future__ import annotations

import asyncio

import msgspec

from webloom.adapters.notify.frames import Order, Result
from webloom.adapters.refusal_log import RefusalLog
from webloom.adapters.sandbox.parent import Child, ChildFailed, Limits, OutOfFiles, TookTooLong
from webloom.domain.errors import NotSent, ResourcesExhausted
from webloom.domain.exhaustion import FILES_OF_THE_MACHINE
from webloom.domain.network_policy import NetworkPolicy, Refusal
from webloom.domain.watch import Target
from webloom.ports.notifier import NotificationMessage

_CHILD = "webloom.adapters.notify.child"
TOTAL_SECONDS = 90.0
AT_ONCE = 4  # processes, of 60 MB each
MOST_MEMORY = 256 * 1024 * 1024


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

    async def send(self, target: Target, message: NotificationMessage) -> None:
        order = Order(
            url=target.url,
            title=message.title,
            lines=message.lines,
            allow=self._policy.allowed.entries(),
            deny=self._policy.denied.entries(),
            own=[(str(address), port) for address, port in self._policy.own],
        )
        async with self._turns:
            result = await self._ask(msgspec.json.encode(order))
        for each in result.refused:
            refusal = Refusal(reason=each.reason, detail=each.detail)
            # The target is a secret, and may be a host name.
            self._refusals.note(refusal, host="(Apprise)", address=each.address, port=each.port)
        if result.exhausted is not None:
            raise ResourcesExhausted(result.exhausted)
        if not result.sent:
            raise NotSent(reason=result.reason, retryable=result.retryable)

    async def _ask(self, order: bytes) -> Result:
        child = await Child.started(_CHILD, memory=MOST_MEMORY)
        limits = Limits(wall=self._total_seconds)
        try:
            async with asyncio.timeout(self._total_seconds):
                await child.ready(limits.wall)
                answer = await child.ask(order, limits)
            return msgspec.json.decode(answer.content, type=Result)
        except (TimeoutError, TookTooLong) as error:
            raise NotSent(
                reason=f"the service did not take the message within {self._total_seconds:g} s",
                retryable=True,
            ) from error
        except OutOfFiles as error:
            raise ResourcesExhausted(FILES_OF_THE_MACHINE) from error
        except (ChildFailed, msgspec.MsgspecError):  # its output may quote the target
            raise NotSent(reason="Apprise ended without a result", retryable=True) from None
        finally:
            await child.close()
