"""What every list can do, on each screen that has one: columns, views, exports and search."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Locator, Page, expect

from browser.conftest import ask
from browser.furnished import (
    FEEDS,
    FORMULA,
    LETTERS,
    OTHERS,
    RUN_OFTEN,
    WATCHES,
    furnished,
    watch_id,
)
from e2e.running import Webloom

NUMBERED = 11  # from 0 to 249 those that begin with 24: itself, and 240 to 249


@dataclass(frozen=True, kw_only=True)
class Listed:
    path: str
    name: str
    hidden: str  # a column that is shown at first
    typed: str = ""  # beginnings of words
    status: str = ""  # that is chosen where nothing can be searched
    found: int  # rows that are found
    exported: tuple[str, ...] = ()  # columns when one is hidden; none: there is no export
    rows: int = OTHERS
    page: int = 100  # rows of one


LISTS = [
    Listed(
        path="/watch",
        name="Watches",
        hidden="Schedule",
        typed="engi 07011",
        found=1,
        exported=(
            *("name", "urls", "tags", "enabled", "lastStatus", "lastError"),
            *("consecutiveFailures", "lastRunAt", "nextRunAt"),
        ),
        rows=WATCHES,
    ),
    Listed(
        path="/watch?show=pages",
        name="Pages",
        hidden="Availability",
        typed="shop24",
        found=NUMBERED,
        exported=(
            *("title", "url", "jobId", "price", "listPrice", "currency"),
            *("lastChecked", "lastOutcome", "lastError"),
        ),
    ),
    Listed(
        path="/feeds",
        name="Feeds",
        hidden="Format",
        typed="fee jobs14",
        found=NUMBERED,
        exported=(
            *("name", "url", "tags", "lastRunAt", "lastStatus", "lastError"),
            *("enabled", "intervalMinutes"),
        ),
        rows=FEEDS,
    ),
    Listed(
        path="/import-history",
        name="Import runs",
        hidden="Unchanged",
        typed="fee 017",
        found=2,
        exported=(
            *("sourceName", "fileName", "startedAt", "status", "error"),
            *("totalFetched", "newJobs", "updatedJobs", "failedJobs"),
        ),
        page=20,
    ),
    Listed(
        path="/jobs",
        name="Postings",
        hidden="Location",
        typed="weav 24",
        found=NUMBERED,
        exported=("title", "jobUrl", "company", "publishedAt", "open", "sourceName"),
        page=50,
    ),
    Listed(
        path="/inventory",
        name="Records",
        hidden="Content",
        typed="host24",
        found=NUMBERED,
        exported=(
            *("url", "status", "error_message", "status_code"),
            *("content_length", "updated_at"),
        ),
    ),
    Listed(
        path="/queues/import-feed",
        name="Dead letters",
        hidden="Size",
        typed="bat wa",
        found=1,
        rows=len(LETTERS),
    ),
    Listed(
        path=f"/watch/{RUN_OFTEN}",
        name="Runs",
        hidden="Changes",
        status="failed",
        found=OTHERS // 25,
        exported=(
            *("startedAt", "status", "trigger", "pagesProcessed", "pagesTotal"),
            *("priceChangesDetected", "pagesFailed", "failures", "runDuration"),
        ),
        page=20,
    ),
]


@pytest.fixture(scope="module")
def webloom(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    with furnished(tmp_path_factory.mktemp("lists")) as it:
        ask(it, "PATCH", f"/api/watches/{watch_id(9)}", {"name": FORMULA})
        ask(it, "PATCH", "/api/feeds/feed-150", {"name": FORMULA})
        yield it


class OneList:
    """A list of a screen that is open."""

    def __init__(self, page: Page, listed: Listed) -> None:
        self._page, self._listed = page, listed
        self.whole = page.get_by_role("region", name=listed.name, exact=True)
        self.table = page.get_by_role("table", name=listed.name, exact=True)
        self.head = self.table.get_by_role("columnheader", name=listed.hidden, exact=True)
        search = self.whole.get_by_label("Search", exact=True)
        status = self.whole.get_by_role("combobox", name="Status", exact=True)
        self.asked = search if listed.typed else status

    def open_menu(self, name: str) -> Locator:
        self.whole.get_by_role("button", name=name, exact=True).click()
        return self.whole

    def narrow(self) -> None:
        if self._listed.typed:
            self.asked.fill(self._listed.typed)
        else:
            self.asked.select_option(self._listed.status)

    def expect_rows(self, count: int) -> None:
        """As many, or a page of them."""
        shown = min(count, self._listed.page) + 1  # with the heads
        expect(self.table).to_have_attribute("aria-rowcount", str(shown))

    def export(self, form: str) -> str:
        with self._page.expect_download() as download:
            self.whole.get_by_role("link", name=f"{form} of all that match").click()
        return download.value.path().read_bytes().decode()


def begin(page: Page, listed: Listed) -> OneList:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(listed.path)
    one = OneList(page, listed)
    expect(one.head).to_be_visible()
    return one


def hide_column(page: Page, one: OneList, listed: Listed) -> None:
    one.open_menu("Columns").get_by_role("checkbox", name=listed.hidden, exact=True).uncheck()
    expect(one.head).to_have_count(0)
    page.keyboard.press("Escape")


@pytest.mark.parametrize("listed", LISTS, ids=[each.name for each in LISTS])
def test_columns_and_search_are_kept_as_a_view(page: Page, listed: Listed) -> None:
    one = begin(page, listed)
    one.expect_rows(listed.rows)
    hide_column(page, one, listed)
    one.narrow()
    one.expect_rows(listed.found)
    one.open_menu("Views").get_by_label("Name of this view").fill("Mine")
    one.whole.get_by_role("button", name="Save", exact=True).click()

    page.goto(listed.path)
    expect(one.head).to_be_visible()
    expect(one.asked).to_have_value("")
    one.expect_rows(listed.rows)
    one.open_menu("Views").get_by_role("link", name="Mine", exact=True).click()
    one.expect_rows(listed.found)
    expect(one.asked).to_have_value(listed.typed or listed.status)
    expect(one.head).to_have_count(0)


WITH_EXPORT = [each for each in LISTS if each.exported]


@pytest.mark.parametrize("listed", WITH_EXPORT, ids=[each.name for each in WITH_EXPORT])
def test_the_columns_that_are_shown_are_exported_and_no_formula_runs(
    page: Page, listed: Listed
) -> None:
    one = begin(page, listed)
    hide_column(page, one, listed)
    one.open_menu("Export")
    head, *rows = csv.reader(one.export("CSV").splitlines())
    assert tuple(head) == listed.exported
    assert len(rows) == listed.rows
    assert {cell for row in rows for cell in row if FORMULA in cell} == {f"'{FORMULA}"}

    lines = [json.loads(line) for line in one.export("NDJSON").splitlines()]
    assert len(lines) == listed.rows
    assert {tuple(line) for line in lines} == {listed.exported}
    assert any(FORMULA in line.values() for line in lines)
