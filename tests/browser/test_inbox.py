"""The inbox: changes of watched pages, until someone has dealt with them."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from browser.checks import assert_accessible, assert_fits_a_phone
from browser.conftest import ask
from browser.site import HOSTILE, Site, product
from browser.test_watch import check
from e2e.running import POLL_SECONDS, Webloom
from timeouts import TIMEOUT_SECONDS

MANY = 1000
SENT_AT_ONCE = 250
SHOWN = 50
START = 1_790_000_000_000


def waiting(webloom: Webloom) -> list[str]:
    """The ids of the latest unread changes."""
    found = ask(webloom, "GET", "/api/changes?state=unread&limit=200")["data"]
    return [each["id"] for each in found]


@pytest.fixture(autouse=True)
def _nothing_waits(webloom: Webloom) -> None:
    while ids := waiting(webloom):
        ask(webloom, "POST", "/api/changes/state", {"ids": ids, "state": "done"})


def priced(webloom: Webloom, site: Site, name: str, *prices: str) -> dict[str, Any]:
    """A watch whose page has cost all of this: a change for each price but the first."""
    url = site.serve(f"/{name}", product(name, prices[0]))
    body = {"urls": [url], "name": f"Shop of {name}", "enabled": False}
    watch: dict[str, Any] = ask(webloom, "POST", "/api/watches", body)
    for price in prices:
        site.serve(f"/{name}", product(name, price))
        check(webloom, watch)
    return watch


def entries(page: Page) -> Locator:
    return page.locator("[data-entry]")


def menu_link(page: Page) -> Locator:
    return page.get_by_role("navigation", name="Main").get_by_role("link", name="Inbox")


def open_inbox(page: Page, count: int) -> None:
    page.goto("/inbox")
    expect(entries(page)).to_have_count(count)


def test_a_change_waits_until_it_is_done_and_that_can_be_undone(
    page: Page, webloom: Webloom, site: Site
) -> None:
    priced(webloom, site, "kettle", "20.00", "15.00")
    open_inbox(page, 1)
    entry = entries(page).first
    for text in ("127.0.0.1", "/kettle", "Shop of kettle", "€20.00", "€15.00", "25 %"):
        expect(entry).to_contain_text(text)
    expect(page.locator("main").get_by_text("1 unread", exact=True)).to_be_visible()
    expect(menu_link(page)).to_have_accessible_name("Inbox 1 unread")
    expect(page).to_have_title("(1) Inbox · Webloom")
    assert_accessible(page)
    assert_fits_a_phone(page)
    entry.get_by_role("button", name="Done").click()
    expect(page.get_by_text("1 change marked as done.")).to_be_visible()
    expect(page.get_by_text("Nothing waits")).to_be_visible()
    expect(menu_link(page)).to_have_accessible_name("Inbox")
    expect(page).to_have_title("Inbox · Webloom")
    assert waiting(webloom) == []
    page.get_by_role("button", name="Undo: 1 change marked as done.").click()
    expect(entries(page)).to_have_count(1)
    assert len(waiting(webloom)) == 1


def test_the_overview_says_how_many_wait(page: Page, webloom: Webloom, site: Site) -> None:
    priced(webloom, site, "jug", "9.00", "8.00", "7.00")
    page.goto("/")
    page.get_by_role("link", name="Inbox 2 unread").last.click()
    expect(entries(page)).to_have_count(2)
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Feeds").click()
    expect(page).to_have_title("(2) Feeds · Webloom")


def test_keys_go_through_the_changes(page: Page, webloom: Webloom, site: Site) -> None:
    priced(webloom, site, "cup", "5.00", "4.00", "3.00", "2.00")
    open_inbox(page, 3)
    links = [entries(page).nth(index).get_by_role("link").first for index in range(3)]
    page.keyboard.press("j")
    expect(links[0]).to_be_focused()
    page.keyboard.press("j")
    expect(links[1]).to_be_focused()
    page.keyboard.press("k")
    expect(links[0]).to_be_focused()
    page.keyboard.press("k")  # there is none above
    expect(links[0]).to_be_focused()
    page.keyboard.press("d")
    expect(entries(page)).to_have_count(2)
    expect(links[0]).to_be_focused()  # that of the next one
    expect(entries(page).first).to_contain_text("€3.00")
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(keys).to_contain_text("Mark the change as done")
    assert_accessible(page)
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("o")
    expect(page).to_have_url(re.compile("/watch/page.*#diff$"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("cup")
    page.keyboard.press("d")  # means nothing here
    page.keyboard.type("gc")
    expect(entries(page)).to_have_count(2)


def test_a_change_is_snoozed_and_comes_back_when_it_is_wanted(
    page: Page, webloom: Webloom, site: Site
) -> None:
    priced(webloom, site, "pan", "30.00", "31.00")
    open_inbox(page, 1)
    page.get_by_role("button", name="Snooze: ").click()
    assert_accessible(page)
    page.get_by_role("button", name="Until tomorrow, 9:00").click()
    expect(page.get_by_text("1 change snoozed.")).to_be_visible()
    expect(page.get_by_text("Nothing waits")).to_be_visible()
    page.get_by_role("navigation", name="Inbox").get_by_role("link", name="Snoozed").click()
    snoozed = entries(page).filter(has_text="/pan")
    expect(snoozed).to_contain_text(re.compile(r"Comes back .*09:00"))
    assert_accessible(page)
    snoozed.get_by_role("button", name="Mark as unread").click()
    expect(snoozed).to_have_count(0)
    assert len(waiting(webloom)) == 1


def test_changes_of_a_muted_page_do_not_wait(page: Page, webloom: Webloom, site: Site) -> None:
    watch = priced(webloom, site, "noisy", "1.00", "2.00")
    open_inbox(page, 1)
    entries(page).first.get_by_role("button", name="Mute this page").click()
    expect(page.get_by_text("The page is muted")).to_be_visible()
    unmute = page.get_by_role("button", name="Unmute this page")
    expect(unmute).to_be_visible()
    site.serve("/noisy", product("noisy", "3.00"))
    check(webloom, watch)
    assert len(waiting(webloom)) == 1
    page.goto("/inbox?state=muted")
    expect(entries(page)).to_contain_text("€3.00")
    assert_accessible(page)
    unmute.click()
    expect(page.get_by_text("The page is no longer muted")).to_be_visible()
    site.serve("/noisy", product("noisy", "4.00"))
    check(webloom, watch)
    assert len(waiting(webloom)) == 2


def test_a_change_and_a_decision_are_seen_at_once_in_every_tab(
    page: Page, webloom: Webloom, site: Site
) -> None:
    watch = priced(webloom, site, "live", "6.00")
    page.goto("/inbox")
    expect(page.get_by_text("Nothing waits")).to_be_visible()
    site.serve("/live", product("live", "5.00"))
    check(webloom, watch)
    expect(entries(page)).to_have_count(1)
    expect(page).to_have_title("(1) Inbox · Webloom")
    ask(webloom, "POST", "/api/changes/state", {"ids": waiting(webloom), "state": "done"})
    expect(entries(page)).to_have_count(0)
    expect(page).to_have_title("Inbox · Webloom")


def test_a_thousand_changes_are_worked_off(page: Page, webloom: Webloom) -> None:
    events = [
        {
            "jobId": "many",
            "url": f"https://shop.test/thing-{number}",
            "parsed": {"title": HOSTILE, "text": f"Thing {number}"},
            "diff": {"title": {"previous": "Thing", "current": HOSTILE}, "textChanged": True},
            "version": 2,
            "ts": START + number,
        }
        for number in range(MANY)
    ]
    for first in range(0, MANY, SENT_AT_ONCE):
        ask(webloom, "POST", "/api/watch/events", events[first : first + SENT_AT_ONCE])
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while ask(webloom, "GET", "/api/changes/counts")["unread"] < MANY:
        assert time.monotonic() < deadline, "the events are not stored"
        time.sleep(POLL_SECONDS)

    open_inbox(page, SHOWN)
    main = page.locator("main")
    expect(main.get_by_text("1,000 unread", exact=True)).to_be_visible()
    expect(menu_link(page)).to_have_accessible_name("Inbox 1,000 unread")
    expect(page).to_have_title("(1,000) Inbox · Webloom")
    expect(entries(page).first).to_contain_text("thing-999")
    expect(entries(page).first).to_contain_text("<img src=x onerror=")
    assert "owned" not in page.title()
    page.get_by_role("button", name=f"Mark these {SHOWN} as done").click()
    expect(main.get_by_text("950 unread", exact=True)).to_be_visible()
    expect(entries(page).first).to_contain_text("thing-949")
    page.get_by_role("navigation", name="Pages").get_by_role("button", name="Next").click()
    expect(entries(page).first).to_contain_text("thing-899")
    page.reload()
    expect(entries(page).first).to_contain_text("thing-899")
    page.get_by_role("navigation", name="Pages").get_by_role("button", name="Previous").click()
    expect(entries(page).first).to_contain_text("thing-949")
