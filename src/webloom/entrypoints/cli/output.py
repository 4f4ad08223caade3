"""What the commands say: tables for people, JSON for programs, and nothing that a page smuggled in.

Text from outside goes through `visible` where it is printed as it is, and through `plain` where
rich reads markup.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal

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

# Control characters with the escapes of terminals, what turns the direction of writing, what is
# invisible, and halves of characters.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)


_json = msgspec.json.Encoder(decimal_format="number")


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
        raise  # called while one is handled, which is for pipe_may_close


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


def counted(number: int, noun: str) -> str:
    ending = "es" if noun.endswith("ch") else "s"
    return f"{number:,} {noun}{'' if number == 1 else ending}"


def amount(number: Decimal) -> str:
    """As people write a price: 80, 79.50, 0.125."""
    text = f"{number.normalize():,f}"
    whole, point, places = text.partition(".")
    return f"{whole}.{places:0<2}" if point else whole


def say(text: str, *, err: bool = False) -> None:
    """One line for a person, on standard output or standard error."""
    typer.echo(visible(text), err=err)


def confirm_removal(what: str) -> None:
    """Raises WebloomError unless a person agrees. `what` is `visible`."""
    try:
        is_wanted = typer.confirm(f"Remove {what}?", err=True)
    except typer.Abort:  # nobody is there to answer, and the line of the question is still open
        typer.echo(err=True)
        is_wanted = False
    if not is_wanted:
        raise WebloomError("nothing was removed; --yes does not ask")


def json_line(value: object) -> None:
    """One object on one line of standard output, there at once."""
    sys.stdout.buffer.write(_json.encode(value) + b"\n")
    sys.stdout.buffer.flush()


@contextmanager
def pipe_may_close() -> Iterator[None]:
    """A reader of our output who has seen enough ends the command quietly. Raises WebloomError when
    the output can't be written."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        forsake_stdout()
        raise typer.Exit(0) from None
    except OSError as error:
        if error.filename is not None or error.errno is None:  # of a file, or a time limit
            raise
        forsake_stdout()
        raise WebloomError(f"the output can't be written: {error.strerror}") from None


def forsake_stdout() -> None:
    """What is still buffered for a closed pipe or a full disk must not fail again when Python
    ends."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    os.close(devnull)


def utf8_argument(name: str, value: str | None) -> str | None:
    """Bytes of the command line that are not UTF-8 arrive as halves of characters."""
    if value is not None and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise WebloomError(f"{name}: {visible(value)!r} is not UTF-8") from None
    return value
