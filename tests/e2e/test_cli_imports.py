"""What commands import: help comes at once, and needs none of the libraries that do the work."""

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


def test_a_command_imports_what_it_needs() -> None:
    modules = imported("fetch", "--help")
    assert {"fastapi", "lxml", "re2", "selectolax", "sqlite3", "zstandard"}.isdisjoint(modules)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_their_help_says(name: str) -> None:
    found = COMMANDS[name].load()
    text = str(found.info.help) if isinstance(found, typer.Typer) else inspect.getdoc(found) or ""
    assert " ".join(text.split()).startswith(COMMANDS[name].summary.removesuffix("."))
