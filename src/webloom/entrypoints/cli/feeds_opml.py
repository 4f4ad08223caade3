"""`webloom feeds import-opml` and `export-opml`: lists of feeds, as feed readers have them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
import uvloop

from webloom.application.imports.manage_feeds import LONGEST_NAME
from webloom.bootstrap.connections import open_services
from webloom.domain.errors import FeedRefused, UrlRefused, WebloomError
from webloom.entrypoints.api.import_schemas import feed_response
from webloom.entrypoints.cli.output import (
    SOME_FAILED,
    counted,
    json_line,
    pipe_may_close,
    say,
    shortened,
    visible,
)
from webloom.parsing.opml import Outline, read_opml, write_opml
from webloom.private_files import open_for_user
from webloom.settings import load_settings


def import_opml(
    file: Annotated[str, typer.Argument(metavar="FILE", help="- is standard input.")],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object for each feed.")
    ] = False,
) -> None:
    """Add the feeds of an OPML file. Those that are there already stay as they are.

    OPML has names and URLs only: the feeds come on the schedule, even if they were paused where the
    file was written, and their formats, intervals and mappings are not in it.

    Exits with 3 when a URL is refused; the others are added.
    """
    outlines = read_opml(_content(file))

    async def run() -> int:
        added = refused = 0
        async with open_services(load_settings()) as services:
            for outline in outlines:
                try:
                    feed, is_new = await services.manage_feeds.add(
                        outline.url, outline.name[:LONGEST_NAME]
                    )
                except (UrlRefused, FeedRefused) as error:
                    refused += 1
                    say(f"{shortened(outline.url)}: refused: {error}", err=True)
                    continue
                added += is_new
                if as_json:
                    json_line(feed_response(feed))
        there = len(outlines) - added - refused
        say(f"{added:,} added, {there:,} there already, {refused:,} refused", err=as_json)
        return refused

    if uvloop.run(run()):
        raise typer.Exit(SOME_FAILED)


def export_opml(
    file: Annotated[str, typer.Argument(metavar="FILE", help="- is standard output.")] = "-",
) -> None:
    """Write every feed's name and URL as OPML, which feed readers understand."""

    async def run() -> tuple[bytes, int]:
        async with open_services(load_settings(), must_exist=True) as services:
            feeds = await services.imports.feeds.all()
            outlines = [Outline(feed.config.fetch_url, feed.config.name) for feed in feeds]
            now = services.clock.now()
            return write_opml(outlines, title="Webloom's feeds", created=now), len(outlines)

    content, count = uvloop.run(run())
    if file == "-":
        with pipe_may_close():
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
        return
    try:
        with open_for_user(Path(file)) as stream:
            stream.write(content)
    except OSError as error:
        raise WebloomError(f"can't write {visible(file)}: {error.strerror or error}") from error
    say(f"{counted(count, 'feed')} written to {file}")


def _content(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise WebloomError(f"can't read {visible(file)}: {error.strerror or error}") from error
