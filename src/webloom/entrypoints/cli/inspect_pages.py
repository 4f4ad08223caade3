"""`webloom inspect`: show what Webloom sees in pages, without storing anything."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from asyncio import Task
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from webloom.domain.errors import UrlRefused, WebloomError
from webloom.domain.page import Selection
from webloom.entrypoints.cli.files import STDIN, shown_file
from webloom.entrypoints.cli.inspect_pages_files import fetched, named_url, unpacked
from webloom.entrypoints.cli.inspect_pages_report import (
    Inspected,
    print_json,
    print_json_error,
    show,
)
from webloom.entrypoints.cli.named import is_url
from webloom.entrypoints.cli.output import (
    INTERRUPTED,
    AsJson,
    console,
    counting,
    pipe_may_close,
    say,
    shortened,
    visible,
)
from webloom.entrypoints.cli.running import current_settings, run
from webloom.entrypoints.cli.selection_options import Drop, Ignore, IgnorePattern, Keep
from webloom.parsing.web_url import normalise
from webloom.ports.fetcher import Downloader
from webloom.ports.page_reader import PageOrder, PageReader

if TYPE_CHECKING:
    from webloom.settings import Settings

_BLOCK = 1024 * 1024
_AT_ONCE = 6  # inputs: some are read, the others fetched and unpacked meanwhile


@dataclass(frozen=True, kw_only=True, slots=True)
class _Options:
    settings: Settings
    folder: Path  # for what is fetched, unpacked or copied
    selection: Selection
    base_url: str | None
    copies: dict[str, Path]  # of what can't be opened again: standard input, named pipes


def inspect_pages(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="URL|FILE…|-", help="The pages; - is standard input."),
    ],
    as_json: AsJson = False,
    base_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="The URL of a file or of standard input; default: the page's canonical URL.",
        ),
    ] = None,
    keep: Keep = None,
    drop: Drop = None,
    ignore: Ignore = None,
    ignore_pattern: IgnorePattern = None,
) -> None:
    """Show what Webloom sees in pages. That is text, type, price, availability; nothing is stored.

    A file may be compressed with gzip. Exits with 0, and with 1 when a page could not be fetched or
    read; the others are shown.
    """
    selection = _checked(
        Selection(
            keep=keep or [],
            drop=drop or [],
            ignore_text=ignore or [],
            ignore_pattern=ignore_pattern or [],
        )
    )
    if sources.count(STDIN) > 1:
        raise typer.BadParameter("- is standard input, which can be read once")
    base = None if base_url is None else _normal(base_url)
    settings = current_settings()
    try:
        with (
            tempfile.TemporaryDirectory(prefix="webloom-") as folder,
            pipe_may_close(),
        ):
            options = _Options(
                settings=settings,
                folder=Path(folder),
                selection=selection,
                base_url=base,
                copies=_copies(sources, Path(folder), settings.max_body),
            )
            failed = run(_inspect_all(sources, options, as_json))
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    if failed:
        raise typer.Exit(1)


def _checked(selection: Selection) -> Selection:
    from webloom.parsing.pages.selection import check_selection

    try:
        check_selection(selection)
    except ValueError as error:
        raise typer.BadParameter(visible(str(error))) from error
    return selection


def _normal(base_url: str) -> str:
    try:
        return normalise(base_url)
    except UrlRefused as error:
        raise typer.BadParameter(f"--base-url: {visible(str(error))}") from error


def _copies(sources: list[str], folder: Path, limit: int) -> dict[str, Path]:
    """Made before the event loop runs, so that Ctrl-C ends the wait for a pipe."""
    copies = {}
    for number, source in enumerate(dict.fromkeys(sources)):
        if source == STDIN or (not is_url(source) and Path(source).is_fifo()):
            copy = folder / f"copy-{number}"
            with suppress(OSError):  # reported when it is opened again
                _copy(source, copy, limit + 1)
                copies[source] = copy
    return copies


def _copy(source: str, copy: Path, most: int) -> None:
    with (
        open(0 if source == STDIN else source, "rb", closefd=source != STDIN) as given,
        copy.open("wb") as file,
    ):
        while most > 0 and (block := given.read(min(most, _BLOCK))):
            most -= file.write(block)


async def _inspect_all(sources: list[str], options: _Options, as_json: bool) -> int:
    """How many failed. What is printed is in the order of the sources."""
    from webloom.bootstrap.network import page_downloader, page_reader

    failed, to = 0, console()
    settings = options.settings
    async with (
        page_downloader(settings, any_status=True) as downloader,
        page_reader(settings) as reader,
    ):
        waiting = deque(enumerate(sources))
        running: deque[tuple[str, Task[Inspected]]] = deque()
        try:
            # Not on a terminal that the pages themselves go to.
            with counting(len(sources), is_shown=not sys.stdout.isatty()) as count:
                while waiting or running:
                    while waiting and len(running) < _AT_ONCE:
                        number, source = waiting.popleft()
                        path = options.folder / str(number)
                        inspecting = _inspect(source, path, options, downloader, reader)
                        running.append((source, asyncio.create_task(inspecting)))
                    source, task = running.popleft()
                    try:
                        inspected = await task
                    except WebloomError as error:
                        failed += 1
                        _report(source, str(error), as_json)
                    else:
                        if as_json:
                            print_json(inspected)
                        else:
                            show(inspected, to, is_one_of_many=len(sources) > 1)
                    count()
        finally:
            for _, task in running:
                task.cancel()
            await asyncio.gather(*(task for _, task in running), return_exceptions=True)
    return failed


async def _inspect(
    source: str, path: Path, options: _Options, downloader: Downloader, reader: PageReader
) -> Inspected:
    """`path` is free to be written to. Raises WebloomError."""
    if is_url(source):
        order = await fetched(source, path, options.settings, downloader)
    else:
        given = options.copies.get(source, Path(source))
        found = await asyncio.to_thread(unpacked, given, path, options.settings.max_body)
        url = options.base_url or await asyncio.to_thread(named_url, found) or ""
        order = PageOrder(path=found, url=url)
    try:
        read = await reader.read(replace(order, selection=options.selection))
    finally:
        await asyncio.to_thread(path.unlink, missing_ok=True)
    return Inspected(
        source=source,
        url=order.url or None,
        status_code=order.status_code if is_url(source) else None,
        reading=read.reading,
    )


def _report(source: str, error: str, as_json: bool) -> None:
    say(f"webloom: {shortened(shown_file(source))}: {error}", err=True)
    if as_json:
        print_json_error(source, error)
