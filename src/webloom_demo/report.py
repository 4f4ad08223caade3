"""What the demo tells as it continues: for people in `demo_text`, for programs in `demo_json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from webloom.domain.feed import Feed
from webloom.domain.import_run import ImportRun
from webloom.domain.inventory import Record, Status
from webloom.domain.price_history import PriceRecord
from webloom.domain.watch import Watch, WatchRun
from webloom.ports.page_history import ChangeLog
from webloom.ports.pages import StoredPage

Update = Callable[[Counter[Status]], None]


class ShownRecord(NamedTuple):
    path: str
    about: str
    record: Record


class ShownPage(NamedTuple):
    path: str
    about: str
    page: StoredPage
    prices: Sequence[PriceRecord]  # the oldest first


class DemoReport(Protocol):
    """The calls come in this order; `import_runs` and `check` several times."""

    def site(self, base: str, pages: int) -> None: ...

    def progress(self) -> AbstractContextManager[Update]:
        """To be called with the states of the pages, whether they have changed or not."""

    def records(self, base: str, shown: Sequence[ShownRecord]) -> None: ...

    def feeds(self, feeds: Sequence[tuple[str, Feed]]) -> None:
        """What each is, and the feed."""

    def import_runs(self, heading: str, runs: Sequence[ImportRun]) -> None: ...

    def watching(self, watch: Watch) -> None: ...

    def check(self, number: int, run: WatchRun) -> None: ...

    def pages(self, shown: Sequence[ShownPage]) -> None: ...

    def changes(self, changes: Sequence[ChangeLog]) -> None:
        """The latest first."""

    def goes_on(self, api: str, commands: Sequence[str]) -> None:
        """The demo runs until it is stopped; what to try meanwhile, in another terminal."""
