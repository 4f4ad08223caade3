"""Runs the tests on all cores; what is given is passed on to pytest.

A failed test fails the run, with one exception: if every failure is a server or browser that did
not start, or a browser that crashed, those tests run once more, alone, and decide. The failed tests
of the last run are left in .pytest_cache/failures.json.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FAILURES = ROOT / ".pytest_cache" / "failures.json"
TESTS_FAILED = 1  # as pytest says it: they ran, and some failed


def workers() -> int:
    """Three for each core: tests wait most of their time for the processes that they start. Each
    worker has servers and a browser of its own, which take time to start and much memory."""
    return min(3 * len(os.sched_getaffinity(0)), 8)


def run_pytest(*options: str) -> int:
    FAILURES.parent.mkdir(exist_ok=True)
    FAILURES.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "--failures", str(FAILURES), *options]
    code = subprocess.run(command, cwd=ROOT, check=False).returncode  # noqa: S603 - our own tests
    if code != TESTS_FAILED:
        FAILURES.unlink(missing_ok=True)  # of a run that broke off
    return code


def only_infrastructure() -> list[str]:
    """The failed tests, if each failed because of a server or a browser."""
    failures = json.loads(FAILURES.read_text(encoding="utf-8"))
    if not all(each["infrastructure"] for each in failures):
        return []
    return [each["test"] for each in failures]


def main(options: list[str]) -> int:
    code = run_pytest("-n", str(workers()), "--dist", "worksteal", *options)
    if code != TESTS_FAILED or not (tests := only_infrastructure()):
        return code
    print("A server or browser failed. Once more, alone:", *tests, sep="\n  ", flush=True)  # noqa: T201 - a program for people
    others = [each for each in options if not each.startswith("tests")]  # which names tests
    return run_pytest(*others, "-n0", "--no-skips", *tests)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
