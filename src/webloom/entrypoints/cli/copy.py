"""`webloom copy`: carry everything from one store to another."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec
import typer
import uvloop
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from webloom.application.move.copy_collection import Verdict
from webloom.bootstrap import open_copy
from webloom.domain.errors import SettingsError, WebloomError
from webloom.entrypoints.cli.output import console, json_line, plain, visible
from webloom.entrypoints.cli.secrets_given import read_secret, warn_of_command_line
from webloom.parsing.backend_url import SQLITE, STORE_SCHEMES, checked, has_password, shown
from webloom.settings import load_settings


class Report(msgspec.Struct, kw_only=True):
    """One line of --json for each collection."""

    collection: str
    items: int
    equal: int
    newer_in_target: int
    missing: int
    different: int
    source_hash: str
    target_hash: str
    verified: bool
    samples: list[str]


def copy(
    source: Annotated[
        str,
        typer.Option(
            "--from",
            help="The store to copy: sqlite:///FILE, mongodb://…, or @FILE that names it.",
        ),
    ],
    target: Annotated[
        str,
        typer.Option("--to", help="The store to copy to; @- reads its address from stdin."),
    ],
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object per collection.")
    ] = False,
) -> None:
    """Copy every collection from one store to another, and verify the copy by count and hash.

    Stop Webloom first, so that nothing changes meanwhile. A copy that was interrupted goes on where
    it was; copying again is harmless, and what is newer in the target stays. An address with a
    password belongs into a file, --to @FILE: other users of this machine can see what is on a
    command line.
    """
    uvloop.run(_copy(_address("--from", source), _address("--to", target), as_json))


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
        raise SettingsError(f"{option}: got {got}, which is no store: {error}") from None
    if not url.startswith(SQLITE):
        return url
    file = Path(url.removeprefix(SQLITE)).resolve()  # the target remembers where it came from
    if option == "--from" and not file.exists():
        raise SettingsError(f"--from: {file} does not exist, so there is nothing to copy")
    return f"{SQLITE}{file}"


async def _copy(source: str, target: str, as_json: bool) -> None:
    if shown(source).rstrip("/") == shown(target).rstrip("/"):
        raise SettingsError("--from and --to are the same store")
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console(err=True),
        disable=as_json,
    )
    verdicts: dict[str, Verdict] = {}
    with bar:
        async with open_copy(source, target, load_settings()) as collections:
            for name, collection in collections.items():
                total = await collection.source.count()
                copying = bar.add_task(f"copy {name}", total=total)
                copied = await collection.copy(partial(bar.advance, copying))
                looking = bar.add_task(f"verify {name}", total=total)
                verdicts[name] = await collection.verify(copied, partial(bar.advance, looking))
    for name, verdict in verdicts.items():
        _tell(name, verdict, as_json)
    if not all(verdict.holds for verdict in verdicts.values()):
        raise WebloomError(
            "the copy is not whole. If Webloom was running meanwhile, stop it and copy again"
        )


def _tell(name: str, verdict: Verdict, as_json: bool) -> None:
    report = Report(
        collection=name,
        items=verdict.items,
        equal=verdict.equal,
        newer_in_target=verdict.newer,
        missing=verdict.missing,
        different=verdict.different,
        source_hash=f"{verdict.source_hash:032x}",
        target_hash=f"{verdict.target_hash:032x}",
        verified=verdict.holds,
        samples=verdict.samples,
    )
    if as_json:
        json_line(report)
        return
    out = console()
    out.print(f"{name}: {verdict.items:,} items, {verdict.equal:,} equal in the target")
    out.print(f"  hash of the source  {report.source_hash}")
    out.print(f"  hash of the target  {report.target_hash}")
    if verdict.newer:
        out.print(f"  {verdict.newer:,} are newer in the target and were left as they are")
    for what, count in (("missing", verdict.missing), ("different", verdict.different)):
        if count:
            out.print(f"  {count:,} are {what} in the target")
    for sample in verdict.samples:
        out.print(f"    {plain(visible(sample))}")
