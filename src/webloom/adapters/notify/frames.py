"""An order to send a message through Apprise, and its result. The pipe is private."""

from __future__ import annotations

import msgspec

from webloom.domain.network_policy import RefusalReason

RETRYABLE_STATUSES = frozenset({408, 425, 429})  # and 500 to 599


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
    exhausted: str = ""  # the resource that was missing: nothing was sent
