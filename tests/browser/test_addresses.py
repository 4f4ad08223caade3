"""Every address of the admin UI answers, survives a reload, and is accessible while there is
nothing to show yet. test_screens.py has them with much on them."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from browser.checks import PHONE, assert_accessible, assert_fits_a_phone
from browser.conftest import Watched

PLACES = {
    "/": "Overview",
    "/inbox": "Inbox",
    "/inbox?state=snoozed": "Inbox",
    "/import-history": "Import history",
    "/feeds": "Feeds",
    "/feeds/new": "Add a feed",
    "/jobs": "Postings",
    "/inventory": "Inventory",
    "/watch": "Watch",
    "/watch?show=changes": "Watch",
    "/watch/new": "New watch",
    "/queues": "Queues",
    "/queues/import-feed": "import-feed",
    "/system": "System",
}


@pytest.mark.parametrize(("path", "title"), PLACES.items())
def test_an_address_is_good_for_everybody(page: Page, path: str, title: str) -> None:
    """After a reload, in light and dark, and on a phone."""
    page.goto(path)
    expect(page.get_by_role("heading", level=1)).to_have_text(title)
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text(title)
    assert page.url.endswith(path)
    expect(page.get_by_text("Loading", exact=True)).to_have_count(0)
    assert_accessible(page)
    assert_fits_a_phone(page)


def test_an_unknown_address_says_so(page: Page, watched: Watched) -> None:
    watched.expected = ("404",)
    answer = page.goto("/nothing/here/at/all")
    assert answer is not None
    assert answer.status == 404
    expect(page.get_by_role("heading", level=1)).to_have_text("Page not found")


def test_the_menu_leads_everywhere_by_keyboard_alone(page: Page) -> None:
    page.goto("/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    places = "Inbox, Import history, Feeds, Postings, Inventory, Watch, Queues, System"
    for name in places.split(", "):
        page.get_by_role("navigation", name="Main").get_by_role("link", name=name).focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text(name)


def test_a_phone_has_a_menu(page: Page) -> None:
    page.set_viewport_size({"width": PHONE, "height": 800})
    page.goto("/")
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("link", name="Feeds").click()
    expect(page).to_have_url(re.compile("/feeds$"))
    expect(page.get_by_role("navigation", name="Main")).to_be_hidden()
