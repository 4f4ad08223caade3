"""Records of a feed that failed, for `webloom feed` and `webloom import`."""

from __future__ import annotations

from rich.console import Console

from webloom.domain.import_run import Failure
from webloom.entrypoints.cli.output import plain, shortened

SAMPLES = 10


def print_failures(reasons: dict[str, int], failures: list[Failure], to: Console) -> None:
    """Each reason with its count, then some of the records."""
    for reason, times in sorted(reasons.items(), key=lambda each: -each[1]):
        to.print(plain(f"  {times:>7,}  {reason}"), soft_wrap=True)
    if failures:
        to.print("  samples:")
    for failure in failures[:SAMPLES]:
        place = "" if failure.index is None else f"record {failure.index + 1}: "
        text = shortened(f"{place}{failure.sample} ({failure.reason.rstrip('.')})")
        to.print(plain(f"    {text}"), soft_wrap=True)
    if len(failures) > SAMPLES:
        to.print(f"    and {len(failures) - SAMPLES:,} more")
