"""Progress and results of `webloom dump`, `load` and `copy`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from webloom.domain.errors import WebloomError
from webloom.entrypoints.cli.output import console, json_line, plain, visible
from webloom.ports.dump import COLLECTIONS, StoreSnapshot

if TYPE_CHECKING:
    from webloom.application.move.load import Verdict


class Bars(Progress):
    """Progress on standard error, a line for each collection that has something."""

    def __init__(self, verb: str, *, is_shown: bool) -> None:
        super().__init__(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console(err=True),
            disable=not is_shown,
        )
        self._bars = {
            name: self.add_task(f"{verb} {name}", total=None, visible=False) for name in COLLECTIONS
        }

    async def count(self, snapshot: StoreSnapshot) -> None:
        for name, bar in self._bars.items():
            self.update(bar, total=await snapshot.count(name))

    def advance_by(self, collection: str, items: int) -> None:
        self.update(self._bars[collection], advance=items, visible=True)


def report(verdicts: Mapping[str, Verdict], as_json: bool, *, failure: str) -> None:
    """Raises WebloomError with `failure` unless every collection is verified."""
    for name, verdict in verdicts.items():
        if as_json:
            fields = msgspec.to_builtins(verdict) | {"verified": verdict.holds}
            json_line({"collection": name} | fields)
        else:
            _print(name, verdict)
    if not all(verdict.holds for verdict in verdicts.values()):
        raise WebloomError(failure)


def _print(name: str, verdict: Verdict) -> None:
    out = console()
    out.print(f"{name}: {verdict.items:,} items, {verdict.equal:,} equal in the target")
    out.print(f"  hash of the source  {verdict.source_hash}")
    out.print(f"  hash of the target  {verdict.target_hash}")
    for count, what in (
        (verdict.newer, "are newer in the target and were left as they are"),
        (verdict.expired, "have expired, or are about to, and were left out"),
        (verdict.missing, "are missing in the target"),
        (verdict.different, "are different in the target"),
    ):
        if count:
            out.print(f"  {count:,} {what}")
    for sample in verdict.samples:
        out.print(f"    {plain(visible(sample))}")
