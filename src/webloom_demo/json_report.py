"""The demo for programs: one JSON object on each line, under the name of what it is.

What the API has too is in the API's form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from webloom.domain.feed import Feed
from webloom.domain.import_run import ImportRun
from webloom.domain.inventory import Status
from webloom.domain.watch import Watch, WatchRun
from webloom.entrypoints.api.import_schemas import feed_response, import_log_detail
from webloom.entrypoints.api.schemas import record_response
from webloom.entrypoints.api.watch_page_schemas import (
    change_response,
    page_response,
    price_response,
)
from webloom.entrypoints.api.watch_schemas import job_run, watch_response
from webloom.entrypoints.cli.output import json_line
from webloom.ports.page_history import ChangeLog
from webloom_demo.report import ShownPage, ShownRecord, Update


class JsonReport:
    def site(self, base: str, pages: int) -> None:
        json_line({"site": {"url": f"{base}/", "pages": pages}})

    @contextmanager
    def progress(self) -> Iterator[Update]:
        """A line when something has changed."""
        before: Counter[Status] | None = None

        def update(counts: Counter[Status]) -> None:
            nonlocal before
            if counts != before:
                before = counts
                json_line({"progress": {status.value: counts[status] for status in Status}})

        yield update

    def records(self, base: str, shown: Sequence[ShownRecord]) -> None:
        for each in shown:
            json_line({"record": record_response(each.record), "about": each.about})

    def feeds(self, feeds: Sequence[tuple[str, Feed]]) -> None:
        for about, feed in feeds:
            json_line({"feed": feed_response(feed), "about": about})

    def import_runs(self, heading: str, runs: Sequence[ImportRun]) -> None:
        for run in runs:
            json_line({"importRun": import_log_detail(run)})

    def watching(self, watch: Watch) -> None:
        json_line({"watch": watch_response(watch)})

    def check(self, number: int, run: WatchRun) -> None:
        json_line({"watchRun": job_run(run)})

    def pages(self, shown: Sequence[ShownPage]) -> None:
        for each in shown:
            json_line({"page": page_response(each.page), "about": each.about})
            for price in each.prices:
                json_line({"price": price_response(price)})

    def changes(self, changes: Sequence[ChangeLog]) -> None:
        for change in changes:
            json_line({"change": change_response(change)})

    def goes_on(self, api: str, commands: Sequence[str]) -> None:
        json_line({"api": {"url": f"{api}/", "try": commands}})
