"""The one table of all benches."""

from collections.abc import Sequence
from dataclasses import dataclass

_TITLES = ("measure", "webloom", "compared with", "ratio", "must", "aim", "verdict")
_NUMERIC = (1, 3, 4, 5)  # columns aligned to the right


@dataclass(frozen=True, kw_only=True)
class Row:
    """One measure of ours next to the same measure of something else."""

    measure: str
    unit: str
    webloom: float
    peer: str
    peer_value: float
    must: float | None  # the worst ratio webloom / peer that is good enough; None: for information
    aim: float | None = None  # a ratio that would be better still
    lower_is_better: bool = False  # seconds and bytes; then the ratio must not exceed `must`

    @property
    def ratio(self) -> float:
        return self.webloom / self.peer_value if self.peer_value else float("inf")

    @property
    def ok(self) -> bool:
        return self.must is None or self._reaches(self.must)

    @property
    def verdict(self) -> str:
        if self.must is None:
            return ""
        if not self.ok:
            return "missed"
        return "ok, aim too" if self.aim is not None and self._reaches(self.aim) else "ok"

    def _reaches(self, wanted: float) -> bool:
        return self.ratio <= wanted if self.lower_is_better else self.ratio >= wanted


def render(rows: Sequence[Row]) -> str:
    """The rows as aligned plain text, a line each, under their titles."""
    table = [_TITLES, *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [_line(cells, widths) for cells in table]
    lines.insert(1, "-+-".join("-" * width for width in widths))
    return "\n".join(lines)


def print_table(rows: Sequence[Row]) -> bool:
    """Print the table; say whether every row is good enough."""
    print(render(rows))
    return all(row.ok for row in rows)


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.measure,
        f"{_number(row.webloom)} {row.unit}",
        f"{row.peer}: {_number(row.peer_value)} {row.unit}",
        f"{row.ratio:.2f}",
        "" if row.must is None else f"{'<=' if row.lower_is_better else '>='} {row.must:.2f}",
        "" if row.aim is None else f"{row.aim:.2f}",
        row.verdict,
    )


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (
        cell.rjust(width) if index in _NUMERIC else cell.ljust(width)
        for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return " | ".join(padded).rstrip()


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
