"""The list that the screens share, with more rows than fit on a screen."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from browser.acts import assert_focus_is_kept
from browser.checks import assert_accessible, assert_nothing_is_cut
from browser.conftest import ask
from e2e.running import Webloom

COUNT = 300
PHONE, LAPTOP, DESKTOP = 360, 1024, 1440
MOST_IN_DOCUMENT = 60  # of the 100 rows of a page: those in sight, and some around them


@pytest.fixture(scope="module", autouse=True)
def watches(webloom: Webloom) -> None:
    """Many, paused; each third one is called the same, and has a URL of its own."""

    def add(number: int) -> None:
        name = "Oak chair" if number % 3 == 0 else f"Chair {number:03}"
        url = f"https://shop.test/some/long/way/to/a/chair-{number:03}.html"
        ask(webloom, "POST", "/api/watches", {"urls": [url], "name": name, "enabled": False})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(COUNT)))


def rows_of(page: Page) -> Locator:
    """Without the row of heads."""
    return page.get_by_role("table", name="Watches").locator("[data-index]")


def open_at(page: Page, width: int, path: str = "/watch") -> Locator:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(path)
    expect(rows_of(page).first).to_be_visible()
    return page.get_by_role("table", name="Watches")


@pytest.mark.parametrize("width", [PHONE, LAPTOP, DESKTOP])
def test_many_watches_are_in_reach_at_every_width(page: Page, width: int) -> None:
    table = open_at(page, width)
    expect(table).to_have_attribute("aria-rowcount", "101")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert_nothing_is_cut(table)
    if width == PHONE:  # on a card each value has its label
        expect(rows_of(page).first.get_by_text("Schedule", exact=True)).to_be_visible()
    else:
        assert rows_of(page).first.evaluate("row => row.offsetHeight") < 40
        expect(table.get_by_role("columnheader", name="Schedule")).to_be_visible()
    row = rows_of(page).first
    expect(row.get_by_role("button", name=re.compile("^Run now: "))).to_be_in_viewport(ratio=1)
    expect(row).to_contain_text(re.compile(r"chair-\d+\.html"))
    assert 0 < rows_of(page).count() < MOST_IN_DOCUMENT
    assert_accessible(page)

    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    last = table.locator("[aria-rowindex='101']")
    expect(last).to_be_in_viewport()
    expect(last).to_contain_text(re.compile(r"chair-\d+\.html"))
    assert rows_of(page).count() < MOST_IN_DOCUMENT
    assert_nothing_is_cut(table)


def test_a_row_is_reached_by_keyboard_and_keeps_the_focus(page: Page) -> None:
    table = open_at(page, DESKTOP)
    rows_of(page).first.get_by_role("link").focus()
    for _ in range(60):
        page.keyboard.press("ArrowDown")
    row = table.locator("[aria-rowindex='62']")
    expect(row.get_by_role("link")).to_be_focused()
    expect(row).to_be_in_viewport(ratio=1)
    assert_focus_is_kept(page)
    page.evaluate("scrollTo(0, 0)")
    expect(table.locator("[aria-rowindex='2']")).to_be_in_viewport()
    expect(row.get_by_role("link")).to_be_focused()
    page.keyboard.press("Tab")
    expect(row.get_by_role("button", name=re.compile("^Run now: "))).to_be_focused()


def test_the_page_before_is_found_again_after_a_reload(page: Page) -> None:
    open_at(page, DESKTOP)
    following = page.get_by_role("button", name="Next", exact=True)
    before = page.get_by_role("button", name="Previous", exact=True)
    seen = []
    for _ in range(2):
        seen.append(str(rows_of(page).first.get_attribute("data-key")))
        following.click()
        expect(rows_of(page).first).not_to_have_attribute("data-key", seen[-1])
    expect(following).to_be_disabled()
    page.reload()
    for first in reversed(seen):
        before.click()
        expect(rows_of(page).first).to_have_attribute("data-key", first)
    expect(before).to_be_disabled()
    expect(page).to_have_url(re.compile("/watch$"))


# The first row that begins below what stays on top of the screen: its key, and where it is.
_FIRST_SEEN = """() => {
  const topOf = row => row.getBoundingClientRect().top;
  const row = [...document.querySelectorAll('[data-index]')].find(row => topOf(row) > 200);
  return [row.dataset.key, topOf(row)];
}"""
_SCROLLED = """by => new Promise(done => {
  scrollBy(0, by);
  requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)));
})"""


def test_what_is_being_read_stays_in_place(page: Page) -> None:
    """On a phone: cards differ in their heights, and those above were never measured."""
    open_at(page, PHONE)
    page.evaluate(_SCROLLED, 9000)
    expect(rows_of(page).first).not_to_have_attribute("data-index", "0")
    key, top = page.evaluate(_FIRST_SEEN)
    page.evaluate("""() => {
      const notice = document.createElement('div');
      notice.style.height = '300px';
      document.querySelector('main').prepend(notice);
    }""")
    for by in (-700, 700):
        page.evaluate(_SCROLLED, by)
    row = page.locator(f"[data-key='{key}']")
    assert abs(row.evaluate("row => row.getBoundingClientRect().top") - top) <= 2


def test_columns_are_chosen_and_kept_as_a_view(page: Page) -> None:
    table = open_at(page, DESKTOP)
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("checkbox", name="Added").check()
    expect(table.get_by_role("columnheader", name="Added")).to_be_visible()
    page.get_by_role("checkbox", name="Schedule").uncheck()
    expect(table.get_by_role("columnheader", name="Schedule")).to_have_count(0)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Views").click()
    page.get_by_label("Name of this view").fill("When added")
    page.get_by_role("button", name="Save", exact=True).click()
    page.goto("/watch")
    expect(table.get_by_role("columnheader", name="Schedule")).to_be_visible()
    page.get_by_role("button", name="Views").click()
    assert_accessible(page)
    page.get_by_role("link", name="When added").click()
    expect(table.get_by_role("columnheader", name="Added")).to_be_visible()
    expect(table.get_by_role("columnheader", name="Schedule")).to_have_count(0)


def test_the_other_actions_of_a_row_are_in_its_menu(page: Page, webloom: Webloom) -> None:
    open_at(page, PHONE)
    row = rows_of(page).first
    row.get_by_role("button", name=re.compile("^More for ")).click()
    assert_accessible(page)
    row.get_by_role("button", name=re.compile("^Remove: ")).click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    dialog.get_by_role("button", name="Cancel").click()
    row.get_by_role("button", name=re.compile("^More for ")).click()
    row.get_by_role("button", name=re.compile("^Resume: ")).click()
    expect(row).not_to_contain_text("paused")


def select(page: Page, first: int, last: int) -> None:
    """The rows from the first to the last, by two clicks."""
    rows_of(page).nth(first).get_by_role("checkbox").click()
    rows_of(page).nth(last).get_by_role("checkbox").click(modifiers=["Shift"])


def states(webloom: Webloom, tag: str) -> list[bool]:
    found = ask(webloom, "GET", f"/api/watches?tag={tag}&limit=200")
    return [each["enabled"] for each in found["data"]]


def test_what_is_shown_is_searched_and_sorted_and_in_the_address(page: Page) -> None:
    table = open_at(page, DESKTOP)
    expect(page.get_by_text("300 watches", exact=True)).to_be_visible()
    page.get_by_label("Search", exact=True).fill("oak cha")
    expect(page.get_by_text("100 watches", exact=True)).to_be_visible()
    page.get_by_label("Search", exact=True).fill("chair-01")
    expect(page.get_by_text("10 watches", exact=True)).to_be_visible()
    head = table.get_by_role("columnheader", name="Watch")
    expect(head).to_have_attribute("aria-sort", "ascending")
    expect(rows_of(page).first).to_contain_text("Chair 010")
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    expect(rows_of(page).first).to_contain_text("Oak chair")
    page.reload()
    expect(page.get_by_text("10 watches", exact=True)).to_be_visible()
    expect(head).to_have_attribute("aria-sort", "descending")
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(page.get_by_text("300 watches", exact=True)).to_be_visible()


def test_a_filter_stays_when_another_follows_before_the_address_has_changed(page: Page) -> None:
    open_at(page, DESKTOP)
    held: list[Route] = []
    # What the router loads before it goes anywhere.
    page.route(re.compile(r"\.txt"), lambda route: held.append(route))
    page.get_by_label("Search").fill("oak")
    expect(page.get_by_text("100 watches", exact=True)).to_be_visible()
    page.get_by_label("State").select_option("failing")
    expect(page.get_by_text("No matching watches")).to_be_visible()
    assert held
    for each in held:
        each.continue_()
    page.unroute_all(behavior="ignoreErrors")
    expect(page).to_have_url(re.compile(r"q=oak&state=failing$"))
    expect(page.get_by_text("No matching watches")).to_be_visible()


def test_many_are_tagged_and_resumed_at_once_and_that_is_undone(
    page: Page, webloom: Webloom
) -> None:
    open_at(page, LAPTOP, "/watch?q=oak")
    page.get_by_role("checkbox", name="Select all on this page").check()
    page.get_by_role("checkbox", name="Select all on this page").uncheck()
    select(page, 1, 4)
    expect(page.get_by_text("4 watches selected")).to_be_visible()
    assert_accessible(page)
    page.get_by_role("button", name="Actions").click()
    page.get_by_role("button", name="Tag", exact=True).click()
    page.get_by_role("dialog").get_by_label("Tags").fill("oak, to sell")
    page.get_by_role("dialog").get_by_role("button", name="Add tags").click()
    expect(page.get_by_text("4 watches tagged.")).to_be_visible()
    tag = page.get_by_role("group", name="Tags").get_by_role("button", name="to sell 4")
    tag.click()
    expect(page.get_by_text("4 watches", exact=True)).to_be_visible()

    select(page, 0, 3)
    page.get_by_role("button", name="Actions").click()
    page.get_by_role("button", name="Resume", exact=True).click()
    done = page.get_by_role("status").filter(has_text="4 watches resumed.")
    expect(done).to_be_visible()
    assert states(webloom, "oak") == [True] * 4
    assert_accessible(page)
    done.get_by_role("button", name="Undo: 4 watches resumed.").click()
    expect(page.get_by_text("4 watches as before.")).to_be_visible()
    assert states(webloom, "oak") == [False] * 4


def test_what_is_shown_is_exported(page: Page) -> None:
    open_at(page, DESKTOP, "/watch?q=oak&columns=name,nextRunAt")
    page.get_by_role("button", name="Export").click()
    assert_accessible(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV of all that match").click()
    head, *rows = download.value.path().read_text().splitlines()
    assert head == "name,urls,tags,nextRunAt"
    assert len(rows) == COUNT // 3
    assert all("Oak chair" in row for row in rows)


def test_what_fails_of_many_is_listed(page: Page) -> None:
    def with_another(route: Route) -> None:
        body = json.loads(route.request.post_data or "{}")
        route.continue_(post_data=json.dumps({**body, "ids": [*body["ids"], "removed-meanwhile"]}))

    open_at(page, DESKTOP)
    page.route("**/api/watches/bulk", with_another)
    select(page, 0, 2)
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_text("3 watches paused.")).to_be_visible()
    failures = page.get_by_role("alert").filter(has_text="1 failure")
    expect(failures).to_contain_text("removed-meanwhile: ")
    assert_accessible(page)


def test_all_that_match_are_removed_after_a_question(page: Page, webloom: Webloom) -> None:
    open_at(page, DESKTOP, "/watch?q=shop.test+some")
    page.get_by_role("checkbox", name="Select all on this page").check()
    expect(page.get_by_text("100 watches selected")).to_be_visible()
    page.get_by_role("button", name="Select all 300 watches").click()
    page.get_by_role("button", name="Remove", exact=True).click()
    dialog = page.get_by_role("dialog", name="Remove all 300 watches?")
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    assert_accessible(page)
    dialog.get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_text("300 watches removed.")).to_be_visible()
    expect(page.get_by_text("No matching watches")).to_be_visible()
    assert ask(webloom, "GET", "/api/watches")["total"] == 0
