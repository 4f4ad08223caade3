"""Clients that try keys: slowed down, and after more of them refused for a while.

A right key is always let in, also from an address that others guess from. So a guess has to be
looked at; what bounds guessing is that the answer takes seconds and that a client has few
connections.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass

from webloom.entrypoints.api.client_log import ClientLog

FREE = 5  # wrong keys that are answered at once
MOST = 20  # then they are refused with 429
SLOW_SECONDS = 2.0
QUIET_SECONDS = 60.0  # without a wrong key, and a client begins at zero
MOST_CLIENTS = 10_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    pause: float  # seconds until the answer
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
