"""Headers that keep a browser from guessing the type of a response, framing it or passing on its
address. The guard adds them to every response, errors included; what a route sets itself stays."""

from __future__ import annotations

COMMON = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
}
DEFAULTS = COMMON | {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",  # it may have needed a key, and is old in a moment
}
RAW = tuple((name.lower().encode(), value.encode()) for name, value in DEFAULTS.items())

RawHeaders = list[tuple[bytes, bytes]]  # lower-case names


def with_defaults(headers: RawHeaders) -> RawHeaders:
    present = {name for name, _ in headers}
    return [*headers, *(each for each in RAW if each[0] not in present)]
