"""The process that sends one message through Apprise.

order -> read the target -> confine the process to the network policy -> send -> result
"""

from __future__ import annotations

import logging
import mimetypes
import os
import re
import sys
from collections.abc import Iterator

import msgspec
from apprise import Apprise, NotifyFormat, OverflowMode

from webloom.adapters.notify.confinement import Confinement
from webloom.adapters.notify.frames import Order, Refused, Result, is_retryable
from webloom.adapters.notify.services import SCHEMES, ports_of, service_of
from webloom.adapters.resources import require_descriptors
from webloom.adapters.sandbox.child import run
from webloom.domain.errors import ResourcesExhausted
from webloom.domain.network_policy import NetworkPolicy, operator_can_allow
from webloom.parsing.target_url import scheme_of

_DESCRIPTORS = 8  # for one connection: a DNS lookup, certificates, the socket
_MARGIN = 50  # characters that a service adds to a message
_REST = "and more"
_ELSEWHERE = (
    "its name leads to an address or port that Webloom does not connect to; the log says which and "
    f"why, and whether {operator_can_allow('it')}"
)
_STATUS = re.compile(r"error=([1-5][0-9][0-9])\b")


class _AppriseLog(logging.Handler):
    """Keeps the HTTP status in what Apprise logs, and none of its text, which may be secret.

    Each service logs what it sent as information, and what went wrong as a warning."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.status: int | None = None
        self.has_infos = False
        self.has_warnings = False

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.WARNING:
            self.has_warnings = True
        else:
            self.has_infos = True
        if found := _STATUS.search(record.getMessage()):
            self.status = int(found[1])


def serve(order: bytes) -> Iterator[tuple[bytes, bytes]]:
    sys.dont_write_bytecode = True
    os.environ["NETRC"] = os.devnull  # where the HTTP library looks for passwords
    try:
        result = _send(msgspec.json.decode(order, type=Order))
    except Exception as error:
        # Its text may quote the target.
        result = Result(
            sent=False, reason=f"Apprise failed by an error of its own: {type(error).__name__}"
        )
    yield msgspec.json.encode(result), b""


def _send(order: Order) -> Result:
    scheme = scheme_of(order.url)
    service = service_of(order.url) if scheme in SCHEMES else None
    if service is None:
        return Result(sent=False, reason="Apprise can't read the target, or it is refused")
    log = _AppriseLog()
    logger = logging.getLogger("apprise")
    logger.disabled, logger.propagate = False, False
    logger.setLevel(logging.INFO)
    logger.addHandler(log)
    sender = Apprise()
    sender.add(service)
    mimetypes.init()
    policy = NetworkPolicy.parse(order.allow, tuple(order.own), order.deny)
    confinement = Confinement(policy, ports_of(scheme))
    confinement.begin()
    if "overflow=" not in order.url:
        service.overflow_mode = OverflowMode.TRUNCATE
    body = _fitted(order.lines, service.body_maxlen - len(order.title) - _MARGIN)
    # As text: services that show HTML get it escaped.
    if sender.notify(body=body, title=order.title, body_format=NotifyFormat.TEXT):
        outcome = _nothing_sent(str(service.service_name), log, confinement) or Result(sent=True)
        return msgspec.structs.replace(outcome, refused=confinement.refused)
    failure = _failure(str(service.service_name), log.status, _refusal(order, confinement))
    return msgspec.structs.replace(failure, refused=confinement.refused)


def _refusal(order: Order, confinement: Confinement) -> str | None:
    """Why a connection was refused. The target's owner learns an address only if the target
    contains it."""
    refusal = confinement.refusal
    if isinstance(refusal, Refused):
        return refusal.detail if refusal.address in order.url else _ELSEWHERE
    return refusal


def _fitted(lines: list[str], most: int) -> str:
    """As many whole lines as a service accepts, and at least the start of one."""
    if len("\n".join(lines)) <= most:
        return "\n".join(lines)
    kept: list[str] = []
    room = most - len(_REST)
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return "\n".join([*(kept or [lines[0][: max(most - len(_REST) - 1, 20)]]), _REST])


def _nothing_sent(name: str, log: _AppriseLog, confinement: Confinement) -> Result | None:
    """Some services report success although there is no recipient."""
    if not confinement.connections:
        return Result(
            sent=False,
            reason=f"{name} sent nothing to anybody: its URL names no recipient, or an action that "
            "does not apply to new messages",
        )
    if log.has_warnings and not log.has_infos:
        reason = f"{name} was reached, and sent the message to nobody: it has no recipient now"
        return Result(sent=False, reason=reason, retryable=True)
    return None


def _failure(name: str, status: int | None, refusal: str | None) -> Result:
    if status is not None:
        return Result(
            sent=False,
            reason=f"{name} answered {status}",
            retryable=is_retryable(status),
        )
    if refusal is not None:
        return Result(sent=False, reason=f"{name} is not used: {refusal}")
    try:  # Apprise does not report what it could not open
        require_descriptors(_DESCRIPTORS)
    except ResourcesExhausted as error:
        return Result(sent=False, exhausted=error.exhausted)
    return Result(
        sent=False,
        reason=f"{name} could not be reached, or did not take the message",
        retryable=True,
    )


if __name__ == "__main__":
    run(serve)
