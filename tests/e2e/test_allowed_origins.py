"""A UI that is hosted elsewhere: which pages may use the API, and what they see."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from e2e.api_client import Api, calling
from e2e.feed_site import listening
from e2e.running import Webloom, environment, finished, running, running_for_module
from servers.private import free_port

KEY = "wl_a-key-for-a-ui-elsewhere"
UI = "https://ui.example.org"
OTHER = "http://localhost:3000"
BEARER = {"Authorization": f"Bearer {KEY}"}
FROM_UI = {"Origin": UI, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}
ASKED = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
REFUSED = [
    ("https://evil.example", "another site"),
    ("http://ui.example.org", "another scheme"),
    ("https://ui.example.org:8443", "another port"),
    ("https://ui.example.org.evil.example", "a name that begins like it"),
    ("https://evil-ui.example.org", "a name that ends like it"),
    ("null", "a sandboxed page"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    folder = tmp_path_factory.mktemp("origins")
    with running_for_module(
        "api", data_dir=folder / "data", allow_origins=f"{UI}, {OTHER}/", api_keys=KEY
    ) as it:
        yield it


@pytest.fixture
async def api(server: Webloom) -> AsyncIterator[Api]:
    async with calling(server) as api:
        yield api


def cors(headers: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.startswith("access-control")}


@pytest.mark.parametrize("path", ["/metadata", "/api/feeds", "/api/live", "/health", "/api/none"])
@pytest.mark.parametrize("origin", [UI, OTHER])
async def test_the_preflight_of_an_allowed_origin_lists_what_it_may_send(
    api: Api, path: str, origin: str
) -> None:
    answer = await api.call("OPTIONS", path, headers=FROM_UI | ASKED | {"Origin": origin})
    assert (answer.status, answer.text) == (204, "")
    reported = cors(answer.headers)
    assert reported["access-control-allow-origin"] == origin
    assert {"GET", "POST", "PATCH", "DELETE"} <= set(
        reported["access-control-allow-methods"].split(", ")
    )
    sent = reported["access-control-allow-headers"].lower().split(", ")
    assert {"authorization", "x-api-key", "content-type", "last-event-id"} <= set(sent)
    assert int(reported["access-control-max-age"]) > 0
    assert "access-control-allow-credentials" not in reported  # keys are not cookies
    assert "Origin" in answer.headers["vary"]


@pytest.mark.parametrize(("origin", "why"), REFUSED, ids=[row[1] for row in REFUSED])
async def test_another_origin_is_refused_without_cors_headers(
    api: Api, origin: str, why: str
) -> None:
    before = (await api.call("GET", "/metadata/records", headers=BEARER)).body["data"]
    headers = FROM_UI | {"Origin": origin}
    answers = [
        await api.call("OPTIONS", "/metadata", headers=headers | ASKED),
        await api.call("GET", "/metadata/records", headers=headers | BEARER),
        await api.call("GET", "/api/live?topics=queues", headers=headers | BEARER),
        await api.call(
            "POST", "/metadata", json={"url": "http://a.test/"}, headers=headers | BEARER
        ),
    ]
    for answer in answers:
        assert answer.is_problem(403, "pages of")
        assert cors(answer.headers) == {}
    after = (await api.call("GET", "/metadata/records", headers=BEARER)).body["data"]
    assert after == before


async def test_a_named_origin_sends_its_key_and_reads_the_answers(api: Api) -> None:
    sent = await api.call(
        "POST", "/metadata", json={"url": "http://a.test/ui"}, headers=FROM_UI | BEARER
    )
    assert sent.status == 202
    found = await api.call("GET", "/metadata/records", headers=FROM_UI | {"X-API-Key": KEY})
    assert found.status == 200
    assert [each["url"] for each in found.body["data"]] == ["http://a.test/ui"]
    for answer in (sent, found):
        assert answer.headers["access-control-allow-origin"] == UI
        assert "retry-after" in answer.headers["access-control-expose-headers"].lower()


async def test_a_named_origin_still_needs_a_key_and_can_read_that(api: Api) -> None:
    without = await api.call("GET", "/metadata/records", headers=FROM_UI)
    wrong = await api.call(
        "GET", "/metadata/records", headers=FROM_UI | {"Authorization": "Bearer wl_unknown-key-01"}
    )
    missing = await api.call("GET", "/api/none", headers=FROM_UI | BEARER)
    assert [each.status for each in (without, wrong, missing)] == [401, 403, 404]
    for answer in (without, wrong, missing):
        assert answer.headers["access-control-allow-origin"] == UI


@pytest.mark.parametrize("path", ["/api/import-logs/stream", "/api/live?topics=queues"])
async def test_streams_can_be_read_from_a_named_origin(api: Api, path: str) -> None:
    async with listening(api, path, headers=FROM_UI | BEARER) as stream:
        assert stream.response.headers["access-control-allow-origin"] == UI
        assert await stream.response.content.readline() == b"retry: 2000\n"


async def test_a_request_without_its_origin_is_judged_by_the_site(api: Api) -> None:
    """A link or a picture on a page of the named origin: browsers send no Origin with them."""
    headers = BEARER | {"Sec-Fetch-Site": "cross-site"}
    assert (await api.call("GET", "/metadata/records", headers=headers)).is_problem(403, "pages of")


async def test_responses_vary_by_origin_for_caches(api: Api) -> None:
    plain = await api.call("GET", "/metadata/records", headers=BEARER)
    assert (plain.status, plain.headers["vary"]) == (200, "Origin")
    assert cors(plain.headers) == {}


async def test_a_named_origin_may_not_use_another_name_of_the_api(api: Api) -> None:
    headers = FROM_UI | BEARER | {"Host": "rebound.example"}
    assert (await api.call("GET", "/metadata/records", headers=headers)).status == 421


async def test_every_origin_may_be_allowed_where_there_are_no_keys(tmp_path: Path) -> None:
    async with running("api", data_dir=tmp_path / "data", allow_origins="*") as it:
        api = Api(it.client, it.base)
        preflight = await api.call("OPTIONS", "/metadata", headers=FROM_UI | ASKED)
        sent = await api.call("POST", "/metadata", json={"url": "http://a.test/"}, headers=FROM_UI)
        sandboxed = await api.call("GET", "/health", headers=FROM_UI | {"Origin": "null"})
    assert (preflight.status, sent.status, sandboxed.status) == (204, 202, 403)
    assert preflight.headers["access-control-allow-origin"] == "*"
    assert sent.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize(("origins", "is_reported"), [("*", True), (UI, False)])
async def test_doctor_warns_of_every_origin(
    tmp_path: Path, origins: str, is_reported: bool
) -> None:
    env = environment(tmp_path / "data", port=free_port(), allow_origins=origins)
    doctor = await finished("doctor", env=env)
    assert ("any web page in your browser can use this API" in doctor.stdout) == is_reported


BAD = [
    ("https://ui.example.org/admin", "https://ui.example.org/admin has more than", "a path"),
    ("*", "name the origins", "every origin, and keys"),
]


@pytest.mark.parametrize(("origins", "reason", "why"), BAD, ids=[row[2] for row in BAD])
async def test_it_does_not_start_with_bad_origins(
    tmp_path: Path, origins: str, reason: str, why: str
) -> None:
    env = environment(tmp_path / "data", port=free_port(), allow_origins=origins, api_keys=KEY)
    ended = await finished("api", env=env)
    assert ended.returncode == 2
    assert ended.stderr.startswith("webloom: WEBLOOM_ALLOW_ORIGINS: got ")
    assert reason in ended.stderr
    assert not (tmp_path / "data").exists()
