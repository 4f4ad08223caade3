"""What is gone is not asked for: it would be shown as missing, and be an error on the console.

Everybody who listens learns of a removal at once. The page that asks for it may hear of it that
way before it has its own answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from urllib.parse import quote

from playwright.sync_api import Page, Request, Route, expect

from browser.acts import add_feed, held, start_import
from browser.checks import section
from browser.conftest import ask
from browser.site import Site, feed, product
from e2e.running import Webloom
from timeouts import TIMEOUT_SECONDS

# Shows the latest news that the page has heard, right before it acts on them: a revision, or the
# status of a run.
SHOWING = """const parse = JSON.parse;
JSON.parse = (...given) => {
  const value = parse(...given);
  const shown = document.documentElement.dataset;
  if (value?.revision) shown.revision = value.revision;
  if (value?.runId) shown.run = value.status;
  return value;
};"""
LONG_MS = 10_000  # more than a page lets pass between the news and what it does about them


def open_and_listen(page: Page, path: str) -> None:
    """With a clock that can be put forward."""
    page.clock.install()
    page.add_init_script(SHOWING)
    page.goto(path)
    expect(page.locator("html")).to_have_attribute("data-revision", re.compile("."))


@contextmanager
def revision_heard(page: Page) -> Iterator[None]:
    """What is done inside is news to the page at the end, and it has done all about them."""
    shown = page.locator("html")
    before = shown.get_attribute("data-revision")
    yield
    expect(shown).not_to_have_attribute("data-revision", str(before))
    page.clock.run_for(LONG_MS)


def answered_late(
    page: Page, address: str, heard: Callable[[], AbstractContextManager[None]]
) -> list[str]:
    """Holds back the answer to the removal of what is at this address until the news are `heard`.
    Returns a list, of what the page asks for there from the removal on."""
    asked: list[str] = []

    def note(request: Request) -> None:
        if address in request.url:
            asked.append(f"{request.method} {request.url}")

    def remove(route: Route) -> None:
        if route.request.method != "DELETE":
            route.fallback()
            return
        page.on("request", note)
        with heard():
            answer = route.fetch(timeout=TIMEOUT_SECONDS * 1000)
        route.fulfill(response=answer)

    page.route(lambda url: address in url, remove)
    return asked


def test_a_record_that_is_being_removed_is_not_asked_for(
    page: Page, webloom: Webloom, site: Site
) -> None:
    url = site.serve("/gone", b"<p>soon gone</p>")
    ask(webloom, "POST", "/metadata", {"url": url})
    open_and_listen(page, f"/inventory/record?url={quote(url, safe='')}")
    expect(section(page, "Summary")).to_contain_text("completed")
    asked = answered_late(page, "/metadata?url=", lambda: revision_heard(page))
    page.get_by_role("button", name="Invalidate").click()
    page.get_by_role("dialog").get_by_role("button", name="Invalidate").click()
    expect(page).to_have_url(re.compile("/inventory$"))
    expect(page.get_by_role("heading", level=1, name="Inventory")).to_be_visible()
    assert asked == []


def test_a_watch_that_is_being_removed_is_not_asked_for(
    page: Page, webloom: Webloom, site: Site
) -> None:
    url = site.serve("/gone/lamp", product("Lamp", "5.00"))
    body = {"urls": [url], "name": "Lamps", "enabled": False}
    watch = ask(webloom, "POST", "/api/watches", body)
    open_and_listen(page, f"/watch/{watch['jobId']}")
    expect(section(page, "Notifications")).to_contain_text("No notifications sent")
    address = f"/api/watches/{watch['jobId']}"
    asked = answered_late(page, address, lambda: revision_heard(page))
    page.get_by_role("button", name="Remove: Lamps").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove the watch").click()
    expect(page).to_have_url(re.compile("/watch$"))
    expect(page.get_by_role("heading", level=1, name="Watch")).to_be_visible()
    assert asked == []


def test_a_feed_that_is_being_removed_is_not_asked_for(
    page: Page, webloom: Webloom, site: Site
) -> None:
    url = site.serve_feed("/held/gone.rss", feed(1))
    added = add_feed(webloom, url, "Not for long")
    page.add_init_script(SHOWING)
    with page.expect_response(lambda answer: "/api/import-logs/stream" in answer.url):
        page.goto(f"/feeds/{added['feedId']}")
    last = page.get_by_role("link", name="run of Not for long")
    shown = page.locator("html")

    @contextmanager
    def cancelled() -> Iterator[None]:
        yield
        expect(shown).to_have_attribute("data-run", "failed")
        expect(last).to_contain_text("cancelled")

    with held(site):
        start_import(webloom, url)
        expect(shown).to_have_attribute("data-run", "running")
        expect(last).to_contain_text("running")
        asked = answered_late(page, f"/api/feeds/{added['feedId']}", cancelled)
        page.get_by_role("button", name="Remove").click()
        page.get_by_role("dialog").get_by_role("button", name="Remove").click()
        expect(page).to_have_url(re.compile("/feeds$"))
        expect(page.get_by_role("heading", level=1, name="Feeds")).to_be_visible()
    assert asked == []


def test_pages_of_a_removed_watch_have_its_id(page: Page, webloom: Webloom, site: Site) -> None:
    url = site.serve("/kept/chair", product("Kept chair", "7.00"))
    watch = ask(webloom, "POST", "/api/watches", {"urls": [url], "name": "Chairs"})
    page.goto("/watch?show=pages")
    row = page.get_by_role("row").filter(has_text="Kept chair")
    expect(row.get_by_role("link", name="Chairs", exact=True)).to_be_visible()
    ask(webloom, "DELETE", f"/api/watches/{watch['jobId']}")
    page.reload()
    expect(row.get_by_role("link", name=watch["jobId"])).to_be_visible()
    row.get_by_role("link", name="Kept chair").click()
    expect(page.get_by_role("heading", level=1, name="Kept chair")).to_be_visible()
    expect(page.get_by_role("link", name=watch["jobId"])).to_be_visible()
    expect(section(page, "Latest")).to_contain_text("€7.00")
