"""The suites of `tests/contracts` know ports; suites of one backend are in its folder there."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SUITES = sorted((Path(__file__).parents[1] / "contracts").glob("test_*.py"))
BACKENDS = ("sqlite3", "pymongo", "bson", "redis", "bullmq", "aiormq", "pamqp")
ADAPTERS = tuple(f"webloom.adapters.{name}" for name in ("sqlite", "mongodb", "rabbitmq", "bullmq"))


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.stem)
def test_a_contract_suite_imports_no_backend(suite: Path) -> None:
    imported = set()
    for node in ast.walk(ast.parse(suite.read_text())):
        if isinstance(node, ast.ImportFrom):
            imported |= {f"{node.module}.{each.name}" for each in node.names}
        elif isinstance(node, ast.Import):
            imported |= {each.name for each in node.names}
    reached = {name for name in imported if f"{name}.".startswith(_within(*BACKENDS, *ADAPTERS))}
    assert not reached


def _within(*packages: str) -> tuple[str, ...]:
    return tuple(f"{package}." for package in packages)
