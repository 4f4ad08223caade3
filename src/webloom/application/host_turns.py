"""Limits how often and how concurrently this process sends requests to each host."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from webloom.domain.politeness import Defer, Go, HostLimits, HostLoad, Wait, decide_turn
from webloom.domain.retry import MAX_RETRY_AFTER
from webloom.parsing.web_url import host_of

MOST_HOSTS_REMEMBERED = 10_000
WEIGHT_OF_NEWEST = 0.2  # in the average of how long requests take


@dataclass(slots=True)
class _Host:
    started: dict[int, float] = field(default_factory=dict)  # turn number -> when
    waiting: deque[asyncio.Future[Turn]] = field(default_factory=deque)
    next_start: float = 0.0
    closed_until: float = 0.0
    usual_seconds: float = 0.0
    timer: asyncio.TimerHandle | None = None


class HostTurns:
    def __init__(self, limits: HostLimits, now: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._now = now
        self._hosts: dict[str, _Host] = {}
        self._numbers = 0

    async def take(self, host: str) -> Turn | Defer:
        """Waits for a turn that is expected soon; `Turn.end` ends it."""
        if len(self._hosts) > MOST_HOSTS_REMEMBERED:
            self._forget_idle()
        state = self._hosts.setdefault(host, _Host())
        match decide_turn(self._load(state), self._limits):
            case Go():
                return self._start(state)
            case Defer() as defer:
                return defer
            case Wait(seconds=seconds):
                return await self._wait(state, seconds)

    async def _wait(self, state: _Host, seconds: float) -> Turn | Defer:
        future: asyncio.Future[Turn] = asyncio.get_running_loop().create_future()
        state.waiting.append(future)
        self._arm(state)
        try:
            async with asyncio.timeout(seconds):
                return await future
        except TimeoutError:
            if future.done() and not future.cancelled():
                return future.result()
            again = decide_turn(self._load(state), self._limits)
            return again if isinstance(again, Defer) else Defer(seconds=seconds)
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                future.result().end()
            raise

    def heed(self, url: str, status_code: int, retry_after: float | None) -> None:
        """A host whose response asks for a pause gets it for all its URLs."""
        if status_code in (429, 503) and retry_after:
            self.stay_away(host_of(url), min(retry_after, MAX_RETRY_AFTER))

    def stay_away(self, host: str, seconds: float) -> None:
        state = self._hosts.setdefault(host, _Host())
        state.closed_until = max(state.closed_until, self._now() + seconds)

    def _start(self, state: _Host) -> Turn:
        now = self._now()
        self._numbers += 1
        state.started[self._numbers] = now
        state.next_start = now + self._limits.delay
        return Turn(self, state, self._numbers)

    def end(self, state: _Host, number: int) -> None:
        took = self._now() - state.started.pop(number)
        state.usual_seconds += WEIGHT_OF_NEWEST * (took - state.usual_seconds)
        self._wake(state)

    def _wake(self, state: _Host) -> None:
        """Start the turns that are possible now."""
        while state.waiting and len(state.started) < self._limits.concurrency:
            if self._opens(state) > self._now():
                self._arm(state)
                return
            first = state.waiting.popleft()
            if not first.done():
                first.set_result(self._start(state))

    def _arm(self, state: _Host) -> None:
        if state.timer is not None:
            state.timer.cancel()
        delay = max(0.0, self._opens(state) - self._now())
        state.timer = asyncio.get_running_loop().call_later(delay, self._wake, state)

    def _opens(self, state: _Host) -> float:
        return max(state.next_start, state.closed_until)

    def _load(self, state: _Host) -> HostLoad:
        now = self._now()
        oldest = now - min(state.started.values(), default=now)
        return HostLoad(
            active=len(state.started),
            waiting=sum(not future.done() for future in state.waiting),
            until_next_start=max(0.0, state.next_start - now),
            until_open=max(0.0, state.closed_until - now),
            usual_seconds=max(state.usual_seconds, oldest),
        )

    def _forget_idle(self) -> None:
        now = self._now()
        self._hosts = {
            host: state
            for host, state in self._hosts.items()
            if state.started or state.waiting or self._opens(state) > now
        }


class Turn:
    def __init__(self, turns: HostTurns, state: _Host, number: int) -> None:
        self._turns = turns
        self._state = state
        self._number = number

    def end(self) -> None:
        self._turns.end(self._state, self._number)
