"""An order to send a message through Apprise, and its result. The pipe is private."""

from __future__ import annotations

import msgspec

from webloom.domain import retry
from webloom.domain.errors import Exhausted
from webloom.domain.network_policy import RefusalReason


def is_retryable(status: int) -> bool:
    """A message may also come too slowly (408) or too early (425)."""
    return status in (408, 425) or retry.is_retryable(status)


class Order(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    title: str
    lines: list[str]
    allow: list[str]  # the network policy
    deny: list[str]
    own: list[tuple[str, int]]


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """A connection that the gate refused."""

    address: str
    port: int
    reason: RefusalReason
    detail: str


class Result(msgspec.Struct, frozen=True, kw_only=True):
    sent: bool
    reason: str = ""
    retryable: bool = False
    refused: list[Refused] = []
    exhausted: Exhausted | None = None  # what was missing, so that nothing was sent
