"""The gate: no connection is opened but to an address that the network policy lets through.

name ---> GuardedResolver ----> socket factory ---> connect
            every answer          the very address
literal ------------------------^ that is connected to

The resolver refuses a name when any of its addresses is refused, so that a site cannot hide a
private address behind a public one. The socket factory sees the final address of every
connection, also of literals, which are never resolved. A pooled connection was checked when it
was opened, under the same policy: one connector belongs to one policy.

Every refusal is counted and logged. The error for a host name depends on the URL only.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass
from ipaddress import ip_address
from time import perf_counter
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult

from webloom.adapters.own_addresses import is_own_address
from webloom.adapters.refusal_log import RefusalLog
from webloom.adapters.resources import open_web_socket, require_descriptors
from webloom.domain.errors import ResourcesExhausted
from webloom.domain.exhaustion import exhaustion_in
from webloom.domain.network_policy import NetworkPolicy, Refusal, refusal_of_name

AddrInfo = tuple[int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[Any, ...]]

# A slow name server holds a thread per lookup; the loops' own pools have 4 or 6 threads.
_LOOKUP_THREADS = 64
_LOOKUP_DESCRIPTORS = 8  # that one lookup may need, with some for its neighbours
_LENGTH_OF_IPV6 = 4  # of a socket address: host, port, flow, scope


class GateRefused(OSError):
    """aiohttp carries an OSError out of connecting, as the cause of its own error."""

    def __init__(self, host: str, port: int, refusal: Refusal) -> None:
        # What the error may say.
        self.reason = refusal.detail if _is_address(host) else refusal_of_name(host, port)
        super().__init__(errno.EACCES, self.reason)


@dataclass(slots=True)
class Dial:
    """What the gate notes while one request gets its connection; blank when one was reused."""

    host: str  # of the URL
    lookup_seconds: float = 0.0
    connecting_since: float | None = None
    target: tuple[Any, ...] | None = None  # the latest address that was connected to
    exhausted: ResourcesExhausted | None = None  # why a socket could not be opened


# The resolver runs in a task of aiohttp's, which inherits the context of the request it serves.
current_dial: ContextVar[Dial | None] = ContextVar("current_dial", default=None)


class SystemResolver(AbstractResolver):
    """The system's name service, in threads of its own."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_LOOKUP_THREADS, thread_name_prefix="lookup")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        answers = await asyncio.get_running_loop().run_in_executor(
            self._threads, _looked_up, host, port, family
        )
        return [
            ResolveResult(
                hostname=host,
                host=str(address[0]),
                port=port,
                family=answer_family,
                proto=proto,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for answer_family, _, proto, _, address in answers
        ]

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _looked_up(
    host: str, port: int, family: socket.AddressFamily
) -> list[tuple[Any, Any, int, str, tuple[Any, ...]]]:
    """Raises ResourcesExhausted where the lookup had no descriptors for its files and sockets,
    which the system reports as it likes: also as a name that does not exist."""
    try:
        return socket.getaddrinfo(host, port, family, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG)
    except socket.gaierror:
        require_descriptors(_LOOKUP_DESCRIPTORS)
        raise


class Gate:
    """One policy; what it refuses is noted."""

    def __init__(self, policy: NetworkPolicy, refusals: RefusalLog) -> None:
        self._policy = policy
        self._refusals = refusals

    def check(self, host: str, address: str, port: int) -> None:
        """Raises GateRefused."""
        if refusal := self._policy.refusal(address, port, is_own_address):
            self._refusals.note(refusal, host=host, address=address, port=port)
            raise GateRefused(host, port, refusal)


class GuardedResolver(AbstractResolver):
    def __init__(self, gate: Gate, resolver: AbstractResolver) -> None:
        self._gate = gate
        self._resolver = resolver

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Raises GateRefused when one of the addresses is refused, OSError when there is none."""
        started = perf_counter()
        answers = await self._resolver.resolve(host, port, family)
        if dial := current_dial.get():
            dial.lookup_seconds = perf_counter() - started
        if not answers:
            raise OSError(errno.ENODATA, "the name has no address")
        for answer in answers:
            self._gate.check(host, answer["host"], port)
        return answers

    async def close(self) -> None:
        await self._resolver.close()


def guarded_socket_factory(gate: Gate) -> Callable[[AddrInfo], socket.socket]:
    def open_socket(target: AddrInfo) -> socket.socket:
        family, kind, protocol, _, address = target
        # Outside a request, whose URL would say, the address may be what a name leads to.
        dial = current_dial.get() or Dial(host="the host")
        dial.target = address
        try:
            gate.check(dial.host, _with_scope(address), address[1])
            opened = open_web_socket(family, kind, protocol)
        except OSError as error:
            dial.exhausted = dial.exhausted or exhaustion_in(error)
            raise
        if dial.connecting_since is None:
            dial.connecting_since = perf_counter()
        return opened

    return open_socket


def _with_scope(address: tuple[Any, ...]) -> str:
    """A link-local address is one of this machine's on its own interface only."""
    host, *_, scope = address
    is_scoped = len(address) == _LENGTH_OF_IPV6 and scope and "%" not in host
    return f"{host}%{scope}" if is_scoped else str(host)


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
