"""`webloom feed`: print what an import of a feed would store, without storing anything."""

from __future__ import annotations

import shutil
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from webloom.domain.errors import FeedUnreadable, FetchFailed, UrlRefused, WebloomError
from webloom.domain.feed import AUTO, FeedConfig
from webloom.domain.import_run import Failure, merged_failures
from webloom.entrypoints.cli.failures import print_failures
from webloom.entrypoints.cli.files import STDIN, shown_file
from webloom.entrypoints.cli.items import wrong_options
from webloom.entrypoints.cli.named import checked_url, is_url
from webloom.entrypoints.cli.output import (
    INTERRUPTED,
    SOME_FAILED,
    AsJson,
    console,
    counted,
    pipe_may_close,
    plain,
    shortened,
    visible,
)
from webloom.entrypoints.cli.running import current_settings, run
from webloom.parsing.feeds.formats import FORMATS
from webloom.ports.feed_reader import ReadBatch, ReadOptions

if TYPE_CHECKING:
    from webloom.settings import Settings

_postings = msgspec.json.Decoder(list[msgspec.Raw])

Maps = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="FIELD=PATH",
        help="Where the feed's records have a field of a posting, if not where the format has it. "
        "Repeatable.",
    ),
]
FORMAT_HELP = f"The feed's format: auto recognises it; or {', '.join(FORMATS)}."
Format = Annotated[str, typer.Option("--format", metavar="NAME", help=FORMAT_HELP)]


def feed(
    source: Annotated[
        str, typer.Argument(metavar="URL|FILE|-", help="Where the feed is; - is standard input.")
    ],
    form: Format = AUTO,
    maps: Maps = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most this many postings.")] = None,
    as_json: AsJson = False,  # which it always does
) -> None:
    """Print the postings of a feed as an import would store them. Nothing is stored.

    Failures and repairs are reported on standard error. Exits with 0, with 3 when records failed or
    the feed is incomplete, and with 1 when it can't be read.
    """
    mapping = dict(map(pair, maps or []))
    check_config(FeedConfig(url=source, name="", format=form, mapping=mapping))
    settings, seen = current_settings(), _Seen(limit=limit)
    url = checked_url(settings, source) if is_url(source) else None
    try:
        # The reader writes beside what it reads, so give it a folder of its own.
        with tempfile.TemporaryDirectory(prefix="webloom-") as folder, pipe_may_close():
            path = Path(folder) / "feed"
            name = url or _copied(source, path)
            options = ReadOptions(
                source_url=name,
                source_name=name,
                format=form,
                mapping=mapping,
                batch_size=min(settings.batch_size, limit or settings.batch_size),
                max_bytes=settings.max_feed,
            )
            run(_print(settings, url, path, options, seen))
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except (FeedUnreadable, FetchFailed, UrlRefused) as error:
        seen.report()
        raise WebloomError(f"{shortened(shown_file(source))}: {error}") from error
    seen.report()
    if seen.is_incomplete:
        raise typer.Exit(SOME_FAILED)


def check_config(config: FeedConfig) -> None:
    """Raises BadParameter."""
    from webloom.application.imports.manage_feeds import refuse_bad

    with wrong_options():
        refuse_bad(config)


def pair(given: str) -> tuple[str, str]:
    field_name, equals, path = given.partition("=")
    if not equals or not field_name.strip():
        raise typer.BadParameter(f"--map: got {visible(given)!r}, wants FIELD=PATH")
    return field_name.strip(), path.strip()


@dataclass(kw_only=True)
class _Seen:
    limit: int | None
    printed: int = 0
    last: ReadBatch | None = None
    failures: list[Failure] = field(default_factory=list)

    @property
    def is_full(self) -> bool:
        return self.printed == self.limit

    @property
    def is_incomplete(self) -> bool:
        last = self.last
        return last is not None and bool(last.failed or (last.is_last and not last.is_whole))

    def add(self, batch: ReadBatch) -> None:
        self.last = batch
        self.failures = merged_failures(self.failures, batch.failures)

    def report(self) -> None:
        """On standard error, apart from the postings."""
        to, last = console(err=True), self.last
        if last is None:
            return
        stopped = "" if last.is_last else ", and no further was read"
        to.print(
            plain(
                f"{last.format}: {counted(last.fetched, 'record')}, "
                f"{counted(self.printed, 'posting')} printed, "
                f"{counted(last.duplicates, 'duplicate')}, {last.failed:,} failed{stopped}"
            ),
            soft_wrap=True,
        )
        if last.is_last and not last.is_whole:
            to.print("the feed is incomplete: it ends too early")
        for what, times in sorted(last.repairs.items(), key=lambda each: -each[1]):
            to.print(plain(f"  {times:>7,}  repaired: {what}"), soft_wrap=True)
        print_failures(last.failure_reasons, self.failures, to)


async def _print(
    settings: Settings, url: str | None, path: Path, options: ReadOptions, seen: _Seen
) -> None:
    """Print the feed in the file, which is fetched first if there is a URL."""
    from webloom.bootstrap.network import feed_reader, http_downloader

    if url is not None:
        from webloom.application.imports.preview_feed import fetched_feed

        async with http_downloader(settings) as downloader:
            got = await fetched_feed(downloader, url, path)
        options = replace(options, content_type=got.content_type)
    async with feed_reader().read(path, options) as batches:
        async for batch in batches:
            seen.add(batch)
            _write(batch, seen)
            if seen.is_full:
                return


def _write(batch: ReadBatch, seen: _Seen) -> None:
    for posting in _postings.decode(batch.jobs):
        sys.stdout.buffer.write(bytes(posting) + b"\n")
        seen.printed += 1
        if seen.is_full:
            break
    sys.stdout.buffer.flush()


def _copied(source: str, path: Path) -> str:
    """The URL of a file, which is linked to; what comes through a pipe is copied."""
    shown = shown_file(source)
    try:
        if source == STDIN:
            with path.open("wb") as copy:
                shutil.copyfileobj(sys.stdin.buffer, copy)
            return source
        original = Path(source).resolve()
        with original.open("rb") as given:
            if original.is_file():
                path.symlink_to(original)
            else:  # a named pipe
                with path.open("wb") as copy:
                    shutil.copyfileobj(given, copy)
        return original.as_uri()
    except FileNotFoundError:
        raise WebloomError(
            f"can't read {shown}: file not found; a URL begins with http:// or https://"
        ) from None
    except OSError as error:
        raise WebloomError(f"can't read {shown}: {error.strerror or error}") from error
