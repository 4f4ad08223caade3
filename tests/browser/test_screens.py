"""Every screen of the admin UI with much on it: it survives a reload, nothing of it is cut or
overlaps at any width, nothing moves while it is loaded, and it is accessible in both themes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from browser.acts import imported
from browser.checks import (
    PHONE,
    assert_accessible,
    assert_no_texts_overlap,
    assert_nothing_is_cut,
    assert_steady,
    count_much,
    note_shifts,
    set_width,
)
from browser.conftest import UI, Watched, ask
from browser.furnished import furnished, name_of, posting, record, watch_id
from browser.site import Site, feed, product
from browser.test_watch import check
from e2e.running import Webloom

DESKTOP = 1440
WIDTHS = (360, 768, 1024)
ROWS = "[data-index]"


@dataclass(frozen=True, kw_only=True)
class Screen:
    file: str  # of the export
    path: str
    title: str
    shows: str  # a selector of what is there once everything is loaded


RECORD = urlencode({"url": record(1).url})
EDITED = urlencode({"jobId": watch_id(2)})
SCREENS = [
    Screen(file="index", path="/", title="Overview", shows="main h2:text('Needs attention')"),
    Screen(file="inbox", path="/inbox", title="Inbox", shows="main [data-entry]"),
    Screen(file="import-history", path="/import-history", title="Import history", shows=ROWS),
    Screen(
        file="import-history/_",
        path="/import-history/run-0001",
        title="Feed 001",
        shows="text=The import failed",
    ),
    Screen(file="feeds", path="/feeds", title="Feeds", shows=ROWS),
    Screen(file="feeds/_", path="/feeds/feed-005", title="Feed 005", shows="label"),
    Screen(file="feeds/new", path="/feeds/new", title="Add a feed", shows="label"),
    Screen(file="jobs", path="/jobs", title="Postings", shows=ROWS),
    Screen(
        file="jobs/_",
        path=f"/jobs/{posting(3).posting.dedupe_key}",
        title="Weaver 3",
        shows="text=Weaves.",
    ),
    Screen(file="inventory", path="/inventory", title="Inventory", shows=ROWS),
    Screen(
        file="inventory/record",
        path=f"/inventory/record?{RECORD}",
        title="host1",
        shows="text=content-type",
    ),
    Screen(file="watch", path="/watch", title="Watch", shows=ROWS),
    Screen(
        file="watch",
        path="/watch?columns=name,state,urls,failures,pagesProcessed,changesDetected,createdAt",
        title="Watch",
        shows=ROWS,
    ),
    Screen(file="watch", path="/watch?show=pages", title="Watch", shows=ROWS),
    Screen(file="watch", path="/watch?show=changes", title="Watch", shows="main li"),
    Screen(
        file="watch/_",
        path=f"/watch/{watch_id(7)}",
        title=name_of(7),
        shows="text=No notifications sent",
    ),
    Screen(file="watch/new", path="/watch/new", title="New watch", shows="label"),
    Screen(file="watch/edit", path=f"/watch/edit?{EDITED}", title="Edit", shows="label"),
    Screen(file="watch/page", path="/watch/page", title="Loom", shows="[role=slider]"),
    Screen(file="queues", path="/queues", title="Queues", shows="main section dl"),
    Screen(file="queues/_", path="/queues/import-feed", title="import-feed", shows=ROWS),
    Screen(file="system", path="/system", title="System", shows="[aria-label='Log entries'] li"),
    Screen(file="404", path="/nothing/at/all", title="Page not found", shows="main a"),
]


@pytest.fixture(scope="module")
def webloom(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    with furnished(tmp_path_factory.mktemp("screens")) as it:
        yield it


@pytest.fixture(scope="module", autouse=True)
def loom(webloom: Webloom, site: Site) -> str:
    return furnish_loom(webloom, site)


def furnish_loom(webloom: Webloom, site: Site) -> str:
    """A watched page with two versions, and a feed that was imported: the query of the page."""
    url = site.serve("/loom", product("Loom", "20.00"))
    body = {"urls": [url], "name": "Looms", "enabled": False}
    watch: dict[str, Any] = ask(webloom, "POST", "/api/watches", body)
    check(webloom, watch)
    site.serve("/loom", product("Loom", "15.00", text="A better thing."))
    check(webloom, watch)
    imported(webloom, site.serve_feed("/some.rss", feed(20)), "Some jobs")
    return urlencode({"jobId": watch["jobId"], "url": url})


def open_at(page: Page, screen: Screen, width: int, loom: str) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{screen.path}?{loom}" if screen.file == "watch/page" else screen.path)
    expect(page.get_by_role("heading", level=1)).to_contain_text(screen.title)
    expect(page.locator(screen.shows).first).to_be_visible()
    expect(page.get_by_text("Loading", exact=True)).to_have_count(0)


@pytest.mark.parametrize("screen", SCREENS, ids=[each.path.split("?of")[0] for each in SCREENS])
def test_a_screen_is_good_for_everybody(
    page: Page, watched: Watched, screen: Screen, loom: str
) -> None:
    watched.expected = ("404",) if screen.file == "404" else ()
    note_shifts(page)
    open_at(page, screen, PHONE, loom)
    assert_steady(page)
    assert_accessible(page)  # where lists are cards
    open_at(page, screen, DESKTOP, loom)
    assert_steady(page)
    assert_accessible(page)
    assert_everything_has_its_place(page)
    assert_everything_has_its_place(page, with_large_counts=True)


def assert_everything_has_its_place(page: Page, *, with_large_counts: bool = False) -> None:
    """At every width."""
    whole = page.locator("body")
    for width in (DESKTOP, *WIDTHS):
        set_width(page, width)
        if with_large_counts:
            count_much(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert_nothing_is_cut(whole)
        assert_no_texts_overlap(whole)


def test_every_file_of_the_export_is_among_the_screens() -> None:
    exported = {each.relative_to(UI).with_suffix("").as_posix() for each in UI.rglob("*.html")}
    assert exported - {"_not-found"} == {each.file for each in SCREENS}
