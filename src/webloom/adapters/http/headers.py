"""Headers of a response as plain values that any store can hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from webloom.domain.errors import FetchFailed

MAX_HEADERS_CHARACTERS = 65_536

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean(value: str) -> str:
    """Free of NUL and of the surrogates that stand for bytes that are not UTF-8."""
    return _UNSTORABLE.sub("\ufffd", value)


def plain_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Lower-case names; what was sent several times is joined as HTTP allows it."""
    plain: dict[str, str] = {}
    size = 0
    for name, value in headers.items():
        size += len(name) + len(value)
        if size > MAX_HEADERS_CHARACTERS:
            raise FetchFailed(
                reason=f"the headers are larger than {MAX_HEADERS_CHARACTERS} characters",
                retryable=False,
            )
        name = name.lower()
        if not value.isascii() or "\x00" in value:
            value = clean(value)
        if name in plain:  # cookies contain commas, so that only a line break can join them
            value = f"{plain[name]}{chr(10) if name == 'set-cookie' else ', '}{value}"
        plain[name] = value
    return plain


def cookie_of(set_cookie: str) -> tuple[str, str] | None:
    """Name and value of one Set-Cookie header; None when it sets none."""
    name, equals, value = set_cookie.partition(";")[0].partition("=")
    name, value = name.strip(), value.strip()
    if not equals or not name:
        return None
    if len(value) >= 2 and value[0] == value[-1] == '"':
        value = value[1:-1]
    return clean(name), clean(value)


def seconds_to_wait(retry_after: str | None) -> float | None:
    """Retry-After is seconds or a date; None when it is neither, or missing."""
    if retry_after is None:
        return None
    retry_after = retry_after.strip()
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after[:10]) if len(retry_after) <= 10 else float(10**10)
    try:
        date = parsedate_to_datetime(retry_after)
        if date.tzinfo is None:
            date = date.replace(tzinfo=UTC)
        return max(0.0, (date - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
