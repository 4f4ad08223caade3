"""What several tests of the admin UI do: imports by the API, two tabs, and ways by the Tab key."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from playwright.sync_api import BrowserContext, Locator, Page, expect

from browser.checks import TWO_FRAMES, mark
from browser.conftest import ask
from browser.site import Site
from e2e.running import POLL_SECONDS, Webloom
from timeouts import TIMEOUT_SECONDS

MOST_STOPS = 80  # of the Tab key on one page


def add_feed(webloom: Webloom, url: str, name: str) -> Any:
    return ask(webloom, "POST", "/api/feeds", {"url": url, "name": name})


def start_import(webloom: Webloom, url: str) -> str:
    """The id of the run."""
    answer = ask(webloom, "POST", "/api/import/run", {"sourceUrl": url})
    return str(answer["runs"][0]["runId"])


def imported(webloom: Webloom, url: str, name: str) -> Any:
    """A new feed, imported: its run at the end."""
    add_feed(webloom, url, name)
    return ended(webloom, start_import(webloom, url))


def ended(webloom: Webloom, run_id: str) -> Any:
    """The run, once it has ended."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while (run := ask(webloom, "GET", f"/api/import-logs/{quote(run_id)}"))["status"] == "running":
        assert time.monotonic() < deadline, f"run {run_id} goes on"
        time.sleep(POLL_SECONDS)
    return run


@contextmanager
def held(site: Site) -> Iterator[None]:
    """What is below /held/ does not answer meanwhile."""
    site.gate.clear()
    try:
        yield
    finally:
        site.gate.set()


def two_tabs(context: BrowserContext, path: str) -> tuple[Page, Page]:
    """Both on the screen, as two windows are: a tab in the background lets go of its stream."""
    tabs = (context.new_page(), context.new_page())
    for tab in tabs:
        tab.goto(path)
        expect(tab.get_by_role("heading", level=1)).to_be_visible()
        mark(tab)
    for tab in tabs:
        assert tab.evaluate("document.visibilityState") == "visible"
    return tabs


def paste(field: Locator, text: str) -> None:
    field.evaluate(
        """(field, text) => {
            const data = new DataTransfer();
            data.setData("text", text);
            field.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true,
                                                             cancelable: true}));
        }""",
        text,
    )


def tab_to(page: Page, wanted: Locator) -> None:
    """Goes there by the Tab key; each stop on the way shows that it has the focus."""
    expect(wanted).to_be_visible()
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        assert_focus_is_seen(page)
        if wanted.evaluate("element => element === document.activeElement"):
            return
    raise AssertionError(f"the Tab key does not lead to {wanted}")


def assert_focus_is_seen(page: Page) -> None:
    unseen = page.evaluate(_UNSEEN_FOCUS)
    assert unseen is None, f"the focus is not seen on {unseen}"


def assert_focus_is_kept(page: Page) -> None:
    """By whatever was done: the next Tab goes on from where the reader was."""
    page.evaluate(TWO_FRAMES)  # the browser takes it from what is gone or disabled by then
    expect(page.locator("body :focus")).to_have_count(1)
    assert_focus_is_seen(page)


# The element that has the focus, if nothing shows that it has.
_UNSEEN_FOCUS = """() => {
  const element = document.activeElement;
  if (!element || element === document.body) return null;
  const look = getComputedStyle(element);
  const outlined = look.outlineStyle !== 'none' && parseFloat(look.outlineWidth) > 0;
  return outlined || look.boxShadow !== 'none' ? null : element.outerHTML.slice(0, 200);
}"""
