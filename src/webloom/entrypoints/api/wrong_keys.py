"""Clients that guess keys are slowed down, and then refused for a while.

A right key is always accepted, even from an address that others guess from. So every guess is
checked; the limits are that a response takes seconds and that a client has few connections.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass

from webloom.entrypoints.api.client_log import ClientLog

FREE = 5  # wrong keys without a delay
MOST = 20  # then they are refused with 429
SLOW_SECONDS = 2.0
QUIET_SECONDS = 60.0  # without a wrong key, after which the count is reset
MOST_CLIENTS = 10_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    pause: float  # seconds until the response
    retry_after: int | None  # seconds; None: this is just a wrong key


@dataclass(kw_only=True, slots=True)
class _Client:
    count: int = 0
    latest: float = float("-inf")


class WrongKeys:
    def __init__(self) -> None:
        self._clients: OrderedDict[str, _Client] = OrderedDict()  # the latest at the end
        self._log = ClientLog("a wrong key was refused")

    def note(self, client: str) -> Verdict:
        now = asyncio.get_running_loop().time()
        known = self._clients.setdefault(client, _Client())
        if now - known.latest >= QUIET_SECONDS:
            known.count = 0
        known.count += 1
        known.latest = now
        self._clients.move_to_end(client)
        if len(self._clients) > MOST_CLIENTS:
            self._clients.popitem(last=False)
        self._log.note(client)
        return Verdict(
            pause=SLOW_SECONDS if known.count > FREE else 0.0,
            retry_after=int(QUIET_SECONDS) if known.count > MOST else None,
        )
