"""From an empty start to a watched page."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from browser.checks import section
from browser.conftest import Watched, ask
from browser.site import Site, product
from e2e.running import Webloom

MOST_ACTIONS = 3


class Person:
    """Counts what somebody does."""

    def __init__(self, page: Page) -> None:
        self.actions = 0
        self._page = page

    def click(self, what: Locator) -> None:
        self.actions += 1
        what.click()

    def paste(self) -> None:
        self.actions += 1
        self._page.keyboard.press("Control+v")


def test_a_page_is_watched_after_three_actions(
    page: Page, webloom: Webloom, site: Site, watched: Watched
) -> None:
    watched.expected = ("409",)  # the scheduler may be the first to check it
    url = site.serve("/kettle", product("Kettle", "30.00"))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto("/")
    page.evaluate("url => navigator.clipboard.writeText(url)", url)  # copied where it was seen
    assert ask(webloom, "GET", "/api/watches")["total"] == 0

    person = Person(page)
    person.click(page.get_by_label("Address", exact=True))
    person.paste()
    person.click(page.get_by_role("button", name="Watch this page"))

    expect(page.get_by_role("heading", level=1)).to_have_text("Kettle")
    expect(section(page, "Settings")).to_contain_text("every")
    expect(page.get_by_role("table", name="Pages")).to_contain_text("€30.00")
    [watch] = ask(webloom, "GET", "/api/watches")["data"]
    assert (watch["urls"], watch["enabled"]) == ([url], True)
    assert person.actions <= MOST_ACTIONS
