"""The Clock's contract."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import pytest

from fakes.clock import FakeClock
from webloom.adapters.system_clock import SystemClock
from webloom.ports.clock import Clock

SECONDS = 0.05


@dataclass(frozen=True, kw_only=True)
class Timed:
    clock: Clock
    pass_time: Callable[[float], None]


def timed_system() -> Timed:
    return Timed(clock=SystemClock(), pass_time=time.sleep)


def timed_fake() -> Timed:
    clock = FakeClock()
    return Timed(clock=clock, pass_time=clock.advance)


@pytest.fixture(params=[timed_system, timed_fake], ids=["system", "fake"])
def timed(request: pytest.FixtureRequest) -> Timed:
    made: Timed = request.param()
    return made


def test_the_wall_clock_is_in_utc_and_follows_the_time(timed: Timed) -> None:
    before = timed.clock.now()
    timed.pass_time(SECONDS)
    assert before.utcoffset() == timedelta(0)
    # It may be set meanwhile, but not by so much.
    assert timedelta(0) < timed.clock.now() - before < timedelta(hours=1)


def test_the_steady_clock_goes_forward_with_the_time(timed: Timed) -> None:
    before = timed.clock.steady()
    assert timed.clock.steady() >= before
    timed.pass_time(SECONDS)
    assert timed.clock.steady() - before >= SECONDS * 0.999


def test_the_boot_id_stays_while_the_machine_runs(timed: Timed) -> None:
    before = timed.clock.boot_id()
    timed.pass_time(SECONDS)
    assert timed.clock.boot_id() == before != ""


def test_every_process_of_a_machine_has_the_same_steady_clock() -> None:
    ask = (
        "from webloom.adapters.system_clock import SystemClock as C; c = C();"
        "print(c.steady(), c.boot_id())"
    )
    clock = SystemClock()
    before = clock.steady()
    answer = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    steady, boot_id = answer.stdout.split()
    assert before <= float(steady) <= clock.steady()
    assert boot_id == clock.boot_id()


@pytest.mark.parametrize("seconds", [-3600.0, 3600.0], ids=["back", "forward"])
def test_a_jump_of_the_wall_clock_does_not_move_the_steady_one(seconds: float) -> None:
    clock = FakeClock()
    now, steady = clock.now(), clock.steady()
    clock.jump_wall(seconds)
    assert clock.now() - now == timedelta(seconds=seconds)
    assert clock.steady() == steady


def test_the_boot_id_changes_when_the_steady_clock_restarts() -> None:
    clock = FakeClock()
    now, steady, boot_id = clock.now(), clock.steady(), clock.boot_id()
    clock.restart_machine()
    assert clock.steady() < steady
    assert clock.boot_id() != boot_id
    assert clock.now() == now
