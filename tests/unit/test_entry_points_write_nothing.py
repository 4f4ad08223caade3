"""Entry points, and the demo, read through the ports of Services and write through use cases."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_type_hints

import pytest

from webloom.bootstrap.services import Services

SOURCE = Path(__file__).parents[2] / "src"
FOLDERS = ("webloom/entrypoints", "webloom_demo")
USE_CASES = ("webloom.application", "webloom.bootstrap")
GROUPS = {"imports"}  # several ports under one name
READ_ONLY = ("webloom.ports.clock", "webloom.ports.connection", "webloom.ports.revisions",
             "webloom.ports.room")  # fmt: skip
PORTS = {
    name
    for name, port in get_type_hints(Services).items()
    if (module := getattr(port, "__module__", "")).startswith("webloom.ports")
    and module not in READ_ONLY
    and name not in GROUPS
}
READS = frozenset({
    "all", "at_url", "change_logs", "count", "count_by_status", "count_chosen", "count_watches",
    "dead_letters", "deliveries", "depth", "entries", "find", "find_page", "find_run", "find_watch",
    "first_failures", "is_full", "list_pages", "muted_pages", "names", "of_watch", "page",
    "page_of_records", "parsed", "price_curve", "price_summary", "prices", "runs", "scan", "seen",
    "states", "tags", "usage", "versions", "watches", "went_unread",
})  # fmt: skip
READERS = {"LiveRuns"}  # of the entry points: they keep a port, and read only


def modules() -> list[Path]:
    return sorted(path for folder in FOLDERS for path in (SOURCE / folder).rglob("*.py"))


def imported_use_cases(tree: ast.AST) -> set[str]:
    return {
        name.asname or name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(USE_CASES)
        for name in node.names
    }


def is_port(node: ast.AST) -> bool:
    """`services.broker`, `self._services.broker`, `services.imports.feeds`."""
    if not isinstance(node, ast.Attribute):
        return False
    owner = node.value
    if isinstance(owner, ast.Attribute) and owner.attr in GROUPS:
        owner = owner.value
    elif node.attr not in PORTS:
        return False
    name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
    return name.endswith("services")


def wrong_uses(source: str) -> Iterator[str]:
    """A port may be read, or handed to a use case; it is not kept, and nothing else is called."""
    tree = ast.parse(source)
    takers = imported_use_cases(tree) | READERS
    allowed: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in READS:
            allowed.add(node.value)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in takers:
            allowed |= {*node.args, *(each.value for each in node.keywords)}
    for node in ast.walk(tree):
        if is_port(node) and node not in allowed:
            assert isinstance(node, ast.expr)
            yield f"line {node.lineno}: {ast.unparse(node)}"


def test_every_port_of_the_services_is_known() -> None:
    assert {"broker", "store", "heartbeats", "lock"} <= PORTS


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_an_entry_point_writes_through_use_cases_only(path: Path) -> None:
    assert [*wrong_uses(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    "line",
    [
        "await services.watches.remove_watch('a')",
        "await self._services.broker.publish('queue', message)",
        "self._store = services.pages",
        "keep(services.pages)",
        "await services.imports.feeds.remove('a')",
    ],
)
def test_a_write_is_found(line: str) -> None:
    assert [*wrong_uses(line)]
