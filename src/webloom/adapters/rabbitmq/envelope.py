"""The properties and headers of messages.

Other programs publish to these queues too, so a header may hold anything.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime

from aiormq.abc import DeliveredMessage
from pamqp import encode
from pamqp.commands import Basic
from pamqp.common import FieldTable, FieldValue

from webloom.ports.broker import DeadLetter, Message

ATTEMPTS = "x-webloom-attempts"  # deliveries so far
REDELIVERED = "x-webloom-redelivered"  # a consumer died with it at least once
WAIT = "x-webloom-wait"  # seconds left to wait
QUEUE = "x-webloom-queue"
REASON = "x-webloom-reason"
BURIED_AT = "x-webloom-buried-at"

LONGEST_REASON = 4000  # characters; a header has to fit into a frame
LONGEST_FOREIGN = 64 * 1024  # bytes of headers that are copied, for the same reason
LONGEST_REST = 10 * 365 * 86400.0  # seconds; a longer delay is ignored
PERSISTENT = 2
# They would send a copy to other queues too, or are written by the server.
NOT_COPIED = {"CC", "BCC", "x-death", "x-delivery-count", ATTEMPTS, REDELIVERED, WAIT}
NOT_COPIED |= {QUEUE, REASON, BURIED_AT}
NOT_COPIED_PREFIXES = ("x-first-death-", "x-last-death-")


def new(message: Message, *, rest: float = 0.0) -> Basic.Properties:
    return Basic.Properties(
        message_id=message.id,
        content_type="application/json",
        delivery_mode=PERSISTENT,
        headers={WAIT: str(rest)} if rest > 0 else None,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Envelope:
    message_id: str
    attempt: int
    redelivered: bool
    rest: float
    properties: Basic.Properties

    def passed_on(self, rest: float) -> Basic.Properties:
        """For a message that no handler has seen: the delivery does not count."""
        return self._copy(self._history(self.attempt - 1), rest)

    def given_back(self, rest: float) -> Basic.Properties:
        return self._copy(self._history(self.attempt), rest)

    def dead_lettered(self, queue: str, reason: str, now: datetime) -> Basic.Properties:
        plain = reason[:LONGEST_REASON].encode("utf-8", "replace").decode()
        return self._copy(
            self._history(self.attempt) | {QUEUE: queue, REASON: plain, BURIED_AT: now.isoformat()}
        )

    def revived(self) -> Basic.Properties:
        return self._copy({})

    def _history(self, attempts: int) -> FieldTable:
        return {ATTEMPTS: attempts, **({REDELIVERED: True} if self.redelivered else {})}

    def _copy(self, headers: FieldTable, rest: float = 0.0) -> Basic.Properties:
        """The original properties, except those that the server acts on: expiration, user and
        copies."""
        foreign = {
            name: value
            for name, value in (self.properties.headers or {}).items()
            if name not in NOT_COPIED
            and not name.startswith(NOT_COPIED_PREFIXES)
            and _can_be_sent(value)
        }
        if len(encode.field_table(foreign)) > LONGEST_FOREIGN:
            foreign = {}
        if rest > 0:
            headers = headers | {WAIT: str(rest)}
        return Basic.Properties(
            message_id=self.message_id,
            content_type=self.properties.content_type,
            content_encoding=self.properties.content_encoding,
            correlation_id=self.properties.correlation_id,
            reply_to=self.properties.reply_to,
            timestamp=self.properties.timestamp,
            message_type=self.properties.message_type,
            app_id=self.properties.app_id,
            priority=self.properties.priority,
            delivery_mode=PERSISTENT,
            headers=foreign | headers,
        )


def read(message: DeliveredMessage) -> Envelope:
    properties = message.header.properties
    headers = properties.headers or {}
    flagged = bool(getattr(message.delivery, "redelivered", False))
    counted = _whole(headers.get("x-delivery-count"))  # only quorum queues count
    redelivered = flagged or counted > 0
    return Envelope(
        message_id=_id(properties.message_id, message.body),
        attempt=_whole(headers.get(ATTEMPTS)) + max(counted, int(flagged)) + 1,
        redelivered=redelivered or headers.get(REDELIVERED) is True,
        rest=_seconds(headers.get(WAIT)),
        properties=properties,
    )


def dead_letter(message: DeliveredMessage) -> DeadLetter:
    properties = message.header.properties
    headers = properties.headers or {}
    return DeadLetter(
        id=_id(properties.message_id, message.body),
        body=message.body,
        reason=str(headers.get(REASON) or "put there by another program"),
        buried_at=_moment(headers.get(BURIED_AT)),
    )


def _id(given: str | None, body: bytes) -> str:
    """A stable id for a message without one."""
    return given or hashlib.sha256(body).hexdigest()[:32]


def _can_be_sent(value: FieldValue) -> bool:
    """The library can read some values that it can't write, such as text that is not UTF-8."""
    try:
        encode.encode_table_value(value)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return False
    return True


def _whole(value: object) -> int:
    return min(max(value, 0), 1_000_000) if isinstance(value, int) else 0


def _seconds(value: object) -> float:
    try:
        seconds = float(value) if isinstance(value, str) else 0.0
    except ValueError:
        return 0.0
    return seconds if 0 < seconds <= LONGEST_REST else 0.0


def _moment(value: object) -> datetime:
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return datetime.fromtimestamp(0, UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
