"""How the files of the admin UI are served; what they do is tested in a browser."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from yarl import URL

from e2e.api_client import Api, calling
from e2e.running import Webloom, running_for_module

SCRIPT = re.compile(rb"<script(?:\s[^>]*)?>(.*?)</script>", re.DOTALL)


@pytest.fixture(scope="module")
def webloom(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    with running_for_module("api", data_dir=tmp_path_factory.mktemp("ui") / "data") as it:
        yield it


@pytest.fixture
async def api(webloom: Webloom) -> AsyncIterator[Api]:
    async with calling(webloom) as api:
        yield api


@pytest.mark.parametrize(
    "path", ["/", "/import-history", "/import-history/any-run", "/watch/a%2Fb"]
)
async def test_a_page_names_each_script_that_it_carries(webloom: Webloom, path: str) -> None:
    async with webloom.opened_client() as client, client.get(URL(path, encoded=True)) as answer:
        assert answer.status == 200
        policy = answer.headers["Content-Security-Policy"]
        scripts = [code for code in SCRIPT.findall(await answer.read()) if code]
    assert scripts
    for code in scripts:
        assert base64.b64encode(hashlib.sha256(code).digest()).decode() in policy
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'")


async def test_files_are_packed_and_not_sent_twice(webloom: Webloom) -> None:
    async with webloom.opened_client() as client:
        async with client.get("/feeds", headers={"Accept-Encoding": "identity"}) as plain:
            etag, whole = plain.headers["ETag"], await plain.read()
            assert plain.headers["Cache-Control"] == "no-cache"
        async with client.get("/feeds", headers={"If-None-Match": etag}) as again:
            assert again.status == 304
            assert await again.read() == b""
        script = re.search(rb'src="(/_next/static/[^"]+\.js)"', whole)
        assert script is not None
        async with client.get(script[1].decode(), auto_decompress=False) as packed:
            assert packed.headers["Content-Encoding"] == "gzip"
            assert "immutable" in packed.headers["Cache-Control"]
            assert packed.headers["Content-Type"].startswith("application/javascript")
            assert gzip.decompress(await packed.read())


@pytest.mark.parametrize(
    "path",
    [
        "/../settings.py",
        "/%2e%2e/settings.py",
        "/..%2f..%2fpyproject.toml",
        "/.stamp",
        "//etc/passwd",
    ],
)
async def test_nothing_else_of_the_disk_is_served(api: Api, path: str) -> None:
    answer = await api.call("GET", URL(api.base + path, encoded=True))
    assert answer.status == 404
    assert "Page not found" in answer.text


async def test_an_unknown_route_of_the_api_is_a_problem(api: Api) -> None:
    for path in ("/api/nothing", "/metadata/nothing", "/health/nothing"):
        assert (await api.call("GET", path)).is_problem(404)
    assert (await api.call("GET", "/api/import/run")).is_problem(405)


async def test_a_page_may_be_linked_to_from_elsewhere_and_the_api_not(api: Api) -> None:
    elsewhere = {"Sec-Fetch-Site": "cross-site"}
    assert (await api.call("GET", "/watch", headers=elsewhere)).status == 200
    assert (await api.call("GET", "/api/watches", headers=elsewhere)).is_problem(403)


async def test_an_installation_without_it_says_how_to_get_it(tmp_path: Path) -> None:
    from starlette.requests import Request

    from webloom.entrypoints.api.ui import AdminUi

    request = Request({"type": "http", "raw_path": b"/", "headers": []})
    answer = await AdminUi(tmp_path / "nothing").respond(request)
    assert b"make setup" in bytes(answer.body)
