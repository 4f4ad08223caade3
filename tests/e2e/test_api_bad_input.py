"""Invalid bodies on every route that takes one: a clear 4xx, and no change."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from yarl import URL

from e2e.api_client import PROBLEM, Api, calling
from e2e.running import Webloom, running_for_module
from timeouts import TIMEOUT_SECONDS
from webloom.bootstrap.connections import open_services
from webloom.entrypoints.api.activity import Activity
from webloom.entrypoints.api.app import create_app
from webloom.entrypoints.heartbeat import first_beat
from webloom.settings import load_settings

ONE = "/metadata"
BATCH = "/metadata/batch"
LINES = {"Content-Type": "application/x-ndjson"}
DEEP = 100_000
NESTED = "nested more than 64 levels deep"  # whatever the version of Python
MEBIBYTE = 1 << 20
GOOD = "http://good.test/"  # would be accepted, were it not for its company


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    """Without a worker, and with something in it that could be changed."""
    folder = tmp_path_factory.mktemp("bad_input")
    with running_for_module("api", data_dir=folder / "data") as it:
        yield it


@pytest.fixture
async def api(server: Webloom) -> AsyncIterator[Api]:
    """Whatever was sent: the queue and the inventory are as before, and the API answers."""
    async with calling(server) as api:
        await api.submit("http://known.test/")
        before = await api.contents()
        yield api
        assert await api.contents() == before
        await api.ready()
        assert "a request failed" not in server.log


# Bytes, the status, a part of the detail, the reason of the row.
NOT_JSON: list[tuple[bytes, int, str, str]] = [
    (b"", 400, "it is empty", "nothing"),
    (b" \r\n\t", 400, "it is empty", "white space"),
    (b"url=http://good.test/", 400, "not JSON", "a form"),
    (b"<url>http://good.test/</url>", 400, "not JSON", "XML"),
    (b"{'url': 'http://good.test/'}", 400, "not JSON", "Python"),
    (b'{"url": "http://good.test/"', 400, "truncated", "cut"),
    (b'{"url": "http://good.test/",}', 400, "not JSON", "a comma at the end"),
    (b'{"url": "http://good.test/"}}', 400, "malformed", "more behind the end"),
    (b'{"url": NaN}', 400, "not JSON", "not a number"),
    (b'{"url": "http://good.test/\x00"}', 400, "not JSON", "a raw NUL"),
    (b'{"url": "http://good.test/\xff"}', 400, "utf-8", "bytes that are not UTF-8"),
    (b'{"url": "http://good.test/\xed\xa0\x80"}', 400, "utf-8", "a surrogate in UTF-8"),
    (b'{"url": "http://good.test/\\ud800"}', 400, "surrogate", "half of a pair, at the end"),
    (b'{"url": "http://good.test/\\ud800abcdef"}', 400, "surrogate", "the first half of a pair"),
    (b'{"url": "http://good.test/\\udc00abcdef"}', 400, "surrogate", "the second half of a pair"),
    (b'{"url": "http://good.test/\\ud800\\ud800"}', 400, "surrogate", "two first halves"),
    (b'\xff\xfe{\x00"\x00', 400, "not JSON", "UTF-16"),
    (b"\x80\x04\x95\x00.", 400, "not JSON", "a pickle"),
    (b"\x1f\x8b\x08\x00\x00", 400, "not JSON", "gzip"),
    (bytes(1000), 400, "not JSON", "zeros"),
]  # fmt: skip

ONE_WRONG: list[tuple[bytes, int, str, str]] = [
    *NOT_JSON,
    (b"null", 422, "expected an object", "null"),
    (b"1", 422, "expected an object", "a number"),
    (b'"http://good.test/"', 422, "expected an object", "a string"),
    (b'["http://good.test/"]', 422, "expected an object", "an array"),
    (b'[{"url": "http://good.test/"}]', 422, "expected an object", "an array of objects"),
    (b"{}", 422, "missing required field `url`", "no URL"),
    (b'{"URL": "http://good.test/"}', 422, "unknown field `URL`", "another case"),
    (b'{"url": null}', 422, "expected a string, got null", "a URL that is null"),
    (b'{"url": 1}', 422, "expected a string, got a whole number", "a URL that is a number"),
    (b'{"url": true}', 422, "expected a string, got true or false", "a URL that is true"),
    (b'{"url": ["http://good.test/"]}', 422, "expected a string, got an array", "URLs"),
    (b'{"url": {"$ne": null}}', 422, "expected a string, got an object", "an operator"),
    (b'{"url": ' + b"9" * 5000 + b"}", 422, "$.url", "5,000 digits"),
    (b'{"url": 9223372036854775808}', 422, "$.url", "more than 63 bits"),
    (b'{"url": "http://good.test/", "a": 1}', 422, "unknown field `a`", "an unknown field"),
    (b'{"url": "http://good.test/", "request_id": "x"}', 422, "unknown", "a field of the answer"),
    (b'{"url": "http://good.test/\\u0000"}', 422, "control character", "an escaped NUL"),
    (b'{"url": "http://good.test/\\nX: y"}', 422, "control character", "a line break"),
    (b'{"url": "http://good.test/' + b"a" * 8192 + b'"}', 422, "longer than 8192", "over 8 KB"),
    (b'{"url": "http://good.test/' + b"a" * 900_000 + b'"}', 422, "8192", "far over 8 KB"),
    (b'{"url": "http://good.test/' + b"\\u00e9" * 3000 + b'"}', 422, "8192", "8 KB once encoded"),
    (b"[" * DEEP, 422, NESTED, "deep, and never closed"),
    (b"[" * DEEP + b"]" * DEEP, 422, NESTED, "deep arrays"),
    (b'{"url":' * DEEP + b"1" + b"}" * DEEP, 422, NESTED, "deep objects"),
    (b'{"a":' * DEEP + b"1" + b"}" * DEEP, 422, NESTED, "deep under an unknown field"),
    (b'{"url": "http://good.test/", "a": ' + b"[" * DEEP + b"]" * DEEP + b"}", 422, NESTED,
     "deep beside a good URL"),
    (b'{"a":' + b"[" * 63 + b"]" * 63 + b"}", 422, "unknown field `a`", "as deep as may be"),
    (b'{"a":' + b"[" * 64 + b"]" * 64 + b"}", 422, NESTED, "one level deeper"),
    (b" " * (MEBIBYTE + 1), 413, "1048576 bytes", "one byte over 1 MiB"),
    (b'{"url": "http://good.test/' + b"a" * MEBIBYTE + b'"}', 413, "1048576", "over 1 MiB"),
]  # fmt: skip

BATCH_WRONG: list[tuple[bytes, int, str, str]] = [
    *((b"[" + row[0] if row[0].startswith(b"{") else row[0], *row[1:]) for row in NOT_JSON),
    (b"null", 422, "expected an array", "null"),
    (b"{}", 422, "expected an array", "an object"),
    (b'{"urls": ["http://good.test/"]}', 422, "expected an array", "an array in an object"),
    (b'"http://good.test/"', 422, "expected an array", "a string"),
    (b'["http://good.test/", 1]', 422, "$[1]", "a number among URLs"),
    (b'["http://good.test/", null]', 422, "$[1]", "null among URLs"),
    (b'["http://good.test/", ["http://good.test/"]]', 422, "$[1]", "an array among URLs"),
    (b'["http://good.test/", {}]', 422, "$[1]", "an empty object among URLs"),
    (b'["http://good.test/", {"url": 1}]', 422, "$[1].url", "a wrong type among URLs"),
    (b'[{"url": "http://good.test/", "a": 1}]', 422, "unknown field `a`", "an unknown field"),
    (b"[" * DEEP + b"]" * DEEP, 422, NESTED, "deep arrays"),
    (b'["http://good.test/", ' + b'{"url":' * DEEP + b"1" + b"}" * DEEP + b"]", 422, NESTED,
     "deep objects"),
    (b" " * (16 * MEBIBYTE + 1), 413, "16777216 bytes", "over 16 MiB"),
]  # fmt: skip

LINES_WRONG: list[tuple[bytes, int, str, str]] = [
    (b"http://good.test/", 400, "Line 1", "a URL without quotes"),
    (b'["http://good.test/"]', 422, "Line 1", "an array"),
    (b'"http://good.test/"\nnull', 422, "Line 2", "null"),
    (b'"http://good.test/"\n\n{"url": 1}', 422, "Line 3", "a wrong type"),
    (b'"http://good.test/"\n{"url": "http://a.test/", "b": 1}', 422, "Line 2", "an unknown field"),
    (b'"http://good.test/"\r"http://good.test/"', 400, "Line 1", "lines that end as on old Macs"),
    (b'"http://good.test/"\n"\\ud800"', 400, "surrogate", "half of a pair"),
    (b'"http://good.test/"\n"\xff"', 400, "Line 2", "bytes that are not UTF-8"),
    (b'"http://good.test/"\n' + b"[" * DEEP, 422, "Line 2", "deep arrays"),
    (b'"http://good.test/"\n' + b"\n" * (16 * MEBIBYTE), 413, "16777216", "over 16 MiB"),
]  # fmt: skip

WRONG = [
    *((ONE, {}, *row) for row in ONE_WRONG),
    *((BATCH, {}, *row) for row in BATCH_WRONG),
    *((BATCH, LINES, *row) for row in LINES_WRONG),
]


@pytest.mark.parametrize(
    ("path", "headers", "content", "status", "part", "why"),
    WRONG,
    ids=[f"{'lines' if row[1] else row[0]}: {row[5]}" for row in WRONG],
)
async def test_a_wrong_body_gets_a_clear_answer_and_changes_nothing(
    api: Api, path: str, headers: dict[str, str], content: bytes, status: int, part: str, why: str
) -> None:
    answer = await api.call("POST", path, data=content, headers=headers)
    assert answer.is_problem(status, part)
    assert len(answer.text) < 1000  # what was sent is not sent back


@pytest.mark.parametrize(
    ("path", "limit"), [(ONE, MEBIBYTE), (BATCH, 16 * MEBIBYTE)], ids=["one URL", "a batch"]
)
async def test_a_body_that_does_not_say_its_size_is_bounded_too(
    api: Api, server: Webloom, path: str, limit: int
) -> None:
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    answer, sent = await send_endlessly(server, head.encode(), chunk)
    assert answer.startswith(b"HTTP/1.1 413")
    assert f"{limit} bytes".encode() in answer
    assert sent < limit + 64 * MEBIBYTE


async def send_endlessly(server: Webloom, head: bytes, piece: bytes) -> tuple[bytes, int]:
    """What came back, and how much could be sent until it came. By a socket: a stream forgets what
    it has read when the connection is reset, as it is while one goes on sending."""
    loop, url = asyncio.get_running_loop(), URL(server.base)
    answer, sent = b"", 0
    with socket.create_connection((url.host or "", url.port or 0)) as connection:
        connection.setblocking(False)

        async def send() -> None:
            nonlocal sent
            with suppress(ConnectionError):
                await loop.sock_sendall(connection, head)
                while sent < 512 * MEBIBYTE:
                    await loop.sock_sendall(connection, piece)
                    sent += len(piece)
                    await asyncio.sleep(0)  # no other is let in while all is taken at once

        sending = asyncio.create_task(send())
        try:
            with suppress(ConnectionError):
                async with asyncio.timeout(TIMEOUT_SECONDS):
                    while not is_whole(answer) and (
                        more := await loop.sock_recv(connection, 65536)
                    ):
                        answer += more
        finally:
            sending.cancel()
            await asyncio.wait([sending])
    return answer, sent


def is_whole(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head)
    return bool(end) and (length is None or len(body) >= int(length[1]))


ANNOUNCED = [
    ("1048577", 413, "one byte too many"),
    ("99999999999999999999999999999999", 400, "beyond numbers"),
    ("-1", 400, "less than nothing"),
    ("many", 400, "a word"),
    ("1_000", 400, "a number as Python writes it"),
]


@pytest.mark.parametrize(("length", "status", "why"), ANNOUNCED, ids=[row[2] for row in ANNOUNCED])
async def test_a_body_is_refused_by_the_size_that_it_announces(
    api: Api, server: Webloom, length: str, status: int, why: str
) -> None:
    """Before a byte of it has come."""
    head = f"POST /metadata HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\n\r\n"
    answer = await _exchanged(server.port, head.encode())
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())


NOT_HTTP = [
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(50), "a TLS greeting"),
    (b"hello\r\n\r\n", "a word"),
    (b"GET / HTTP/9.9\r\n\r\n", "a version that there is not"),
    (b"POST /metadata HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
     "two sizes"),
    (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
     "a size and chunks"),
    (b"POST /metadata HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
     "a chunk without a size"),
]  # fmt: skip


@pytest.mark.parametrize(("sent", "why"), NOT_HTTP, ids=[row[1] for row in NOT_HTTP])
async def test_what_is_not_http_is_refused(
    api: Api, server: Webloom, sent: bytes, why: str
) -> None:
    answer = await _exchanged(server.port, sent)
    assert answer.startswith(b"HTTP/1.1 4"), answer


async def _exchanged(port: int, sent: bytes) -> bytes:
    """What comes back first, for bytes that no client would send."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with closing(writer):
        writer.write(sent)
        async with asyncio.timeout(TIMEOUT_SECONDS):
            return await reader.read(4096)


async def test_a_body_that_never_comes_leaves_the_others_alone(api: Api, server: Webloom) -> None:
    head = b"POST /metadata HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{"
    writers = []
    for _ in range(100):
        _, writer = await asyncio.open_connection(
            "127.0.0.1", server.port, local_addr=("127.66.0.1", 0)
        )
        writer.write(head)
        writers.append(writer)
    async with asyncio.timeout(TIMEOUT_SECONDS):
        assert (await api.call("GET", "/health/live")).status == 200
        assert (await api.submit("http://known.test/")).status == 202
    for writer in writers:
        writer.close()


UNKNOWN = [
    ("GET", "/api/nothing", 404, "a path that there is not"),
    ("GET", "/metadata/../../etc/passwd", 404, "out of the tree"),
    ("GET", "/metadata/%2e%2e%2fetc%2fpasswd", 404, "out of the tree, encoded"),
    ("GET", "/metadata/%00", 404, "NUL in a path"),
    ("PUT", "/metadata", 405, "a method that the path does not know"),
    ("PATCH", "/metadata", 405, "another"),
    ("GET", "/metadata/batch", 405, "looking at a batch"),
    ("DELETE", "/metadata/records", 405, "dropping all records"),
    ("POST", "/health", 405, "posting to health"),
    ("OPTIONS", "/metadata", 405, "what a browser asks before it posts"),
    ("TRACE", "/metadata", 405, "an echo"),
]


@pytest.mark.parametrize(
    ("method", "path", "status", "why"), UNKNOWN, ids=[row[3] for row in UNKNOWN]
)
async def test_an_unknown_path_or_method_is_a_problem_document(
    api: Api, method: str, path: str, status: int, why: str
) -> None:
    answer = await api.call(method, URL(api.base + path, encoded=True))
    assert answer.is_problem(status)
    assert "access-control-allow-origin" not in answer.headers


async def test_a_mistake_of_ours_is_a_problem_that_reveals_no_secrets(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No request is known that causes one, so that here the store is broken on purpose."""

    async def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a mistake of ours, with a secret in it")

    settings = load_settings({"WEBLOOM_DATA_DIR": str(tmp_path)})
    async with open_services(settings) as services:
        stopping = asyncio.Event()
        monkeypatch.setattr(services.store, "page_of_records", broken)
        beat = first_beat(services, "api")
        app = create_app(services, beat, Activity(services, beat, stopping), stopping)
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": "/metadata/records",
            "query_string": b"",
            "headers": [(b"host", b"127.0.0.1")],
            "server": ("127.0.0.1", settings.port),
        }
        await app(scope, receive, send)
    start, body = sent
    assert start["status"] == 500
    assert (b"content-type", PROBLEM.encode()) in start["headers"]
    problem = msgspec.json.decode(body["body"])
    assert problem["status"] == 500
    assert "secret" not in problem["detail"]
    assert "a mistake of ours" in caplog.text


@pytest.mark.parametrize(
    "piece",
    [
        pytest.param(b"x" * 1024, id="one endless header"),
        pytest.param(b"x: y\r\n" * 200, id="endless small headers"),
    ],
)
async def test_the_head_of_a_request_is_bounded(api: Api, server: Webloom, piece: bytes) -> None:
    head = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Large: "
    answer, sent = await send_endlessly(server, head, piece)
    assert answer.startswith((b"HTTP/1.1 431", b"HTTP/1.1 400"))
    assert sent < 64 * MEBIBYTE
