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
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from webloom import __version__
from webloom.domain.errors import SettingsError, WebloomError
from webloom.private_files import keep_private

log = logging.getLogger(__name__)


class Command(NamedTuple):
    """Where a command is, and its summary: `webloom --help` imports no command."""

    place: str  # module:function or group; a module without a dot is beside this one
    summary: str

    def load(self) -> Any:
        module, _, attribute = self.place.partition(":")
        name = module if "." in module else f"webloom.entrypoints.cli.{module}"
        return getattr(import_module(name), attribute or module)


COMMANDS = {
    "up": Command("processes:up", "Run the API, a worker and the scheduler in one process."),
    "api": Command("processes:api", "Run the API alone."),
    "worker": Command("processes:worker", "Run a worker."),
    "scheduler": Command("processes:scheduler", "Run the scheduler."),
    "storage-agent": Command("processes:storage_agent", "Run the storage agent alone."),
    "fetch": Command("fetch", "Fetch one URL now and show what came back."),
    "inspect": Command("inspect_pages", "Show what Webloom sees in pages."),
    "diff": Command("diff", "Show what differs between two pages or texts."),
    "submit": Command("submit", "Put URLs into the queue."),
    "import": Command("import_feeds", "Import feeds now: fetch, read and store them."),
    "feed": Command("feed", "Print the postings of a feed as an import would store them."),
    "feeds": Command("feeds:app", "Add, list, edit, pause and remove feeds; OPML."),
    "watch": Command(
        "watches:watch", "Watch pages: keep versions, changes and prices, and notify."
    ),
    "watches": Command("watches:app", "List, edit, run, pause and remove watches; lists."),
    "changes": Command("changes:app", "Look at the changes of all watches; mark them as done."),
    "history": Command("history", "Show what was seen on a page."),
    "storage": Command("history:storage", "Show what watched pages take."),
    "export": Command("export", "Write the records, the newest first."),
    "dump": Command("dump", "Write everything but queues and dead letters to a file."),
    "load": Command("dump:load", "Read a dump into the store."),
    "copy": Command("copy", "Copy every collection from one store to another."),
    "demo": Command("webloom_demo.command:demo", "See Webloom at work in a minute."),
    "alive": Command("alive", "Exit with 0 if such a process of this machine is alive."),
    "doctor": Command("doctor", "Check every dependency and say what to do."),
    "logs": Command("logs", "Show what processes did, and why things failed."),
    "new-key": Command("new_key", "Make an API key, and its hash for WEBLOOM_API_KEYS."),
    "dead": Command(
        "dead:app", "Look at the messages that could not be handled; put them back or discard them."
    ),
}


class _LazyGroup(TyperGroup):
    """Imports a command when it is called."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = {
            name: TyperCommand(name, help=command.summary) for name, command in COMMANDS.items()
        }

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed and _load(args[0]), rest


def _load(name: str) -> Any:
    found = COMMANDS[name].load()
    loaded = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    if isinstance(found, typer.Typer):
        loaded.add_typer(found, name=name)
        _join_lines(found)
        return typer.main.get_group(loaded).commands[name]
    loaded.command(name)(found)
    _join_lines(loaded)
    return typer.main.get_command(loaded)


def _join_lines(commands: typer.Typer) -> None:
    """Unwrap the paragraphs of docstrings, so that the terminal wraps them."""
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
    if "--help" in sys.argv:  # which must work when a setting is wrong
        return
    from webloom.entrypoints.log_lines import set_up_logs
    from webloom.settings import load_settings, unknown_variables

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
    """Work without a stream that is closed, and escape what one can't encode."""
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
    from webloom.entrypoints.cli.output import visible

    for line in str(error).splitlines():
        typer.echo(f"webloom: {visible(line)}", err=True)
    sys.exit(code)
