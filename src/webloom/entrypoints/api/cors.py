"""Cross-origin requests (CORS) from pages of the origins that WEBLOOM_ALLOW_ORIGINS names.

Before a page sends a key, JSON or a method other than GET and POST, the browser sends a preflight
(OPTIONS with Access-Control-Request-Method). It lets a page read a response only if the response
names the page's origin. Cookies are not used: keys are sent in headers.
"""

from __future__ import annotations

from collections.abc import Iterable

from starlette.responses import Response

from webloom.parsing.web_origin import ANY

METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"
REQUEST_HEADERS = "Authorization, X-API-Key, Content-Type, Last-Event-ID, If-None-Match"
RESPONSE_HEADERS = "Content-Disposition, ETag, Location, Retry-After, WWW-Authenticate"
PREFLIGHT_SECONDS = 600  # how long a browser may cache the response

Headers = dict[bytes, bytes]
HeaderList = list[tuple[bytes, bytes]]


class AllowedOrigins:
    def __init__(self, origins: Iterable[str]) -> None:
        self._origins = frozenset(origin.encode() for origin in origins)
        self._is_any = ANY.encode() in self._origins

    def admit(self, origin: bytes | None) -> bool:
        """Whether this origin is allowed; `null` never is."""
        if origin is None or origin == b"null":
            return False
        return self._is_any or origin in self._origins

    def response_headers(self, origin: bytes | None) -> HeaderList:
        """For every response, errors too, so that a page can read the reason."""
        if not self._origins:
            return []
        headers = [] if self._is_any else [(b"vary", b"Origin")]
        if origin is not None and self.admit(origin):
            allowed = b"*" if self._is_any else origin
            headers.append((b"access-control-allow-origin", allowed))
            headers.append((b"access-control-expose-headers", RESPONSE_HEADERS.encode()))
        return headers


def is_preflight(method: str, headers: Headers) -> bool:
    return method == "OPTIONS" and b"access-control-request-method" in headers


def preflight_response() -> Response:
    """What a page of an allowed origin may send. A preflight itself carries no key."""
    return Response(
        status_code=204,
        headers={
            "Access-Control-Allow-Methods": METHODS,
            "Access-Control-Allow-Headers": REQUEST_HEADERS,
            "Access-Control-Max-Age": str(PREFLIGHT_SECONDS),
        },
    )
