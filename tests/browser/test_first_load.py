"""How much a browser loads before a screen works."""

from __future__ import annotations

from playwright.sync_api import Page, Response, expect

from browser.conftest import UI
from ui_weight import MOST_JS, first_loads

IN_DIALOG = "Feeds that this page offers"


def test_the_scripts_of_every_page_stay_within_their_limit() -> None:
    sizes = first_loads()
    assert len(sizes) == len(list(UI.rglob("*.html"))) > 0
    assert min(sizes.values()) > MOST_JS / 10, "the scripts are not found"
    assert {page: size for page, size in sizes.items() if size > MOST_JS} == {}


def test_a_browser_loads_no_other_scripts_at_first(page: Page) -> None:
    """Of one of the heaviest pages. The dialog of Ctrl-K follows once the page is idle."""
    loaded: list[Response] = []
    page.on(
        "response",
        lambda each: loaded.append(each) if each.request.resource_type == "script" else None,
    )
    page.goto("/watch")
    expect(page.get_by_text("No watches yet")).to_be_visible()
    paths = {each.url.rpartition("/_next/")[2] for each in loaded}
    html = (UI / "watch.html").read_text(encoding="utf-8")
    assert paths
    later = [UI / "_next" / path for path in paths if path not in html]
    assert [each for each in later if IN_DIALOG not in each.read_text(encoding="utf-8")] == []
