"""`webloom export`: every record, or those chosen, as NDJSON or CSV."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, BinaryIO

import msgspec
import typer

from webloom.domain.errors import WebloomError
from webloom.domain.inventory import Record, RecordFilter, Status
from webloom.entrypoints.cli.files import whole_file
from webloom.entrypoints.cli.output import counting, pipe_may_close, utf8_argument, visible
from webloom.entrypoints.cli.running import run_with_services
from webloom.entrypoints.csv_rows import csv_rows
from webloom.entrypoints.record_rows import COLUMNS, record_row

if TYPE_CHECKING:
    from webloom.bootstrap.services import Services

PAGE = 200


class Format(StrEnum):
    NDJSON = "ndjson"
    CSV = "csv"


def export(
    form: Annotated[
        Format, typer.Option("--format", help="One JSON object a line, or a table.")
    ] = Format.NDJSON,
    status: Annotated[Status | None, typer.Option(help="Only records with this status.")] = None,
    host: Annotated[
        str | None, typer.Option(help="Only URLs of this host, such as example.com.")
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(help="Only URLs with words that begin like this."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--from", metavar="DATE", help="Only records created then or later (UTC)."),
    ] = None,
    until: Annotated[
        str | None, typer.Option("--to", metavar="DATE", help="Only records created before (UTC).")
    ] = None,
    source: Annotated[
        bool, typer.Option("--source/--no-source", help="With the page sources; NDJSON only.")
    ] = False,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to; it appears when it is complete. - is standard output.",
        ),
    ] = "-",
) -> None:
    """Write the records, the newest first. A date is 2026-01-31 or 2026-01-31T12:00:00+01:00."""
    if source and form is Format.CSV:
        raise typer.BadParameter("CSV has no column for the source; use --format ndjson")
    chosen = RecordFilter(
        status=status,
        host=utf8_argument("--host", host and host.lower()),
        text=utf8_argument("--text", text or None),
        created_from=instant("--from", since),
        created_to=instant("--to", until),
    )
    with pipe_may_close(), whole_file(output) as stream:
        run_with_services(lambda services: _export(services, chosen, form, source, stream))


def instant(option: str, given: str | None) -> datetime | None:
    """UTC is meant where no zone is given. Raises WebloomError."""
    if given is None:
        return None
    try:
        parsed = datetime.fromisoformat(given.strip())
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise WebloomError(
            f"{option}: got {visible(given)!r}, wants a date such as 2026-01-31, "
            "or a date and time such as 2026-01-31T12:00:00Z"
        ) from None


async def _export(
    services: Services, chosen: RecordFilter, form: Format, source: bool, stream: BinaryIO
) -> None:
    line = _json_line if form is Format.NDJSON else _csv_line
    if form is Format.CSV:
        stream.write(csv_rows([COLUMNS], line_end="\r\n"))
    with counting(None, "records", is_shown=not stream.isatty()) as count:
        async for record in _records(services, chosen, source):
            stream.write(line(record))
            count()


async def _records(services: Services, chosen: RecordFilter, source: bool) -> AsyncIterator[Record]:
    cursor = None
    while True:
        page = await services.records.page_of_records(chosen, limit=PAGE, cursor=cursor)
        for record in page.records:
            whole = await services.store.find(record.url) if source else record
            if whole is not None:  # forgotten since the page was read
                yield whole
        cursor = page.next_cursor
        if cursor is None:
            return


def _json_line(record: Record) -> bytes:
    return msgspec.json.encode(record) + b"\n"


def _csv_line(record: Record) -> bytes:
    cells = (
        each.isoformat() if isinstance(each, datetime) else each
        for each in record_row(record).values()
    )
    return csv_rows([[*cells]], line_end="\r\n")
