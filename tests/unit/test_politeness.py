from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webloom.domain.politeness import (
    LONGEST_DEFERRAL,
    LONGEST_WAIT,
    Defer,
    Go,
    HostLimits,
    HostLoad,
    Wait,
    busy_hosts,
    decide_turn,
    slots_of_one_host,
)

TWO_AT_ONCE = HostLimits(concurrency=2, delay=0.0)
ONE_A_SECOND = HostLimits(concurrency=1, delay=1.0)
PATIENT = Wait(seconds=LONGEST_WAIT)


def load(
    active: int = 0,
    waiting: int = 0,
    next_start: float = 0.0,
    opens: float = 0.0,
    usual: float = 0.0,
) -> HostLoad:
    return HostLoad(
        active=active,
        waiting=waiting,
        until_next_start=next_start,
        until_open=opens,
        usual_seconds=usual,
    )


TURNS: list[tuple[str, HostLoad, HostLimits, Go | Wait | Defer]] = [
    ("no request to the host", load(), TWO_AT_ONCE, Go()),
    ("one turn is free", load(active=1, usual=60.0), TWO_AT_ONCE, Go()),
    ("no turn is free but one will be soon", load(active=2, usual=0.1), TWO_AT_ONCE, PATIENT),
    ("nothing is known of how long it takes", load(active=2), TWO_AT_ONCE, PATIENT),
    (
        "a turn is free and another waits for it already",
        load(active=1, waiting=1, usual=0.1),
        TWO_AT_ONCE,
        PATIENT,
    ),
    (
        "the line moves at half the usual time for each turn, just soon enough",
        load(active=2, waiting=3, usual=0.5),
        TWO_AT_ONCE,
        PATIENT,
    ),
    (
        "the line is one too long",
        load(active=2, waiting=4, usual=0.5),
        TWO_AT_ONCE,
        Defer(seconds=1.25),
    ),
    ("the host is slow", load(active=2, usual=10.0), TWO_AT_ONCE, Defer(seconds=5.0)),
    (
        "a very slow host is asked again within half a minute",
        load(active=2, usual=600.0),
        TWO_AT_ONCE,
        Defer(seconds=LONGEST_DEFERRAL),
    ),
    ("the delay has passed", load(next_start=0.0), ONE_A_SECOND, Go()),
    ("the delay has nearly passed", load(next_start=0.4), ONE_A_SECOND, PATIENT),
    (
        "the delay has nearly passed and one waits for that",
        load(waiting=1, next_start=0.4),
        ONE_A_SECOND,
        Defer(seconds=1.4),
    ),
    (
        "the delay is long",
        load(next_start=12.0),
        HostLimits(concurrency=8, delay=20.0),
        Defer(seconds=12.0),
    ),
    (
        "the delay is longer than the longest deferral",
        load(next_start=90.0),
        HostLimits(concurrency=8, delay=100.0),
        Defer(seconds=LONGEST_DEFERRAL),
    ),
    ("the host asked for a pause", load(opens=7.0), TWO_AT_ONCE, Defer(seconds=7.0)),
    (
        "a pause that the host asked for is kept however long it is",
        load(opens=3000.0),
        TWO_AT_ONCE,
        Defer(seconds=3000.0),
    ),
    ("even a short pause frees the slot", load(opens=0.1), TWO_AT_ONCE, Defer(seconds=0.1)),
]


@pytest.mark.parametrize(
    ("busy", "limits", "turn"), [row[1:] for row in TURNS], ids=[row[0] for row in TURNS]
)
def test_whose_turn_it_is(busy: HostLoad, limits: HostLimits, turn: Go | Wait | Defer) -> None:
    decided = decide_turn(busy, limits)
    assert type(decided) is type(turn)
    if isinstance(turn, Defer):
        assert isinstance(decided, Defer)
        assert decided.seconds == pytest.approx(turn.seconds)
    else:
        assert decided == turn


@given(
    busy=st.builds(
        HostLoad,
        active=st.integers(0, 50),
        waiting=st.integers(0, 50),
        until_next_start=st.floats(0, 100),
        until_open=st.floats(0, 4000),
        usual_seconds=st.floats(0, 100),
    ),
    limits=st.builds(HostLimits, concurrency=st.integers(1, 50), delay=st.floats(0, 100)),
)
def test_no_limit_is_exceeded_and_no_wait_is_long(busy: HostLoad, limits: HostLimits) -> None:
    match decide_turn(busy, limits):
        case Go():
            assert busy.active < limits.concurrency
            assert busy.waiting == busy.until_open == busy.until_next_start == 0
        case Wait(seconds=seconds):
            assert seconds == LONGEST_WAIT
            assert busy.until_open == 0
        case Defer(seconds=seconds):
            assert 0 < seconds <= max(LONGEST_DEFERRAL, busy.until_open)


@pytest.mark.parametrize(("slots", "most"), [(8, 4), (9, 4), (2, 1), (1, 1)])
def test_one_host_gets_half_of_the_slots(slots: int, most: int) -> None:
    assert slots_of_one_host(slots) == most
    assert busy_hosts(["a"] * (most - 1), slots) == frozenset()
    assert busy_hosts(["b", *["a"] * most], slots) == ({"a", "b"} if most == 1 else {"a"})
