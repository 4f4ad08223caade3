"""CSV that spreadsheets open without running anything.

Some split at semicolons or tabs instead of commas, depending on their language, and honour a
quotation mark only where a cell begins for them. So a sign that begins a formula gets an apostrophe
wherever a cell could begin.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal

_SIGNS = "=+\\-@＝＋－＠"  # noqa: RUF001 - full width: some read them as the others
# At the beginning of the text, or behind what a cell could end with and any quotation marks.
_FORMULA = re.compile(rf'^(?=[{_SIGNS}\t\r\n])|(?<=[;\t\r\n])("*)(?=[{_SIGNS}])')
_QUOTED = re.compile('[",;\t\n\v\f\r\x85\u2028\u2029]')


def csv_rows(rows: Iterable[Sequence[object]], line_end: str = "\n") -> bytes:
    return "".join(f"{_row(row)}{line_end}" for row in rows).encode()


def _row(cells: Sequence[object]) -> str:
    row = ",".join(map(_cell, cells))
    return row or '""'  # a blank line is no row


def _cell(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, Decimal):
        return f"{cell:f}"
    if not isinstance(cell, str):  # a number, whose minus is none of a formula
        return str(cell)
    text = _FORMULA.sub(r"\1'", cell)
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text
