"""uvicorn's HTTP protocol with bounds on what it reads before and after the API has its say.

A stranger without a key can then neither fill the memory with headers, nor hold connections open
with half of a request, nor go on sending a body that was refused.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from webloom.entrypoints.api.security_headers import RAW

MAX_HEAD_BYTES = 64 * 1024
MAX_UNREAD_BYTES = 4 * 1024 * 1024
HEAD_SECONDS = 30.0
LINGER_SECONDS = 5.0

_TOO_LARGE = (
    b'{"type":"about:blank","title":"Request Header Fields Too Large","status":431,'
    b'"detail":"The head of the request is larger than %d bytes."}' % MAX_HEAD_BYTES
)
_ANSWER = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: application/problem+json\r\n"
    + b"".join(b"%b: %b\r\n" % header for header in RAW)
    + b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (len(_TOO_LARGE), _TOO_LARGE)
)


class BoundedHttp(HttpToolsProtocol):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._in_head = True
        self._head_bytes = self._unread_bytes = self._bodiless_bytes = 0
        self._lingering = False
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)  # (uvicorn narrows the type in the same way)
        self._timer = self.loop.call_later(HEAD_SECONDS, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._lingering:
            return
        self._bodiless_bytes += len(data)
        super().data_received(data)
        if self._in_head:
            self._bound_head(len(data))
            return
        self._stop_timer()
        if self.cycle is not None and self.cycle.response_complete and self.cycle.more_body:
            self._unread_bytes += len(data)  # of a body that was refused
            if self._unread_bytes > MAX_UNREAD_BYTES:
                self._linger()
        elif self._bodiless_bytes > MAX_HEAD_BYTES:  # trailers, which are kept like headers
            self.transport.close()

    def _bound_head(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self.transport.write(_ANSWER)
            self._linger()
        elif self._timer is None:
            self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _linger(self) -> None:
        """Read nothing more, and give the client a moment to see the answer: closing while it still
        sends would throw the answer away."""
        self._lingering = True
        self._stop_timer()
        self.transport.pause_reading()
        self._timer = self.loop.call_later(LINGER_SECONDS, self.transport.close)

    def on_message_begin(self) -> None:
        self._in_head = True
        self._head_bytes = self._unread_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._bodiless_bytes = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._bodiless_bytes = 0
        super().on_body(body)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
