"""What commands import: help is quick, and needs none of the libraries that do the work."""

from __future__ import annotations

import inspect

import pytest
import typer

from e2e.scripts import last_line
from webloom.entrypoints.cli.main import COMMANDS

# Libraries of the product that neither help nor the parser of the command line needs.
HEAVY = {
    *("aiohttp", "aiormq", "apprise", "bullmq", "cronsim", "fastapi", "lxml", "msgspec", "nh3"),
    *("prometheus_client", "pydantic", "pymongo", "re2", "redis", "selectolax", "sqlite3"),
    *("starlette", "uvicorn", "uvloop", "zstandard"),
}
LIGHT_ENOUGH = {"msgspec", "nh3", "sqlite3"}  # for the help of one command


def imported(*arguments: str) -> set[str]:
    script = """
        import json
        from webloom.__main__ import main
        try:
            main()
        except SystemExit:
            print(json.dumps({"modules": list(sys.modules)}))
    """
    command = f"import sys\nsys.argv = {['webloom', *arguments]!r}\n"
    return set(last_line(command, script)["modules"])


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], []])
def test_help_imports_no_heavy_library(arguments: list[str]) -> None:
    modules = imported(*arguments)
    assert HEAVY.isdisjoint(modules)
    assert not [each for each in modules if each.startswith(("webloom.adapters", "webloom.ports"))]


def test_the_help_of_a_command_imports_no_heavy_library() -> None:
    script = """
        import json, sys
        from webloom.entrypoints.cli.main import COMMANDS
        for command in COMMANDS.values():
            command.load()
        print(json.dumps({"modules": list(sys.modules)}))
    """
    modules = set(last_line("", script)["modules"])
    assert (HEAVY - LIGHT_ENOUGH).isdisjoint(modules)
    assert not [each for each in modules if each.startswith("webloom.adapters")]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_their_help_says(name: str) -> None:
    found = COMMANDS[name].load()
    text = str(found.info.help) if isinstance(found, typer.Typer) else inspect.getdoc(found) or ""
    assert " ".join(text.split()).startswith(COMMANDS[name].summary.removesuffix("."))
