from __future__ import annotations

import csv
import io
from decimal import Decimal

import pytest

from webloom.entrypoints.csv_rows import csv_rows

SIGNS = ["=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"]  # the last four in full width
ENDS = [";", "\t", "\n", "\r", "\r\n"]  # of a cell, somewhere


def cells(text: str, delimiter: str) -> list[str]:
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    return [cell for row in rows for cell in row]


@pytest.mark.parametrize("sign", [*SIGNS, "\t", "\r", "\n"])
def test_a_cell_that_begins_like_a_formula_gets_an_apostrophe(sign: str) -> None:
    text = csv_rows([[f"{sign}1", "next"]]).decode()
    assert cells(text, ",") == [f"'{sign}1", "next"]


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("marks", ["", '"', '""'])
def test_no_part_of_a_cell_becomes_a_formula_wherever_it_is_split(
    sign: str, end: str, marks: str
) -> None:
    text = csv_rows([["first", f"x{end}{marks}{sign}cmd|' /C calc'!A0", "last"]]).decode()
    assert cells(text, ",") == ["first", f"x{end}{marks}'{sign}cmd|' /C calc'!A0", "last"]
    for delimiter in (";", "\t"):
        assert not [each for each in cells(text, delimiter) if each.startswith(tuple(SIGNS))]


@pytest.mark.parametrize("end", [*ENDS, ",", '"', "\v", "\u2028"])
def test_a_cell_that_could_be_split_is_quoted(end: str) -> None:
    text = csv_rows([[f"x{end}y", "z"]]).decode()
    assert text.startswith('"x')
    assert text.endswith('y",z\n')


def test_what_is_harmless_stays_as_it_is() -> None:
    rows: list[list[object]] = [
        ["a-b", "1+1", "every 60 min", None, ""],
        [-5.0, -5, Decimal("-5.0"), True, "-5"],
    ]
    assert csv_rows(rows, line_end="\r\n") == (
        b"a-b,1+1,every 60 min,,\r\n-5.0,-5,-5.0,True,'-5\r\n"
    )
    assert csv_rows([[""]]) == b'""\n'
