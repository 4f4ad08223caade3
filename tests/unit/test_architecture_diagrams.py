"""docs/architecture.md draws the states and queues that the code has, and no others."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path

import pytest

from webloom.adapters.rabbitmq.connection import State
from webloom.domain.inventory import Status
from webloom.settings import load_settings

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
ARROW = re.compile(r"(\[\*\]|\w+) --> (\w+)(?:: .+)?")
START = "[*]"


def diagram(heading: str) -> list[str]:
    """The lines of the one diagram below a heading."""
    [section] = re.findall(rf"(?ms)^## {re.escape(heading)}$(.*?)(?=^## |\Z)", TEXT)
    [drawn] = re.findall(r"(?ms)^```mermaid\n(.*?)^```$", section)
    return [line.strip() for line in drawn.splitlines() if line.strip()]


def arrows(heading: str) -> set[tuple[str, str]]:
    kind, *lines = diagram(heading)
    assert kind == "stateDiagram-v2"
    matched = [ARROW.fullmatch(line) for line in lines]
    assert all(matched), [line for line, found in zip(lines, matched, strict=True) if not found]
    return {(found[1], found[2]) for found in matched if found}


DIAGRAMS = [
    pytest.param("The states of a record", Status, id="record"),
    pytest.param("The states of the RabbitMQ publisher", State, id="publisher"),
]


@pytest.mark.parametrize(("heading", "states"), DIAGRAMS)
def test_a_diagram_has_exactly_the_states_of_the_code(heading: str, states: type[StrEnum]) -> None:
    drawn = {name for arrow in arrows(heading) for name in arrow} - {START}
    assert drawn == {state.value for state in states}


@pytest.mark.parametrize(("heading", "states"), DIAGRAMS)
def test_every_state_can_be_reached_from_the_start(heading: str, states: type[StrEnum]) -> None:
    reached = {START}
    for _ in states:
        reached |= {to for begin, to in arrows(heading) if begin in reached}
    assert reached >= {state.value for state in states}


def test_the_high_level_view_has_every_queue() -> None:
    drawn = set(re.findall(r'\[\["([^"]+)"\]\]', "\n".join(diagram("High-level view"))))
    assert drawn == set(load_settings({}).broker_urls)


def test_the_layers_are_the_packages() -> None:
    drawn = set(re.findall(r'(\w+)\["', "\n".join(diagram("Layers"))))
    source = ROOT / "src/webloom"
    packages = {path.parent.name for path in source.glob("*/__init__.py")} | {"settings"}
    assert drawn == packages


def test_files_that_are_named_are_there() -> None:
    named = re.findall(r"`([a-z_/]+\.py)`", TEXT)
    assert named
    assert all((ROOT / "src/webloom" / name).is_file() for name in named), named


@pytest.mark.parametrize("name", ["README.md", "docs/design.md"])
def test_the_diagrams_are_linked(name: str) -> None:
    assert "architecture.md)" in (ROOT / name).read_text(encoding="utf-8")
