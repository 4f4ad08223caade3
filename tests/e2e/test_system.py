"""/api/system: what an installation shows of itself, and what it hides."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec

from e2e.api_client import Api
from e2e.running import environment, finished, running
from webloom import __version__
from webloom.entrypoints.api.system import get_system
from webloom.entrypoints.settings_shown import settings_in_force
from webloom.settings import VARIABLES, load_settings


async def test_the_system_shows_its_version_room_and_settings(tmp_path: Path) -> None:
    key = "wl_a-key-that-nobody-may-see"
    async with running(
        "api", data_dir=tmp_path / "data", api_keys=f"{key},{key}-2", slots=7, queue_limit=1000
    ) as it:
        api = Api(it.client, it.base)
        size = it.data_dir.joinpath("webloom.db").stat().st_size  # which only grows
        answer = await api.call("GET", "/api/system", headers={"Authorization": f"Bearer {key}"})
        assert answer.status == 200, answer.text
        system = answer.body
    assert (system["version"], system["python"]) == (__version__, platform.python_version())
    assert datetime.fromisoformat(system["startedAt"]) <= datetime.now(UTC)
    assert system["diskFree"] > 0
    assert system["databaseBytes"] >= size > 0
    assert key not in answer.text
    found = {setting.pop("name"): setting for setting in system["settings"]}
    assert found.keys() == VARIABLES.keys()
    assert found["WEBLOOM_API_KEYS"]["value"] == "2 keys"
    assert found["WEBLOOM_SLOTS"] == {
        "value": "7",
        "isDefault": False,
        "wants": "a whole number from 1 to 1000",
    }
    assert found["WEBLOOM_QUEUE_LIMIT"]["isDefault"] is True  # given, and the same
    assert found["WEBLOOM_STORE"]["value"].endswith("/webloom.db")
    assert found["WEBLOOM_STORE"]["isDefault"] is True


async def test_where_nothing_is_kept_on_this_machine_no_room_is_shown() -> None:
    settings = load_settings(
        {"WEBLOOM_STORE": "mongodb://db.test/", "WEBLOOM_BROKER": "redis://redis.test/0"}
    )
    services = SimpleNamespace(settings=settings)
    context: Any = SimpleNamespace(services=services, started_at=datetime.now(UTC))
    answer = await get_system(context)
    system = msgspec.json.decode(answer.body)
    assert system["diskFree"] is system["databaseBytes"] is None


def test_no_secret_of_an_address_is_shown() -> None:
    settings = load_settings(
        {
            "MONGODB_URI": "mongodb+srv://me:hunter2@db.test/base?authMechanism=PLAIN&x=hunter2",
            "WEBLOOM_BROKER": "amqps://me:hunter2@mq.test:5671/vhost",
            "WEBLOOM_BROKER_IMPORT_FEED": "rediss://:hunter2@redis.test/1",
            "WEBLOOM_API_KEYS": "hunter2hunter2hunter2",
        }
    )
    found = {setting.name: setting for setting in settings_in_force(settings)}
    assert "hunter2" not in str(found)
    assert settings.api_key_hashes[0] not in str(found)
    shown = {name: found[name].value for name in found if "STORE" in name or "BROKER" in name}
    assert shown == {
        "WEBLOOM_STORE": "mongodb+srv://db.test/base",
        "WEBLOOM_BROKER": "amqps://mq.test:5671/vhost",
        "WEBLOOM_BROKER_METADATA_QUEUE": "amqps://mq.test:5671/vhost",
        "WEBLOOM_BROKER_IMPORT_FEED": "rediss://redis.test/1",
        "WEBLOOM_BROKER_STORAGE_AGENT": "amqps://mq.test:5671/vhost",
    }
    assert found["WEBLOOM_API_KEYS"].value == "1 key"


def test_values_are_shown_as_they_would_be_given() -> None:
    given = {
        "WEBLOOM_ALLOW_ADDRESSES": "10.0.0.0/8, 127.0.0.1:80",
        "WEBLOOM_QUORUM_QUEUES": "true",
        "WEBLOOM_RETRY_DELAY": "0.5",
        "IMPORT_INTERVAL_MINUTES": "525600",
    }
    shown = {each.name: each.value for each in settings_in_force(load_settings(given))}
    assert shown["WEBLOOM_ALLOW_ADDRESSES"] == "10.0.0.0/8,127.0.0.1:80"
    assert shown["WEBLOOM_QUORUM_QUEUES"] == "true"
    assert shown["WEBLOOM_RETRY_DELAY"] == "0.5"
    assert shown["IMPORT_INTERVAL_MINUTES"] == "525600"
    again = load_settings({name: shown[name] for name in given})
    assert again == load_settings(given)


async def test_what_comes_from_a_file_is_shown_neither_by_the_api_nor_by_doctor(
    tmp_path: Path,
) -> None:
    files = {
        "store_file": f"sqlite:///{tmp_path}/t0p-s3cret.db",
        "api_keys_file": "wl_a-key-that-nobody-may-see",
        "allow_addresses_file": "10.11.12.13",
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    given = {name: tmp_path / name for name in files}
    async with running("api", data_dir=tmp_path / "data", **given) as it:
        key = {"Authorization": f"Bearer {files['api_keys_file']}"}
        answer = await Api(it.client, it.base).call("GET", "/api/system", headers=key)
    found = {each["name"]: each["value"] for each in answer.body["settings"]}
    assert found["WEBLOOM_ALLOW_ADDRESSES"] == "(from its file)"
    assert found["WEBLOOM_STORE"] == found["WEBLOOM_BROKER"] == "(from its file)"
    assert found["WEBLOOM_API_KEYS"] == "1 key"
    assert not [content for content in files.values() if content in answer.text]
    reported = await finished("doctor", "--json", env=environment(tmp_path / "data", **given))
    settings = reported.stdout.splitlines()[2]
    assert "WEBLOOM_ALLOW_ADDRESSES=(from its file)" in settings
    assert "WEBLOOM_STORE=(from its file)" in settings
    assert not [content for content in files.values() if content in settings]
