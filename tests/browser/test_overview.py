"""The overview of an installation that has little: what it says at first, and of what it gets."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from browser.acts import add_feed, ended, held, imported, start_import
from browser.checks import (
    assert_accessible,
    assert_fits_a_phone,
    assert_not_reloaded,
    assert_nothing_ran,
    mark,
    section,
)
from browser.conftest import ask
from browser.site import HOSTILE, Site, feed, product
from browser.test_home import look_up
from e2e.running import Webloom


def test_a_new_installation_says_what_to_try_and_fetches_it(
    page: Page, site: Site, webloom: Webloom
) -> None:
    url = site.serve("/first", product("First", "5.00"))
    page.goto("/")
    expect(page.get_by_role("heading", name="Nothing here yet. Try it")).to_be_visible()
    expect(page.get_by_text("No feeds yet")).to_be_visible()
    expect(page.get_by_text("No watched pages yet")).to_be_visible()
    page.get_by_role("button", name="Look it up").click()
    expect(page.get_by_role("alert").filter(has_text="Enter an address")).to_be_visible()
    page.get_by_label("Address", exact=True).fill(url)
    ask(webloom, "POST", "/metadata", {"url": site.serve("/other", b"by somebody else")})
    expect(section(page, "Inventory").get_by_text("1 record", exact=True)).to_be_visible()
    expect(page.get_by_label("Address", exact=True)).to_have_value(url)
    page.get_by_role("button", name="Look it up").click()
    page.get_by_role("button", name="Fetch into the inventory").click()
    expect(page).to_have_url(re.compile(r"/inventory/record\?url="))
    expect(page.get_by_role("heading", level=1)).to_have_text(url.removeprefix("http://"))
    expect(page.get_by_role("main").get_by_text("completed", exact=True).first).to_be_visible()
    page.get_by_role("link", name="Overview").click()
    expect(page.get_by_role("heading", name="Add something")).to_be_visible()
    look_up(page, url)
    expect(page.get_by_role("link", name="Record of the inventory")).to_be_visible()


def test_pipelines_count_what_was_done(page: Page, site: Site, webloom: Webloom) -> None:
    page.goto("/")
    imports = section(page, "Imports")
    expect(imports).to_be_visible()
    mark(page)
    imported(webloom, site.serve_feed("/counted.rss", feed(7, first=100)), "Counted")
    runs = ask(webloom, "GET", "/api/import-logs?limit=200")["data"]
    stored, done = (sum(run[name] for run in runs) for name in ("newJobs", "totalFetched"))
    expect(imports.get_by_text(f"{stored} postings")).to_be_visible()
    counted = re.compile(f"last hour: {done} done, 0 failed$")
    expect(imports.get_by_role("img", name=counted)).to_be_visible()
    assert_not_reloaded(page)


def test_a_trouble_is_shown_and_leads_to_its_cause(
    page: Page, site: Site, webloom: Webloom
) -> None:
    page.goto("/")
    expect(section(page, "Running imports")).to_be_visible()
    imported(webloom, f"{site.base}/missing.rss", "Lost feed")
    trouble = section(page, "Needs attention").get_by_role("listitem").filter(has_text="Lost feed")
    expect(trouble).to_contain_text("404")
    trouble.get_by_role("link", name="Look").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Lost feed")
    expect(page.get_by_text("The import failed")).to_be_visible()


def test_hostile_names_are_text(page: Page, site: Site, webloom: Webloom) -> None:
    url = site.serve("/hostile", product(HOSTILE, "20.00"))
    body = {"url": url, "name": HOSTILE, "enabled": False}
    watch_id = ask(webloom, "POST", "/api/watches", body)["jobId"]
    ask(webloom, "POST", f"/api/watches/{watch_id}/run")
    page.goto(f"/watch/{watch_id}")
    expect(page.get_by_role("table", name="Runs").get_by_text("completed").first).to_be_visible()
    feed_url = site.serve_feed("/held/hostile.rss", feed(1, first=400, title=HOSTILE))
    add_feed(webloom, feed_url, HOSTILE)
    imported(webloom, f"{site.base}/lost-hostile.rss", f"Lost {HOSTILE}")
    page.goto("/")
    site.serve("/hostile", product(HOSTILE, "15.00"))
    ask(webloom, "POST", f"/api/watches/{watch_id}/run")
    change = section(page, "Latest changes").get_by_role("listitem").filter(has_text=HOSTILE)
    expect(change.first).to_contain_text("15")
    with held(site):
        run_id = start_import(webloom, feed_url)
        running = section(page, "Running imports")
        expect(running.get_by_role("link", name=HOSTILE)).to_be_visible()
        expect(section(page, "Needs attention")).to_contain_text(f"Lost {HOSTILE}")
        assert_nothing_ran(page)
    ended(webloom, run_id)


def test_the_overview_is_accessible_and_fits_a_phone(
    page: Page, site: Site, webloom: Webloom
) -> None:
    imported(webloom, f"{site.base}/{'lost-' * 30}.rss", "A name without end " * 8)
    page.goto("/")
    expect(section(page, "Needs attention")).to_contain_text("A name without end")
    assert_accessible(page)
    assert_fits_a_phone(page)
