"""The import history: the list, one run, and how both follow what happens."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from browser.acts import (
    add_feed,
    assert_focus_is_kept,
    ended,
    held,
    imported,
    start_import,
    tab_to,
    two_tabs,
)
from browser.checks import (
    assert_accessible,
    assert_fits_a_phone,
    assert_not_reloaded,
    assert_nothing_ran,
    section,
)
from browser.conftest import UI, Watched
from browser.site import HOSTILE, Site, feed
from e2e.running import Webloom, running_for_module
from webloom.bootstrap.connections import open_whole
from webloom.domain.import_run import Counts, ImportRun, Phase, Reading, RunStatus
from webloom.settings import load_settings

OLD_RUNS = 45  # more than two pages
OLD = "?q=archive"  # shows these only
COLUMNS = [
    "Select all on this page",
    "FileName",
    "Import Date/Time ↓",
    "Status",
    "Total",
    "New",
    "Updated",
    "Unchanged",
    "Failed",
]


@pytest.fixture(scope="module")
def webloom(tmp_path_factory: pytest.TempPathFactory, site: Site) -> Iterator[Webloom]:
    """With a past: one run a day."""
    assert (UI / "index.html").exists(), "the admin UI is not built: make setup"
    data = tmp_path_factory.mktemp("browser") / "data"
    with ThreadPoolExecutor(1) as thread:  # the browser's event loop may be open in this one
        thread.submit(asyncio.run, write_past(data)).result()
    with running_for_module("up", data_dir=data, allow_addresses=f"127.0.0.1:{site.port}") as it:
        yield it


async def write_past(data: Path) -> None:
    settings = load_settings({"WEBLOOM_DATA_DIR": str(data)})
    async with open_whole(settings.store_url, settings) as store:
        await store.put_if_newer("import_logs", [old_run(day) for day in range(OLD_RUNS)])


def old_run(day: int) -> ImportRun:
    started = datetime(2026, 3, 1, 12, tzinfo=UTC) + timedelta(days=day)
    return ImportRun(
        run_id=f"old-{day}",
        feed_id="feed-old",
        source_url="https://archive.example/jobs.xml",
        source_name=f"Archive {day}",
        status=RunStatus.PARTIAL if day % 9 == 0 else RunStatus.COMPLETED,
        trigger="schedule",
        started_at=started,
        updated_at=started,
        finished_at=started,
        duration_ms=1000,
        batch_size=200,
        concurrency=4,
        reading=Reading(phase=Phase.STORING, fetched=2, published=1, all_published=True),
        counts=Counts(new=2),
        processed_batches=1,
    )


def row_of(page: Page, name: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def expect_cells(row: Locator, *texts: str) -> None:
    """The status, and then the counters."""
    cells = row.get_by_role("cell")
    for place, text in enumerate(texts):
        expect(cells.nth(place + 2)).to_contain_text(text)


def test_two_tabs_follow_a_run_without_a_reload(
    context: BrowserContext, site: Site, webloom: Webloom
) -> None:
    url = site.serve_feed("/held/live.rss", feed(5))
    add_feed(webloom, url, "Live jobs")
    tabs = two_tabs(context, "/import-history")
    for tab in tabs:
        expect(tab.get_by_role("columnheader")).to_have_text(COLUMNS)
        expect(row_of(tab, "Archive 44")).to_be_visible()
    for new, unchanged in (("5", "0"), ("1", "5")):  # the second time one posting is new
        with held(site):
            run_id = start_import(webloom, url)
            for tab in tabs:
                row = tab.locator(f'[data-key="{run_id}"]')
                expect(row.get_by_role("progressbar")).to_be_visible()
                expect_cells(row, "running", "0", "0", "0", "0", "0")
        for tab in tabs:
            row = tab.locator(f'[data-key="{run_id}"]')
            total = str(int(new) + int(unchanged))
            expect_cells(row, "completed", total, new, "0", unchanged, "0")
        site.serve_feed("/held/live.rss", feed(6))
    for tab in tabs:
        assert_not_reloaded(tab)


def test_filters_are_in_the_address_and_survive_a_reload(
    context: BrowserContext, page: Page
) -> None:
    page.goto("/import-history")
    page.get_by_label("Search", exact=True).fill("archive")
    expect(page).to_have_url(re.compile(r"q=archive"))
    page.get_by_label("Status", exact=True).select_option("partial")
    page.get_by_label("From", exact=True).fill("2026-03-05")
    expect(page).to_have_url(re.compile(r"from=2026-03-05"))
    page.get_by_label("To", exact=True).fill("2026-04-01")
    expect(page).to_have_url(re.compile(r"to=2026-04-01"))
    expect(page.get_by_text("3 runs, page 1 of 1")).to_be_visible()
    page.reload()
    copied = context.new_page()
    copied.goto(page.url)
    for each in (page, copied):
        expect(each.get_by_text("3 runs, page 1 of 1")).to_be_visible()
        expect(each.get_by_label("Search", exact=True)).to_have_value("archive")
        expect(each.get_by_label("Status", exact=True)).to_have_value("partial")
        expect(each.get_by_label("From", exact=True)).to_have_value("2026-03-05")
        expect(each.get_by_label("To", exact=True)).to_have_value("2026-04-01")
        expect(row_of(each, "Archive 9")).to_be_visible()
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(page).to_have_url(re.compile("/import-history$"))
    expect(row_of(page, "Archive 44")).to_be_visible()


def test_runs_are_filtered_by_keyboard_alone(page: Page) -> None:
    page.goto("/import-history")
    tab_to(page, page.get_by_label("Search", exact=True))
    page.keyboard.type("archive")
    expect(page).to_have_url(re.compile("q=archive"))
    status = page.get_by_label("Status", exact=True)
    tab_to(page, status)
    page.keyboard.type("p")
    expect(page).to_have_url(re.compile("status=partial"))
    expect(status).to_be_focused()
    tab_to(page, page.get_by_label("From", exact=True))
    page.keyboard.type("03032026")  # the same day, whichever of day and month comes first
    expect(page).to_have_url(re.compile("from=2026-03-03"))
    tab_to(page, page.get_by_label("To", exact=True))
    page.keyboard.type("04042026")
    expect(page).to_have_url(re.compile("to=2026-04-04"))
    expect(page.get_by_text("3 runs, page 1 of 1")).to_be_visible()
    tab_to(page, page.get_by_role("button", name="Clear", exact=True))
    page.keyboard.press("Space")
    expect(page).to_have_url(re.compile("/import-history$"))
    expect(row_of(page, "Archive 44")).to_be_visible()
    assert_focus_is_kept(page)
    tab_to(page, page.get_by_role("link", name="Archive 44", exact=True))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Archive 44")


def test_filters_that_fit_nothing_say_so(page: Page) -> None:
    page.goto("/import-history?q=nobody-has-this-name")
    expect(page.get_by_text("No matching runs")).to_be_visible()
    page.get_by_role("button", name="Clear the filters").click()
    expect(row_of(page, "Archive 44")).to_be_visible()


def test_pages_are_turned_and_are_in_the_address(page: Page) -> None:
    page.goto(f"/import-history{OLD}")
    expect(page.get_by_text("45 runs, page 1 of 3")).to_be_visible()
    expect(page.get_by_role("button", name="Previous")).to_be_disabled()
    page.get_by_role("button", name="Next").click()
    expect(row_of(page, "Archive 24")).to_be_visible()
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("45 runs, page 3 of 3")).to_be_visible()
    expect(page.locator("[data-index]")).to_have_count(5)
    expect(page.get_by_role("button", name="Next")).to_be_disabled()
    page.reload()
    expect(row_of(page, "Archive 0")).to_be_visible()
    page.go_back()
    expect(page.get_by_text("45 runs, page 2 of 3")).to_be_visible()
    page.goto(f"/import-history{OLD}&page=9")
    page.get_by_role("button", name="Go to the last page").click()
    expect(page.get_by_text("45 runs, page 3 of 3")).to_be_visible()


def test_back_and_forward_keep_the_filters(page: Page) -> None:
    page.goto(f"/import-history{OLD}&status=completed&page=2")
    page.get_by_role("link", name="Archive 21", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Archive 21")
    page.go_back()
    expect(page.get_by_text("40 runs, page 2 of 2")).to_be_visible()
    expect(page.get_by_label("Status", exact=True)).to_have_value("completed")
    page.go_forward()
    expect(page.get_by_role("heading", level=1)).to_have_text("Archive 21")
    page.go_back()
    expect(row_of(page, "Archive 21")).to_be_visible()
    assert page.url.endswith(f"/import-history{OLD}&status=completed&page=2")


def test_an_import_is_run_now_for_all_feeds_or_one(
    page: Page, site: Site, webloom: Webloom, watched: Watched
) -> None:
    add_feed(webloom, site.serve_feed("/one.rss", feed(2, first=20)), "One of two")
    two = add_feed(webloom, site.serve_feed("/held/two.rss", feed(2, first=30)), "Two of two")
    watched.expected = ("409",)
    page.goto("/import-history")
    notice = page.get_by_role("status")
    with held(site):
        page.get_by_label("Which feed").select_option(two["url"])
        page.get_by_role("button", name="Run Import Now").click()
        expect(notice.filter(has_text="Started 1 import: Two of two")).to_be_visible()
        page.get_by_role("button", name="Run Import Now").click()
        expect(notice.filter(has_text="Already running: Two of two")).to_be_visible()
        page.get_by_label("Which feed").select_option("All feeds")
        page.get_by_role("button", name="Run Import Now").click()
        running = notice.filter(has_text="Already running: ")
        expect(running).to_contain_text("Two of two")
        expect(running).to_contain_text("One of two")
    expect_cells(row_of(page, "One of two"), "completed", "2", "2")
    expect_cells(row_of(page, "Two of two"), "completed", "2", "2")


def test_a_run_is_followed_and_cancelled(page: Page, site: Site, webloom: Webloom) -> None:
    url = site.serve_feed("/held/cancelled.rss", feed(3, first=40))
    add_feed(webloom, url, "Too long")
    with held(site):
        page.goto(f"/import-history/{start_import(webloom, url)}")
        expect(page.get_by_role("heading", level=1)).to_have_text("Too long")
        expect(page.get_by_role("heading", name="Fetching the feed")).to_be_visible()
        expect(page.get_by_role("progressbar").first).to_be_visible()
        assert_accessible(page)
        ask_button = page.get_by_role("button", name="Cancel the run")
        ask_button.click()
        page.get_by_role("dialog").get_by_role("button", name="Let it go on").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(ask_button).to_be_focused()
        ask_button.click()
        page.get_by_role("dialog").get_by_role("button", name="Cancel the run").click()
        expect(page.get_by_text("The run is being cancelled")).to_be_visible()
    expect(page.get_by_text("This run was cancelled.")).to_be_visible()
    expect(page.get_by_role("heading", name="Cancelled")).to_be_visible()
    page.goto("/import-history")
    expect_cells(row_of(page, "Too long"), "cancelled")
    page.goto("/feeds")
    expect(row_of(page, "Too long")).to_contain_text("cancelled")


def hostile_feed() -> bytes:
    """One good posting, and records that fail, with scripts in them."""
    bad = f"<item><description>{escape(escape(HOSTILE))}</description></item>"
    long = f"<item><description>{'long' * 300}</description></item>"
    return feed(1, first=50).replace(b"</channel>", f"{bad}{long}</channel>".encode())


@pytest.fixture(scope="module")
def partial_run(site: Site, webloom: Webloom) -> str:
    run = imported(webloom, site.serve_feed("/hostile.rss", hostile_feed()), HOSTILE)
    assert run["status"] == "partial"
    return f"/import-history/{run['runId']}"


def test_failures_are_shown_with_samples_as_text(page: Page, partial_run: str) -> None:
    page.goto(partial_run)
    expect(page.get_by_role("heading", level=1)).to_have_text(HOSTILE)
    figures = page.locator("dl").filter(has_text="Fetched")
    expect(figures).to_contain_text("Fetched3")
    expect(figures).to_contain_text("New1")
    expect(figures).to_contain_text("Failed2")
    expect(page.get_by_text("3 fetched = 1 new + 0 updated")).to_be_visible()
    failures = section(page, "Failures")
    expect(failures).to_contain_text("2 records were not imported")
    expect(failures.locator("summary").first).to_contain_text("2 records")
    expect(failures.locator("pre").first).to_contain_text(HOSTILE)
    page.reload()
    expect(failures.locator("pre").first).to_contain_text(HOSTILE)
    assert_nothing_ran(page)


def test_a_retry_leads_to_a_new_run(page: Page, site: Site, webloom: Webloom) -> None:
    run = imported(webloom, f"{site.base}/later.rss", "Later")
    page.goto(f"/import-history/{run['runId']}")
    expect(page.get_by_text("The import failed")).to_be_visible()
    site.serve_feed("/later.rss", feed(2, first=60))
    page.get_by_role("button", name="Retry").click()
    expect(page.get_by_text("2 fetched = 2 new")).to_be_visible()
    assert not page.url.endswith(run["runId"])
    expect(page.get_by_role("button", name="Retry")).to_have_count(0)
    page.get_by_role("link", name="an earlier run").click()
    expect(page).to_have_url(re.compile(f"{run['runId']}$"))
    expect(page.get_by_text("The import failed")).to_be_visible()


def test_runs_that_failed_are_retried_at_once(page: Page, site: Site, webloom: Webloom) -> None:
    urls = [f"{site.base}/retried/{number}.rss" for number in range(2)]
    for number, url in enumerate(urls):
        assert imported(webloom, url, f"Retried {number}")["status"] == "failed"
        site.serve_feed(f"/retried/{number}.rss", feed(1, first=90 + number))
    page.goto("/import-history?q=retried&status=failed")
    expect(page.get_by_text("2 runs, page 1 of 1")).to_be_visible()
    page.get_by_role("checkbox", name="Select all on this page").check()
    page.get_by_role("button", name="Retry").click()
    page.get_by_role("dialog", name="Retry: 2 runs?").get_by_role("button", name="Retry").click()
    expect(page.get_by_text("2 runs started again.")).to_be_visible()
    page.get_by_label("Status", exact=True).select_option("completed")
    expect(page.get_by_text("2 runs, page 1 of 1")).to_be_visible()


def test_a_run_of_all_kinds_of_records_adds_up(page: Page, site: Site, webloom: Webloom) -> None:
    url = site.serve_feed("/again.rss", feed(4, first=70))
    imported(webloom, url, "Again")
    changed = feed(4, first=70).replace(b"Job 70", b"Job seventy")
    site.serve_feed("/again.rss", changed.replace(b"</channel>", b"<item/></channel>"))
    run = ended(webloom, start_import(webloom, url))
    page.goto(f"/import-history?q={url}")
    row = page.locator(f'[data-key="{run["runId"]}"]')
    expect_cells(row, "partial", "5", "0", "1", "3", "1")


def test_an_unknown_run_says_so(page: Page, watched: Watched) -> None:
    watched.expected = ("404",)
    page.goto("/import-history/no-such-run")
    expect(page.get_by_text("Run not found")).to_be_visible()
    page.get_by_role("link", name="All imports").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Import history")


def test_the_list_is_accessible_and_fits_a_phone(page: Page, partial_run: str) -> None:
    page.goto("/import-history")
    expect(page.get_by_role("link", name="Archive 44", exact=True)).to_be_visible()
    assert_accessible(page)
    assert_fits_a_phone(page)


def test_a_run_is_accessible_and_fits_a_phone(page: Page, partial_run: str) -> None:
    page.goto(partial_run)
    expect(section(page, "Failures")).to_be_visible()
    expect(section(page, "History of the feed").get_by_role("img")).to_be_visible()
    assert_accessible(page)
    assert_fits_a_phone(page)
