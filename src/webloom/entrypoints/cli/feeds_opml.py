"""`webloom feeds import-opml` and `export-opml`: lists of feeds, as feed readers have them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from webloom.application.entry_state import EntryState
from webloom.entrypoints.cli.files import read_file, whole_file
from webloom.entrypoints.cli.output import (
    SOME_FAILED,
    AsJson,
    DryRun,
    counted,
    json_line,
    pipe_may_close,
    say,
    shortened,
    show_rows,
)
from webloom.entrypoints.cli.running import run_with_services
from webloom.parsing.opml import MOST_FEEDS, read_opml

if TYPE_CHECKING:
    from webloom.bootstrap.services import Services
    from webloom.entrypoints.api.import_schemas import ListedFeed, OpmlPreview


def import_opml(
    file: Annotated[str, typer.Argument(metavar="FILE", help="- is standard input.")],
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Add the feeds of an OPML file. Those that are there already stay as they are.

    OPML has names, URLs and tags only: the feeds are imported at once and on the schedule, even if
    they were paused where the file was written, and their formats, intervals and mappings are not
    in it.

    Exits with 3 when a URL is refused; the others are added.
    """
    content = read_file(file)
    if _show_preview(content, as_json) if dry_run else _add(content, as_json):
        raise typer.Exit(SOME_FAILED)


def _add(content: bytes, as_json: bool) -> int:
    """How many were refused."""
    from webloom.entrypoints.api.import_schemas import feed_response

    outlines = read_opml(content)

    async def work(services: Services) -> Counter[EntryState]:
        counts: Counter[EntryState] = Counter()
        async for each in services.import_outlines(outlines):
            counts[each.state] += 1
            if each.feed is None:
                say(f"{shortened(each.outline.url)}: refused: {each.reason}", err=True)
            elif as_json:
                json_line(feed_response(each.feed))
        return counts

    counts = run_with_services(work, must_exist=False)
    refused = counts[EntryState.REFUSED]
    say(
        f"{counts[EntryState.NEW]:,} added, {counts[EntryState.KNOWN]:,} there already, "
        f"{refused:,} refused",
        err=as_json,
    )
    return refused


def _show_preview(content: bytes, as_json: bool) -> int:
    """How many would be refused."""
    from webloom.entrypoints.opml import preview_outlines

    async def work(services: Services) -> OpmlPreview:
        return await preview_outlines(services, content, most_listed=MOST_FEEDS)

    preview = run_with_services(work, must_exist=False)
    columns = ("state", "name", "URL", "tags", "remarks")
    show_rows(preview.entries, columns, _row, as_json=as_json)
    say(
        f"{preview.new:,} new, {preview.known:,} there already, {preview.repeated:,} listed twice, "
        f"{preview.refused:,} refused; {preview.pages:,} pages without a feed",
        err=as_json,
    )
    return preview.refused


def _row(feed: ListedFeed) -> list[str]:
    name, url = shortened(feed.name, 80), shortened(feed.url)
    return [feed.state, name, url, ", ".join(feed.tags) or "-", feed.reason or "-"]


def export_opml(
    file: Annotated[str, typer.Argument(metavar="FILE", help="- is standard output.")] = "-",
) -> None:
    """Write every feed's name, URL and tags as OPML, which feed readers understand."""
    from webloom.entrypoints.opml import exported_feeds

    content, count = run_with_services(exported_feeds)
    with pipe_may_close(), whole_file(file) as stream:
        stream.write(content)
    if file != "-":
        say(f"{counted(count, 'feed')} written to {file}")
