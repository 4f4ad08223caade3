"""How the command line shows records of a feed that failed."""

from __future__ import annotations

from rich.console import Console

from webloom.domain.import_run import Failure
from webloom.entrypoints.cli.failures import print_failures


def test_records_are_counted_from_one_as_in_the_admin_ui() -> None:
    to = Console(width=80)
    with to.capture() as shown:
        print_failures(
            {"it has no title": 1},
            [Failure(reason="it has no title", sample="<item/>", index=20)],
            to,
        )
    assert "record 21: <item/> (it has no title)" in shown.get()
