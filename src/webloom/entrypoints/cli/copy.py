"""`webloom copy`: a dump and a load in one process."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from webloom.domain.errors import SettingsError, WebloomError
from webloom.entrypoints.cli.move_report import Bars, report
from webloom.entrypoints.cli.output import AsJson
from webloom.entrypoints.cli.running import current_settings, run
from webloom.entrypoints.cli.secrets_given import read_secret, warn_of_command_line
from webloom.parsing.backend_url import SQLITE, STORE_SCHEMES, checked, has_password, shown


def copy(
    source: Annotated[
        str,
        typer.Option(
            "--from",
            help="The store to copy, as in WEBLOOM_STORE, or @FILE that names it.",
        ),
    ],
    target: Annotated[
        str,
        typer.Option("--to", help="The store to copy to; @- reads its address from stdin."),
    ],
    as_json: AsJson = False,
) -> None:
    """Copy every collection from one store to another, and verify the copy by count and hash.

    Stop Webloom first, so that nothing is written to the old store afterwards. A copy that was
    interrupted resumes; copying again is harmless, and what is newer in the target stays. Queues
    and dead letters are not copied. Put an address with a password into a file, --to @FILE: other
    users of this machine can see the command line.
    """
    run(_copy(_address("--from", source), _address("--to", target), as_json))


def _address(option: str, given: str) -> str:
    url = given
    if given.startswith("@"):
        try:
            url = read_secret(option, given[1:]).strip()
        except WebloomError as error:
            raise SettingsError(str(error)) from error
    elif has_password(url):
        warn_of_command_line(option, f"{option} @FILE")
    try:
        checked(url, STORE_SCHEMES)
    except ValueError as error:
        got = f"what {given[1:]} holds" if url is not given else repr(shown(url))
        raise SettingsError(f"{option}: got {got}, which is not a store: {error}") from None
    if not url.startswith(SQLITE):
        return url
    file = Path(url.removeprefix(SQLITE)).resolve()  # the target remembers where it came from
    if option == "--from" and not file.exists():
        raise SettingsError(f"--from: {file} does not exist, so there is nothing to copy")
    return f"{SQLITE}{file}"


async def _copy(source: str, target: str, as_json: bool) -> None:
    from webloom.application.move.load import Load, scanned
    from webloom.bootstrap.connections import open_copy

    if shown(source).rstrip("/") == shown(target).rstrip("/"):
        raise SettingsError("--from and --to are the same store")
    async with (
        open_copy(source, target, current_settings()) as (origin, goal),
        origin.snapshot() as snapshot,
    ):
        with Bars("copy", is_shown=not as_json) as bars:
            await bars.count(snapshot)
            name = f"copy {shown(source)}"
            load = Load(target=goal, name=name, now=datetime.now(UTC), progress=bars.advance_by)
            verdicts = await load.run(lambda: scanned(snapshot), resume=True)
    report(
        verdicts,
        as_json,
        failure="the copy is incomplete. If Webloom was running meanwhile, stop it and copy again",
    )
