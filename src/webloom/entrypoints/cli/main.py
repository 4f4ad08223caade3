"""The command line: `webloom COMMAND`."""

from __future__ import annotations

import inspect
import io
import logging
import os
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from webloom import __version__
from webloom.domain.errors import SettingsError, WebloomError
from webloom.entrypoints.cli.logs import set_up_logs
from webloom.entrypoints.cli.output import visible
from webloom.private_files import keep_private
from webloom.settings import load_settings, unknown_variables

log = logging.getLogger(__name__)

# In the order of `webloom --help`: the module beside this one, and its function or group.
COMMANDS = {
    "up": "processes:up",
    "api": "processes:api",
    "worker": "processes:worker",
    "scheduler": "processes:scheduler",
    "storage-agent": "processes:storage_agent",
    "fetch": "fetch:fetch",
    "inspect": "inspect_pages:inspect_pages",
    "diff": "diff:diff",
    "submit": "submit:submit",
    "import": "import_feeds:import_feeds",
    "feed": "feed:feed",
    "feeds": "feeds:app",
    "watch": "watch:watch",
    "watches": "watches:app",
    "history": "history:history",
    "storage": "history:storage",
    "export": "export:export",
    "copy": "copy:copy",
    "demo": "demo:demo",
    "alive": "processes:alive",
    "doctor": "doctor:doctor",
    "new-key": "processes:new_key",
    "dead": "dead:app",
}


class _LazyGroup(TyperGroup):
    """Imports a command when it is used: a worker needs no web framework, a fetch no database."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        wanted = [cmd_name] if cmd_name in COMMANDS else COMMANDS  # all, to suggest a similar one
        for name in wanted:
            if name not in self.commands:
                self.commands[name] = _load(name)
        return super().get_command(ctx, cmd_name)


def _load(name: str) -> Any:
    module, attribute = COMMANDS[name].split(":")
    found = getattr(import_module(f"webloom.entrypoints.cli.{module}"), attribute)
    loaded = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    if isinstance(found, typer.Typer):
        loaded.add_typer(found, name=name)
        _join_lines(found)
        return typer.main.get_group(loaded).commands[name]
    loaded.command(name)(found)
    _join_lines(loaded)
    return typer.main.get_command(loaded)


def _join_lines(commands: typer.Typer) -> None:
    """Line ends inside a paragraph of a docstring are its author's, and not for the terminal."""
    for command in commands.registered_commands:
        paragraphs = inspect.getdoc(command.callback) or ""
        command.help = "\n\n".join(" ".join(each.split()) for each in paragraphs.split("\n\n"))
    for group in commands.registered_groups:
        if group.typer_instance is not None:
            _join_lines(group.typer_instance)


app = typer.Typer(
    name="webloom",
    cls=_LazyGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Keep a fresh record of the part of the web that you care about. "
    "Settings come from WEBLOOM_ variables and from webloom.env; `webloom doctor` shows them.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"webloom {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # by __main__, while modules are loaded
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if "--help" in sys.argv:  # help is most wanted when a setting is wrong
        return
    set_up_logs(load_settings().log_level)
    for name in unknown_variables():
        log.warning("no setting has this name", extra={"variable": name})


def main() -> None:
    keep_private()
    _open_streams()
    try:
        app()
    except SettingsError as error:
        _fail(error, 2)
    except WebloomError as error:
        _fail(error, 1)
    except ExceptionGroup as group:
        known, other = group.split(WebloomError)
        if known is None or other is not None:
            raise
        _fail(_first(known), 1)


def _open_streams() -> None:
    """A command goes on where one of them is closed, or can't show a character."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - stays open
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _first(group: BaseException) -> BaseException:
    while isinstance(group, BaseExceptionGroup):
        group = group.exceptions[0]
    return group


def _fail(error: BaseException, code: int) -> None:
    for line in str(error).splitlines():
        typer.echo(f"webloom: {visible(line)}", err=True)
    sys.exit(code)
