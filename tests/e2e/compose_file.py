"""What Docker Compose refuses about a file, or does otherwise than its author thinks.

The part of the Compose specification that deploy/compose.yaml uses; a key that is not here is
reported, so that a new one is looked up before it is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

Service = dict[str, Any]

DURATION = r"(\d+(h|m|s|ms))+"
BYTES = r"\d+[bkmg]"
TEXTS: Mapping[str, str] = {
    "image": r"[a-z0-9./_-]+:\S+",
    "user": r"[a-z0-9_]+(:[a-z0-9_]+)?",
    "hostname": r"[a-z0-9-]+",
    "restart": r"no|always|on-failure(:\d+)?|unless-stopped",
    "stop_grace_period": DURATION,
    "mem_limit": BYTES,
}
KINDS: Mapping[str, type | tuple[type, ...]] = {
    "build": dict, "cap_drop": list, "command": list, "cpus": (int, float), "depends_on": dict,
    "entrypoint": list, "environment": dict, "healthcheck": dict, "init": bool, "logging": dict,
    "networks": list, "pids_limit": int, "ports": list, "read_only": bool, "secrets": list,
    "security_opt": list, "tmpfs": list, "ulimits": dict, "volumes": list,
}  # fmt: skip
PARTS: Mapping[str, set[str]] = {
    "build": {"context", "dockerfile"},
    "healthcheck": {"test", "interval", "timeout", "retries", "start_period", "disable"},
    "logging": {"driver", "options"},
}
CONDITIONS = {"service_started", "service_healthy", "service_completed_successfully"}
TOP = {"name", "services", "networks", "volumes", "secrets"}
VARIABLE = re.compile(r"\$(?:\$|\{[A-Z_]+:-[^}]*\})?")


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def problems(compose: dict[str, Any], folder: Path) -> list[str]:
    """In words, each with where it is; `folder` is the file's."""
    services: dict[str, Service] = compose["services"]
    found = [f"{key} is not a part of a file" for key in compose if not _is_top(key)]
    found += [
        f"{text!r}: a $ without a default, or not doubled" for text in _bad_variables(compose)
    ]
    for name, service in services.items():
        found += [f"{name}: {each}" for each in _of_service(service)]
        found += [f"{name}: {each}" for each in _of_names(service, compose, folder)]
        found += [f"{name}: {each}" for each in _of_order(service, services)]
    for kind in ("networks", "volumes", "secrets"):
        used = {each for service in services.values() for each in _used(service, kind)}
        found += [f"{kind}: {each} is not used" for each in compose[kind].keys() - used]
    return found


def _is_top(key: str) -> bool:
    return key in TOP or key.startswith("x-")


def _bad_variables(value: Any) -> Iterator[str]:
    """What Compose would replace, and by nothing."""
    if isinstance(value, dict):
        for each in value.values():
            yield from _bad_variables(each)
    elif isinstance(value, list):
        for each in value:
            yield from _bad_variables(each)
    elif isinstance(value, str) and "$" in VARIABLE.sub(
        lambda found: "$" if found[0] == "$" else "", value
    ):
        yield value


def _of_service(service: Service) -> Iterator[str]:
    for key, value in service.items():
        if key in TEXTS:
            plain = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", str(value))
            if not isinstance(value, str) or not re.fullmatch(TEXTS[key], plain):
                yield f"{key}: {value!r}"
        elif key not in KINDS:
            yield f"{key} is not known"
        elif not isinstance(value, KINDS[key]):
            yield f"{key}: {value!r}"
    for key, parts in PARTS.items():
        for part in service.get(key, {}).keys() - parts:
            yield f"{key}: {part} is not known"
    for variable, value in service.get("environment", {}).items():
        if not isinstance(value, str):  # Compose refuses true, and writes 1.0 as 1
            yield f"environment: {variable} is not a text"
    yield from _of_healthcheck(service.get("healthcheck", {}))
    for port in service.get("ports", []):
        if not re.fullmatch(r"(\d+\.){3}\d+:\d+:\d+", str(port)):
            yield f"ports: {port} has no address of this machine"
    for place in service.get("tmpfs", []):
        if not re.fullmatch(r"/[a-z/]+(:\w+=\w+(,\w+=\w+)*)?", place):
            yield f"tmpfs: {place}"


def _of_healthcheck(check: dict[str, Any]) -> Iterator[str]:
    if not check or check.get("disable") is True:
        return
    if check["test"][0] not in ("CMD", "CMD-SHELL") or len(check["test"]) < 2:
        yield "healthcheck: test begins with CMD or CMD-SHELL"
    for key in ("interval", "timeout", "start_period"):
        if not re.fullmatch(DURATION, str(check.get(key))):
            yield f"healthcheck: {key} is not a duration"


def _of_names(service: Service, compose: dict[str, Any], folder: Path) -> Iterator[str]:
    for kind in ("networks", "volumes", "secrets"):
        for name in _used(service, kind):
            if name not in compose[kind]:
                yield f"{kind}: {name} is not declared"
    for volume in service.get("volumes", []):
        source, _, target = volume.partition(":")
        if source.startswith(".") and not (folder / source).is_file():
            yield f"volumes: {source} is not there"
        if not re.fullmatch(r"/[\w./-]+(:ro)?", target):
            yield f"volumes: {volume} leads nowhere"
    if build := service.get("build"):
        dockerfile = folder / build["context"] / build["dockerfile"]
        if not dockerfile.is_file():
            yield f"build: {build['dockerfile']} is not there"


def _used(service: Service, kind: str) -> list[str]:
    if kind == "volumes":
        sources = [volume.partition(":")[0] for volume in service.get(kind, [])]
        return [source for source in sources if not source.startswith((".", "/"))]
    return [each["source"] if isinstance(each, dict) else each for each in service.get(kind, [])]


def _of_order(service: Service, services: dict[str, Service]) -> Iterator[str]:
    """Compose waits forever, or not at all, for what can't come true."""
    for name, wait in service.get("depends_on", {}).items():
        other = services.get(name)
        condition = wait.get("condition")
        if other is None:
            yield f"depends_on: there is no service {name}"
        elif condition not in CONDITIONS or set(wait) != {"condition"}:
            yield f"depends_on: {name}: {wait}"
        elif condition == "service_healthy" and not other.get("healthcheck", {}).get("test"):
            yield f"depends_on: {name} has no health check"
        elif condition == "service_completed_successfully" and other.get("restart") != "no":
            yield f"depends_on: {name} is started again when it ends"
