"""A list as a file: CSV for spreadsheets, or lines of JSON. It is streamed, page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, TypeVar

import msgspec
from pydantic import Field
from starlette.responses import StreamingResponse

from webloom.domain.schedule import Schedule
from webloom.entrypoints.api.openapi import Responses, described
from webloom.entrypoints.api.requests import Parameters
from webloom.entrypoints.csv_rows import csv_rows

READ_AT_ONCE = 200
MEDIA_TYPES = {"csv": "text/csv; charset=utf-8", "ndjson": "application/x-ndjson"}

Item = TypeVar("Item")
Place = TypeVar("Place")  # such as a cursor
# A page of a list, from a place on, and the place of the next one.
ReadPage = Callable[[Place | None], Awaitable[tuple[Sequence[Item], Place | None]]]

_encode = msgspec.json.Encoder(decimal_format="number").encode


class ExportQuery(Parameters):
    form: Literal["csv", "ndjson"] = Field("csv", alias="format")


def columns(names: Iterable[str], *without: str) -> Any:
    """The parameter `columns` for rows that have these."""
    names = [each for each in names if each not in without]
    one = f"({'|'.join(names)})"
    return Field(
        ",".join(names),
        pattern=f"^{one}(,{one})*$",
        max_length=2000,
        description="Names of columns, with commas between them; without it, all",
    )


def as_file() -> Responses:
    responses = described({200: "text/csv"})
    responses[200]["content"]["application/x-ndjson"] = {"schema": {"type": "string"}}
    return responses


async def export_response(
    name: str,
    query: Any,  # an ExportQuery with `columns`
    read: ReadPage[Place, Item],
    row: Callable[[Item], object],
) -> StreamingResponse:
    """Raises what the first page raises."""
    names: list[str] = list(dict.fromkeys(query.columns.split(",")))
    first = await read(None)
    lines = _csv if query.form == "csv" else _ndjson
    headers = {"Content-Disposition": f"attachment; filename={name}.{query.form}"}
    rows = _rows(first, read, row)
    return StreamingResponse(lines(rows, names), 200, headers, MEDIA_TYPES[query.form])


async def _rows(
    page: tuple[Sequence[Item], Place | None],
    read: ReadPage[Place, Item],
    row: Callable[[Item], object],
) -> AsyncIterator[list[dict[str, Any]]]:
    while True:
        items, following = page
        yield [_plain(row(each)) for each in items]
        if following is None:
            return
        page = await read(following)


def _plain(row: object) -> dict[str, Any]:
    return msgspec.to_builtins(row, builtin_types=(Decimal, datetime))  # type: ignore[no-any-return]  # a struct becomes a dict


async def _csv(
    pages: AsyncIterator[list[dict[str, Any]]], names: list[str]
) -> AsyncIterator[bytes]:
    yield csv_rows([names], line_end="\r\n")
    async for rows in pages:
        if rows:
            yield csv_rows([_cells(each, names) for each in rows], line_end="\r\n")


def _cells(row: dict[str, Any], names: Iterable[str]) -> list[object]:
    """What only a program reads, such as headers, is written as JSON."""
    cells: list[object] = []
    for name in names:
        value = row.get(name)
        if name == "schedule" and isinstance(value, dict):
            value = Schedule(
                every_minutes=value["everyMinutes"],
                cron=value["cron"],
                time_zone=value["timeZone"],
            ).words
        elif isinstance(value, list) and all(isinstance(each, str) for each in value):
            value = ", ".join(value)
        elif isinstance(value, list | dict | bool):
            value = _encode(value).decode()
        cells.append(value.isoformat() if isinstance(value, datetime) else value)
    return cells


async def _ndjson(
    pages: AsyncIterator[list[dict[str, Any]]], names: list[str]
) -> AsyncIterator[bytes]:
    async for rows in pages:
        lines = (_encode({name: row.get(name) for name in names}) for row in rows)
        yield b"".join(line + b"\n" for line in lines)
