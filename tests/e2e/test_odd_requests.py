"""Malformed and endless requests: each gets a clear response, or none, and costs little."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import closing

import pytest

from e2e.api_client import Api, calling
from e2e.running import Webloom, running_for_module, until_some
from e2e.test_api_bad_input import MEBIBYTE, send_endlessly
from timeouts import TIMEOUT_SECONDS

PAGE = "jobId=shop&url=https%3A%2F%2Fshop.test%2Fcoat"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    with running_for_module("up", data_dir=tmp_path_factory.mktemp("hostile") / "data") as it:
        yield it


@pytest.fixture
async def api(server: Webloom) -> AsyncIterator[Api]:
    async with calling(server) as api:
        yield api
        assert "a request failed" not in server.log


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/api/watch/pages?changedSince=", id="a time"),
        pytest.param(f"/api/watch/pages/versions?{PAGE}&cursor=", id="a version"),
    ],
)
async def test_a_number_may_be_left_empty(api: Api, path: str) -> None:
    assert (await api.raw(path)).status == 200


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/api/watch/pages?changedSince=-1", "changedSince"),
        ("/api/watch/pages?changedSince=253402300800000", "changedSince"),
        (f"/api/watch/pages/versions?{PAGE}&cursor=0", "cursor"),
        (f"/api/watch/pages/versions?{PAGE}&cursor=9007199254740993", "cursor"),
    ],
)
async def test_a_number_has_bounds(api: Api, path: str, name: str) -> None:
    assert (await api.raw(path)).is_problem(422, f"{name}: ")


async def test_a_price_without_a_currency_has_an_empty_cell(api: Api) -> None:
    event = {"jobId": "shop", "url": "https://shop.test/coat", "ts": 1, "price": {"current": 5}}
    assert (await api.call("POST", "/api/watch/events", json=event)).status == 202

    async def row() -> str | None:
        table = (await api.raw(f"/api/watch/pages/prices?{PAGE}&format=csv")).text
        return next(iter(table.splitlines()[1:]), None)

    assert (await until_some(row, what="the price")).split(",")[2:4] == ["5", ""]


@pytest.mark.parametrize(
    "piece",
    [
        pytest.param(b"x" * 1024, id="one endless trailer"),
        pytest.param(b"x: y\r\n" * 200, id="endless small trailers"),
    ],
)
async def test_what_follows_a_body_is_bounded(api: Api, server: Webloom, piece: bytes) -> None:
    head = (
        b"POST /metadata HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"2\r\n{}\r\n0\r\nX-Large: "
    )
    answer, sent = await send_endlessly(server, head, piece)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 431 ")  # it would be 408, in the end
    assert sent < 64 * MEBIBYTE


async def test_a_body_of_tiny_chunks_with_long_names_is_taken(api: Api, server: Webloom) -> None:
    """What stands between the pieces of a body may be more than the bound in all."""
    body = b'{"url": "http://known.test/"}'
    chunks = b"".join(b"1;%b\r\n%b\r\n" % (b"x" * 8000, bytes([each])) for each in body)
    head = b"POST /metadata HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    with closing(writer):
        writer.write(head + chunks + b"0\r\nX-Sum: 1\r\n\r\n")
        async with asyncio.timeout(TIMEOUT_SECONDS):
            assert (await reader.readline()).startswith(b"HTTP/1.1 202 ")
