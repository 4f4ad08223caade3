"""The command line: `webloom COMMAND`."""

from __future__ import annotations

import inspect
import io
import logging
import os
import sys
from pathlib import Path

import typer

from webloom import __version__
from webloom.domain.errors import SettingsError, WebloomError
from webloom.entrypoints.cli import (
    copy,
    dead,
    demo,
    diff,
    doctor,
    export,
    feed,
    feeds,
    fetch,
    history,
    import_feeds,
    inspect_pages,
    processes,
    submit,
    watch,
    watches,
)
from webloom.entrypoints.cli.logs import set_up_logs
from webloom.entrypoints.cli.output import visible
from webloom.settings import load_settings, unknown_variables

log = logging.getLogger(__name__)

app = typer.Typer(
    name="webloom",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Keep a fresh record of the part of the web that you care about. "
    "Settings come from WEBLOOM_ variables and from webloom.env; `webloom doctor` shows them.",
)
app.command("up")(processes.up)
app.command("api")(processes.api)
app.command("worker")(processes.worker)
app.command("scheduler")(processes.scheduler)
app.command("storage-agent")(processes.storage_agent)
app.command("fetch")(fetch.fetch)
app.command("inspect")(inspect_pages.inspect_pages)
app.command("diff")(diff.diff)
app.command("submit")(submit.submit)
app.command("import")(import_feeds.import_feeds)
app.command("feed")(feed.feed)
app.add_typer(feeds.app, name="feeds")
app.command("watch")(watch.watch)
app.add_typer(watches.app, name="watches")
app.command("history")(history.history)
app.command("storage")(history.storage)
app.command("export")(export.export)
app.command("copy")(copy.copy)
app.command("demo")(demo.demo)
app.command("alive")(processes.alive)
app.command("doctor")(doctor.doctor)
app.command("new-key")(processes.new_key)
app.add_typer(dead.app, name="dead")


def _join_lines(commands: typer.Typer) -> None:
    """Line ends inside a paragraph of a docstring are its author's, and not for the terminal."""
    for command in commands.registered_commands:
        paragraphs = inspect.getdoc(command.callback) or ""
        command.help = "\n\n".join(" ".join(each.split()) for each in paragraphs.split("\n\n"))
    for group in commands.registered_groups:
        if group.typer_instance is not None:
            _join_lines(group.typer_instance)


_join_lines(app)


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
    if "--help" in sys.argv:  # help is most wanted when a setting is wrong
        return
    set_up_logs(load_settings().log_level)
    for name in unknown_variables():
        log.warning("no setting has this name", extra={"variable": name})


def main() -> None:
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
