"""An order to send a message by Apprise, and its result. Nobody else sees what is in a pipe."""

from __future__ import annotations

import msgspec

from webloom.domain.network_policy import RefusalReason


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
    exhausted: str = ""  # what was missing: then nothing was sent, and nobody else is to blame
