"""`webloom dump` and `webloom load`: a backup of everything, and its restore."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, BinaryIO

import typer
import uvloop

from webloom import __version__
from webloom.application.move.dump import dump as write_dump
from webloom.application.move.load import Batches, Load, Verdict, read
from webloom.application.move.stream import DumpWriter, Total
from webloom.bootstrap.connections import dump_reader, open_whole
from webloom.domain.errors import WebloomError
from webloom.entrypoints.cli.move_report import Bars, tell
from webloom.entrypoints.cli.output import console, json_line, pipe_may_close, visible
from webloom.entrypoints.cli.output_file import whole_file
from webloom.settings import Settings, load_settings

AsJson = Annotated[bool, typer.Option("--json", help="One JSON object per collection.")]


def dump(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The file to write; - is standard output.")
    ],
    as_json: AsJson = False,
) -> None:
    """Write everything but queues and dead letters to a file: zstd-compressed JSON, line by line.

    Webloom may be running: the dump is consistent. The file appears when it is complete, and only
    its owner can read it: it holds the secrets of notification targets. `webloom load` reads it
    into any store.
    """
    settings = load_settings()
    if settings.store_url == settings.embedded_url and not settings.database.exists():
        raise WebloomError(
            f"{settings.database} does not exist: nothing was stored here yet, "
            "or WEBLOOM_DATA_DIR means another folder"
        )
    if file == "-" and sys.stdout.isatty():
        raise WebloomError("a dump is binary: redirect it to a file or a program")
    with pipe_may_close(), whole_file(file, is_private=True) as stream:
        totals = uvloop.run(_dump(settings, stream, is_quiet=as_json))
    if file == "-":
        return
    for name, total in totals.items():
        if as_json:
            json_line({"collection": name, "items": total.items, "fingerprint": total.fingerprint})
        else:
            console().print(f"{name}: {total.items:,} items")


async def _dump(settings: Settings, stream: BinaryIO, *, is_quiet: bool) -> dict[str, Total]:
    async with open_whole(settings.store_url, settings) as store, store.snapshot() as snapshot:
        with Bars("dump", is_shown=not is_quiet) as bars:
            await bars.count(snapshot)
            writer = DumpWriter(stream, __version__, uuid.uuid4().hex)
            await write_dump(snapshot, writer, bars.more)
            return writer.totals


def load(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The dump to read; - is standard input.")
    ],
    as_json: AsJson = False,
) -> None:
    """Read a dump into the store, and verify what has arrived by count and fingerprint.

    Loading again is harmless: what is newer in the store stays. A load that was interrupted
    resumes, unless it reads from standard input. Stop Webloom first.
    """
    with _opened(file) as stream:
        verdicts = uvloop.run(_load(load_settings(), stream, is_quiet=as_json))
    tell(verdicts, as_json)
    if not all(verdict.holds for verdict in verdicts.values()):
        raise WebloomError(
            "not everything has arrived. If Webloom was running meanwhile, stop it and load again"
        )


async def _load(settings: Settings, stream: BinaryIO, *, is_quiet: bool) -> dict[str, Verdict]:
    reader = dump_reader(stream)
    can_seek = stream.seekable()

    def opened() -> Batches:
        nonlocal reader
        if can_seek:
            stream.seek(0)
            reader = dump_reader(stream)
        return read(reader)

    async with open_whole(settings.store_url, settings) as store:
        with Bars("load", is_shown=not is_quiet) as bars:
            name = f"load {reader.header.id}"
            load = Load(target=store, name=name, now=datetime.now(UTC), progress=bars.more)
            return await load.run(opened, resume=can_seek)


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    if file == "-":
        yield sys.stdin.buffer
        return
    try:
        with Path(file).open("rb") as stream:
            yield stream
    except OSError as error:
        reason = error.strerror or error
        raise WebloomError(f"can't read {visible(file)}: {reason}") from error
