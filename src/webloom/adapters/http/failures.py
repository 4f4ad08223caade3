"""aiohttp's errors translated into the domain's: the only place that knows them."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
from aiohttp import http_exceptions

from webloom.adapters.http.gate import GateRefused
from webloom.domain.errors import FetchFailed, NotConnected, ResourcesExhausted, UrlRefused
from webloom.domain.exhaustion import exhaustion_in

# The first row with a base of the error decides: (class, may it help to try again, reason).
_RULES: tuple[tuple[type[BaseException], bool, str], ...] = (
    (aiohttp.ClientConnectorCertificateError, False, "the certificate is not valid: {}"),
    (aiohttp.ClientSSLError, False, "no secure connection could be agreed on: {}"),
    (aiohttp.ServerFingerprintMismatch, False, "the certificate is not the expected one"),
    (aiohttp.ServerTimeoutError, True, "no connection in time"),
    (aiohttp.ClientConnectorDNSError, True, "the name of the host could not be resolved: {}"),
    (aiohttp.ClientConnectorError, True, "no connection could be made: {}"),
    (aiohttp.ClientConnectionError, True, "the connection was lost before the answer was complete"),
    (aiohttp.ClientPayloadError, False, "the body is not valid HTTP: {}"),
    (aiohttp.ClientResponseError, False, "the answer is not valid HTTP: {}"),
    (aiohttp.InvalidURL, False, "the URL cannot be requested"),
    (aiohttp.NonHttpUrlClientError, False, "the URL cannot be requested"),
    (aiohttp.RedirectClientError, False, "the redirect cannot be followed"),
    (aiohttp.UploadAbortedError, False, "the request could not be sent"),
    (http_exceptions.HttpProcessingError, False, "the answer is not valid HTTP: {}"),
)
_NOT_CONNECTED = aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError
_NO_HOST = aiohttp.ClientConnectorCertificateError | aiohttp.ClientConnectorDNSError
_NOT_TLS = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG"})
_LONGEST_DETAIL = 200  # it may quote the server


def explain(
    error: BaseException, *, total_seconds: float
) -> FetchFailed | ResourcesExhausted | None:
    """None for an error of our own."""
    if exhausted := exhaustion_in(error):
        return exhausted
    if isinstance(error, UrlRefused):
        return FetchFailed(reason=str(error), retryable=False)
    if refused := _refusal_within(error):
        return FetchFailed(reason=refused.reason, retryable=False)
    if isinstance(error, aiohttp.ClientPayloadError) and _is_truncated(error):
        return FetchFailed(reason="the connection ended before the body did", retryable=True)
    if rule := rule_for(type(error)):
        retryable, reason = rule
        is_connected = not isinstance(error, _NOT_CONNECTED) or isinstance(error, _NO_HOST)
        kind = FetchFailed if is_connected else NotConnected
        return kind(reason=reason.format(_detail(error)), retryable=retryable)
    if isinstance(error, TimeoutError):
        return FetchFailed(reason=f"no complete answer within {total_seconds:g} s", retryable=True)
    return None


@contextmanager
def explained(total_seconds: float) -> Iterator[None]:
    """Raises FetchFailed or ResourcesExhausted in place of an error that `explain` knows."""
    try:
        yield
    except FetchFailed:
        raise
    except Exception as error:
        failure = explain(error, total_seconds=total_seconds)
        if failure is None:
            raise
        raise failure from error


def rule_for(kind: type[BaseException]) -> tuple[bool, str] | None:
    """Whether trying again may help, and the reason's form; None for a class without a rule."""
    for base, retryable, reason in _RULES:
        if issubclass(kind, base):
            return retryable, reason
    return None


def _refusal_within(error: BaseException) -> GateRefused | None:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, GateRefused):
            return cause
        cause = cause.__cause__
    return None


def _is_truncated(error: aiohttp.ClientPayloadError) -> bool:
    """Did the connection end too early, rather than carry something wrong?"""
    return isinstance(
        error.__cause__,
        http_exceptions.ContentLengthError | http_exceptions.TransferEncodingError | OSError,
    )


def _tls_problem(error: OSError) -> str:
    """OpenSSL's words: the `errno` of its errors is a number of its own."""
    reason = (error.reason if isinstance(error, ssl.SSLError) else None) or "no reason is known"
    if reason in _NOT_TLS:
        return "the server does not speak TLS"
    return reason.replace("_", " ").lower()


def _detail(error: BaseException) -> str:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        certificate_error = error.certificate_error
        text = getattr(certificate_error, "verify_message", "") or str(certificate_error)
    elif isinstance(error, aiohttp.ClientConnectorDNSError):
        text = error.os_error.strerror or str(error.os_error)
    elif isinstance(error, aiohttp.ClientConnectorSSLError):
        text = _tls_problem(error.os_error)
    elif isinstance(error, aiohttp.ClientConnectorError):
        # Not its text, which names the addresses that were tried.
        text = os.strerror(error.os_error.errno) if error.os_error.errno else "no address answers"
    elif isinstance(error, aiohttp.ClientResponseError | http_exceptions.HttpProcessingError):
        text = error.message
    else:
        text = str(error)
    first_line = text.strip().partition("\n")[0].rstrip(": ")
    printable = "".join(c if c.isprintable() else "\ufffd" for c in first_line[:_LONGEST_DETAIL])
    return printable or type(error).__name__
