"""`webloom feeds import-opml` and `export-opml`: lists of feeds, as feed readers have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from webloom.domain.errors import FeedRefused, UrlRefused
from webloom.entrypoints.cli.files import read_file, whole_file
from webloom.entrypoints.cli.output import (
    SOME_FAILED,
    AsJson,
    counted,
    json_line,
    pipe_may_close,
    say,
    shortened,
)
from webloom.entrypoints.cli.running import run_with_services
from webloom.parsing.opml import Outline, read_opml, write_opml

if TYPE_CHECKING:
    from webloom.bootstrap.services import Services


def import_opml(
    file: Annotated[str, typer.Argument(metavar="FILE", help="- is standard input.")],
    as_json: AsJson = False,
) -> None:
    """Add the feeds of an OPML file. Those that are there already stay as they are.

    OPML has names and URLs only: the feeds come on the schedule, even if they were paused where the
    file was written, and their formats, intervals and mappings are not in it.

    Exits with 3 when a URL is refused; the others are added.
    """
    from webloom.application.imports.manage_feeds import LONGEST_NAME
    from webloom.entrypoints.api.import_schemas import feed_response

    outlines = read_opml(read_file(file))

    async def work(services: Services) -> int:
        added = refused = 0
        for outline in outlines:
            name = outline.name[:LONGEST_NAME]
            try:
                feed, is_new = await services.manage_feeds.add(outline.url, name)
            except (UrlRefused, FeedRefused) as error:
                refused += 1
                say(f"{shortened(outline.url)}: refused: {error}", err=True)
                continue
            added += is_new
            if as_json:
                json_line(feed_response(feed))
        known = len(outlines) - added - refused
        say(f"{added:,} added, {known:,} there already, {refused:,} refused", err=as_json)
        return refused

    if run_with_services(work, must_exist=False):
        raise typer.Exit(SOME_FAILED)


def export_opml(
    file: Annotated[str, typer.Argument(metavar="FILE", help="- is standard output.")] = "-",
) -> None:
    """Write every feed's name and URL as OPML, which feed readers understand."""

    async def work(services: Services) -> tuple[bytes, int]:
        feeds = await services.imports.feeds.all()
        outlines = [Outline(feed.config.fetch_url, feed.config.name) for feed in feeds]
        now = services.clock.now()
        return write_opml(outlines, title="Webloom's feeds", created=now), len(outlines)

    content, count = run_with_services(work)
    with pipe_may_close(), whole_file(file) as stream:
        stream.write(content)
    if file != "-":
        say(f"{counted(count, 'feed')} written to {file}")
