"""How a run of the tests ends: what was skipped, and which failures say nothing about the code.

A test that needs a program which is not installed raises `Missing` and is skipped. One line at the
end of the run says which programs were missing and how many tests need each. With
WEBLOOM_TESTS_REQUIRE_ALL=1 a missing program is a failure instead.

A server or a browser that does not start raises `DidNotStart`. `--failures FILE` lists every failed
test, and whether such trouble was its reason, so that scripts/run_tests.py can try those once more.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from servers.private import DidNotStart, Missing

REQUIRE_ALL = "WEBLOOM_TESTS_REQUIRE_ALL"
MISSING = "missing program"
INFRASTRUCTURE = "infrastructure"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--failures",
        metavar="FILE",
        help="write the failed tests there, as JSON: [{test, infrastructure}]",
    )
    parser.addoption("--no-skips", action="store_true", help="a skipped test fails the run")


def _skip(item: pytest.Item, missing: Missing) -> None:
    if os.environ.get(REQUIRE_ALL):
        raise missing
    item.user_properties.append((MISSING, [missing.name, missing.advice]))
    pytest.skip(str(missing))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    try:
        return (yield)
    except Missing as missing:
        _skip(item, missing)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    try:
        return (yield)
    except Missing as missing:
        _skip(item, missing)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and call.excinfo is not None and call.excinfo.errisinstance(DidNotStart):
        mark_as_infrastructure(report, str(call.excinfo.value))
    return report


def mark_as_infrastructure(report: pytest.TestReport, reason: str) -> None:
    """The failure says nothing about the code."""
    report.user_properties.append((INFRASTRUCTURE, reason))


def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if session.config.getoption("--no-skips") and reporter and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """With pytest-xdist: in the process that collects what the others report."""
    tests: Counter[str] = Counter()
    advice: dict[str, str] = {}
    for report in terminalreporter.stats.get("skipped", ()):
        for name, reported in report.user_properties:
            if name == MISSING:
                tests[reported[0]] += 1
                advice[reported[0]] = reported[1]
    if tests:
        parts = [
            f"{name} ({count} test{'s'[: count > 1]}; {advice[name]})"
            for name, count in sorted(tests.items())
        ]
        terminalreporter.write_line(f"NOT INSTALLED: {', '.join(parts)}", yellow=True, bold=True)
    if path := config.getoption("--failures"):
        Path(path).write_text(json.dumps(_failures(terminalreporter)), encoding="utf-8")


def _failures(terminalreporter: pytest.TerminalReporter) -> list[dict[str, object]]:
    failures: dict[str, bool] = {}
    stats = terminalreporter.stats
    for report in [*stats.get("failed", ()), *stats.get("error", ())]:
        properties = dict(getattr(report, "user_properties", ()))
        is_infrastructure = failures.get(report.nodeid, True) and INFRASTRUCTURE in properties
        failures[report.nodeid] = is_infrastructure
    return [{"test": test, "infrastructure": value} for test, value in failures.items()]
