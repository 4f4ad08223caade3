"""CSV that spreadsheets open without running anything."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from decimal import Decimal

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def csv_rows(rows: Iterable[Sequence[object]], line_end: str = "\n") -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator=line_end).writerows([map(_cell, row) for row in rows])
    return text.getvalue().encode()


def _cell(cell: object) -> object:
    """A spreadsheet would run text that looks like a formula."""
    if isinstance(cell, Decimal):
        return f"{cell:f}"
    if isinstance(cell, str) and cell.startswith(FORMULA_STARTS):
        return f"'{cell}"
    return cell
