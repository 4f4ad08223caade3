"""`webloom dump` and `webloom load`: a backup of everything, and its restore."""

from __future__ import annotations

import sys
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from webloom import __version__
from webloom.domain.errors import DumpRefused, WebloomError
from webloom.entrypoints.cli.files import opened, whole_file
from webloom.entrypoints.cli.move_report import Bars, report
from webloom.entrypoints.cli.named import is_stored
from webloom.entrypoints.cli.output import AsJson, console, json_line, pipe_may_close
from webloom.entrypoints.cli.running import current_settings, run

if TYPE_CHECKING:
    from webloom.application.move.load import Batches, Verdict
    from webloom.application.move.stream import Total
    from webloom.settings import Settings


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
    settings = current_settings()
    if not is_stored(settings):
        raise WebloomError(
            f"{settings.database} does not exist: nothing was stored here yet, "
            "or WEBLOOM_DATA_DIR means another folder"
        )
    if file == "-" and sys.stdout.isatty():
        raise WebloomError("a dump is binary: redirect it to a file or a program")
    with pipe_may_close(), whole_file(file, is_private=True) as stream:
        totals = run(_dump(settings, stream, is_quiet=as_json))
    if file == "-":
        return
    for name, total in totals.items():
        if as_json:
            json_line({"collection": name, "items": total.items, "fingerprint": total.fingerprint})
        else:
            console().print(f"{name}: {total.items:,} items")


async def _dump(settings: Settings, stream: BinaryIO, *, is_quiet: bool) -> dict[str, Total]:
    from webloom.application.move.dump import dump as write_dump
    from webloom.application.move.stream import DumpWriter
    from webloom.bootstrap.connections import open_whole

    async with (
        open_whole(settings.store_url, settings) as store,
        store.snapshot() as snapshot,
    ):
        with Bars("dump", is_shown=not is_quiet) as bars:
            await bars.count(snapshot)
            writer = DumpWriter(stream, __version__, uuid.uuid4().hex)
            await write_dump(snapshot, writer, bars.advance_by)
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
    with opened(file) as stream:
        verdicts = run(_load(current_settings(), stream, is_quiet=as_json))
    report(
        verdicts,
        as_json,
        failure="the load is incomplete. If Webloom was running meanwhile, stop it and load again",
    )


async def _load(settings: Settings, stream: BinaryIO, *, is_quiet: bool) -> dict[str, Verdict]:
    from webloom.application.move.load import Load, read
    from webloom.application.move.restore import end_restore, load_name
    from webloom.bootstrap.connections import dump_reader, open_whole

    reader = dump_reader(stream)
    can_seek = stream.seekable()

    def batches() -> Batches:
        nonlocal reader
        if can_seek:
            stream.seek(0)
            reader = dump_reader(stream)
        return read(reader)

    async with open_whole(settings.store_url, settings) as store:
        with Bars("load", is_shown=not is_quiet) as bars:
            header = reader.header
            load = Load(
                target=store,
                name=load_name(header),
                now=datetime.now(UTC),
                progress=bars.advance_by,
            )
            try:
                verdicts = await load.run(batches, resume=can_seek)
            except DumpRefused as error:
                raise DumpRefused(f"{error}. What comes before that is loaded") from error
        await end_restore(store, header.id)
        return verdicts
