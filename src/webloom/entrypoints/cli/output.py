"""How commands print: tables for people, JSON for programs, and no control characters of others.

Text from outside goes through `visible` where it is printed as it is, and through `plain` where
rich reads markup.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Annotated, TypeVar

import msgspec
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from webloom.domain.errors import WebloomError

SOME_FAILED = 3  # exit code: it was done, but not for everything
INTERRUPTED = 130

NARROW = 120  # columns, too few for a table of many
WIDTH_OF_A_FILE = 1000  # no terminal, so nothing is gained by breaking lines at 80 columns

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, one object per line.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be added; add nothing.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

Item = TypeVar("Item")

_json = msgspec.json.Encoder(decimal_format="number")

# Control characters with the escapes of terminals, what turns the direction of writing, what is
# invisible, and halves of characters.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)


def visible(text: str) -> str:
    """Every character that a terminal would obey, hide or break at, as its Python escape."""
    return _UNSAFE.sub(_escape, text)


def plain(text: object) -> str:
    """Outside text for rich: `visible`, and no part of it is markup."""
    return escape(visible(str(text)))


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


def shortened(text: str, most: int = 200) -> str:
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


def console(*, err: bool = False) -> Console:
    """For standard output, or standard error. Strings printed to it are markup: see `plain`."""
    stream = sys.stderr if err else sys.stdout
    width = None if stream.isatty() else WIDTH_OF_A_FILE
    return _Console(file=stream, width=width, highlight=False, emoji=False)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise  # called in an except block: pipe_may_close handles the error


def table(*columns: str, heading: bool = True) -> Table:
    """A table without lines, whose cells are folded and never cut."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=heading)
    for column in columns:
        made.add_column(column, overflow="fold")
    return made


def show_table(made: Table, to: Console) -> None:
    """In a file, no line ends in blanks."""
    if to.is_terminal:
        to.print(made)
        return
    with to.capture() as captured:
        to.print(made)
    for line in captured.get().rstrip("\n").split("\n"):
        to.print(line.rstrip(), markup=False, soft_wrap=True)


def show_rows(
    items: Iterable[Item],
    columns: tuple[str, ...],
    row: Callable[[Item], Iterable[str]],
    *,
    as_json: bool,
) -> None:
    """Items as a table, or as lines of JSON."""
    with pipe_may_close():
        if as_json:
            for each in items:
                json_line(each)
            return
        shown = table(*columns)
        for each in items:
            shown.add_row(*map(plain, row(each)))
        show_table(shown, console())


@contextmanager
def counting(
    total: int | None, noun: str = "", *, is_shown: bool = True
) -> Iterator[Callable[[], None]]:
    """A progress bar on standard error, a spinner if the total is not known, nothing if there is no
    terminal; yields the function to call for each item."""
    to = console(err=True)
    if total == 1 or not is_shown or not to.is_terminal:
        yield lambda: None
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    counts = TextColumn("{task.completed:,.0f}" + (f"/{total:,}" if total else f" {noun}"))
    bar = SpinnerColumn() if total is None else BarColumn()
    with Progress(bar, counts, TimeElapsedColumn(), console=to) as progress:
        task = progress.add_task("", total=total)
        yield lambda: progress.advance(task)


def when(moment: datetime | None) -> str:
    """The time in UTC, with the date unless it is today; - for none."""
    if moment is None:
        return "-"
    form = "%H:%M UTC" if moment.date() == datetime.now(UTC).date() else "%Y-%m-%d %H:%M UTC"
    return moment.strftime(form)


def counted(number: int, noun: str) -> str:
    ending = "es" if noun.endswith("ch") else "s"
    return f"{number:,} {noun}{'' if number == 1 else ending}"


def say(text: str, *, err: bool = False) -> None:
    """One line for a person, on standard output or standard error."""
    typer.echo(visible(text), err=err)


def confirm_removal(what: str) -> None:
    """Raises WebloomError unless the user agrees. `what` is `visible`."""
    try:
        is_wanted = typer.confirm(f"Remove {what}?", err=True)
    except typer.Abort:  # no terminal; the question has no line end yet
        typer.echo(err=True)
        is_wanted = False
    if not is_wanted:
        raise WebloomError("nothing was removed; --yes does not ask")


def json_line(value: object) -> None:
    """One object on one line of standard output, flushed."""
    sys.stdout.buffer.write(_json.encode(value) + b"\n")
    sys.stdout.buffer.flush()


def json_text(text: str) -> str:
    """An argument for JSON, which has no surrogates: a byte that is not UTF-8 is escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


@contextmanager
def pipe_may_close() -> Iterator[None]:
    """A reader that closes the pipe ends the command quietly. Raises WebloomError when the output
    can't be written."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        discard_stdout()
        raise typer.Exit(0) from None
    except OSError as error:
        if error.filename is not None or error.errno is None:  # of a file, or a time limit
            raise
        discard_stdout()
        raise WebloomError(f"the output can't be written: {error.strerror}") from None


def discard_stdout() -> None:
    """Buffered output for a closed pipe or a full disk must not fail again when Python ends."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    os.close(devnull)


def utf8_argument(name: str, value: str | None) -> str | None:
    """Refuse bytes that are not UTF-8, which Python decodes to surrogates. Raises WebloomError."""
    if value is not None and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise WebloomError(f"{name}: {visible(value)!r} is not UTF-8") from None
    return value
