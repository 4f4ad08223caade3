"""Lists at the size at which people need them: 10,000 watches and 200 feeds."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, Request, Route, expect

from browser.checks import assert_accessible, assert_nothing_is_cut
from browser.conftest import ask
from browser.furnished import (
    FAILING_FEEDS,
    FEEDS,
    OTHERS,
    REASON,
    RUN_OFTEN,
    WATCHES,
    furnished,
    name_of,
    posting,
    record,
    run,
    run_of_one,
    url_of,
    watch_id,
)
from e2e.running import Webloom

LAMPS = FAILING = WATCHES // 100
PAGE = 100  # rows
FAR = 13  # pages, more than the address holds
KNOWN = 10  # to another tab, by the address
BULK = "**/api/watches/bulk"


@pytest.fixture(scope="module")
def webloom(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    with furnished(tmp_path_factory.mktemp("many")) as it:
        yield it


@pytest.fixture
def bulk_requests(page: Page) -> list[Request]:
    """Those that the page makes."""
    made: list[Request] = []
    page.on("request", lambda each: made.append(each) if each.url.endswith("/bulk") else None)
    return made


def rows(page: Page) -> Locator:
    return page.get_by_role("table").locator("[data-index]")


def watches(page: Page, query: str = "") -> Locator:
    page.goto(f"/watch{query}")
    expect(rows(page).first).to_be_visible()
    return page.get_by_role("table", name="Watches")


def expect_counted(page: Page, words: str) -> None:
    expect(page.get_by_text(words, exact=True)).to_be_visible()


def select_all(page: Page, count: str) -> None:
    page.get_by_role("checkbox", name="Select all on this page").check()
    page.get_by_role("button", name=f"Select all {count} watches").click()
    expect(page.get_by_text(f"all {count} watches selected")).to_be_visible()


def total(webloom: Webloom, query: str) -> int:
    return int(ask(webloom, "GET", f"/api/watches?limit=1&{query}")["total"])


def test_ten_thousand_are_counted_searched_and_filtered(page: Page) -> None:
    watches(page)
    expect_counted(page, "10,000 watches")
    page.get_by_label("Search").fill("lamp 099")
    expect_counted(page, "1 watch")
    expect(rows(page)).to_contain_text("Lamp 09900")
    page.get_by_label("Search").fill("lam")
    expect_counted(page, f"{LAMPS} watches")
    page.get_by_label("State").select_option("failing")
    expect(page.get_by_text("No matching watches")).to_be_visible()
    page.get_by_label("Search").fill("")
    expect_counted(page, f"{WATCHES // 100} watches")
    page.get_by_role("button", name="Clear", exact=True).click()
    page.get_by_role("group", name="Tags").get_by_role("button", name="garden 667").click()
    expect_counted(page, "667 watches")
    expect(rows(page).first).to_contain_text("garden")


def test_of_more_than_ten_thousand_that_much_is_said(page: Page, webloom: Webloom) -> None:
    body = {"url": "https://one-more.test/", "name": "One more", "enabled": False}
    one_more = f"/api/watches/{ask(webloom, 'POST', '/api/watches', body)['jobId']}"
    watches(page)
    expect_counted(page, "10,000+ watches")
    page.get_by_role("checkbox", name="Select all on this page").check()
    expect(page.get_by_role("button", name="Select all 10,000+ watches")).to_be_visible()
    ask(webloom, "DELETE", one_more)


def test_ten_thousand_are_sorted_by_every_column_that_can_be(page: Page) -> None:
    watches(page, "?columns=name,lastRunAt,nextRunAt,failures,createdAt")
    for head, first, last in (
        ("Watch", 1, 9900),
        ("Last check", 0, 9999),
        ("Next check", 0, 9999),
        ("Failures", 0, 9950),
        ("Added", 0, 9999),
    ):
        button = page.get_by_role("columnheader", name=head).get_by_role("button")
        button.click()
        if head != "Watch":  # the names are ascending already
            button.click()
        expect(rows(page).first).to_contain_text(name_of(last))
        button.click()
        expect(rows(page).first).to_have_attribute("data-key", watch_id(first))


def test_the_pages_of_ten_thousand_lead_back(page: Page) -> None:
    table = watches(page, "?sort=createdAt")
    for number in (1, 2, 3):
        page.get_by_role("button", name="Next", exact=True).click()
        expect(rows(page).first).to_have_attribute("data-key", watch_id(number * PAGE))
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    expect(table.locator(f"[aria-rowindex='{PAGE + 1}']")).to_be_in_viewport()
    page.evaluate("scrollTo(0, 0)")
    for number in (2, 1, 0):
        page.get_by_role("button", name="Previous", exact=True).click()
        expect(rows(page).first).to_have_attribute("data-key", watch_id(number * PAGE))


def test_pages_lead_back_from_far_away_also_after_a_reload_or_in_another_tab(
    page: Page, context: BrowserContext
) -> None:
    def step(shown: Page, button: str, number: int) -> None:
        shown.get_by_role("button", name=button, exact=True).click()
        expect(rows(shown).first).to_have_attribute("data-key", watch_id(number * PAGE))

    watches(page, "?sort=createdAt")
    for number in range(1, FAR + 1):
        step(page, "Next", number)
    other = context.new_page()
    other.goto(page.url)
    for number in range(FAR - 1, FAR - KNOWN, -1):
        step(other, "Previous", number)
    step(other, "First page", 0)
    expect(other.get_by_role("button", name="Previous", exact=True)).to_be_disabled()

    page.reload()
    for number in reversed(range(FAR)):
        step(page, "Previous", number)
    expect(page.get_by_role("button", name="Previous", exact=True)).to_be_disabled()
    expect(page).to_have_url(re.compile(r"/watch\?sort=createdAt$"))


def test_every_failing_watch_says_why_and_all_reasons_come_with_the_list(page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda each: asked.append(urlsplit(each.url).path))
    watches(page, "?state=failing")
    expect_counted(page, f"{FAILING} watches")
    for index in range(FAILING):
        row = page.locator(f"[data-index='{index}']")
        row.scroll_into_view_if_needed()
        number = int(str(row.get_attribute("data-key")).removeprefix("watch-"))
        expect(row).to_contain_text(f"{REASON} {number}")
    assert asked.count("/api/watch/runs") <= asked.count("/api/watches")


SORTED: dict[str, tuple[str, str, int, Callable[[int], str]]] = {
    "Import runs": ("/import-history", "Import Date/Time", 20, lambda number: run(number).run_id),
    "Postings": ("/jobs", "Published", 50, lambda number: posting(number).posting.dedupe_key),
    "Records": ("/inventory?columns=created_at", "Created", 100, lambda number: record(number).url),
    "Runs": (f"/watch/{RUN_OFTEN}", "Started", 20, lambda number: run_of_one(number).run.run_id),
    "Pages": (
        "/watch?show=pages&columns=lastUpdated",
        "Changed",
        100,
        lambda number: f"{watch_id(number)}\n{url_of(number)}",
    ),
}


@pytest.mark.parametrize("name", SORTED)
def test_a_list_is_read_from_either_end_page_by_page(page: Page, name: str) -> None:
    path, head, size, key = SORTED[name]
    whole = page.get_by_role("region", name=name, exact=True)

    def expect_first(number: int) -> None:
        first = whole.locator("[data-index]").first
        expect(first).to_have_attribute("data-key", key(number))

    page.goto(path)
    column = whole.get_by_role("columnheader", name=head)
    following = whole.get_by_role("button", name="Next", exact=True)
    before = whole.get_by_role("button", name="Previous", exact=True)
    newest = OTHERS - 1
    expect(column).to_have_attribute("aria-sort", "descending")
    expect_first(newest)
    following.click()
    expect_first(newest - size)
    column.get_by_role("button").click()
    expect(column).to_have_attribute("aria-sort", "ascending")
    expect_first(0)
    expect(before).to_be_disabled()
    following.click()
    expect_first(size)
    following.click()
    expect_first(2 * size)
    page.reload()
    expect_first(2 * size)
    before.click()
    expect_first(size)
    before.click()
    expect_first(0)
    column.get_by_role("button").click()
    expect_first(newest)


def test_what_no_index_knows_is_counted_all_the_same(page: Page) -> None:
    """More pages than one shows, chosen by their outcome."""
    page.goto("/watch?show=pages&outcome=unchanged")
    expect_counted(page, f"{OTHERS - OTHERS // 25} pages")


def test_an_order_whose_column_is_not_shown_can_be_turned_too(page: Page) -> None:
    page.goto("/inventory")
    page.get_by_label("Sort").select_option("Created ↑")
    expect(rows(page).first).to_have_attribute("data-key", record(0).url)
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("checkbox", name="Created").check()
    expect(page.get_by_label("Sort")).to_have_count(0)
    expect(page.get_by_role("columnheader", name="Created")).to_be_visible()


def test_all_ten_thousand_are_paused_by_one_request_and_that_is_undone(
    page: Page, webloom: Webloom, bulk_requests: list[Request]
) -> None:
    paused = total(webloom, "state=paused")
    watches(page)
    select_all(page, "10,000")
    page.get_by_role("button", name="Pause", exact=True).click()
    question = page.get_by_role("dialog", name="Pause: all 10,000 watches?")
    question.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("progressbar", name="Done")).to_be_visible()
    expect(page.get_by_text(re.compile(r"^[\d,]+ of 10,000$"))).to_be_visible()
    done = page.get_by_role("status").filter(has_text="10,000 watches paused.")
    expect(done).to_be_visible()
    assert len(bulk_requests) == 1
    assert total(webloom, "state=paused") == WATCHES
    done.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("watches as before.")).to_be_visible()
    assert total(webloom, "state=paused") == paused


def test_those_that_match_are_tagged_and_what_fails_is_listed(
    page: Page, webloom: Webloom, bulk_requests: list[Request]
) -> None:
    """Between the choice and the request, one of them is given all the tags that it may have."""

    def with_a_full_one(route: Route) -> None:
        tags = [f"tag {number}" for number in range(20)]
        ask(webloom, "PATCH", f"/api/watches/{watch_id(200)}", {"tags": tags})
        route.continue_()

    watches(page, "?q=lamp")
    expect_counted(page, f"{LAMPS} watches")
    page.get_by_role("checkbox", name="Select all on this page").check()
    page.route(BULK, with_a_full_one)
    page.get_by_role("button", name="Tag", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Tags").fill("light")
    dialog.get_by_role("button", name="Add tags").click()
    expect(page.get_by_text(f"{LAMPS - 1} watches tagged.")).to_be_visible()
    failures = page.get_by_role("alert").filter(has_text="1 failure")
    expect(failures).to_contain_text(f"{name_of(200)}: ")
    assert_accessible(page)
    assert len(bulk_requests) == 1
    assert total(webloom, "tag=light") == LAMPS - 1


def test_ten_thousand_rows_are_exported(page: Page) -> None:
    watches(page, "?sort=-createdAt&columns=name,createdAt")
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV of all that match").click()
    with download.value.path().open(newline="") as file:
        names = [each["name"] for each in csv.DictReader(file)]
    assert names == [name_of(number) for number in reversed(range(WATCHES))]
    with page.expect_download() as download:
        page.get_by_role("link", name="NDJSON of all that match").click()
    lines = download.value.path().read_text().splitlines()
    assert len(lines) == WATCHES
    assert json.loads(lines[0])["name"] == name_of(WATCHES - 1)


def test_failing_feeds_are_reported_on_every_page_and_found_in_their_list(page: Page) -> None:
    page.goto("/jobs")
    page.get_by_role("banner").get_by_role("button", name="problems").click()
    report = page.locator("#problems")
    expect(report).to_contain_text("The last import of Feed 000 failed, for the 2nd time in a row")
    expect(report).to_contain_text(f"The last import of {FAILING_FEEDS - 10} more feeds failed.")
    expect(report).to_contain_text("The queue import-feed has 3 dead letters.")
    assert_accessible(page)
    assert_nothing_is_cut(report)
    more = report.get_by_role("listitem").filter(has_text="more feeds failed")
    more.get_by_role("link", name="Look").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Feeds")
    expect_counted(page, f"{FAILING_FEEDS} feeds")
    page.goto("/feeds?sort=-failures")
    expect_counted(page, f"{FEEDS} feeds")
    expect(rows(page).first).to_contain_text("The server answered 503")
