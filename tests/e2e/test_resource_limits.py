"""Hostile clients take no more than their share of memory and
connections; others are served meanwhile."""

from __future__ import annotations

import asyncio
import random
import socket
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from attacks import ATTACKER, connected, is_open, many_headers, memory, open_files, request
from e2e.api_client import Api, calling, calling_from
from e2e.running import Webloom, environment, running_for_module, until
from servers.private import free_port
from timeouts import TIMEOUT_SECONDS
from webloom.bootstrap.connections import open_services
from webloom.domain.inventory import Attempt, Completed, FetchRequest, Received
from webloom.entrypoints.api import bounded_http
from webloom.entrypoints.api.bounded_http import MAX_HEAD_BYTES, MAX_HEADERS
from webloom.entrypoints.api.server import listen, serve
from webloom.settings import load_settings

MIB = 1 << 20
MOST_MEMORY = 512 * MIB
LARGE = "http://large.test/page"
LARGE_PATH = "/metadata/source?url=http%3A%2F%2Flarge.test%2Fpage"
SOURCE = random.Random(15).randbytes(7_500_000 // 2).hex()


async def store_large_record(data_dir: Path) -> None:
    async with open_services(load_settings({"WEBLOOM_DATA_DIR": str(data_dir)})) as services:
        request = FetchRequest(url=LARGE, request_id="1")
        attempt = await services.store.begin_attempt(request, lease=15)
        assert isinstance(attempt, Attempt)
        page = Received(
            status_code=200, headers={}, cookies={}, page_source=SOURCE, final_url=LARGE, details={}
        )
        assert await services.store.finish_attempt(attempt, Completed(received=page))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    data_dir = tmp_path_factory.mktemp("limits") / "data"
    asyncio.run(store_large_record(data_dir))
    with running_for_module("api", data_dir=data_dir) as it:
        yield it


@pytest.fixture
async def api(server: Webloom) -> AsyncIterator[Api]:
    async with calling(server) as api:
        yield api


async def first_line(port: int, *pieces: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(ATTACKER, 0))
    with closing(writer):
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        async with asyncio.timeout(TIMEOUT_SECONDS):
            return await reader.readline()


HEAD = b"GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n"
HEADS = [
    ((HEAD + b"a: b\r\n" * (MAX_HEADERS - 1) + b"\r\n",), b"200", "as many as there may be"),
    ((HEAD + b"a: b\r\n" * MAX_HEADERS + b"\r\n",), b"431", "one more"),
    ((HEAD + b"a:\r\n" * (MAX_HEADERS + 1),), b"431", "one more, of a head that has no end"),
    ((HEAD + b"a: " + b"x" * MAX_HEAD_BYTES + b"\r\n\r\n",), b"431", "a large one in one read"),
    ((HEAD + b"a: " + b"x" * 60_000, b"x" * 10_000), b"431", "a large one in two"),
    ((b"GET /" + b"x" * MAX_HEAD_BYTES + b" HTTP/1.1\r\n\r\n",), b"431", "a long path"),
]


@pytest.mark.parametrize(("pieces", "status", "why"), HEADS, ids=[row[2] for row in HEADS])
async def test_a_head_is_bounded_in_bytes_and_in_headers(
    server: Webloom, pieces: tuple[bytes, ...], status: bytes, why: str
) -> None:
    assert (await first_line(server.port, *pieces)).split()[1] == status


async def test_a_head_behind_another_request_is_bounded_too(server: Webloom) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    with closing(writer):
        writer.write(HEAD + b"\r\n" + HEAD + b"a: b\r\n" * 5_000 + b"\r\n")
        async with asyncio.timeout(TIMEOUT_SECONDS):
            everything = await reader.read()
    assert b"HTTP/1.1 200 " not in everything.partition(b"\r\n\r\n")[2]


async def test_endless_headers_of_many_connections_cost_little(api: Api, server: Webloom) -> None:
    addresses = tuple(f"127.66.1.{number}" for number in range(1, 5))
    async with connected(server.port, 400, many_headers(), addresses=addresses):
        for _ in range(20):
            assert (await api.call("GET", "/health/live")).status == 200
    assert memory(server.pid)[1] < MOST_MEMORY


async def test_what_is_no_request_gets_a_problem_with_security_headers(server: Webloom) -> None:
    for sent in (b"hello\r\n\r\n", HEAD + b"a: b\r\n" * 200 + b"\r\n"):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        with closing(writer):
            writer.write(sent)
            async with asyncio.timeout(TIMEOUT_SECONDS):
                answer = (await reader.read(4096)).lower()
        for header in (b"x-content-type-options: nosniff", b"cache-control: no-store"):
            assert header in answer
        assert b"application/problem+json" in answer


async def test_idle_connections_make_room_for_new_ones(api: Api, server: Webloom) -> None:
    before = open_files(server.pid)
    async with connected(server.port, 1_100) as opened:
        async with calling_from(ATTACKER, server.base) as same:
            for client in (api, same):
                for _ in range(20):
                    assert (await client.call("GET", "/health")).status == 200
        assert open_files(server.pid) - before <= 110
        assert sum(map(is_open, opened)) <= 100
    reported = server.log.count("WEBLOOM_CONNECTIONS_PER_ADDRESS")
    assert 1 <= reported <= 5, "not one for each connection"


async def test_a_client_with_busy_connections_gets_no_more(server: Webloom, api: Api) -> None:
    async with connected(server.port, 100, request(LARGE_PATH)):
        line = await first_line(server.port, HEAD + b"\r\n")
        assert line.split()[1] == b"429"
        assert (await api.call("GET", "/health/live")).status == 200


async def test_clients_that_read_nothing_cost_little_memory(server: Webloom, api: Api) -> None:
    addresses = ("127.66.2.1", "127.66.2.2")
    async with connected(server.port, 200, request(LARGE_PATH), addresses=addresses):
        for _ in range(20):
            assert (await api.call("GET", "/metadata/records")).status == 200
    assert memory(server.pid)[1] < MOST_MEMORY
    async with calling_from("127.66.2.3", server.base) as client:

        async def is_served() -> bool:
            answer = await client.call("GET", "/metadata/source", params={"url": LARGE})
            return answer.status == 200 and answer.text == SOURCE

        await until(is_served, what="a large source")
        record = await client.look_up(LARGE)
        assert record.body["metadata"]["page_source"] == SOURCE


async def test_event_streams_of_one_client_are_limited(api: Api, server: Webloom) -> None:
    stream = request("/api/live?topics=overview")
    async with connected(server.port, 50, stream) as opened:
        await until(lambda: all(map(is_open, opened)), what="all streams")
        async with calling_from(ATTACKER, server.base) as same:

            async def is_refused() -> bool:
                return (await same.call("GET", "/api/import-logs/stream")).status == 429

            await until(is_refused, what="a refusal")
            assert (await same.call("GET", "/health/live")).status == 200
        async with api.client.get("/api/live", params={"topics": "overview"}) as other:
            assert other.status == 200


@pytest.mark.parametrize("name", ["Host", "Origin", "Authorization", "X-API-Key"])
async def test_a_header_that_may_be_there_once_is_refused_twice(server: Webloom, name: str) -> None:
    header = f"{name}: http://127.0.0.1:{server.port}\r\n".encode()
    line = await first_line(server.port, HEAD, header, b"" if name == "Host" else header, b"\r\n")
    assert line.split()[1] == b"400"


async def test_a_page_with_another_scheme_is_another_site(api: Api, server: Webloom) -> None:
    host = f"127.0.0.1:{server.port}"
    for scheme, status in (("http", 200), ("https", 403), ("ftp", 403), ("app", 403)):
        answer = await api.call("GET", "/health", headers={"Origin": f"{scheme}://{host}"})
        assert answer.status == status
    vouched = {"Origin": f"https://{host}", "Sec-Fetch-Site": "same-origin"}
    assert (await api.call("GET", "/health", headers=vouched)).status == 200, "a proxy with TLS"


# In this process, with less patience.


@asynccontextmanager
async def serving(data_dir: Path) -> AsyncIterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = load_settings({"WEBLOOM_DATA_DIR": str(data_dir), "WEBLOOM_PORT": str(port)})
    ready, stop = asyncio.Event(), asyncio.Event()
    async with open_services(settings) as services, asyncio.TaskGroup() as group:
        group.create_task(serve(services, listen(settings), ready, stop))
        await ready.wait()
        try:
            yield port
        finally:
            stop.set()


async def test_an_unread_response_is_dropped_and_a_slow_one_completes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_http, "STALLED_SECONDS", 1.0)
    monkeypatch.setattr(bounded_http, "LOOK_SECONDS", 0.2)
    await store_large_record(tmp_path / "data")
    async with serving(tmp_path / "data") as port:
        slow = asyncio.create_task(read_slowly(port, seconds=4.0))
        async with connected(port, 10, request(LARGE_PATH)):
            await until(lambda: len(connections_of(port)) <= 1, what="the end of all but one")
        body = await slow
    assert body == SOURCE.encode()


def connections_of(port: int) -> list[str]:
    """Established ones of a server, as the system has them."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    local = f"{socket.inet_aton('127.0.0.1')[::-1].hex().upper()}:{port:04X}"
    return [line for line in lines if line.split()[1] == local and line.split()[3] == "01"]


async def read_slowly(port: int, seconds: float) -> bytes:
    """Never fast, never standing still."""
    loop = asyncio.get_running_loop()
    with socket.socket() as it:
        it.setblocking(False)
        it.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        await loop.sock_connect(it, ("127.0.0.1", port))
        await loop.sock_sendall(it, request(LARGE_PATH))
        received = bytearray()
        while len(received) < len(SOURCE):
            received += await loop.sock_recv(it, 1 << 17)
            await asyncio.sleep(seconds * (1 << 16) / len(SOURCE))
    return bytes(received.partition(b"\r\n\r\n")[2][: len(SOURCE)])


async def test_connections_in_all_leave_files_for_our_own_work(tmp_path: Path) -> None:
    """With few files that may be open, as a strict service manager has it."""
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        "sh", "-c", 'ulimit -n 200; exec "$0" -m webloom api', sys.executable,
        env=environment(tmp_path / "data", port=port), cwd=tmp_path,
        stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    try:
        async with calling_from("127.0.0.1", f"http://127.0.0.1:{port}") as api:
            await until(api.is_alive, what="the API")
            addresses = tuple(f"127.66.3.{number}" for number in range(1, 11))
            async with connected(port, 400, addresses=addresses):
                for _ in range(20):
                    assert (await api.call("GET", "/health")).status == 200
                assert open_files(process.pid) < 180
        process.terminate()
        assert b"Too many open files" not in await process.stderr.read()
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
