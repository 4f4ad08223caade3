"""Writes a software bill of materials (CycloneDX 1.6, JSON) from the lock files.

    lock files -> components with versions, purls, hashes and licences -> a file, or standard output

By default it lists what a wheel or an image is built from; `--all` adds what only builds, tests and
benchmarks need. A component's scope says whether it is shipped (`required`) or not (`excluded`).
The same lock files and installed packages give the same bytes: there is no time in it.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import re
import sys
import tomllib
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import locked
from locked import LOCKS, ROOT, SHIPPED, Locked

BUILT_FROM = (*SHIPPED, "requirements-ui.lock")
ALGORITHMS = {"sha256": "SHA-256", "sha384": "SHA-384", "sha512": "SHA-512"}
BUILD_ONLY = ("editables", "hatchling")  # of scripts/build-requirements.in
NAMESPACE = uuid.UUID("5b3c8a52-6e0d-5c57-9d2f-6d1b3f3f2c11")  # of our serial numbers


def bill(names: Iterable[str] = BUILT_FROM) -> dict[str, Any]:
    components: dict[str, dict[str, Any]] = {}
    for name in names:
        for package in locked.read(ROOT / name, name):
            component = _component(package)
            known = components.setdefault(component["bom-ref"], component)
            if component["scope"] == "required":
                known["scope"] = "required"
    listed = [components[ref] for ref in sorted(components)]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    serial = uuid.uuid5(NAMESPACE, json.dumps(listed, sort_keys=True))
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": f"pkg:pypi/{project['name']}@{project['version']}",
                "name": project["name"],
                "version": project["version"],
                "description": project["description"],
                "purl": f"pkg:pypi/{project['name']}@{project['version']}",
            }
        },
        "components": listed,
    }


def _component(package: Locked) -> dict[str, Any]:
    purl = f"pkg:{package.ecosystem.lower()}/{quote(package.name)}@{quote(package.version)}"
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": purl,
        "name": package.name,
        "version": package.version,
        "scope": "required" if _is_shipped(package) else "excluded",
        "purl": purl,
        # A Python package is one of several files, by platform: each has its hash.
        "externalReferences": [
            {
                "type": "distribution",
                "url": _page(package),
                "hashes": [
                    {"alg": ALGORITHMS[algorithm], "content": digest}
                    for algorithm, digest in package.hashes
                ],
            }
        ],
    }
    if licence := package.license or _installed_licence(package):
        component["licenses"] = [
            {"expression": licence}
            if re.fullmatch(r"[A-Za-z0-9.+()-]+( (AND|OR|WITH) [A-Za-z0-9.+()-]+)*", licence)
            else {"license": {"name": licence}}
        ]
    return component


def _is_shipped(package: Locked) -> bool:
    return package.where in SHIPPED and not package.is_dev and package.name not in BUILD_ONLY


def _page(package: Locked) -> str:
    if package.ecosystem == "npm":
        return f"https://www.npmjs.com/package/{package.name}/v/{package.version}"
    return f"https://pypi.org/project/{package.name}/{package.version}/"


def _installed_licence(package: Locked) -> str | None:
    """What the installed package says of itself, if it is installed in this version."""
    if package.ecosystem != "PyPI":
        return None
    try:
        found = importlib.metadata.metadata(package.name)
    except importlib.metadata.PackageNotFoundError:
        return None
    if found["Version"] != package.version:
        return None
    approved = "License :: OSI Approved :: "
    classifiers = [each for each in found.get_all("Classifier") or () if each.startswith(approved)]
    for given in (
        *(found.get_all("License-Expression") or ()),
        *(each.removeprefix(approved) for each in classifiers),
        *(found.get_all("License") or ()),
    ):
        if name := str(given).partition("\n")[0].strip():
            return name
    return None


def write(path: Path, names: Iterable[str] = BUILT_FROM) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text(names), encoding="utf-8")


def text(names: Iterable[str] = BUILT_FROM) -> str:
    return json.dumps(bill(names), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", 1)[0])
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--all", action="store_true", help="every lock file of the repository")
    options = parser.parse_args()
    chosen = LOCKS if options.all else BUILT_FROM
    if options.file is None:
        sys.stdout.write(text(chosen))
    else:
        write(options.file, chosen)
