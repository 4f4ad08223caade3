"""The versions that this repository names: lock files of Python and npm, images, version floors."""

from __future__ import annotations

import base64
import json
import re
import tomllib
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Where each lock file is used. What the product ships comes from the first two.
SHIPPED = ("requirements.lock", "admin/package-lock.json")
LOCKS = (
    *SHIPPED,
    "requirements-ui.lock",
    "requirements-dev.lock",
    "requirements-bench.lock",
    "bench/peers/changedetection.lock",
    "admin/checks/package-lock.json",
    "tests/node/package-lock.json",
    "bench/peers/node_import/package-lock.json",
)
OTHERS = ("deploy/Dockerfile", "deploy/compose.yaml", "pyproject.toml", "scripts/constraints.txt")

_PINNED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==(\S+)(.*)", re.MULTILINE)
_HASH = re.compile(r"--hash=(\w+):([0-9a-f]+)")
_FLOOR = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?>=([0-9][^,;\s]*)")
_IMAGE = re.compile(
    r"^(?:FROM |\s*image: )(?:[\w.]+/)*([\w-]+):(?:\$\{\w+:-)?(\d[\w.]*)", re.MULTILINE
)


@dataclass(frozen=True, kw_only=True)
class Locked:
    ecosystem: str  # as osv.dev calls it: PyPI or npm; or "image"
    name: str
    version: str
    where: str
    hashes: tuple[tuple[str, str], ...] = ()  # algorithm and digest in hex
    license: str | None = None  # as the lock file tells
    is_floor: bool = False  # the oldest version that may be installed
    is_dev: bool = False  # needed to build or check, and not shipped


def read(path: Path, where: str) -> list[Locked]:
    text = path.read_text(encoding="utf-8")
    if path.name == "package-lock.json":
        return _npm(text, where)
    if path.name == "pyproject.toml":
        return _project(text, where)
    if path.suffix == ".lock":
        return _python(text, where)
    if path.suffix == ".txt":
        return _floors(re.sub(r"#.*", "", text), where)
    return [
        Locked(ecosystem="image", name=name, version=version, where=where)
        for name, version in sorted(set(_IMAGE.findall(text)))
    ]


def everything() -> list[Locked]:
    return [each for name in (*LOCKS, *OTHERS) for each in read(ROOT / name, name)]


def canonical(name: str) -> str:
    """As PyPI compares names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _python(text: str, where: str) -> list[Locked]:
    pinned = list(_PINNED.finditer(text))
    ends = [*(each.start() for each in pinned[1:]), len(text)]
    return [
        Locked(
            ecosystem="PyPI",
            name=canonical(each[1]),
            version=each[2],
            where=where,
            hashes=tuple(_HASH.findall(text, each.start(), end)),
        )
        for each, end in zip(pinned, ends, strict=True)
    ]


def _npm(text: str, where: str) -> list[Locked]:
    found = []
    for path, package in json.loads(text)["packages"].items():
        if not path:  # the project itself
            continue
        algorithm, _, digest = package["integrity"].partition("-")
        found.append(
            Locked(
                ecosystem="npm",
                name=package.get("name") or path.rpartition("node_modules/")[2],
                version=package["version"],
                where=where,
                hashes=((algorithm, base64.b64decode(digest).hex()),),
                license=package.get("license"),
                is_dev=bool(package.get("dev")),
            )
        )
    return found


def _project(text: str, where: str) -> list[Locked]:
    project = tomllib.loads(text)["project"]
    extras = project.get("optional-dependencies", {}).values()
    return _floors("\n".join(chain(project["dependencies"], *extras)), where)


def _floors(text: str, where: str) -> list[Locked]:
    return [
        Locked(ecosystem="PyPI", name=canonical(name), version=version, where=where, is_floor=True)
        for name, version in _FLOOR.findall(text)
    ]
