"""`webloom demo`."""

from __future__ import annotations

from typing import Annotated

import typer

from webloom.entrypoints.cli.output import AsJson
from webloom.entrypoints.cli.running import run


def demo(
    once: Annotated[bool, typer.Option("--once", help="Exit when everything is shown.")] = False,
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="Where the API listens, instead of WEBLOOM_PORT."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """See Webloom at work in a minute. A made-up site on this machine, its pages fetched, its job
    feeds imported and its moving prices watched.

    Needs no network. Its database is in the folder demo of the data folder; yours is not touched.
    """
    from webloom_demo import show

    run(show.demo(once, port, as_json))
