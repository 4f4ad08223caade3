"""Options that hold passwords: from a file or standard input, as other users of the machine can see
what is on a command line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from webloom.domain.errors import WebloomError
from webloom.entrypoints.cli.output import say, utf8_argument, visible
from webloom.parsing.target_url import may_hold_secret

STDIN = "-"
SEEN_BY_OTHERS = "other users of this machine can see it in the list of processes"

Notify = Annotated[
    list[str] | None,
    typer.Option(
        "--notify",
        metavar="URL",
        help="A webhook or an Apprise URL to tell. Repeat it. One with a password or a token "
        f"belongs into --notify-file: {SEEN_BY_OTHERS}.",
    ),
]
NotifyFile = Annotated[
    str | None,
    typer.Option(
        "--notify-file",
        metavar="FILE",
        help="URLs to tell, one a line; # begins a comment. - is standard input.",
    ),
]
Secret = Annotated[
    str | None,
    typer.Option(
        "--secret",
        metavar="TEXT",
        help="Signs what webhooks are sent. Better in --secret-file: " + SEEN_BY_OTHERS + ".",
    ),
]
SecretFile = Annotated[
    str | None,
    typer.Option(
        "--secret-file",
        metavar="FILE",
        help="A file with what signs what webhooks are sent; - is standard input.",
    ),
]


def targets_and_secret(
    notify: list[str] | None, notify_file: str | None, secret: str | None, secret_file: str | None
) -> tuple[list[str] | None, str | None]:
    """What the options give. None: nothing."""
    if notify_file == secret_file == STDIN:
        raise typer.BadParameter("only one of --notify-file and --secret-file can be -")
    return _targets(notify, notify_file), _secret(secret, secret_file)


def _targets(notify: list[str] | None, file: str | None) -> list[str] | None:
    for url in notify or ():
        utf8_argument("--notify", url)
    if any(map(may_hold_secret, notify or ())):
        warn_of_command_line("--notify", "--notify-file")
    if file is None:
        return notify
    lines = (line.strip() for line in read_secret("--notify-file", file).splitlines())
    urls = [line for line in lines if line and not line.startswith("#")]
    if not urls:
        raise typer.BadParameter(f"--notify-file: there is no URL in {_place(file)}")
    return [*(notify or ()), *urls]


def _secret(secret: str | None, file: str | None) -> str | None:
    if file is None:
        if utf8_argument("--secret", secret):
            warn_of_command_line("--secret", "--secret-file")
        return secret
    if secret is not None:
        raise typer.BadParameter("give either --secret or --secret-file")
    found = read_secret("--secret-file", file).strip()
    if not found:
        raise typer.BadParameter(f"--secret-file: there is nothing in {_place(file)}")
    return found


def read_secret(option: str, file: str) -> str:
    """No message quotes what is in it. Raises WebloomError."""
    try:
        content = sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()
    except OSError as error:
        raise WebloomError(f"{option}: can't read {visible(file)}: {error.strerror}") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        reason = f"{option}: {_place(file)} is not UTF-8 text"
    raise WebloomError(reason)


def warn_of_command_line(option: str, better: str) -> None:
    say(f"webloom: {option} is on the command line, and {SEEN_BY_OTHERS}; use {better}", err=True)


def _place(file: str) -> str:
    return "standard input" if file == STDIN else visible(file)
