"""A web server on loopback that does what it should not; and, with another host, a canary.

    async with HostileSite() as site:
        await fetcher.fetch(site.url("/endless-body"))
    assert site.connections == 1

It speaks raw bytes, so that nothing of what it sends is tidied up on the way. What it can do is in
STATIC (fixed bytes, then the connection ends) and in the methods named `do_…` (everything else).
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import socket
import ssl
import struct
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

from bombs import bomb
from servers.loopback import LoopbackSite

PAGE = b"<!doctype html><title>A page</title><p>Hello"
_PACE_SECONDS = 0.02  # between the bytes of what drips


def ok(body: bytes, *headers: str) -> bytes:
    """A well-formed 200 answer."""
    return answer(200, f"Content-Length: {len(body)}", *headers) + body


def answer(status: int, *headers: str) -> bytes:
    """Status line and headers, each of which may be wrong."""
    return "\r\n".join([f"HTTP/1.1 {status} X", *headers, "", ""]).encode("latin-1")


def _chunked(body: bytes) -> bytes:
    return answer(200, "Content-Type: text/html", "Transfer-Encoding: chunked") + body


def _many(header: str, count: int) -> bytes:
    return ok(PAGE, *(header.format(number) for number in range(count)))


_GZIPPED = gzip.compress(PAGE * 10)
STATIC: dict[str, bytes] = {
    "/no-bytes": b"",
    "/not-http": b"SSH-2.0-OpenSSH_9.2p1 Debian\r\n",
    "/status-999": answer(999, "Content-Length: 0"),
    "/unasked-101": answer(101, "Upgrade: websocket", "Connection: Upgrade"),
    "/content-length-too-long": answer(200, "Content-Length: 100") + b"short",
    "/content-length-too-short": answer(200, "Content-Length: 2") + b"long",
    "/content-length-negative": answer(200, "Content-Length: -1") + PAGE,
    "/content-length-not-a-number": answer(200, "Content-Length: many") + PAGE,
    "/content-length-twice": answer(200, "Content-Length: 4", "Content-Length: 5") + b"12345",
    "/content-length-huge": answer(200, "Content-Length: 99999999999999") + PAGE,
    "/content-length-beyond-numbers": answer(200, f"Content-Length: {'9' * 40}") + PAGE,
    "/content-length-and-chunked": answer(200, "Content-Length: 5", "Transfer-Encoding: chunked")
    + b"5\r\nhello\r\n0\r\n\r\n",
    "/chunk-size-wrong": _chunked(b"5\r\nhello\r\nzz\r\n"),
    "/chunk-cut": _chunked(b"50\r\nhello"),
    "/gzip": ok(_GZIPPED, "Content-Type: text/html", "Content-Encoding: gzip"),
    "/gzip-members": ok(gzip.compress(b"a") + gzip.compress(b"b"), "Content-Encoding: gzip"),
    "/gzip-corrupt": ok(_GZIPPED[:20] + b"\xff" * 9 + _GZIPPED[29:], "Content-Encoding: gzip"),
    "/gzip-cut": ok(_GZIPPED[:-12], "Content-Encoding: gzip"),
    "/gzip-not": ok(PAGE, "Content-Encoding: gzip"),
    "/gzip-twice": ok(gzip.compress(_GZIPPED), "Content-Encoding: gzip, gzip"),
    "/gzip-many-members": ok(gzip.compress(b"") * 50_000, "Content-Encoding: gzip"),
    "/deflate": ok(zlib.compress(PAGE), "Content-Encoding: deflate"),
    "/deflate-raw": ok(zlib.compress(PAGE)[2:-4], "Content-Encoding: deflate"),
    "/brotli": ok(b"\x0b\x02\x80hello\x03", "Content-Encoding: br"),
    "/zstd": ok(b"\x28\xb5\x2f\xfd\x00\x58\x29\x00\x00hello", "Content-Encoding: zstd"),
    "/encoding-unknown": ok(PAGE, "Content-Encoding: rot13"),
    "/header-nul": answer(200, "X-A: a\x00b", "Content-Length: 0"),
    "/header-without-colon": answer(200, "what is this", "Content-Length: 0"),
    "/header-too-long": ok(PAGE, f"X-A: {'a' * 9000}"),
    "/headers-too-many": _many("X-{}: a", 1000),
    "/cookies-too-many": _many("Set-Cookie: c{}=v", 10_000),
    "/headers-odd": ok(
        PAGE, "X-Raw: caf\xe9", "X-Twice: a", "X-Twice: b", "Set-Cookie: a=1", "Set-Cookie: b=2, 3"
    ),
    "/binary": ok(b"\x89PNG\r\n\x1a\n\x00\x00", "Content-Type: image/png"),
    "/large": ok(b"<p>" + b"x" * 1_200_000, "Content-Type: text/html; charset=utf-8"),
    "/redirect-without-location": answer(302, "Content-Length: 4") + b"lost",
    "/redirect-raw-bytes": answer(302, "Location: /caf\xe9", "Content-Length: 0"),
}


@dataclass(frozen=True, kw_only=True)
class Request:
    path: str  # without the query
    query: dict[str, str]
    headers: dict[str, str]  # lower-case names
    target: str  # as it was sent


Behaviour = Callable[[Request, asyncio.StreamWriter], Awaitable[None]]


class HostileSite(LoopbackSite):
    def __init__(
        self, *, host: str = "127.0.0.1", ssl_context: ssl.SSLContext | None = None
    ) -> None:
        super().__init__(host=host, ssl_context=ssl_context)
        self.requests: list[Request] = []
        self.started = asyncio.Event()  # set by the first request

    def url(self, path: str, *, host: str | None = None) -> str:
        scheme = "https" if self._ssl else "http"
        name = host or (f"[{self.host}]" if ":" in self.host else self.host)
        return f"{scheme}://{name}:{self.port}{path}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await _read_request(reader, writer):
                self.requests.append(request)
                self.started.set()
                if (static := STATIC.get(request.path)) is not None:
                    writer.write(static)
                    await writer.drain()
                    return
                name = "do_" + request.path.strip("/").replace("-", "_")
                behaviour: Behaviour = getattr(self, name, self.do_page)
                await behaviour(request, writer)
        except ConnectionError:
            pass  # the client has had enough
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()

    # What keeps the connection: well-behaved, if only in form.

    async def do_page(self, request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(ok(PAGE, "Content-Type: text/html; charset=utf-8"))

    async def do_text(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """?type= and ?body= as the client wishes and, when given, ?header=."""
        body = unquote(request.query.get("body", ""), encoding="latin-1").encode("latin-1")
        headers = [f"Content-Type: {request.query.get('type', 'text/html')}"]
        if header := request.query.get("header"):
            headers.append(unquote(header))
        writer.write(ok(body, *headers))

    async def do_status(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """?code= and, when given, ?retry-after=."""
        extra = [f"Retry-After: {after}"] if (after := request.query.get("retry-after")) else []
        writer.write(answer(int(request.query["code"]), "Content-Length: 0", *extra))

    async def do_redirect(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """?to= and, when given, ?cookie= and ?code=."""
        status = int(request.query.get("code", "302"))
        headers = [f"Location: {request.query['to']}", "Content-Length: 0"]
        if cookie := request.query.get("cookie"):
            headers.append(f"Set-Cookie: {cookie}")
        writer.write(answer(status, *headers))

    async def do_circle(self, request: Request, writer: asyncio.StreamWriter) -> None:
        to = "back" if request.query.get("go") == "there" else "there"
        writer.write(answer(302, f"Location: /circle?go={to}", "Content-Length: 0"))

    async def do_hops(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """?left= redirects, then a page."""
        if left := int(request.query["left"]):
            writer.write(answer(302, f"Location: /hops?left={left - 1}", "Content-Length: 0"))
        else:
            await self.do_page(request, writer)

    async def do_cookie_wall(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """Sends the client round until it brings the cookie that it was given."""
        if "pass=yes/1" in request.headers.get("cookie", ""):
            await self.do_page(request, writer)
        else:
            writer.write(
                answer(302, "Location: /cookie-wall", "Set-Cookie: pass=yes/1", "Content-Length: 0")
            )

    async def do_bomb(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """?encoding= and ?mebibytes=."""
        encoding = request.query["encoding"]
        body = bomb(encoding, int(request.query["mebibytes"]))
        writer.write(ok(body, f"Content-Encoding: {encoding}"))
        await writer.drain()

    # What never ends.

    async def do_silence(self, request: Request, writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async def do_endless_body(self, request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(200, "Content-Type: text/html"))
        await _for_ever(writer, b"x" * 65536)

    async def do_one_byte_chunks(self, request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(_chunked(b""))
        await _for_ever(writer, b"1\r\nx\r\n" * 5000)

    async def do_endless_header(self, request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nX-A: ")
        await _for_ever(writer, b"a" * 4096)

    async def do_endless_headers(self, request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n")
        await _for_ever(writer, b"X-A: a\r\n" * 500)

    async def do_endless_status_line(self, request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 ")
        await _for_ever(writer, b"O" * 4096)

    async def do_endless_trailers(self, request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(_chunked(b"5\r\nhello\r\n0\r\n"))
        await _for_ever(writer, b"X-A: a\r\n" * 500)

    async def do_endless_continue(self, request: Request, writer: asyncio.StreamWriter) -> None:
        await _for_ever(writer, b"HTTP/1.1 100 Continue\r\n\r\n", pace=_PACE_SECONDS)

    async def do_endless_extension(self, request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(_chunked(b"5;a="))
        await _for_ever(writer, b"a" * 100, pace=_PACE_SECONDS)

    async def do_drip_body(self, request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(200, "Content-Type: text/html", "Content-Length: 100000"))
        await _for_ever(writer, b"x", pace=_PACE_SECONDS)

    async def do_drip_headers(self, request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nX-A: ")
        await _for_ever(writer, b"a", pace=_PACE_SECONDS)

    async def do_chunk_size_wrong_later(
        self, request: Request, writer: asyncio.StreamWriter
    ) -> None:
        """The client is already reading the body when it goes wrong."""
        writer.write(_chunked(b"5\r\nhello\r\n"))
        await writer.drain()
        await asyncio.sleep(_PACE_SECONDS)
        await _for_ever(writer, b"zz\r\n", pace=_PACE_SECONDS)

    async def do_reset(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """A connection that is torn down rather than closed."""
        connection: socket.socket = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        raise ConnectionResetError


async def _for_ever(writer: asyncio.StreamWriter, data: bytes, *, pace: float = 0.0) -> None:
    while True:
        writer.write(data)
        await writer.drain()
        await asyncio.sleep(pace)


async def _read_request(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> Request | None:
    try:
        head = await reader.readexactly(1)
        if head == b"\x16":  # a TLS greeting, answered as common servers do
            writer.write(answer(400, "Content-Length: 0"))
            return None
        head += await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
        return None
    first, *lines = head.decode("latin-1").rstrip().split("\r\n")
    target = first.split(" ")[1]
    parts = urlsplit(target)
    return Request(
        path=parts.path,
        query={name: values[0] for name, values in parse_qs(parts.query).items()},
        headers={
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines)
        },
        target=target,
    )
