"""uvicorn's HTTP protocol with limits on connections, request heads and unread responses.

They protect against clients without a key that fill the memory with headers, take all connections,
hold one open with half a request, keep sending a refused body, or request much and read nothing.

`data_received` replaces uvicorn's, and reads what uvicorn keeps to itself (`cycle`, `flow`, the
keep-alive timer). A limit can go when uvicorn's httptools protocol has a setting for it;
tests/unit/test_patched_libraries.py fails when one of the two changes.
"""

from __future__ import annotations

import asyncio
import logging
import struct
from contextlib import suppress
from fcntl import ioctl
from termios import TIOCOUTQ
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from webloom.entrypoints.api.connections import Connections
from webloom.entrypoints.api.responses import phrase, problem
from webloom.entrypoints.api.security_headers import with_defaults

log = logging.getLogger(__name__)

MAX_HEAD_BYTES = 64 * 1024
MAX_HEADERS = 100
MAX_UNREAD_BYTES = 4 * 1024 * 1024
HEAD_SECONDS = 30.0
LINGER_SECONDS = 5.0
STALLED_SECONDS = 30.0  # in which the client reads nothing
LOOK_SECONDS = 5.0  # between two checks of what it has read
_INT = struct.Struct("i")


def _response(status: int, detail: str, **headers: str) -> bytes:
    """Raw, for a connection that is closed after it."""
    response = problem(status, detail, {"Connection": "close", **headers})
    head = b"".join(b"%b: %b\r\n" % each for each in with_defaults(response.raw_headers))
    title = phrase(status).encode()
    return b"HTTP/1.1 %d %b\r\n%b\r\n%b" % (status, title, head, bytes(response.body))


_TOO_LARGE = _response(431, f"The head of the request is larger than {MAX_HEAD_BYTES} bytes.")
_TOO_MANY_HEADERS = _response(431, f"The request has more than {MAX_HEADERS} headers.")
_NOT_HTTP = _response(400, "This is not an HTTP request.")
_LATER = {"Retry-After": "5"}
_NO_ROOM = {
    429: _response(429, "There are too many connections from this address.", **_LATER),
    503: _response(503, "There are too many connections.", **_LATER),
}


class _HeadRefused(Exception):
    def __init__(self, response: bytes) -> None:
        super().__init__()
        self.response = response


class BoundedHttp(HttpToolsProtocol):
    def __init__(self, *args: Any, open_connections: Connections, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._open_connections = open_connections
        self._in_head = True
        self._head_bytes = self._unread_bytes = self._bodiless_bytes = 0
        self._parsed_bytes = 0  # of the head
        self._reads_nothing = self._has_sent = False
        self._timer: asyncio.TimerHandle | None = None
        self._stall_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)  # (uvicorn narrows the type in the same way)
        refusal = self._open_connections.admit(self, self.client[0] if self.client else "")
        if refusal is not None:
            self._reads_nothing = True
            transport.write(_NO_ROOM[refusal])
            transport.close()
            return
        self._timer = self.loop.call_later(HEAD_SECONDS, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._open_connections.forget(self)
        self._stop_timer()
        if self._stall_timer is not None:
            self._stall_timer.cancel()
        super().connection_lost(exc)

    def drop(self) -> None:
        self.transport.abort()

    # Reading.

    def data_received(self, data: bytes) -> None:
        if self._reads_nothing:
            return
        self._unset_keepalive_if_required()
        self._bodiless_bytes += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # to a protocol that is not served: the response stays HTTP
        except httptools.HttpParserError as error:
            reason = error.__context__
            self._end(reason.response if isinstance(reason, _HeadRefused) else _NOT_HTTP)
            return
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
        """Includes a header that has not ended yet, which the parser has not reported."""
        self._head_bytes += size
        if self._head_bytes > MAX_HEAD_BYTES:
            self._end(_TOO_LARGE)
        elif self._timer is None:
            self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _end(self, response: bytes) -> None:
        """Send this response, unless another one has begun, and close the connection."""
        if self.transport.is_closing():
            return
        if self.cycle is not None and not self.cycle.response_complete:
            if self.cycle.response_started:
                self.transport.close()
                return
            self.cycle.disconnected = True  # the API's response is not needed
            self.cycle.message_event.set()
        self.transport.write(response)
        self._linger()

    def _linger(self) -> None:
        """Stop reading, and give the client a moment to read the response: closing while it still
        sends would discard it."""
        self._reads_nothing = True
        self._stop_timer()
        self.flow.pause_reading()
        self._timer = self.loop.call_later(LINGER_SECONDS, self._close)

    def on_message_begin(self) -> None:
        self._in_head = True
        self._head_bytes = self._unread_bytes = self._parsed_bytes = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count_parsed(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Of trailers, too."""
        if len(self.headers) >= MAX_HEADERS:
            raise _HeadRefused(_TOO_MANY_HEADERS)
        self._count_parsed(len(name) + len(value))
        super().on_header(name, value)

    def _count_parsed(self, size: int) -> None:
        self._parsed_bytes += size
        if self._parsed_bytes > MAX_HEAD_BYTES:
            raise _HeadRefused(_TOO_LARGE)

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._bodiless_bytes = 0
        self._open_connections.note_busy(self)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._bodiless_bytes = 0
        super().on_body(body)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:  # else the next request waits already
            self._open_connections.note_idle(self)
        self._watch_sending()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # Sending.

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_sending()

    def resume_writing(self) -> None:
        self._has_sent = True
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        self._close()

    def _close(self) -> None:
        self.transport.close()  # once all is sent
        self._watch_sending()

    def _watch_sending(self) -> None:
        if self._stall_timer is None:
            self._look_again(self._unread_by_client(), self.loop.time())

    def _look_again(self, unread: int, since: float) -> None:
        self._has_sent = False
        self._stall_timer = self.loop.call_later(LOOK_SECONDS, self._look, unread, since)

    def _look(self, before: int, since: float) -> None:
        """Nothing is added while writing is paused, or once the response is complete: the number of
        unread bytes falls if the client reads."""
        self._stall_timer = None
        unread = self._unread_by_client()
        if not unread:
            return
        now = self.loop.time()
        if self._has_sent or unread != before:
            self._look_again(unread, now)
        elif now - since < STALLED_SECONDS:
            self._look_again(unread, since)
        else:
            log.info("a client does not read its response, and is dropped")
            self.transport.abort()

    def _unread_by_client(self) -> int:
        """Bytes in our buffer and in the kernel's send buffer."""
        waiting = self.transport.get_write_buffer_size()
        connected = self.transport.get_extra_info("socket")
        with suppress(OSError, ValueError):
            waiting += _INT.unpack(ioctl(connected.fileno(), TIOCOUTQ, _INT.pack(0)))[0]
        return waiting
