"""The client of a request, and its limits on connections, memory and wrong keys."""

from __future__ import annotations

import asyncio
import logging

import pytest

from webloom.entrypoints.api import client_log, memory_room, wrong_keys
from webloom.entrypoints.api.client_log import ClientLog
from webloom.entrypoints.api.clients import TrustedProxies, client_of
from webloom.entrypoints.api.connections import Connections
from webloom.entrypoints.api.memory_room import SMALL, MemoryRoom, Share
from webloom.entrypoints.api.responses import Refusal
from webloom.entrypoints.api.wrong_keys import FREE, MOST, WrongKeys

# Addresses.


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
    ],
)
def test_a_client_is_an_address_or_the_network_of_one_customer(address: str, client: str) -> None:
    assert client_of(address) == client


FORWARDED = [
    ("10.0.0.1", ["203.0.113.9"], "203.0.113.9", "one proxy"),
    ("10.0.0.1", ["203.0.113.9, 10.0.0.2"], "203.0.113.9", "two proxies"),
    ("10.0.0.1", ["203.0.113.9", "10.0.0.2"], "203.0.113.9", "two headers"),
    ("10.0.0.1", ["198.51.100.1, 203.0.113.9"], "203.0.113.9", "what the client has made up"),
    ("10.0.0.1", ["203.0.113.9:4711"], "203.0.113.9", "a port"),
    ("10.0.0.1", ["[2001:db8::1]:4711"], "2001:db8::/64", "a port and IPv6"),
    ("10.0.0.1", ["203.0.113.9, unknown"], "10.0.0.1", "what is not an address"),
    ("10.0.0.1", [], "10.0.0.1", "nothing"),
    ("10.0.0.1", ["10.0.0.7"], "10.0.0.7", "a proxy that asks for itself"),
    ("192.0.2.1", ["203.0.113.9"], "192.0.2.1", "another host that claims so"),
    ("::ffff:10.0.0.1", ["203.0.113.9"], "203.0.113.9", "a listener for both families"),
]


@pytest.mark.parametrize(
    ("peer", "reported", "client", "why"), FORWARDED, ids=[row[3] for row in FORWARDED]
)
def test_a_trusted_proxy_is_believed_as_far_as_it_saw(
    peer: str, reported: list[str], client: str, why: str
) -> None:
    proxies = TrustedProxies(["10.0.0.0/8"])
    headers = [(b"x-forwarded-for", each.encode()) for each in reported]
    assert proxies.client(peer, headers) == client


def test_only_a_trusted_proxy_is_believed_about_tls() -> None:
    proxies = TrustedProxies(["10.0.0.1"])
    reported = [(b"x-forwarded-proto", b"https")]
    assert proxies.uses_https("10.0.0.1", reported)
    assert not proxies.uses_https("10.0.0.2", reported)
    assert not proxies.uses_https("10.0.0.1", [(b"x-forwarded-proto", b"http")])
    assert not proxies.uses_https("10.0.0.1", [])


# Connections.


class Connection:
    def __init__(self) -> None:
        self.dropped = False

    def drop(self) -> None:
        self.dropped = True


def admitted(connections: Connections, peer: str, count: int = 1) -> list[Connection]:
    opened = [Connection() for _ in range(count)]
    for each in opened:
        assert connections.admit(each, peer) is None
    return opened


async def test_at_its_limit_a_client_loses_what_was_idle_longest() -> None:
    connections = Connections(most=100, most_of_client=3, proxies=TrustedProxies([]))
    first, second, third = admitted(connections, "192.0.2.1", 3)
    connections.note_busy(first)
    [other] = admitted(connections, "192.0.2.2")
    [fourth] = admitted(connections, "192.0.2.1")
    assert [each.dropped for each in (first, second, third, fourth)] == [False, True, False, False]
    for each in (third, fourth):
        connections.note_busy(each)
    assert connections.admit(Connection(), "192.0.2.1") == 429, "all are busy"
    connections.note_idle(first)
    admitted(connections, "192.0.2.1")
    assert first.dropped
    assert not other.dropped


async def test_at_the_limit_of_all_the_one_that_was_idle_longest_goes() -> None:
    connections = Connections(most=3, most_of_client=2, proxies=TrustedProxies([]))
    opened = [admitted(connections, f"192.0.2.{number}")[0] for number in range(5)]
    assert [each.dropped for each in opened] == [True, True, False, False, False]
    assert len(connections) == 3
    for each in opened:
        connections.note_busy(each)
    assert connections.admit(Connection(), "192.0.2.9") == 503


async def test_a_connection_that_ends_makes_room_once() -> None:
    connections = Connections(most=1, most_of_client=1, proxies=TrustedProxies([]))
    for _ in range(3):
        [it] = admitted(connections, "192.0.2.1")
        connections.note_busy(it)
        connections.forget(it)
        connections.forget(it)
        connections.note_idle(it)
    assert len(connections) == 0


async def test_a_trusted_proxy_may_have_all_connections() -> None:
    connections = Connections(most=5, most_of_client=1, proxies=TrustedProxies(["10.0.0.1"]))
    assert not any(each.dropped for each in admitted(connections, "10.0.0.1", 5))


# Memory.


async def test_large_responses_wait_for_room_and_small_ones_do_not() -> None:
    room = MemoryRoom(10 * SMALL)
    held = [Share(room, f"client {number}") for number in range(5)]
    for each in held:
        await each.take(2 * SMALL)
    await Share(room, "another").take(SMALL)
    waiting = [Share(room, "another"), Share(room, "yet another")]
    tasks = [asyncio.create_task(each.take(2 * SMALL)) for each in waiting]
    await asyncio.sleep(0)
    assert not any(task.done() for task in tasks)
    held[0].close()
    await tasks[0]
    assert not tasks[1].done()
    waiting[0].close()
    await tasks[1]


async def test_a_client_has_half_of_the_room_and_others_the_rest() -> None:
    room = MemoryRoom(10 * SMALL)
    first, second = Share(room, "one"), Share(room, "one")
    await first.take(4 * SMALL)
    task = asyncio.create_task(second.take(2 * SMALL))
    await asyncio.sleep(0)
    assert not task.done()
    await Share(room, "other").take(5 * SMALL)
    first.close()
    await task


async def test_what_is_larger_than_the_room_has_its_turn_alone() -> None:
    room = MemoryRoom(10 * SMALL)
    large, small = Share(room, "one"), Share(room, "other")
    await large.take(100 * SMALL)
    assert not small.fits(2 * SMALL)
    large.resize(3 * SMALL)
    assert small.fits(2 * SMALL)


async def test_who_waits_too_long_or_goes_away_takes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory_room, "WAIT_SECONDS", 0.01)
    room = MemoryRoom(4 * SMALL)
    held, late = Share(room, "one"), Share(room, "other")
    await held.take(4 * SMALL)
    with pytest.raises(Refusal) as refused:
        await late.take(2 * SMALL)
    assert refused.value.status == 503
    gone = asyncio.create_task(late.take(2 * SMALL))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    held.close()
    assert Share(room, "third").fits(4 * SMALL)


# Keys.


async def test_wrong_keys_are_answered_slowly_then_refused_for_each_client_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wrong = WrongKeys()
    verdicts = [wrong.note("192.0.2.1") for _ in range(MOST + 1)]
    assert [each.pause > 0 for each in verdicts] == [False] * FREE + [True] * (MOST + 1 - FREE)
    assert [each.retry_after is not None for each in verdicts] == [False] * MOST + [True]
    assert wrong.note("192.0.2.2").pause == 0
    monkeypatch.setattr(wrong_keys, "QUIET_SECONDS", 0.0)
    assert wrong.note("192.0.2.1").pause == 0, "after a while"


async def test_what_clients_do_is_logged_at_once_and_then_together(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    noted = ClientLog("it was refused")
    for _ in range(1_000):
        noted.note("192.0.2.1")
    noted.note("192.0.2.2")
    [first] = caplog.records
    assert vars(first)["client"] == "192.0.2.1"
    noted.flush()
    together = vars(caplog.records[1])
    assert (together["times"], together["clients"]) == (1_000, 2)
    assert together["most_from"] == {"192.0.2.1": 999, "192.0.2.2": 1}


async def test_what_is_remembered_of_clients_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (wrong_keys, client_log):
        monkeypatch.setattr(module, "MOST_CLIENTS", 10)
    wrong = WrongKeys()
    for number in range(1_000):
        wrong.note(f"client {number}")
    assert len(wrong._clients) == 10
    assert len(wrong._log._counts) == 10
