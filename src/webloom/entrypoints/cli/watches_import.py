"""`webloom watches import`: watches from a list of pages or a backup of changedetection.io."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from webloom.domain.watch import Watch
from webloom.entrypoints.cli.files import STDIN, opened
from webloom.entrypoints.cli.output import (
    SOME_FAILED,
    AsJson,
    DryRun,
    counted,
    json_line,
    say,
    shortened,
    show_rows,
)
from webloom.entrypoints.cli.running import run_with_services

if TYPE_CHECKING:
    from webloom.application.watch.import_watches import Judged
    from webloom.bootstrap.services import Services
    from webloom.entrypoints.api.watch_import_schemas import (
        ListedEntry,
        ListedPages,
        WatchListPreview,
    )
    from webloom.parsing.watch_list import WatchList

MOST_MEMBERS = 1_000_000  # of an archive: it is the user's own, and may have years of snapshots


def import_list(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Addresses line by line, OPML, JSON or a backup of changedetection.io; - for "
            "stdin.",
        ),
    ],
    skip_known: Annotated[
        bool,
        typer.Option(
            "--skip-known", help="Leave out pages that are watched already, or listed twice."
        ),
    ] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Add a watch for each entry of a list. Exits with 3 if some were refused."""

    with _opened_list(file) as entries:
        refused = _show_preview(entries, as_json) if dry_run else _add(entries, skip_known, as_json)
    if refused:
        raise typer.Exit(SOME_FAILED)


def _add(entries: WatchList, skip_known: bool, as_json: bool) -> int:
    """How many were refused."""
    from webloom.application.watch.import_watches import Imported
    from webloom.entrypoints.watch_entries import Candidates

    so_far = Imported(total=len(entries))

    async def work(services: Services) -> None:
        candidates = Candidates(entries)
        importing = services.import_watches(candidates, so_far, skip_known=skip_known)
        async for outcomes in importing:
            for outcome in outcomes:
                _report(outcome, as_json)

    run_with_services(work, must_exist=False)
    if not as_json:
        known = f", {so_far.known:,} left out" if skip_known else ""
        say(f"{counted(so_far.added, 'watch')} added{known}, {so_far.refused:,} refused")
    return so_far.refused


def _report(outcome: Watch | Judged, as_json: bool) -> None:
    from webloom.entrypoints.api.watch_import_schemas import refusal_of
    from webloom.entrypoints.api.watch_schemas import watch_response

    if isinstance(outcome, Watch):
        if as_json:
            json_line(watch_response(outcome))
    elif outcome.config is None:
        if as_json:
            json_line(refusal_of(outcome))
        else:
            say(f"{shortened(outcome.label)}: {shortened(outcome.reason or '')}", err=True)


def _show_preview(entries: WatchList, as_json: bool) -> int:
    """How many would be refused."""
    from webloom.entrypoints.watch_list_preview import preview_list

    async def work(services: Services) -> WatchListPreview:
        return await preview_list(services.import_watches, entries, most_listed=len(entries))

    preview = run_with_services(work, must_exist=False)
    columns = ("state", "name", "first page", "schedule", "tags", "remarks")
    show_rows(preview.entries, columns, _row, as_json=as_json)
    for note in preview.notes:
        say(f"not carried over: {note}", err=True)
    say(
        f"{preview.new:,} new, {preview.known:,} watched already, {preview.repeated:,} listed "
        f"twice, {preview.refused:,} refused",
        err=as_json,
    )
    return preview.refused


def _row(entry: ListedEntry) -> list[str]:
    watch, pages = entry.watch, ["-", "-", "-"]
    if watch is not None:
        pages = [shortened(watch.url), _schedule(watch), ", ".join(watch.tags) or "-"]
    remarks = [] if entry.reason is None else [entry.reason]
    remarks += [f"not carried over: {note}" for note in entry.notes]
    remarks_shown = shortened("; ".join(remarks), 500) or "-"
    return [entry.state, shortened(entry.name, 80), *pages, remarks_shown]


def _schedule(watch: ListedPages) -> str:
    if not watch.enabled:
        return "paused"
    if watch.schedule.cron is not None:
        return f"{watch.schedule.cron} {watch.schedule.time_zone}"
    return f"every {watch.schedule.every_minutes:g} min"


@contextmanager
def _opened_list(file: str) -> Iterator[WatchList]:
    """Raises WebloomError. An archive is not read into memory as a whole."""
    from webloom.entrypoints.watch_entries import read_list
    from webloom.parsing.changedetection.backup import BEGINNING
    from webloom.parsing.watch_list import read_archive

    with opened(file) as stream:
        if file != STDIN and _begins_with(stream, BEGINNING):
            yield read_archive(stream, most_members=MOST_MEMBERS)
        else:
            yield read_list(stream.read())


def _begins_with(stream: BinaryIO, beginnings: tuple[bytes, ...]) -> bool:
    if not stream.seekable():  # a pipe
        return False
    start = stream.read(max(map(len, beginnings)))
    stream.seek(0)
    return start.startswith(beginnings)
