"""Limits on the requests to one host, decided from its current load."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

LONGEST_WAIT = 1.0  # a slot waits this long for a host's turn before it serves another host
LONGEST_DEFERRAL = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class HostLimits:
    concurrency: int
    delay: float  # seconds between the starts of two requests


@dataclass(frozen=True, kw_only=True, slots=True)
class HostLoad:
    active: int  # requests running now
    waiting: int  # slots waiting for a turn
    until_next_start: float  # seconds left of the minimum delay
    until_open: float  # seconds left of a pause that the host asked for
    usual_seconds: float  # recent average duration of a request


@dataclass(frozen=True, kw_only=True, slots=True)
class Go:
    pass


@dataclass(frozen=True, kw_only=True, slots=True)
class Wait:
    seconds: float  # the turn is expected within this time


@dataclass(frozen=True, kw_only=True, slots=True)
class Defer:
    seconds: float  # put the URL back for that long


def decide_turn(load: HostLoad, limits: HostLimits) -> Go | Wait | Defer:
    """Send the request now, wait in the slot, or free the slot for other hosts?"""
    if load.until_open > 0:
        return Defer(seconds=load.until_open)
    if load.waiting == 0 and load.active < limits.concurrency and load.until_next_start <= 0:
        return Go()
    turns_ahead = load.waiting + 1
    by_delay = load.until_next_start + load.waiting * limits.delay
    by_load = 0.0
    if load.active >= limits.concurrency or load.waiting:
        by_load = turns_ahead * load.usual_seconds / limits.concurrency
    expected = max(by_delay, by_load)
    if expected <= LONGEST_WAIT:
        return Wait(seconds=LONGEST_WAIT)
    return Defer(seconds=min(expected, LONGEST_DEFERRAL))


def slots_of_one_host(slots: int) -> int:
    """How many import slots the feeds of one host may use: half of them, so that a slow host leaves
    some to others."""
    return max(1, slots // 2)


def busy_hosts(running: Iterable[str], slots: int) -> frozenset[str]:
    """Hosts that use as many slots as they may. `running` has the host of each running import."""
    most = slots_of_one_host(slots)
    return frozenset(host for host, used in Counter(running).items() if used >= most)
