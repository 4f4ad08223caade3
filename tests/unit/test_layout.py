"""The source is laid out as CONTRIBUTING says."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import get_type_hints

import pytest

from webloom.bootstrap.stores import Stores

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/webloom"
MOST_METHODS = 10

# Files of one store, because of how that database works. Everything else has one name in both.
ONLY_SQLITE = {
    *("broker", "message_source", "commit_poller"),  # the embedded queue
    *("checks", "connecting", "reserve"),  # the file and its disk
    *("schema", "watch_schema", "list_schema"),  # tables; MongoDB has indexes.py and upgrade.py
    "batches",  # many rows in one statement
    *("page_logs", "page_prices", "page_sources"),  # tables; there in page_codec.py
    "posting_keys",  # a small index in front of a large one
}  # fmt: skip
ONLY_MONGODB = {
    *("batching", "driver_wait", "errors"),  # the connection and its driver
    *("documents", "cursors"),  # what BSON can hold
    *("conditional", "conditional_writes", "insertion", "write_ids"),  # SQLite has transactions
    *("indexes", "upgrade"),
    *("page_writes", "watch_metrics", "adopted_postings", "open_postings"),  # steps that are
    # one transaction in SQLite
    "posting_words",  # SQLite has full-text search
}


def protocols() -> dict[str, int]:
    """Each port, and each protocol that a store implements, with its number of methods, those that
    it inherits included."""
    found: dict[str, ast.ClassDef] = {}
    for path in [*(SOURCE / "ports").glob("*.py"), *(SOURCE / "stores").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and "Protocol" in map(_base, node.bases):
                found[node.name] = node

    def count(node: ast.ClassDef) -> int:
        methods = [each for each in node.body if isinstance(each, _FUNCTIONS)]
        bases = (found[name] for name in map(_base, node.bases) if name in found)
        return sum(not each.decorator_list for each in methods) + sum(map(count, bases))

    return {name: count(node) for name, node in found.items()}


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _base(node: ast.expr) -> str:
    return ast.unparse(node).partition("[")[0]


def names(folder: str) -> set[str]:
    return {path.stem for path in (SOURCE / folder).glob("[!_]*.py")}


def test_a_port_is_small() -> None:
    known = protocols()
    assert {"InventoryStore", "Broker", "Documents"} <= known.keys()
    assert {name: count for name, count in known.items() if count > MOST_METHODS} == {}


def test_both_stores_have_the_same_files() -> None:
    sqlite, mongodb = names("adapters/sqlite"), names("adapters/mongodb")
    assert sqlite - mongodb == ONLY_SQLITE
    assert mongodb - sqlite == ONLY_MONGODB


def section(page: str, heading: str) -> str:
    text = (ROOT / page).read_text(encoding="utf-8")
    [found] = re.findall(rf"(?ms)^## {heading}$(.*?)(?=^## |\Z)", text)
    return str(found)


def test_the_tree_in_contributing_is_that_of_the_source() -> None:
    tree, _ = re.findall(r"(?s)```\n(.*?)```", section("CONTRIBUTING.md", "Layout"))
    top = {each.rstrip("/") for each in re.findall(r"(?m)^(\w\S+)", tree)}
    inner = re.findall(r"(?m)^  ([\w.]+?)/? ", tree)
    roots = {f"src/{path.parent.name}" for path in SOURCE.parent.glob("*/__init__.py")}
    assert top > roots
    assert all((ROOT / each).is_dir() for each in top)
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    modules = {path.name for path in SOURCE.glob("[!_]*.py")}
    assert set(inner) == packages | modules


def test_the_recipe_of_a_store_names_every_port_of_one() -> None:
    [recipe] = re.findall(
        r"(?ms)^### A store$(.*?)(?=^### )", section("CONTRIBUTING.md", "Recipes")
    )
    named = set(re.findall(r"`(?:ports/)?(\w+)(?:\.py)?`", recipe))
    ports = {port.__module__.rpartition(".")[2] for port in get_type_hints(Stores).values()}
    assert ports - named == set()


def dependencies() -> Iterator[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = [
        project["build-system"]["requires"],
        project["project"]["dependencies"],
        *project["project"]["optional-dependencies"].values(),
        *project["dependency-groups"].values(),
    ]
    for group in groups:
        yield from (re.split(r"[\[<>=;\s]", each)[0] for each in group)
    for folder in ("admin", "tests/node", "bench/peers/node_import"):
        package = json.loads((ROOT / folder / "package.json").read_text())
        yield from package.get("dependencies", {})
        yield from package.get("devDependencies", {})


@pytest.mark.parametrize("name", sorted(set(dependencies())))
def test_a_dependency_has_its_reason_in_the_table(name: str) -> None:
    rows = re.findall(r"(?m)^\| ([^|]+) \| [^|]{8,} \|$", section("docs/design.md", "Dependencies"))
    named = {each.split()[0] for row in rows for each in row.split("(")[0].split(",")}
    assert name in named
