"""Webhooks: a signed POST, subject to the network policy.

Webloom-Id: of the message; the same if it is sent again
Webloom-Timestamp: seconds since 1970
Webloom-Signature: v1=<hex of HMAC-SHA256(secret, id.timestamp.body)>, where the target has a secret
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from typing import Self, Unpack

import msgspec
from aiohttp import ClientResponse, ClientSSLError

from webloom.adapters.http.client import ClientLimits, ClientOptions, GatedClient
from webloom.adapters.http.failures import explain
from webloom.adapters.http.headers import seconds_to_wait
from webloom.adapters.notify.frames import is_retryable
from webloom.domain.errors import FetchFailed, NotSent, ResourcesExhausted
from webloom.domain.watch import Target
from webloom.parsing.web_url import normalise
from webloom.ports.notifier import NotificationMessage

TOTAL_SECONDS = 30.0
AT_ONCE = 256  # messages, and connections
_json = msgspec.json.Encoder(decimal_format="number")


class WebhookNotifier:
    def __init__(
        self, *, total_seconds: float = TOTAL_SECONDS, **options: Unpack[ClientOptions]
    ) -> None:
        self._total_seconds = total_seconds
        limits = ClientLimits(connections=AT_ONCE, max_redirects=0)
        self._client = GatedClient(ClientResponse, accept="*/*", limits=limits, **options)

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._client.__aexit__(*exc)

    async def send(self, target: Target, message: NotificationMessage) -> None:
        body = _json.encode(message.payload)
        headers = _headers(target, message, body)
        try:
            async with asyncio.timeout(self._total_seconds):
                status, answered = await self._client.post(normalise(target.url), body, headers)
        except Exception as error:
            failure = error
            if not isinstance(failure, FetchFailed):
                explained = explain(error, total_seconds=self._total_seconds)
                if explained is None:
                    raise
                if isinstance(explained, ResourcesExhausted):
                    raise explained from error
                failure = explained
            # An expired certificate will probably be renewed.
            retryable = failure.retryable or isinstance(error, ClientSSLError)
            raise NotSent(reason=failure.reason, retryable=retryable) from error
        if not 200 <= status <= 299:
            raise _refusal(status, answered.get("retry-after"))


def signature(secret: str, message_id: str, timestamp: str, body: bytes) -> str:
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def _headers(target: Target, message: NotificationMessage, body: bytes) -> dict[str, str]:
    timestamp = str(int(message.at.timestamp()))
    headers = {
        "Content-Type": "application/json",
        "Webloom-Id": message.message_id,
        "Webloom-Timestamp": timestamp,
    }
    if target.secret:
        headers["Webloom-Signature"] = signature(target.secret, message.message_id, timestamp, body)
    return headers


def _refusal(status: int, retry_after: str | None) -> NotSent:
    reason = f"the receiver answered {status}"
    if 300 <= status <= 399:
        reason += "; redirects are not followed: the target must be the final URL"
    return NotSent(
        reason=reason,
        retryable=is_retryable(status),
        retry_after=seconds_to_wait(retry_after),
    )
