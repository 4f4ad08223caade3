"""The demo for people: lines and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.live import Live

from webloom.domain.feed import Feed
from webloom.domain.import_run import ImportRun
from webloom.domain.inventory import Record, Status
from webloom.domain.shown import shown_price
from webloom.domain.storage_event import moment_of
from webloom.domain.watch import Watch, WatchRun
from webloom.entrypoints.cli.import_feeds_report import show_runs
from webloom.entrypoints.cli.output import counted, plain, show_table, table
from webloom.entrypoints.cli.price_curve import price_curve
from webloom.ports.page_history import ChangeLog
from webloom_demo.report import ShownPage, ShownRecord, Update
from webloom_demo.watches import CHECKS, SECONDS


@dataclass(frozen=True, kw_only=True)
class TextReport:
    to: Console

    def site(self, base: str, pages: int) -> None:
        self._line(f"Loom & Weft, a made-up site with {pages} pages, is at {base}/\n")

    def progress(self) -> AbstractContextManager[Update]:
        return _in_a_table(self.to) if self.to.is_terminal else _in_lines(self.to)

    def records(self, base: str, shown: Sequence[ShownRecord]) -> None:
        rows = table("page", "what it is", "status", "code", "attempts", "outcome")
        for each in shown:
            rows.add_row(each.path, each.about, *_outcome(each.record, base))
        self.to.print()
        show_table(rows, self.to)
        self.to.print()

    def feeds(self, feeds: Sequence[tuple[str, Feed]]) -> None:
        rows = table("job feed", "what it is")
        for about, feed in feeds:
            rows.add_row(plain(feed.config.name), plain(about))
        show_table(rows, self.to)
        self.to.print()

    def import_runs(self, heading: str, runs: Sequence[ImportRun]) -> None:
        self.to.print(f"{heading}\n")
        show_runs(list(runs), self.to)
        self.to.print()
        for run in runs:
            if run.error is not None:
                self._line(plain(f"{run.source_name}: {run.error}"))
        self.to.print()

    def watching(self, watch: Watch) -> None:
        self._line(
            f"Watching the sale of Loom & Weft, {counted(len(watch.config.urls), 'page')}; "
            f"{CHECKS} checks in a row, then one every {SECONDS:.0f} s:\n"
        )

    def check(self, number: int, run: WatchRun) -> None:
        self._line(f"check {number}: {_summary(run)}")

    def pages(self, shown: Sequence[ShownPage]) -> None:
        rows = table("page", "what it is", "version", "price", "what it did", "availability")
        for each in shown:
            page, amounts = each.page, [record.price for record in each.prices]
            rows.add_row(
                each.path,
                plain(each.about),
                str(page.version or "-"),
                "-" if page.price is None else plain(shown_price(page.price, page.currency)),
                price_curve(amounts) if amounts else "-",
                plain(page.availability or "-"),
            )
        self.to.print()
        show_table(rows, self.to)
        self.to.print()

    def changes(self, changes: Sequence[ChangeLog]) -> None:
        self.to.print("The latest changes:\n")
        rows = table("seen", "page", "version", "what changed")
        for change in changes:
            rows.add_row(
                f"{moment_of(change.timestamp):%H:%M:%S} UTC",
                plain(_path(change)),
                f"{change.previous} -> {change.current}",
                plain("; ".join(change.sentences)),
            )
        show_table(rows, self.to)
        self.to.print()

    def goes_on(self, api: str, commands: Sequence[str]) -> None:
        self._line(plain(f"Look at it in a browser: {api}/"))
        self.to.print("\nWhat to try, in another terminal:\n")
        for command in commands:
            self._line(f"  {plain(command)}")
        self.to.print("\nCtrl-C ends the demo.")

    def _line(self, text: str) -> None:
        self.to.print(text, soft_wrap=True)


@contextmanager
def _in_a_table(to: Console) -> Iterator[Update]:
    """One that changes in its place."""
    with Live(console=to, auto_refresh=False) as live:

        def update(counts: Counter[Status]) -> None:
            shown = table("status", "pages")
            for status in Status:
                shown.add_row(status.value, str(counts[status]))
            live.update(shown, refresh=True)

        yield update


@contextmanager
def _in_lines(to: Console) -> Iterator[Update]:
    """A new one when something has changed."""
    said = ""

    def update(counts: Counter[Status]) -> None:
        nonlocal said
        words = ", ".join(f"{counts[status]} {status}" for status in Status if counts[status])
        if words != said:
            said = words
            to.print(words, soft_wrap=True)

    yield update


def _outcome(record: Record, base: str) -> tuple[str, str, str, str]:
    metadata, processing = record.metadata, record.processing
    details = record.additional_details or {}
    if processing.error_message:
        outcome = processing.error_message
    elif metadata.final_url != record.url:
        outcome = f"at {(metadata.final_url or '').removeprefix(base)}"
    elif "source_truncated_at" in details:
        outcome = f"{details['source_truncated_at']:,} characters kept"
    else:
        outcome = f"{details.get('content_length') or 0:,} bytes"
    return (
        record.status.value,
        str(metadata.status_code or "-"),
        str(processing.attempt_number),
        plain(outcome),
    )


def _summary(run: WatchRun) -> str:
    tally = run.tally
    said = [counted(tally.processed, "page"), f"{tally.changes} changed"]
    if tally.price_changes:
        said.append(f"{counted(tally.price_changes, 'price')} moved")
    if run.failures:
        path, reason = run.failures[0].url.rpartition("/")[2], run.failures[0].reason
        said.append(f"{path} not seen: {reason}")
    return plain(", ".join(said))


def _path(change: ChangeLog) -> str:
    return "/" + change.url.split("/", 3)[3]
