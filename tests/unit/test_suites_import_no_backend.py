"""The suites of `tests/contracts` and `tests/faults` know ports; suites of one backend are in its
folder in `tests/contracts`. What only a driver can do is a named method in `tests/servers`, in
`tests/faults/database.py` or in a backend's entry in `tests/contracts`."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = tuple(ROOT / "tests" / name for name in ("contracts", "faults"))
SUITES = sorted(each for folder in FOLDERS for each in folder.glob("test_*.py"))
# They stand for a backend, or stop processes at its writes.
HELPERS = ("*_backend.py", "database.py", "watch_room_deadly.py")
SPEAKING_TO_NO_BACKEND = sorted(
    each
    for folder in FOLDERS
    for each in folder.glob("*.py")
    if not any(each.match(helper) for helper in HELPERS)
)
ADAPTERS = {
    f"webloom.adapters.{each.parent.name}"
    for name in ("primitives", "broker")
    for each in (ROOT / "src/webloom/adapters").glob(f"*/{name}.py")
}


def libraries() -> set[str]:
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    [inside] = [rule for rule in rules["contracts"] if rule["name"].startswith("A backend's")]
    return {"sqlite3", "pamqp", *inside["forbidden_modules"]}


def test_the_backends_are_known() -> None:
    assert {"webloom.adapters.sqlite", "webloom.adapters.rabbitmq"} < ADAPTERS
    assert {"pymongo", "redis"} < libraries()


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.stem)
def test_a_suite_imports_no_backend(suite: Path) -> None:
    imported = set()
    for node in ast.walk(ast.parse(suite.read_text())):
        if isinstance(node, ast.ImportFrom):
            imported |= {f"{node.module}.{each.name}" for each in node.names}
        elif isinstance(node, ast.Import):
            imported |= {each.name for each in node.names}
    backends = _within(*libraries(), *ADAPTERS)
    reached = {name for name in imported if f"{name}.".startswith(backends)}
    assert not reached


SQL = re.compile(
    r"\b(SELECT\b.+\bFROM|INSERT INTO|DELETE FROM|UPDATE \w+ SET|(CREATE|ALTER|DROP) TABLE|MATCH '"
    r"|PRAGMA|BEGIN (IMMEDIATE|EXCLUSIVE))\b",
    re.DOTALL,
)
OF_DRIVERS = {
    # SQLite and MongoDB; `database` and `client` open them
    "execute", "executescript", "connection", "connect", "database", "client", "find_one",
    "count_documents", "distinct", "insert_one", "insert_many", "update_one", "update_many",
    "delete_one", "delete_many", "aggregate", "drop_database",
    # Redis
    "config_set", "flushall", "script_flush", "scan_iter", "setrange", "xlen", "hgetall", "llen",
    "client_list", "execute_command",
    # RabbitMQ
    "channel", "queue_declare", "queue_delete", "queue_purge", "exchange_declare",
    "exchange_delete", "basic_publish", "basic_get", "ctl",
}  # fmt: skip


@pytest.mark.parametrize("file", SPEAKING_TO_NO_BACKEND, ids=lambda file: file.stem)
def test_suites_and_what_they_share_speak_no_language_of_a_backend(file: Path) -> None:
    assert not backend_words(file.read_text())


@pytest.mark.parametrize(
    "code",
    [
        "file.count('SELECT body FROM messages')",
        "run(f'DELETE FROM messages WHERE id = {message}')",
        "file.execute(statement)",
        "file.connection()",
        "database['copies'].find_one()",
        "await redis.flushall()",
        "await channel.queue_delete(queue)",
    ],
)
def test_the_languages_of_backends_are_recognised(code: str) -> None:
    assert backend_words(code)


def backend_words(code: str) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= {match[0] for match in SQL.finditer(node.value)}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            found |= {node.func.attr} & OF_DRIVERS
    return found


def _within(*packages: str) -> tuple[str, ...]:
    return tuple(f"{package}." for package in packages)
