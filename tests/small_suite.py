"""A small suite of its own, run by scripts/run_tests.py in a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
RUN_TESTS = TESTS.parent / "scripts/run_tests.py"

# Each fails the first time that it runs, and passes from then on.
FAILS_AT_FIRST = """
from pathlib import Path
from servers.private import DidNotStart

def is_first(name):
    mark = Path(__file__).with_name(name)
    was_there = mark.exists()
    mark.touch()
    return not was_there

def test_other(): ...
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A project with the script and the plugin, and no tests yet."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(RUN_TESTS, tmp_path / "scripts")
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\naddopts = -p outcomes -p no:asyncio -p no:schemathesis\n"
    )
    return tmp_path


def run(suite: Path, tests: str, *options: str, **variables: str) -> tuple[int, str]:
    (suite / "test_it.py").write_text(tests)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, suite / "scripts/run_tests.py", *(options or ("-n0",))],
        env=kept | {"PYTHONPATH": str(TESTS)} | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr
