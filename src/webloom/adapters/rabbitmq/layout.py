"""The queues of RabbitMQ that make up one queue of Webloom.

    publish ----------------------> Q        ready messages; the limit applies here
    retry, put back --------------> Q.again  returned messages; never full
    publish or retry with a delay
        -> Q.wait.<largest> -> ... -> Q.wait.<smallest> -> Q.again
    dead_letter -------------------------> Q.dead

A delay is written as a binary number. Each digit has a queue in which every message waits equally
long, so none waits behind a longer delay, and the server itself forwards a message from digit to
digit: through exchanges that match the digits in the routing key, from the largest to the smallest.
These are quorum queues because only those forward a message without a moment in which a killed
server would lose it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

UNIT_MS = 125  # delays are rounded up to a multiple of it
DIGITS = 15
LONGEST = UNIT_MS * (2**DIGITS - 1) / 1000  # seconds; a longer delay is split
UNLIMITED_DELIVERIES = 1_000_000_000  # RabbitMQ 4 drops a message after 20 by default

Arguments = Mapping[str, str | int]


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueSpec:
    name: str
    arguments: Arguments


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """Where a message is published to."""

    exchange: str = ""
    key: str
    rest: float = 0.0  # seconds left to wait afterwards


@dataclass(frozen=True, kw_only=True, slots=True)
class Binding:
    exchange: str
    key: str
    target: str
    to_exchange: bool = False  # else to a queue


@dataclass(frozen=True, kw_only=True)
class Layout:
    queue: str
    limit: int | None = None
    quorum: bool = False

    @cached_property
    def ready(self) -> QueueSpec:
        limited: Arguments = {}
        if self.limit is not None:
            limited = {"x-max-length": self.limit, "x-overflow": "reject-publish"}
        return QueueSpec(name=self.queue, arguments={**limited, **self._kind})

    @cached_property
    def again(self) -> QueueSpec:
        return QueueSpec(name=f"{self.queue}.again", arguments=self._kind)

    @cached_property
    def dead(self) -> QueueSpec:
        return QueueSpec(name=f"{self.queue}.dead", arguments=self._kind)

    @cached_property
    def waits(self) -> tuple[QueueSpec, ...]:
        """One for each digit, the smallest first."""
        return tuple(
            QueueSpec(
                name=f"{self.queue}.wait.{UNIT_MS << digit}ms",
                arguments={
                    "x-queue-type": "quorum",
                    "x-message-ttl": UNIT_MS << digit,
                    "x-overflow": "reject-publish",  # without a limit; at-least-once asks for it
                    "x-dead-letter-strategy": "at-least-once",
                    **self._next(digit),
                },
            )
            for digit in range(DIGITS)
        )

    def _next(self, digit: int) -> Arguments:
        if digit == 0:
            return {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": self.again.name}
        return {"x-dead-letter-exchange": self.exchanges[digit - 1]}

    @cached_property
    def exchanges(self) -> tuple[str, ...]:
        return tuple(f"{self.queue}.wait.{UNIT_MS << digit}ms" for digit in range(DIGITS))

    @cached_property
    def bindings(self) -> tuple[Binding, ...]:
        """A digit that is set leads into its queue, one that is not to the next smaller digit."""
        bindings = []
        for digit, exchange in enumerate(self.exchanges):
            before = "*." * (DIGITS - 1 - digit)
            behind = ".#" if digit else ""
            bindings += [
                Binding(exchange=exchange, key=f"{before}1{behind}", target=self.waits[digit].name),
                Binding(
                    exchange=exchange,
                    key=f"{before}0{behind}",
                    target=self.exchanges[digit - 1] if digit else self.again.name,
                    to_exchange=digit > 0,
                ),
            ]
        return tuple(bindings)

    @cached_property
    def to_ready(self) -> Route:
        return Route(key=self.ready.name)

    @cached_property
    def to_dead(self) -> Route:
        return Route(key=self.dead.name)

    def to_again(self, delay: float) -> Route:
        if delay <= 0:
            return Route(key=self.again.name)
        rest = max(0.0, delay - LONGEST)
        units = math.ceil(round((delay - rest) * 1000, 3) / UNIT_MS)
        return Route(
            exchange=self.exchanges[units.bit_length() - 1],
            key=".".join(f"{units:0{DIGITS}b}"),
            rest=rest,
        )

    @property
    def _kind(self) -> Arguments:
        if not self.quorum:
            return {}
        return {"x-queue-type": "quorum", "x-delivery-limit": UNLIMITED_DELIVERIES}
