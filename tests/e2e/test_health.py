"""The state of an installation: /health, /metrics, /openapi.json, its start, the doctor."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from e2e.api_client import Api
from e2e.running import (
    Webloom,
    environment,
    finished,
    running,
    running_for_module,
    until,
    until_some,
)
from e2e.watched_site import ALLOWED, WatchedSite
from servers.private import free_port
from webloom.ports.heartbeats import ALIVE_SECONDS
from webloom.settings import VARIABLES

QUEUE = "metadata_queue"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    folder = tmp_path_factory.mktemp("health")
    with running_for_module(
        "up",
        data_dir=folder / "data",
        allow_addresses=ALLOWED,
        deny_addresses="127.1.255.0/24",
        slots=7,
        queue_limit=50,
    ) as it:
        yield it


@pytest.fixture
async def site() -> AsyncIterator[WatchedSite]:
    async with WatchedSite() as site:
        yield site


# Health.


async def healthy(api: Api) -> dict[str, Any]:
    """The first heartbeat comes a moment after the first answer."""

    async def look() -> dict[str, Any] | None:
        answer = await api.call("GET", "/health")
        if answer.body["status"] != "ok":
            return None
        assert answer.status == 200
        return dict(answer.body)

    return await until_some(look, what="a worker's heartbeat")


async def degraded(api: Api) -> dict[str, Any]:
    """Of a busy machine it may be said for a moment that it is down."""

    async def look() -> dict[str, Any] | None:
        answer = await api.call("GET", "/health")
        if answer.body["status"] == "down" or not answer.body["queues"]:
            return None
        assert (answer.status, answer.body["status"]) == (200, "degraded")
        return dict(answer.body)

    return await until_some(look, what="an answer of store and broker")


async def test_a_whole_installation_is_ok(api: Api, whole: Webloom) -> None:
    health = await healthy(api)
    assert [each["name"] for each in health["dependencies"]] == ["store", "broker"]
    for dependency in health["dependencies"]:
        assert (dependency["state"], dependency["detail"]) == ("up", None)
        assert dependency["milliseconds"] >= 0
    queue, *_ = health["queues"]
    assert queue == {
        "name": QUEUE,
        "limit": 50,
        **dict.fromkeys(("ready", "delayed", "in_flight", "dead"), 0),
    }
    [worker] = health["workers"]
    assert (worker["pid"], worker["slots"], worker["alive"]) == (whole.pid, 7, True)
    assert worker["last_beat_seconds_ago"] <= ALIVE_SECONDS
    started = datetime.fromisoformat(worker["started_at"])
    assert timedelta(0) <= datetime.now(UTC) - started < timedelta(minutes=10)

    async def others() -> bool:
        return {each["role"] for each in (await healthy(api))["others"]} == {"api", "scheduler"}

    await until(others, what="the heartbeats of the others")


async def test_a_process_that_answers_is_live_and_one_that_can_accept_is_ready(api: Api) -> None:
    live = await api.call("GET", "/health/live")
    assert (live.status, live.body) == (200, {"status": "ok"})
    await api.ready()
    ready = await api.call("GET", "/health/ready")
    assert ready.body.keys() == (await healthy(api)).keys()
    for path in ("/health", "/health/live", "/health/ready"):

        async def is_well(path: str = path) -> bool:
            asked = await api.call("HEAD", path)  # as load balancers ask
            assert asked.text == ""
            return asked.status == 200

        await until(is_well, what=f"{path} to be well")


async def test_without_a_worker_it_is_degraded_until_one_comes(
    tmp_path: Path, site: WatchedSite
) -> None:
    data_dir = tmp_path / "data"
    async with running("api", data_dir=data_dir, allow_addresses=ALLOWED) as it:
        api = Api(it.client, it.base)
        await api.submitted(site.url("/gated?1"), site.url("/gated?2"))
        alone = await degraded(api)  # it still accepts
        assert alone["workers"] == []
        assert alone["queues"][0]["ready"] == 2
        await api.ready()

        async with running("worker", data_dir=data_dir, allow_addresses=ALLOWED) as worker:
            [seen] = (await healthy(api))["workers"]
            assert (seen["pid"], seen["alive"]) == (worker.pid, True)
            await until(lambda: len(site.requests) == 2)
            queue = await api.queue()
            assert (queue["ready"], queue["in_flight"]) == (0, 2)
            site.opened.set()
            assert await worker.stop() == 0
        gone = await degraded(api)
        assert gone["workers"] == []  # it said goodbye
        assert gone["queues"][0]["in_flight"] == 0


async def test_it_is_degraded_and_ready_while_feeds_wait_for_a_scheduler(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    async with running("api", data_dir=data_dir) as it, running("worker", data_dir=data_dir):
        api = Api(it.client, it.base)
        assert (await healthy(api))["scheduler"] is None  # nothing waits for one
        feed = {"url": "http://feeds.test/jobs.xml", "intervalMinutes": 60}
        assert (await api.call("POST", "/api/feeds", json=feed)).status == 201
        assert (await degraded(api))["scheduler"] == (
            "No scheduler is running, and 1 feed waits for one: "
            "no import and no check begins or ends."
        )
        await api.ready()

        async def told() -> bool:
            troubles = (await api.call("GET", "/api/overview")).body["troubles"]
            return any("1 feed waits" in each["what"] for each in troubles)

        await until(told, what="the overview to say so")
        async with running("scheduler", data_dir=data_dir):
            assert (await healthy(api))["scheduler"] is None


async def test_a_worker_tells_what_it_has_done(tmp_path: Path, site: WatchedSite) -> None:
    async with running("up", data_dir=tmp_path / "data", allow_addresses=ALLOWED) as it:
        api = Api(it.client, it.base)
        urls = [site.url(path) for path in ("/page", "/page?2", "/in-turn?codes=404")]
        await api.submitted(*urls)
        for url in urls:
            await api.record(url)

        async def told() -> bool:
            [worker] = (await healthy(api))["workers"]
            return (worker["completed"], worker["failed"], worker["in_flight"]) == (2, 1, 0)

        await until(told, what="a heartbeat after the last fetch")


async def test_a_database_that_is_locked_is_down_and_comes_back(tmp_path: Path) -> None:
    async with running("api", data_dir=tmp_path / "data") as it:
        api = Api(it.client, it.base)
        with closing(sqlite3.connect(it.data_dir / "webloom.db", isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            down, ready = await asyncio.gather(
                api.call("GET", "/health"), api.call("GET", "/health/ready")
            )
            assert (down.status, down.body["status"]) == (503, "down")
            states = {each["name"]: each["state"] for each in down.body["dependencies"]}
            assert states["store"] == "down"
            assert ready.status == 503
            assert (await api.call("GET", "/health/live")).status == 200
            other.execute("ROLLBACK")

        async def up_again() -> bool:
            return (await api.call("GET", "/health/ready")).status == 200

        await until(up_again)
        assert (await api.submit("http://example.test/")).status == 202


# Metrics.


async def test_metrics_can_be_read_by_prometheus(api: Api, site: WatchedSite) -> None:
    await api.record(site.url("/page"))
    await api.call("GET", "/nothing")
    await healthy(api)
    answer = await api.call("GET", "/metrics")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = {each.name: each for each in text_string_to_metric_families(answer.text)}
    samples = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in families.values()
        for sample in family.samples
    }
    assert samples["webloom_dependency_up", "store"] == 1
    assert samples["webloom_dependency_up", "broker"] == 1
    for state in ("ready", "delayed", "in_flight", "dead"):
        assert ("webloom_queue_messages", *sorted((QUEUE, state))) in samples
    assert samples["webloom_records", "COMPLETED"] >= 1
    assert samples["webloom_postings", "open"] == samples["webloom_feeds", "failing"] == 0
    assert families["webloom_http_request_seconds"].type == "histogram"
    requests = [
        sample.labels | {"count": str(int(sample.value))}
        for sample in families["webloom_http_request_seconds"].samples
        if sample.name.endswith("_count")
    ]
    seen = {(each["method"], each["route"], each["status"]) for each in requests}
    assert ("GET", "/metadata", "200") in seen
    assert ("GET", "none", "404") in seen  # what anybody makes up is not a label
    assert not any("nothing" in value for each in requests for value in each.values())
    assert samples["process_resident_memory_bytes",] > 0


async def refusals(api: Api) -> dict[str, float]:
    text = (await api.call("GET", "/metrics")).text
    return {
        sample.labels["reason"]: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "webloom_gate_refusals_total"
    }


async def test_refused_connections_are_counted_and_logged_but_not_revealed(
    api: Api, whole: Webloom, site: WatchedSite
) -> None:
    await healthy(api)
    before = await refusals(api)
    assert before.keys() == {"deny-list", "metadata", "not-public", "own-address", "port"}
    url = site.url(f"/redirect?to=http://localhost:{free_port()}/")
    await api.submit(url)
    record = await api.listed_as(url, "FAILED_PERMANENT")
    told = record["processing"]["error_message"]
    assert told.startswith("localhost leads to an address that Webloom does not connect to")
    assert not any(word in told for word in ("127.", "::1", "loopback"))
    assert "reason=not-public" in whole.log
    assert "refused a connection host=localhost address=" in whole.log

    async def is_counted() -> bool:
        return (await refusals(api))["not-public"] == before["not-public"] + 1

    await until(is_counted, what="the refusal among the metrics")


async def test_what_the_operator_denies_beats_what_is_allowed(api: Api) -> None:
    answer = await api.submit("http://127.1.255.1/")
    assert answer.is_problem(422, "127.1.255.1 port 80 is in WEBLOOM_DENY_ADDRESSES"), answer


# The OpenAPI document.

ROUTES = {
    ("GET", "/api/overview"),
    ("GET", "/api/live"),
    ("GET", "/metadata/counts"),
    ("GET", "/api/queues"),
    ("GET", "/api/queues/{queue}/dead"),
    ("POST", "/api/queues/{queue}/dead/put-back"),
    ("POST", "/api/queues/{queue}/dead/discard"),
    ("POST", "/api/feeds/preview"),
    ("POST", "/api/watches/preview"),
    ("GET", "/api/system"),
    ("POST", "/metadata"),
    ("GET", "/metadata"),
    ("DELETE", "/metadata"),
    ("POST", "/metadata/batch"),
    ("GET", "/metadata/source"),
    ("GET", "/metadata/records"),
    ("GET", "/health"),
    ("GET", "/health/live"),
    ("GET", "/health/ready"),
    ("GET", "/metrics"),
    ("POST", "/api/feeds"),
    ("GET", "/api/feeds"),
    ("GET", "/api/feeds/opml"),
    ("POST", "/api/feeds/opml"),
    ("GET", "/api/feeds/{feedId}"),
    ("PATCH", "/api/feeds/{feedId}"),
    ("DELETE", "/api/feeds/{feedId}"),
    ("POST", "/api/feeds/{feedId}/pause"),
    ("POST", "/api/feeds/{feedId}/resume"),
    ("POST", "/api/import/run"),
    ("GET", "/api/import-logs"),
    ("GET", "/api/import-logs/stream"),
    ("GET", "/api/import-logs/sse"),
    ("GET", "/api/import-logs/{runId}"),
    ("POST", "/api/import-logs/{runId}/retry"),
    ("POST", "/api/import-logs/{runId}/cancel"),
    ("GET", "/api/jobs"),
    ("GET", "/api/jobs/{dedupeKey}"),
    ("POST", "/api/watch/events"),
    ("POST", "/api/watches"),
    ("GET", "/api/watches"),
    ("POST", "/api/watches/import"),
    ("GET", "/api/watches/{jobId}"),
    ("PATCH", "/api/watches/{jobId}"),
    ("DELETE", "/api/watches/{jobId}"),
    ("POST", "/api/watches/{jobId}/pause"),
    ("POST", "/api/watches/{jobId}/resume"),
    ("POST", "/api/watches/{jobId}/run"),
    ("GET", "/api/watches/{jobId}/notices"),
    ("GET", "/api/watches/{jobId}/feed.atom"),
    ("GET", "/api/watch/feed.atom"),
    ("GET", "/api/watch/runs"),
    ("GET", "/api/watch/runs/{runId}"),
    ("GET", "/api/watch/pages"),
    ("GET", "/api/watch/pages/versions"),
    ("GET", "/api/watch/pages/versions/{version}"),
    ("GET", "/api/watch/pages/diff"),
    ("GET", "/api/watch/pages/changes"),
    ("GET", "/api/watch/pages/prices"),
    ("GET", "/api/watch/storage"),
}
TAKES_NO_JSON = ("/opml", "/pause", "/resume", "/retry", "/cancel", "{jobId}/run")


def _references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for each in value.values():
            yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)


def _at(document: dict[str, Any], reference: str) -> object:
    assert reference.startswith("#/")
    value: Any = document
    for part in reference[2:].split("/"):
        value = value[part]
    return value


async def test_the_openapi_document_describes_every_route(api: Api) -> None:
    document = (await api.call("GET", "/openapi.json")).body
    assert document["openapi"].startswith("3.")
    operations = {
        (method.upper(), path): operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    assert operations.keys() == ROUTES
    references = {*_references(document)}
    assert references
    for reference in references:
        assert _at(document, reference), reference
    ids = [operation["operationId"] for operation in operations.values()]
    assert len(ids) == len({*ids})
    for (method, path), operation in operations.items():
        assert operation["summary"], path
        assert operation["description"], path
        for status, answer in operation["responses"].items():
            if status >= "400" and not path.startswith("/health"):
                assert answer["content"].keys() == {"application/problem+json"}, (path, status)
        if method == "POST" and not path.endswith(TAKES_NO_JSON):
            assert "application/json" in operation["requestBody"]["content"]
        if path.startswith("/metadata"):
            assert {"422", "503"} <= operation["responses"].keys()


async def test_answers_have_the_fields_that_the_document_names(api: Api, site: WatchedSite) -> None:
    document = (await api.call("GET", "/openapi.json")).body
    schemas = document["components"]["schemas"]
    url = site.url("/page")
    answers = {
        "Submitted": (await api.submit(url)).body,
        "RecordResponse": await api.record(url),
        "RecordsPage": (await api.records()).body,
        "Problem": (await api.call("GET", "/api/nothing")).body,
        "Health": await healthy(api),
    }
    for name, body in answers.items():
        assert body.keys() == schemas[name]["properties"].keys(), name


# Starting.

BAD_SETTINGS = [
    ("port", "eighty", "a port from 1 to 65535", "a word for a number"),
    ("slots", "0", "a whole number from 1 to 1000", "below the smallest"),
    ("queue_limit", "1.5", "a whole number", "a broken number"),
    ("retry_delay", "nan", "0 to 300", "not a number"),
    ("store", "postgres://127.0.0.1/", "sqlite:///", "a store that there is not"),
    ("allow_addresses", "10.0.0.0/8,intranet", "'intranet'", "a name among addresses"),
    ("deny_addresses", "10.0.0.0/8,intranet", "'intranet'", "a name among denied addresses"),
    ("log_level", "loud", "debug, info, warning or error", "a level that there is not"),
]


@pytest.mark.parametrize(
    ("name", "value", "wanted", "why"), BAD_SETTINGS, ids=[row[3] for row in BAD_SETTINGS]
)
async def test_a_bad_setting_is_refused_at_start_by_its_name(
    tmp_path: Path, name: str, value: str, wanted: str, why: str
) -> None:
    settings = {"port": free_port()} | {name: value}
    ended = await finished("up", env=environment(tmp_path / "data", **settings))
    assert ended.returncode == 2
    [line] = ended.stderr.splitlines()
    assert f"WEBLOOM_{name.upper()}: got {value!r}" in line
    assert wanted in line
    assert not (tmp_path / "data").exists()


async def test_all_bad_settings_are_reported_at_once(tmp_path: Path) -> None:
    (tmp_path / "webloom.env").write_text("# mine\nexport WEBLOOM_SLOTS='none'\n")
    ended = await finished("up", env=environment(tmp_path / "data", port="x", log_level="loud"))
    assert ended.returncode == 2
    for name in ("PORT", "SLOTS", "LOG_LEVEL"):
        assert f"WEBLOOM_{name}: got" in ended.stderr


UNREADABLE = [
    ({"WEBLOOM_API_KEYS_FILE": "/nonexistent/keys"}, "WEBLOOM_API_KEYS_FILE", "a secret"),
    ({"WEBLOOM_ENV_FILE": "/nonexistent/env"}, "WEBLOOM_ENV_FILE", "the settings file"),
]


@pytest.mark.parametrize(("given", "name", "why"), UNREADABLE, ids=[row[2] for row in UNREADABLE])
async def test_a_missing_settings_file_is_reported(
    tmp_path: Path, given: dict[str, str], name: str, why: str
) -> None:
    ended = await finished("up", env=environment(tmp_path / "data", port=free_port()) | given)
    assert ended.returncode == 2
    assert name in ended.stderr
    assert "/nonexistent/" in ended.stderr


async def test_a_variable_that_no_setting_has_is_warned_of(tmp_path: Path) -> None:
    async with running("api", data_dir=tmp_path / "data", slot=4) as it:
        assert "WEBLOOM_SLOT" in it.log
        assert (await Api(it.client, it.base).call("GET", "/health/live")).status == 200


async def test_a_port_in_use_is_reported(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        ended = await finished("up", env=environment(tmp_path / "data", port=port))
    assert ended.returncode == 2
    assert f"can't listen on 127.0.0.1 port {port}" in ended.stderr
    assert "Address already in use" in ended.stderr
    assert "WEBLOOM_PORT" in ended.stderr
    assert "Traceback" not in ended.stderr


async def test_an_address_of_another_machine_is_reported(tmp_path: Path) -> None:
    settings = {"host": "192.0.2.1", "port": free_port(), "api_keys": "wl_a-key-of-nobody-at-all"}
    ended = await finished("api", env=environment(tmp_path / "data", **settings))
    assert ended.returncode == 2
    assert "can't listen on 192.0.2.1" in ended.stderr
    assert "WEBLOOM_HOST" in ended.stderr


async def test_the_start_says_where_to_look(whole: Webloom) -> None:
    assert f"{whole.base}/health" in whole.log
    assert str(whole.data_dir) in whole.log


# The doctor.


def _findings(text: str) -> dict[str, dict[str, Any]]:
    return {each["check"]: each for each in map(json.loads, text.splitlines())}


async def test_the_doctor_finds_a_fresh_installation_well(tmp_path: Path) -> None:
    env = environment(tmp_path / "data", port=free_port())
    ended = await finished("doctor", "--json", env=env)
    assert (ended.returncode, ended.stderr) == (0, "")
    findings = _findings(ended.stdout)
    for check in ("webloom", "sqlite", "settings", "disk", "port", "database"):
        assert findings[check]["state"] == "ok", check
    assert "will be created" in findings["database"]["detail"]
    assert not (tmp_path / "data").exists()  # it only looks
    for finding in findings.values():
        assert finding.keys() == {"check", "state", "detail", "advice"}

    said = await finished("doctor", env=env)
    assert said.returncode == 0
    for check in findings:
        assert f"  {check}: " in said.stdout
    assert "PROBLEM" not in said.stdout


async def test_the_doctor_misses_a_worker(tmp_path: Path) -> None:
    async with running("api", data_dir=tmp_path / "data") as it:
        env = environment(it.data_dir, port=it.port)
        await Api(it.client, it.base).submit("http://example.test/")
        ended = await finished("doctor", "--json", env=env)
    assert ended.returncode == 0
    findings = _findings(ended.stdout)
    assert findings[QUEUE]["detail"].startswith("1 ready of 1000")
    assert findings["workers"]["state"] == "warning"
    assert "webloom worker" in findings["workers"]["advice"]


async def test_the_doctor_sees_a_running_installation(whole: Webloom, api: Api) -> None:
    await healthy(api)
    ended = await finished("doctor", "--json", env=environment(whole.data_dir, port=whole.port))
    assert ended.returncode == 0
    findings = _findings(ended.stdout)
    assert (findings["workers"]["state"], findings["workers"]["detail"]) == ("ok", "1 alive")
    assert findings["port"]["state"] == "warning"
    assert "Fine if that is Webloom" in findings["port"]["advice"]


async def test_the_doctor_finds_addresses_that_are_allowed_and_denied(tmp_path: Path) -> None:
    lists = {"allow_addresses": "10.0.0.1,10.0.0.2:80,10.1.0.1", "deny_addresses": "10.0.0.0/16"}
    ended = await finished("doctor", "--json", env=environment(tmp_path / "data", **lists))
    findings = _findings(ended.stdout)
    assert findings["gate"]["state"] == "warning"
    assert findings["gate"]["detail"].endswith("refused: 10.0.0.1, 10.0.0.2 port 80")
    assert "WEBLOOM_DENY_ADDRESSES=10.0.0.0/16" in findings["settings"]["detail"]


async def test_the_doctor_shows_settings_and_misspelt_ones(tmp_path: Path) -> None:
    env = environment(tmp_path / "data", port=free_port(), cache_ttl=60, slot=4)
    ended = await finished("doctor", "--json", env=env)
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    settings = [line for line in lines if line["check"] == "settings"]
    assert "WEBLOOM_CACHE_TTL=60" in settings[0]["detail"]
    [warning] = [line for line in settings if line["state"] == "warning"]
    assert "WEBLOOM_SLOT " in warning["detail"]
    assert all(name in warning["advice"] for name in VARIABLES)


def _a_file_in_its_place(data_dir: Path) -> None:
    data_dir.write_text("not a folder")


def _text_for_a_database(data_dir: Path) -> None:
    data_dir.mkdir()
    (data_dir / "webloom.db").write_bytes(b"not a database " * 1000)


def _a_folder_for_a_database(data_dir: Path) -> None:
    (data_dir / "webloom.db").mkdir(parents=True)


def _damaged_pages(data_dir: Path) -> None:
    data_dir.mkdir()
    with closing(sqlite3.connect(data_dir / "webloom.db")) as database:
        database.execute("CREATE TABLE other (text)")
        database.executemany("INSERT INTO other VALUES (?)", [("x" * 1000,)] * 100)
        database.commit()
    with (data_dir / "webloom.db").open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 40_000)


BROKEN = [
    (_a_file_in_its_place, "a file where the folder should be"),
    (_text_for_a_database, "a file that is not a database"),
    (_a_folder_for_a_database, "a folder where the file should be"),
    (_damaged_pages, "a database with damaged pages"),
]


@pytest.mark.parametrize(("broken", "why"), BROKEN, ids=[row[1] for row in BROKEN])
async def test_the_doctor_tells_what_is_wrong_with_the_database(
    tmp_path: Path, broken: Any, why: str
) -> None:
    broken(tmp_path / "data")
    ended = await finished("doctor", "--json", env=environment(tmp_path / "data", port=free_port()))
    assert ended.returncode == 1, ended.stdout
    assert "Traceback" not in ended.stderr
    finding = _findings(ended.stdout)["database"]
    assert finding["state"] == "problem"
    assert str(tmp_path / "data") in finding["detail"]
    assert finding["advice"]


LOCKED = [("", "the folder itself"), ("inside/data", "a folder above it")]


@pytest.mark.parametrize(("below", "why"), LOCKED, ids=[row[1] for row in LOCKED])
async def test_a_folder_without_permission_is_reported(
    tmp_path: Path, below: str, why: str
) -> None:
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(0)
    env = environment(tmp_path / "data", port=free_port())
    env["WEBLOOM_DATA_DIR"] = str(locked / below)
    try:
        doctor = await finished("doctor", "--json", env=env, through=_without_privileges())
        start = await finished("up", env=env, through=_without_privileges())
    finally:
        locked.chmod(0o700)
    assert doctor.returncode == 1, doctor.stderr
    assert _findings(doctor.stdout)["database"]["state"] == "problem"
    assert start.returncode == 1
    for ended in (doctor, start):
        assert str(locked) in ended.stdout + ended.stderr
        assert "Traceback" not in ended.stderr


def _without_privileges() -> tuple[str, ...]:
    """Permissions mean nothing to root, as whom tests run in a container."""
    if os.geteuid() != 0:
        return ()
    assert shutil.which("setpriv"), "of util-linux"
    most = "-dac_override,-dac_read_search"
    return ("setpriv", f"--bounding-set={most}", f"--inh-caps={most}")
