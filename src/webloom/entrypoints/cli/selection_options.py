"""Options that say which part of a page counts."""

from __future__ import annotations

from typing import Annotated

import typer

Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        metavar="SELECTOR",
        help="Take the text from these elements only: CSS, or XPath where it begins with / or "
        "xpath:. Repeatable, as are the next three.",
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="SELECTOR", help="Leave these elements out."),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="TEXT", help="Leave out lines that contain this."),
]
IgnorePattern = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore-pattern",
        metavar="REGEX",
        help="Leave out lines in which this regular expression (RE2) is found.",
    ),
]
