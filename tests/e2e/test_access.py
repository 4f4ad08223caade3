"""Access to the API: keys, hosts, origins."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from yarl import URL

from e2e.api_client import Answer, Api, calling, calling_from
from e2e.running import (
    Webloom,
    environment,
    finished,
    running,
    running_for_module,
)
from servers.private import free_port

KEY = "wl_a-key-of-the-first-client"
HASHED_KEY = "wl_a-key-that-the-server-never-saw"
HASH = hashlib.sha256(HASHED_KEY.encode()).hexdigest()
OPEN = "/health/live"
SHUT = "/metadata/records"


@pytest.fixture(scope="module")
def at_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    """As it starts by default: on loopback, without keys."""
    folder = tmp_path_factory.mktemp("at_home")
    with running_for_module(
        "api", data_dir=folder / "data", allowed_hosts="webloom.lan, proxy.lan:8443"
    ) as it:
        yield it


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    """Bound to every address, though these tests ask it on loopback only."""
    folder = tmp_path_factory.mktemp("outside")
    with running_for_module(
        "api",
        data_dir=folder / "data",
        host="0.0.0.0",
        api_keys=f"{KEY}, sha256:{HASH.upper()}",
        allowed_hosts="webloom.lan",
        log_level="debug",
    ) as it:
        yield it


@pytest.fixture
async def home(at_home: Webloom) -> AsyncIterator[Api]:
    async with calling(at_home) as api:
        yield api


@pytest.fixture
async def api(outside: Webloom) -> AsyncIterator[Api]:
    async with calling(outside) as api:
        yield api


# Keys.


async def test_on_loopback_no_key_is_needed(home: Api) -> None:
    for path in ("/", OPEN, "/metadata/records", "/openapi.json", "/metrics"):
        assert (await home.call("GET", path)).status == 200
    assert (await home.submit("http://example.test/")).status == 202


NOT_LOOPBACK = [
    ("up", "0.0.0.0", "every address"),
    ("api", "0.0.0.0", "the API alone"),
    ("api", "::", "every IPv6 address"),
    ("api", "192.0.2.1", "one address"),
    ("api", "webloom.lan", "a name, which may lead anywhere"),
    ("api", "127.0.0.1.example.test", "a name that looks like loopback"),
]


@pytest.mark.parametrize(
    ("command", "host", "why"), NOT_LOOPBACK, ids=[row[2] for row in NOT_LOOPBACK]
)
async def test_beyond_loopback_it_does_not_start_without_keys(
    tmp_path: Path, command: str, host: str, why: str
) -> None:
    env = environment(tmp_path / "data", host=host, port=free_port())
    ended = await finished(command, env=env)
    assert ended.returncode == 2
    assert "WEBLOOM_HOST" in ended.stderr
    assert repr(host) in ended.stderr
    assert "WEBLOOM_API_KEYS" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "data").exists()


BAD_KEYS = [
    ("short", "fewer than 16 characters", "a key that can be guessed"),
    (f"{KEY},short", "fewer than 16 characters", "one of two"),
    ("sha256:abc", "64 hexadecimal digits", "a hash that is cut"),
    ("sha256:" + "g" * 64, "64 hexadecimal digits", "a hash of other letters"),
    ("0123456789abcdefghi", "fewer than 20 characters", "one that is short for the internet"),
    ("abcabcabcabcabcabcabcabc", "fewer than 10 different", "one of three letters"),
]


@pytest.mark.parametrize(("keys", "reason", "why"), BAD_KEYS, ids=[row[2] for row in BAD_KEYS])
async def test_a_bad_key_is_refused_at_start_and_not_shown(
    tmp_path: Path, keys: str, reason: str, why: str
) -> None:
    env = environment(tmp_path / "data", host="0.0.0.0", port=free_port(), api_keys=keys)
    ended = await finished("api", env=env)
    assert ended.returncode == 2
    assert "WEBLOOM_API_KEYS" in ended.stderr
    assert reason in ended.stderr
    assert keys.split(",")[-1] not in ended.stderr + ended.stdout


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


CREDENTIALS: list[tuple[dict[str, str], int, str]] = [
    ({}, 401, "none"),
    ({"Authorization": ""}, 401, "an empty header"),
    ({"Authorization": "Bearer"}, 401, "no key behind the scheme"),
    ({"Authorization": "Bearer "}, 401, "a space behind the scheme"),
    ({"Authorization": KEY}, 401, "no scheme"),
    ({"Authorization": f"Basic {KEY}"}, 401, "another scheme"),
    ({"X-API-Key": ""}, 401, "an empty key"),
    ({"Cookie": f"api_key={KEY}"}, 401, "a cookie, which a browser sends by itself"),
    (bearer("wl_an-unknown-api-key-0001"), 403, "a wrong key"),
    ({"X-API-Key": "wl_an-unknown-api-key-0001"}, 403, "a wrong key in the other header"),
    (bearer(KEY[:-1]), 403, "a key that is cut"),
    (bearer(KEY + "x"), 403, "a key that goes on"),
    (bearer(KEY.upper()), 403, "the case of a key"),
    (bearer(f"{KEY}, sha256:{HASH}"), 403, "all keys at once"),
    (bearer(HASH), 403, "the hash instead of the key"),
    (bearer(f"sha256:{HASH}"), 403, "what the server was given"),
    (bearer("x" * 8000), 403, "a long key"),
    (bearer("sch\u00fcssel-mit-umlaut"), 403, "a key that is not ASCII"),
    (bearer(KEY), 200, "a right key"),
    ({"Authorization": f"bearer  {KEY}"}, 200, "the case of the scheme"),
    ({"X-API-Key": KEY}, 200, "a right key in the other header"),
    (bearer(HASHED_KEY), 200, "a key that the server knows by its hash"),
    ({"X-API-Key": HASHED_KEY}, 200, "the same in the other header"),
]


@pytest.mark.parametrize(
    ("headers", "status", "why"), CREDENTIALS, ids=[row[2] for row in CREDENTIALS]
)
async def test_a_key_opens_and_nothing_else_does(
    api: Api, headers: dict[str, str], status: int, why: str
) -> None:
    address = f"127.0.3.{[row[2] for row in CREDENTIALS].index(why) + 1}"
    async with calling_from(address, api.base) as client:
        answer = await client.call("GET", "/metadata/records", headers=headers)
    if status == 200:
        assert answer.status == 200
    else:
        assert answer.is_problem(status, "key")
        assert ("www-authenticate" in answer.headers) == (status == 401)
        assert KEY not in answer.text


@pytest.mark.parametrize("name", ["key", "api_key", "token", "access_token", "X-API-Key"])
async def test_a_key_in_the_query_opens_nothing(api: Api, name: str) -> None:
    answer = await api.call("GET", "/metadata/records", params={name: KEY})
    assert answer.is_problem(401)


def every_route(document: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (method.upper(), path) for path, methods in document["paths"].items() for method in methods
    ]


async def test_every_route_but_one_asks_for_a_key(api: Api) -> None:
    document = (await api.call("GET", "/openapi.json", headers=bearer(KEY))).body
    routes = every_route(document)
    assert ("POST", "/metadata") in routes
    routes += [("GET", "/openapi.json"), ("GET", "/api/nothing"), ("GET", "/%6detadata/records")]
    routes += [("HEAD", "/metadata/records"), ("OPTIONS", "/metadata"), ("GET", f"{OPEN}/")]
    routes += [("GET", "/health%2Flive/../metrics"), ("POST", "/metadata/nothing")]
    for number, (method, path) in enumerate(routes, start=1):
        url = URL(api.base + path, encoded=True)
        without = await api.call(method, url)
        async with calling_from(f"127.0.1.{number}", api.base) as stranger:
            wrong = await stranger.call(method, url, headers=bearer("wl_an-unknown-api-key-0001"))
        if path == OPEN:
            assert (without.status, wrong.status) == (200, 200)
        else:
            assert (without.status, wrong.status) == (401, 403), (method, path)


async def test_the_admin_ui_needs_no_key_and_has_no_data(api: Api) -> None:
    for path in ("/", "/inventory", "//metadata/records", "/METADATA/records", "/nothing"):
        shown = await api.call("GET", URL(api.base + path, encoded=True))
        assert shown.status == (200 if path in ("/", "/inventory") else 404)
        assert shown.headers["content-type"].startswith("text/html")
    assert (await api.call("POST", URL(f"{api.base}//metadata", encoded=True))).status == 405


async def test_a_refused_request_does_nothing(api: Api) -> None:
    records = await api.call("GET", "/metadata/records", headers=bearer(KEY))
    refused = await api.submit("http://example.test/refused")
    assert refused.is_problem(401)
    again = await api.call("GET", "/metadata/records", headers=bearer(KEY))
    assert again.body["data"] == records.body["data"]
    assert (await api.call("GET", OPEN)).body == {"status": "ok"}


async def test_keys_are_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(f"{KEY}\n")
    async with running(
        "api", data_dir=tmp_path / "data", host="0.0.0.0", api_keys_file=tmp_path / "keys"
    ) as it:
        api = Api(it.client, it.base)
        assert (await api.call("GET", SHUT)).status == 401
        assert (await api.call("GET", SHUT, headers=bearer(KEY))).status == 200


async def test_keys_are_required_on_loopback_too_if_they_are_set(tmp_path: Path) -> None:
    async with running("api", data_dir=tmp_path / "data", api_keys=KEY) as it:
        api = Api(it.client, it.base)
        assert (await api.call("GET", SHUT)).status == 401
        assert (await api.call("GET", SHUT, headers=bearer(KEY))).status == 200


async def test_a_new_key_opens_a_server_that_has_its_hash(tmp_path: Path) -> None:
    made = await finished("new-key", env=environment(tmp_path / "data"))
    key = re.search(r"(wl_\S+)", made.stdout)
    stored = re.search(r"WEBLOOM_API_KEYS=(\S+)", made.stdout)
    assert key is not None
    assert stored is not None
    assert len(key[1]) >= 43  # 256 bits
    async with running("api", data_dir=tmp_path / "data", api_keys=stored[1]) as it:
        api = Api(it.client, it.base)
        assert (await api.call("GET", SHUT, headers=bearer(key[1]))).status == 200


async def test_keys_are_nowhere_to_be_seen(api: Api, outside: Webloom) -> None:
    for headers in (bearer(KEY), {"X-API-Key": HASHED_KEY}, bearer(KEY + "x")):
        await api.call("GET", "/nothing", headers=headers)
        await api.call("POST", "/metadata", data=b"{", headers=headers)
    await api.call("GET", "/metadata", params={"key": KEY}, headers=bearer(KEY))
    paths = ["/", "/openapi.json", "/health", "/metrics", "/metadata/records"]
    shown = [(await api.call("GET", path, headers=bearer(KEY))).text for path in paths]
    shown.append(outside.log)
    env = environment(
        outside.data_dir,
        host="0.0.0.0",
        port=outside.port,
        api_keys=f"{KEY}, sha256:{HASH}",
        log_level="debug",
    )
    for arguments in (["doctor"], ["doctor", "--json"]):
        ended = await finished(*arguments, env=env)
        assert ended.returncode == 0, ended.stdout
        shown += [ended.stdout, ended.stderr]
    assert any("WEBLOOM_API_KEYS" in text for text in shown)  # that there are keys is not a secret
    for secret in (KEY, HASHED_KEY, HASH, hashlib.sha256(KEY.encode()).hexdigest()):
        assert not [text for text in shown if secret.lower() in text.lower()]


# Pages in the user's browser.


def host_of(server: Webloom, form: str) -> str:
    return form.format(port=server.port, other=server.port + 1)


HOSTS = [
    ("127.0.0.1:{port}", 200, "the address"),
    ("127.0.0.1", 200, "the address alone"),
    ("localhost:{port}", 200, "the name of loopback"),
    ("LocalHost:{port}", 200, "its case"),
    ("[::1]:{port}", 200, "IPv6 loopback"),
    ("webloom.lan:{port}", 200, "a name of WEBLOOM_ALLOWED_HOSTS"),
    ("webloom.lan", 200, "the same, without a port"),
    ("webloom.lan:9999", 200, "the same, behind a proxy on another port"),
    ("proxy.lan:8443", 200, "a name that was allowed with a port"),
    ("proxy.lan:8444", 421, "the same with another port"),
    ("evil.test", 421, "a name that was turned to loopback"),
    ("evil.test:{port}", 421, "the same with the port"),
    ("127.0.0.1.evil.test:{port}", 421, "a name that begins like the address"),
    ("localhost.evil.test", 421, "a name that begins like loopback"),
    ("evil.test#localhost", 421, "a name that ends like loopback"),
    ("localhost@evil.test", 421, "a user of that name"),
    ("webloom.lan.:{port}", 421, "the root's dot"),
    ("xwebloom.lan", 421, "a name that ends like an allowed one"),
    ("0.0.0.0:{port}", 421, "the address that means all"),
    ("192.168.1.1:{port}", 421, "another address"),
    ("", 421, "no name"),
    (":{port}", 421, "only a port"),
    ("w\u00e4bloom.lan", 421, "a name that is not ASCII"),
]


@pytest.mark.parametrize(("form", "status", "why"), HOSTS, ids=[row[2] for row in HOSTS])
async def test_a_request_to_another_name_is_refused(
    home: Api, at_home: Webloom, form: str, status: int, why: str
) -> None:
    answer = await home.call("GET", SHUT, headers={"Host": host_of(at_home, form)})
    if status == 200:
        assert answer.status == 200
    else:
        assert answer.is_problem(421, "WEBLOOM_ALLOWED_HOSTS")


async def test_beyond_loopback_every_address_is_a_name_of_this_server(api: Api) -> None:
    """Which one a client uses is not known; a name that a page owns is still refused."""
    for host, status in [("192.168.1.1:80", 200), ("[2001:db8::1]", 200), ("evil.test", 421)]:
        answer = await api.call("GET", SHUT, headers={"Host": host, **bearer(KEY)})
        assert answer.status == status, host


ORIGINS: list[tuple[dict[str, str], int, str]] = [
    ({"Origin": "http://127.0.0.1:{port}"}, 202, "a page of its own"),
    ({"Origin": "http://127.0.0.1:{port}", "Sec-Fetch-Site": "same-origin"}, 202, "the same"),
    ({"Sec-Fetch-Site": "none"}, 202, "typed by the user"),
    ({"Origin": "http://evil.test"}, 403, "another page"),
    ({"Origin": "https://evil.test:{port}"}, 403, "another page at the same port"),
    ({"Origin": "http://127.0.0.1:{other}"}, 403, "another server of this machine"),
    ({"Origin": "http://127.0.0.1"}, 403, "the default port of this machine"),
    ({"Origin": "http://localhost:{port}"}, 403, "its other name"),
    ({"Origin": "http://127.0.0.1:{port}.evil.test"}, 403, "a page that begins like it"),
    ({"Origin": "http://evil.test/127.0.0.1:{port}"}, 403, "a page that ends like it"),
    ({"Origin": "null"}, 403, "a sandboxed page"),
    ({"Origin": "file://"}, 403, "a file"),
    ({"Origin": ""}, 403, "nothing"),
    ({"Sec-Fetch-Site": "cross-site"}, 403, "another site"),
    ({"Sec-Fetch-Site": "same-site"}, 403, "another port of the site"),
    ({"Sec-Fetch-Site": "x"}, 403, "a word that there is not"),
    ({"Origin": "http://127.0.0.1:{port}", "Sec-Fetch-Site": "cross-site"}, 403, "one of two"),
    ({"Origin": "http://evil.test", "Sec-Fetch-Site": "same-origin"}, 403, "the other of two"),
]


@pytest.mark.parametrize(("headers", "status", "why"), ORIGINS, ids=[row[2] for row in ORIGINS])
async def test_a_page_of_another_site_is_refused(
    home: Api, at_home: Webloom, headers: dict[str, str], status: int, why: str
) -> None:
    given = {name: host_of(at_home, value) for name, value in headers.items()}
    before = await home.contents()
    url = {"url": f"http://example.test/{why.replace(' ', '-')}"}
    answers = [
        await home.call("GET", "/metadata", params=url, headers=given),
        await home.call("POST", "/metadata", json=url, headers=given),
        await home.call(
            "POST", "/metadata", json=url, headers=given | {"Content-Type": "text/plain"}
        ),
        await home.call("POST", "/metadata/batch", json=[url["url"]], headers=given),
    ]
    if status == 202:
        assert [answer.status for answer in answers] == [202] * 4
        return
    assert all(answer.is_problem(403, "pages of") for answer in answers)
    assert await home.contents() == before


async def test_a_page_may_link_to_the_start_page_only(home: Api) -> None:
    headers = {"Sec-Fetch-Site": "cross-site"}
    assert (await home.call("GET", "/", headers=headers)).status == 200
    assert (await home.call("GET", "/health/live", headers=headers)).status == 403


async def test_no_preflight_is_allowed_by_default(home: Api, at_home: Webloom) -> None:
    """The question that a browser asks before it sends JSON from another site."""
    answers: list[Answer] = []
    for origin in ("http://evil.test", f"http://127.0.0.1:{at_home.port}"):
        headers = {
            "Origin": origin,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "content-type",
        }
        answers.append(await home.call("OPTIONS", "/metadata", headers=headers))
    assert [answer.status for answer in answers] == [403, 405]
    assert not [
        name for answer in answers for name in answer.headers if name.startswith("access-control")
    ]


# What a browser may do with a response.


SECURITY_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
}
RESPONSES: list[tuple[str, str, dict[str, str], int, str]] = [
    ("GET", "/health", {}, 200, "an answer"),
    ("HEAD", "/health", {}, 200, "an answer without a body"),
    ("GET", "/openapi.json", {}, 200, "the framework's own answer"),
    ("GET", "/metrics", {}, 200, "text"),
    ("GET", "/api/nothing", {}, 404, "no route"),
    ("PUT", "/metadata", {}, 405, "no such method"),
    ("GET", "/metadata", {}, 422, "a parameter that is missing"),
    ("GET", "/health", {"Host": "evil.test"}, 421, "refused for its host"),
    ("GET", "/health", {"Origin": "http://evil.test"}, 403, "refused for its origin"),
    ("POST", "/nothing", {}, 405, "a page of the UI, asked for wrongly"),
]


@pytest.mark.parametrize(
    ("method", "path", "headers", "status", "why"), RESPONSES, ids=[row[4] for row in RESPONSES]
)
async def test_every_response_of_the_api_has_security_headers(
    home: Api, method: str, path: str, headers: dict[str, str], status: int, why: str
) -> None:
    answer = await home.call(method, path, headers=headers)
    assert answer.status == status
    assert {name: answer.headers.get(name) for name in SECURITY_HEADERS} == SECURITY_HEADERS


async def test_a_response_to_a_request_without_a_key_has_security_headers(api: Api) -> None:
    async with calling_from("127.0.2.1", api.base) as stranger:
        wrong = await stranger.call("GET", SHUT, headers=bearer("x"))
    for refused in (await api.call("GET", SHUT), wrong):
        assert refused.status in (401, 403)
        assert SECURITY_HEADERS.items() <= refused.headers.items()


async def test_headers_that_a_route_sets_itself_stay(home: Api) -> None:
    async with home.client.get("/api/live", params={"topics": "overview"}) as stream:
        assert stream.headers.getall("Cache-Control") == ["no-cache, no-transform"]
        assert stream.headers["X-Content-Type-Options"] == "nosniff"
    page = await home.call("GET", "/")
    assert page.headers["cache-control"] == "no-cache"
    assert "script-src" in page.headers["content-security-policy"]


# Guesses.


async def test_guessing_is_slowed_down_and_refused_and_a_right_key_is_not(
    outside: Webloom, api: Api
) -> None:
    guesser = "127.0.9.1"
    async with calling_from(guesser, api.base) as client:

        async def guess(number: int) -> int:
            key = f"wl_a-key-that-is-wrong-{number}"
            return (await client.call("GET", SHUT, headers=bearer(key))).status

        statuses = await asyncio.gather(*(guess(number) for number in range(40)))
        assert {403, 429} == set(statuses)
        refused = await client.call("GET", SHUT, headers=bearer("wl_a-key-that-is-wrong"))
        assert refused.is_problem(429, "too many")
        assert int(refused.headers["retry-after"]) > 0
        for _ in range(3):
            assert (await client.call("GET", SHUT, headers=bearer(KEY))).status == 200
        assert (await client.call("GET", SHUT)).status == 401, "a missing key is not a guess"
    async with calling_from("127.0.9.2", api.base) as other:
        assert (await other.call("GET", SHUT, headers=bearer("wl_a-wrong-key"))).status == 403
    assert "refused" in outside.log
    assert outside.log.count("refused") < 20


async def test_behind_a_trusted_proxy_each_client_guesses_for_itself(tmp_path: Path) -> None:
    async with running(
        "api",
        data_dir=tmp_path / "data",
        api_keys=KEY,
        trusted_proxies="127.0.9.0/24",
        connections_per_address=5,
    ) as it:

        async def guess(address: str, proxy: str) -> int:
            headers = bearer("wl_a-wrong-key") | {"X-Forwarded-For": f"127.9.9.9, {address}"}
            async with calling_from(proxy, it.base) as client:
                return (await client.call("GET", SHUT, headers=headers)).status

        for _ in range(5):  # no more at a time of one client
            await asyncio.gather(*(guess("203.0.113.1", "127.0.9.3") for _ in range(5)))
        assert await guess("203.0.113.1", "127.0.9.4") == 429
        assert await guess("203.0.113.2", "127.0.9.3") == 403
        assert await guess("203.0.113.1", "127.0.8.1") == 403, "it is not a trusted proxy"
