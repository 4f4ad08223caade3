"""deploy/: what can be held about its files without an engine that runs containers."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from e2e import compose_file
from webloom.adapters.notify.apprise_process import AT_ONCE as NOTIFICATIONS
from webloom.adapters.notify.apprise_process import MOST_MEMORY as NOTIFICATION_MEMORY
from webloom.adapters.sandbox.parent import MOST_MEMORY
from webloom.entrypoints.api.context import PREVIEWS_AT_ONCE as PREVIEWS
from webloom.entrypoints.cli.main import COMMANDS
from webloom.settings import VARIABLES, Settings, load_settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
ROLES = ("api", "worker", "import-worker", "scheduler")
PARENT_MEMORY = 512 << 20  # of a process without its children
BROKERS = {"rabbitmq": "webloom_broker", "redis": "webloom_broker_import_feed"}


@pytest.fixture(scope="module")
def compose() -> Any:
    return compose_file.read(DEPLOY / "compose.yaml")


@pytest.fixture(scope="module")
def services(compose: Any) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = compose["services"]
    assert {*ROLES, "mongodb", "rabbitmq", "redis"} <= found.keys()
    return found


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    _make_secrets(tmp_path / "secrets").check_returncode()
    return tmp_path / "secrets"


def _make_secrets(folder: Path) -> subprocess.CompletedProcess[str]:
    script = DEPLOY / "make-secrets.sh"
    return subprocess.run((script, folder), capture_output=True, text=True, timeout=60, check=False)


def _settings(service: dict[str, Any], secrets: Path) -> Settings:
    environment = {
        name: str(value).replace("/run/secrets", str(secrets))
        for name, value in service["environment"].items()
    }
    return load_settings(environment)


def test_compose_takes_the_file(compose: Any) -> None:
    assert compose_file.problems(compose, DEPLOY) == []
    misspelt = compose | {"volume": {}}
    assert compose_file.problems(misspelt, DEPLOY) == ["volume is not a part of a file"]


BROKEN: list[tuple[Callable[[Any], object], str, str]] = [
    (lambda it: it["api"].update(comand=[]), "api: comand is not known", "a key of a service"),
    (lambda it: it["api"].update(command="api"), "api: command: 'api'", "a shell's command"),
    (lambda it: it["api"].update(mem_limit=512), "api: mem_limit: 512", "a number without a unit"),
    (lambda it: it["api"].update(restart=False), "api: restart: False", "an unquoted no"),
    (lambda it: it["api"].update(stop_grace_period="90"), "stop_grace_period", "no unit of time"),
    (lambda it: it["api"].update(ports=["8081:8081"]), "no address", "published to everybody"),
    (lambda it: it["api"].update(image="webloom:$TAG"), "without a default", "an unset variable"),
    (lambda it: it["api"].update(tmpfs=["tmp"]), "api: tmpfs: tmp", "a path that is relative"),
    (lambda it: it["api"]["environment"].update(X=True), "X is not a text", "an unquoted true"),
    (lambda it: it["api"]["networks"].append("back"), "back is not declared", "a network"),
    (lambda it: it["api"]["secrets"].append("key"), "key is not declared", "a secret"),
    (lambda it: it["redis"].update(volumes=["data:/data"]), "data is not declared", "a volume"),
    (lambda it: it["redis"].update(volumes=["./no:/x"]), "./no is not there", "a file"),
    (lambda it: it["redis"]["healthcheck"].update(retry=3), "retry is not known", "a key in one"),
    (lambda it: it["redis"]["healthcheck"].update(interval=10), "is not a duration", "an interval"),
    (lambda it: it["redis"].pop("healthcheck"), "redis has no health check", "waiting for health"),
    (
        lambda it: it["mongodb-init"].update(restart="always"),
        "started again",
        "an end that is none",
    ),
    (lambda it: it["api"]["depends_on"].update(x={}), "there is no service x", "a service"),
    (lambda it: it["api"]["build"].update(dockerfile="no"), "no is not there", "a Dockerfile"),
]


@pytest.mark.parametrize(("breaks", "problem", "why"), BROKEN, ids=[row[2] for row in BROKEN])
def test_what_compose_would_refuse_is_found(
    compose: Any, breaks: Callable[[Any], object], problem: str, why: str
) -> None:
    broken = json.loads(json.dumps(compose))  # no part stands for another, as aliases do
    breaks(broken["services"])
    assert [each for each in compose_file.problems(broken, DEPLOY) if problem in each]


def test_every_service_is_confined(services: dict[str, dict[str, Any]]) -> None:
    for name, service in services.items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["user"].partition(":")[0] not in ("", "0", "root"), name
        assert not service.keys() & {"privileged", "cap_add", "pid", "network_mode"}, name


def test_every_service_is_limited_and_restarted(services: dict[str, dict[str, Any]]) -> None:
    for name, service in services.items():
        assert re.fullmatch(r"\d+[mg]", service["mem_limit"]), name
        assert service["cpus"] > 0, name
        assert service["pids_limit"] > 0, name
        assert service["restart"] == ("no" if name == "mongodb-init" else "unless-stopped"), name
        assert service["logging"]["options"]["max-size"], name


def _bytes(size: str) -> int:
    return int(size[:-1]) << {"m": 20, "g": 30}[size[-1]]


def _child_memory(role: str, settings: Settings) -> int:
    """What the processes that a role starts may use together."""
    return {
        "api": 2 * PREVIEWS * MOST_MEMORY,  # of feeds and of pages
        "worker": settings.page_processes * MOST_MEMORY,
        "import-worker": 0,
        "scheduler": settings.feed_processes * MOST_MEMORY + NOTIFICATIONS * NOTIFICATION_MEMORY,
    }[role]


def test_memory_limits_cover_what_the_child_processes_may_use(
    services: dict[str, dict[str, Any]], secrets: Path
) -> None:
    for role in ROLES:
        service = services[role]
        sizes = re.findall(r"size=(\w+)", " ".join(service["tmpfs"]))
        assert len(sizes) == len(service["tmpfs"]), f"{role}: what is in them is memory"
        settings = _settings(service, secrets)
        needed = PARENT_MEMORY + sum(map(_bytes, sizes)) + _child_memory(role, settings)
        assert needed <= _bytes(service["mem_limit"]) < needed + (1 << 30), role


def test_a_worker_has_room_for_the_pages_that_it_checks(
    services: dict[str, dict[str, Any]], secrets: Path
) -> None:
    settings = _settings(services["worker"], secrets)
    [data] = [each for each in services["worker"]["tmpfs"] if each.startswith("/data:")]
    size = _bytes(data.rpartition("size=")[2])
    assert settings.watch_concurrency * settings.max_body <= size


def test_every_service_that_stays_has_a_health_check(services: dict[str, dict[str, Any]]) -> None:
    for name, service in services.items():
        if name != "mongodb-init":  # it ends; who needs it waits for that
            assert service["healthcheck"]["test"][0] in ("CMD", "CMD-SHELL"), name
            assert service["healthcheck"].keys() >= {"interval", "timeout", "retries"}, name


def test_the_commands_are_ones_that_webloom_has(services: dict[str, dict[str, Any]]) -> None:
    for role in ROLES:
        command = services[role]["command"]
        assert command[0] == role.removeprefix("import-")
        assert command[0] in COMMANDS
        check = services[role]["healthcheck"]["test"]
        assert check[1] != "webloom" or check[2] in COMMANDS, role


def test_a_service_starts_after_what_it_needs(services: dict[str, dict[str, Any]]) -> None:
    for role in ROLES:
        brokers = {
            server for server, secret in BROKERS.items() if secret in services[role]["secrets"]
        }
        assert services[role]["depends_on"] == {
            "mongodb-init": {"condition": "service_completed_successfully"},
            "mongodb": {"condition": "service_healthy"},
            **{server: {"condition": "service_healthy"} for server in brokers},
        }, role


def test_the_workers_serve_every_queue_and_know_no_other_broker(
    services: dict[str, dict[str, Any]], secrets: Path
) -> None:
    all_served = []
    for role in ("worker", "import-worker"):
        options = services[role]["command"][1:]
        assert set(options[::2]) == {"--queue"}
        served = options[1::2]
        urls = _settings(services[role], secrets).broker_urls
        assert all(urls[queue].startswith(("amqp:", "redis:")) for queue in served), role
        known = {secret for secret in BROKERS.values() if secret in services[role]["secrets"]}
        assert len(known) == len({urls[queue] for queue in served}) == 1, role
        all_served += served
    assert sorted(all_served) == sorted(load_settings({}).broker_urls)


def test_only_the_api_is_published_and_on_loopback(
    compose: Any, services: dict[str, dict[str, Any]]
) -> None:
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert published == {"api": ["127.0.0.1:8081:8081"]}
    assert compose["networks"]["backend"]["internal"] is True
    for server in ("mongodb", "mongodb-init", "rabbitmq", "redis"):
        assert services[server]["networks"] == ["backend"], server


def test_every_variable_is_a_setting(services: dict[str, dict[str, Any]]) -> None:
    known = {*VARIABLES, *(f"{name}_FILE" for name in VARIABLES)}
    for role in ROLES:
        assert services[role]["environment"].keys() <= known, role


def test_the_made_secrets_and_the_variables_are_good_settings(
    services: dict[str, dict[str, Any]], secrets: Path
) -> None:
    for role in ROLES:
        settings = _settings(services[role], secrets)
        assert settings.store_url.startswith("mongodb://webloom:"), role
    for role in ("api", "scheduler"):
        settings = _settings(services[role], secrets)
        assert settings.broker_urls["metadata_queue"].startswith("amqp://webloom:"), role
        assert settings.broker_urls["import-feed"].startswith("redis://:"), role
    key = (secrets / "api_key").read_text().strip()
    assert _settings(services["api"], secrets).api_key_hashes == (
        hashlib.sha256(key.encode()).hexdigest(),
    )


def test_a_stop_waits_longer_than_webloom_needs(
    services: dict[str, dict[str, Any]], secrets: Path
) -> None:
    for role in ROLES:
        patience = float(services[role]["stop_grace_period"].removesuffix("s"))
        assert patience >= _settings(services[role], secrets).grace + 20, role


def test_secrets_are_files_that_are_made_and_given_to_those_who_need_them(
    compose: Any, services: dict[str, dict[str, Any]], secrets: Path
) -> None:
    declared = {name: Path(each["file"]).name for name, each in compose["secrets"].items()}
    made = {path.name for path in secrets.iterdir()}
    assert set(declared.values()) == made - {"api_key"}
    for name, service in services.items():
        given = {each["source"] if isinstance(each, dict) else each for each in service["secrets"]}
        assert given <= declared.keys(), name
        named = re.findall(r"/run/secrets/(\w+)", json.dumps(service))
        assert set(named) <= given, name


def test_no_secret_stands_in_a_file() -> None:
    files = [path for path in DEPLOY.iterdir() if path.is_file()]
    assert len(files) >= 6
    for path in files:
        text = path.read_text()
        credentials = re.findall(r"://[^/\s]*?:([^/\s]+)@", text)
        assert all(password.startswith("$") for password in credentials), path
        assert not re.search(r"\b[0-9a-f]{40,}\b", text), path
    assert "secrets/" in (DEPLOY / ".gitignore").read_text().splitlines()


def test_secrets_are_random_and_behind_a_closed_door(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        _make_secrets(folder).check_returncode()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in one.iterdir():
        assert path.read_text() != (other / path.name).read_text(), path.name
    assert stat.S_IMODE((one / "api_key").stat().st_mode) == 0o600


def test_secrets_are_never_made_twice(secrets: Path) -> None:
    before = {path.name: path.read_bytes() for path in secrets.iterdir()}
    again = _make_secrets(secrets)
    assert again.returncode == 1
    assert "Nothing was changed" in again.stderr
    assert {path.name: path.read_bytes() for path in secrets.iterdir()} == before


def test_the_image_runs_as_nobody_special_and_is_built_from_locked_versions() -> None:
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    stages = re.split(r"(?m)^(?=FROM )", text)[1:]
    assert len(stages) == 2
    for stage in stages:
        assert re.match(r"FROM [\w/]+:\d+\.\d+\.\d+\S*( AS \w+)?\n", stage), "pinned by version"
    assert "--require-hashes" in stages[0]
    final = stages[1]
    user = re.findall(r"(?m)^USER (\S+)$", final)
    assert user == ["10001:10001"]
    for word in ("ENTRYPOINT", "CMD"):
        assert re.search(rf'(?m)^{word} \["', final), f"{word} in exec form gets the signals"
    assert re.search(r"(?m)^STOPSIGNAL SIGTERM$", final)
    assert re.search(r"(?m)^HEALTHCHECK .* CMD \[", final)
    assert "pip" not in final


def test_the_build_sees_only_what_it_copies() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    allowed = {line[1:] for line in ignored if line.startswith("!")}
    text = (DEPLOY / "Dockerfile").read_text()
    copied = {word for line in re.findall(r"(?m)^COPY (?!--from)(.+) \S+$", text)
              for word in line.split()}  # fmt: skip
    assert "*" in ignored
    assert copied == allowed
    assert all((ROOT / name).exists() for name in allowed)


def test_the_images_are_those_whose_upgrade_is_described(
    services: dict[str, dict[str, Any]],
) -> None:
    described = (ROOT / "docs/stack.md").read_text()
    for server in ("mongodb", "rabbitmq", "redis"):
        image = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", services[server]["image"])
        assert f"`{image}`" in described, image


def test_redis_never_throws_a_job_away() -> None:
    lines = (DEPLOY / "redis.conf").read_text().splitlines()
    assert {"appendonly yes", "maxmemory-policy noeviction"} <= set(lines)


def test_docker_compose_understands_the_file(tmp_path: Path, compose: Any) -> None:
    command = ("docker", "compose", "version")
    if not shutil.which("docker") or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("docker compose is not installed")
    shutil.copytree(DEPLOY, tmp_path / "deploy", ignore=shutil.ignore_patterns("secrets"))
    _make_secrets(tmp_path / "deploy/secrets").check_returncode()
    done = subprocess.run(
        ("docker", "compose", "-f", "deploy/compose.yaml", "config", "--format", "json"),
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout)
    assert read["services"].keys() == compose["services"].keys()
    for name, service in read["services"].items():
        assert service["read_only"] is True, name
        assert service["healthcheck"], name
