"""Options that hold secrets: better read from a file or standard input, because other users of the
machine can see the command line."""

from __future__ import annotations

from typing import Annotated

import typer

from webloom.domain.errors import WebloomError
from webloom.entrypoints.cli.files import STDIN, read_file, shown_file
from webloom.entrypoints.cli.output import say, utf8_argument
from webloom.parsing.target_url import may_hold_secret

SEEN_BY_OTHERS = "other users of this machine can see it in the list of processes"

Notify = Annotated[
    list[str] | None,
    typer.Option(
        "--notify",
        metavar="URL",
        help="A webhook or an Apprise URL to notify. Repeatable. Put one with a password or token "
        f"into --notify-file: {SEEN_BY_OTHERS}.",
    ),
]
NotifyFile = Annotated[
    str | None,
    typer.Option(
        "--notify-file",
        metavar="FILE",
        help="A file with such URLs, one per line; # begins a comment. - is standard input.",
    ),
]
Secret = Annotated[
    str | None,
    typer.Option(
        "--secret",
        metavar="TEXT",
        help=f"Signs webhooks. Better in --secret-file: {SEEN_BY_OTHERS}.",
    ),
]
SecretFile = Annotated[
    str | None,
    typer.Option(
        "--secret-file",
        metavar="FILE",
        help="A file with the secret that signs webhooks; - is standard input.",
    ),
]


def targets_and_secret(
    notify: list[str] | None, notify_file: str | None, secret: str | None, secret_file: str | None
) -> tuple[list[str] | None, str | None]:
    """None for what no option gives."""
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
        raise typer.BadParameter(f"--notify-file: {shown_file(file)} contains no URL")
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
        raise typer.BadParameter(f"--secret-file: there is nothing in {shown_file(file)}")
    return found


def read_secret(option: str, file: str) -> str:
    """No message quotes the content. Raises WebloomError."""
    try:
        return read_file(file).decode("utf-8-sig")
    except WebloomError as error:
        raise WebloomError(f"{option}: {error}") from error
    except UnicodeDecodeError:
        reason = f"{option}: {shown_file(file)} is not UTF-8 text"
    raise WebloomError(reason)


def warn_of_command_line(option: str, better: str) -> None:
    say(f"webloom: {option} is on the command line, and {SEEN_BY_OTHERS}; use {better}", err=True)
