"""What the API does is what its OpenAPI document says: Schemathesis, with a fixed seed.

It sends requests that the document allows and requests that it forbids, and looks at status,
headers and body of each response.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.api_client import calling
from e2e.running import Webloom, running_for_module
from webloom.entrypoints.api.openapi import TAGS

_ID = re.compile(r"\{\w+\}")
HERE = Path(__file__).parent
PARTS = [("metadata", "addresses", "queues", "backup", "installation"),
         ("feeds", "imports", "jobs"), ("watches",),
         ("watch runs", "watched pages", "inbox")]  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    data_dir = tmp_path_factory.mktemp("conformance") / "data"
    with running_for_module("api", data_dir=data_dir, queue_limit=1_000_000) as it:
        yield it


@pytest.mark.timeout(300)  # some hundreds of requests each, on a machine that does other things
@pytest.mark.parametrize("tags", PARTS, ids=", ".join)
async def test_responses_match_the_openapi_document(
    server: Webloom, tags: tuple[str, ...], tmp_path: Path
) -> None:
    chosen = [option for tag in tags for option in ("--include-tag", tag)]
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("st"),
        *("--config-file", HERE / "schemathesis.toml"),
        *("run", f"{server.base}/openapi.json", *chosen),
        cwd=tmp_path,
        env=os.environ | {"SCHEMATHESIS_HOOKS": str(HERE / "openapi_formats.py")},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    assert "a request failed" not in server.log


def test_each_tag_is_tried() -> None:
    assert {tag for tags in PARTS for tag in tags} == TAGS.keys()


async def test_the_example_of_each_body_is_accepted(server: Webloom) -> None:
    async with calling(server) as api:
        document = (await api.call("GET", "/openapi.json")).body
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                body = operation.get("requestBody", {}).get("content", {}).get("application/json")
                if body is None:
                    continue
                address = _ID.sub("x", path.replace("{queue}", "import-feed"))
                answer = await api.call(method.upper(), address, json=body["example"])
                fetches = path.endswith(("preview", "recognise"))  # which nothing is there for
                # 404: what it names is not there; 409: another example has added it already.
                accepted = (200, 201, 202, 404, 409, *([422] if fetches else []))
                assert answer.status in accepted, f"{method} {path}: {answer.text}"


async def test_the_docs_show_every_operation_without_a_script_or_another_site(
    server: Webloom,
) -> None:
    async with calling(server) as api:
        document = (await api.call("GET", "/openapi.json")).body
        page = await api.call("GET", "/docs")
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    operations = [each for path in document["paths"].values() for each in path.values()]
    assert len({each["summary"] for each in operations}) == len(operations)
    for operation in operations:
        assert f"id='{operation['operationId']}'" in page.text
        assert operation["tags"]
    assert "<script" not in page.text
    assert "src=" not in page.text
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    schemes = document["components"]["securitySchemes"]
    assert {each["type"] for each in schemes.values()} == {"http", "apiKey"}
