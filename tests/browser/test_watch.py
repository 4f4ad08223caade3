"""Watches: made with a live preview, followed live, and let go."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from browser.acts import assert_focus_is_kept, tab_to, two_tabs
from browser.checks import (
    assert_accessible,
    assert_fits_a_phone,
    assert_not_reloaded,
    assert_nothing_ran,
    mark,
    section,
)
from browser.conftest import Watched, ask
from browser.site import HOSTILE, Site, product
from e2e.running import POLL_SECONDS, Webloom
from timeouts import TIMEOUT_SECONDS

WALL = b"<title>Just a moment...</title><h1>Verify you are human</h1><p>Complete the captcha.</p>"
Added = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def added(webloom: Webloom) -> Added:
    """Makes a watch that is checked only when a test says so."""

    def add(url: str, name: str, **more: object) -> dict[str, Any]:
        body = {"urls": [url], "name": name, "enabled": False, **more}
        return dict(ask(webloom, "POST", "/api/watches", body))

    return add


def check(webloom: Webloom, watch: dict[str, Any]) -> dict[str, Any]:
    """Runs it, and waits for the end of the run."""
    run = ask(webloom, "POST", f"/api/watches/{quote(watch['jobId'])}/run")
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while run["status"] == "in_progress":
        assert time.monotonic() < deadline, f"{run} goes on"
        time.sleep(POLL_SECONDS)
        run = ask(webloom, "GET", f"/api/watch/runs/{quote(run['runId'])}")
    return dict(run)


def path_of(watch: dict[str, Any]) -> str:
    """Of the screen of its page."""
    return f"/watch/page?{urlencode({'jobId': watch['jobId'], 'url': watch['urls'][0]})}"


def test_a_watch_is_made_with_a_live_preview(page: Page, site: Site, watched: Watched) -> None:
    watched.expected = ("422",)
    url = site.serve("/chair", product("Chair", "40.00", text="A soft chair."))
    page.goto("/watch/new")
    page.get_by_label("URLs", exact=True).fill(url)
    page.get_by_label("Name", exact=True).fill("Chairs")
    page.get_by_role("button", name="Show selection").click()
    selected = page.get_by_label("Selected text")
    expect(selected).to_contain_text("A soft chair.")
    expect(section(page, "Preview")).to_contain_text("€40.00")

    keep = page.get_by_label("Keep only")
    keep.fill(".price")
    expect(selected).to_have_text("40.00 €")
    keep.fill("p[[")
    expect(keep).to_have_attribute("aria-invalid", "true")
    expect(keep).to_have_accessible_description(re.compile(r"p\[\["))
    assert_accessible(page)
    assert_fits_a_phone(page)
    keep.fill("main p")
    expect(selected).to_contain_text("A soft chair.")
    expect(keep).not_to_have_attribute("aria-invalid", "true")

    page.get_by_role("button", name="Add the watch").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Chairs")
    expect(section(page, "Settings")).to_contain_text("keep main p")
    runs = page.get_by_role("region", name="Runs").get_by_role("row")
    expect(runs.nth(1)).to_contain_text("completed")
    page.get_by_role("button", name="Run now: Chairs").click()
    expect(runs).to_have_count(3)


def test_what_is_found_is_shown_without_a_reload(
    page: Page, webloom: Webloom, site: Site, added: Added
) -> None:
    url = site.serve("/table", product("Table", "100.00", text="Oak."))
    watch = added(url, "Tables")
    check(webloom, watch)
    page.goto(path_of(watch))
    latest = section(page, "Latest")
    expect(latest).to_contain_text("€100.00")
    mark(page)
    site.serve("/table", product("Table", "80.00", text="Pine.", stock="OutOfStock"))
    check(webloom, watch)
    expect(latest).to_contain_text("€80.00")
    expect(latest).to_contain_text("out of stock")
    expect(page.get_by_role("heading", name="Version 1 → 2")).to_be_visible()
    expect(section(page, "Change log")).to_contain_text("down 20 %")
    expect(section(page, "Price")).to_contain_text("2 records")
    page.get_by_role("button", name="Versions").click()
    expect(page.get_by_role("list", name="Versions").get_by_role("listitem")).to_have_count(2)
    assert_not_reloaded(page)


def test_what_a_run_in_one_tab_finds_is_seen_in_the_other(
    context: BrowserContext, webloom: Webloom, site: Site, added: Added
) -> None:
    watch = added(site.serve("/bench", product("Bench", "50.00")), "Benches")
    check(webloom, watch)
    site.serve("/bench", product("Bench", "45.00"))
    tabs = two_tabs(context, f"/watch/{watch['jobId']}")
    lists = two_tabs(context, "/watch?show=changes")
    tabs[0].get_by_role("button", name="Run now: Benches").click()
    for tab in tabs:
        changes = section(tab, "Latest changes")
        expect(changes.get_by_role("link", name="Bench", exact=True)).to_be_visible()
        expect(changes).to_contain_text("down 10 %")
        row = tab.get_by_role("region", name="Pages").get_by_role("row").filter(has_text="Bench")
        expect(row).to_contain_text("€45.00")
        expect(tab.get_by_role("region", name="Runs").get_by_role("row")).to_have_count(3)
        assert_not_reloaded(tab)
    for tab in lists:
        expect(section(tab, "Latest changes")).to_contain_text("down 10 %")
        assert_not_reloaded(tab)


def test_a_watch_is_made_by_keyboard_alone(page: Page, site: Site) -> None:
    url = site.serve("/stool", product("Stool", "20.00", text="Three legs."))
    page.goto("/watch")
    tab_to(page, page.get_by_role("link", name="Add a watch").first)
    page.keyboard.press("Enter")
    tab_to(page, page.get_by_label("URLs", exact=True))
    page.keyboard.type(url)
    tab_to(page, page.get_by_label("Name", exact=True))
    page.keyboard.type("Stools")
    preview = page.get_by_role("button", name="Show selection")
    tab_to(page, preview)
    page.keyboard.press("Enter")
    selected = page.get_by_label("Selected text")
    expect(selected).to_contain_text("Three legs.")
    assert_focus_is_kept(page)
    tab_to(page, page.get_by_label("Keep only"))
    page.keyboard.type(".price")
    expect(selected).to_have_text("20.00 €")
    tab_to(page, page.get_by_role("button", name="Add the watch"))
    page.keyboard.press("Space")
    expect(page.get_by_role("heading", level=1)).to_have_text("Stools")
    runs = page.get_by_role("region", name="Runs").get_by_role("row")
    expect(runs.nth(1)).to_contain_text("completed")
    run_now = page.get_by_role("button", name="Run now: Stools")
    tab_to(page, run_now)
    page.keyboard.press("Enter")
    expect(runs).to_have_count(3)
    expect(run_now).to_be_focused()


def test_a_watch_shows_its_runs_and_pages_without_a_reload(
    page: Page, webloom: Webloom, site: Site, added: Added
) -> None:
    watch = added(site.serve("/sofa", product("Sofa", "9.00")), "Sofas")
    page.goto(f"/watch/{watch['jobId']}")
    expect(page.get_by_text("No page has been checked yet")).to_be_visible()
    mark(page)
    page.get_by_role("button", name="Run now: Sofas").click()
    row = page.get_by_role("region", name="Pages").get_by_role("row").filter(has_text="Sofa")
    expect(row).to_contain_text("€9.00")
    expect(row).to_contain_text("in stock")
    expect(page.get_by_role("region", name="Runs")).to_contain_text("completed")
    assert_not_reloaded(page)


def test_a_watch_is_paused_edited_and_removed(
    page: Page, webloom: Webloom, site: Site, added: Added, watched: Watched
) -> None:
    watched.expected = ("404",)  # its name, by the list of pages that are kept
    watch = added(site.serve("/desk", product("Desk", "5.00")), "Desks")
    check(webloom, watch)
    page.goto(f"/watch/{watch['jobId']}")
    page.get_by_role("button", name="Resume: Desks").click()
    page.get_by_role("button", name="Pause: Desks").click()
    expect(page.get_by_role("button", name="Resume: Desks")).to_be_visible()
    expect(section(page, "Settings")).to_contain_text("(paused)")
    assert_accessible(page)
    assert_fits_a_phone(page)

    page.get_by_role("link", name=re.compile("^Edit ?: Desks$")).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Edit Desks")
    assert_accessible(page)
    page.get_by_label("Name", exact=True).fill("Good desks")
    page.get_by_label("Price below").fill("4.50")
    page.get_by_label("Other programs may send events for these pages").check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Good desks")
    expect(section(page, "Settings")).to_contain_text("a price below 4.5")
    expect(section(page, "Settings")).to_contain_text("other programs may send events")

    page.get_by_role("button", name="Remove: Good desks").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("button", name="Remove: Good desks")).to_be_visible()
    page.get_by_role("button", name="Remove: Good desks").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove the watch").click()
    expect(page).to_have_url(re.compile("/watch$"))
    # There may be other tests' watches, or none.
    watches = page.get_by_role("region", name="Watches")
    expect(watches).to_contain_text(re.compile(r"\d+ watch"))
    expect(page.get_by_role("link", name="Good desks")).to_have_count(0)
    page.get_by_role("link", name="Pages", exact=True).click()
    pages = page.get_by_role("table", name="Pages").get_by_role("row")
    expect(pages.filter(has_text="/desk")).to_be_visible()
    expect(page.get_by_role("link", name="Good desks")).to_have_count(0)


def test_the_form_of_a_watch_can_be_opened_by_its_address(
    page: Page, site: Site, added: Added
) -> None:
    watch = added(site.serve("/shelf", product("Shelf", "5.00")), "Shelves & more")
    page.goto(f"/watch/edit?{urlencode({'jobId': watch['jobId']})}")
    name = page.get_by_label("Name", exact=True)
    expect(name).to_have_value("Shelves & more")
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("Edit Shelves & more")
    expect(name).to_have_value("Shelves & more")
    expect(page.get_by_label("URLs", exact=True)).to_have_value(watch["urls"][0])


def test_a_price_is_shown_with_all_its_digits(
    page: Page, webloom: Webloom, site: Site, added: Added
) -> None:
    watch = added(site.serve("/fuel", product("Fuel", "0.999")), "Fuels")
    check(webloom, watch)
    page.goto(path_of(watch))
    expect(section(page, "Latest")).to_contain_text("€0.999")


def test_a_page_says_whose_it_is_by_the_name_of_its_watch(
    page: Page, webloom: Webloom, site: Site, added: Added
) -> None:
    watch = added(site.serve("/mirror", product("Mirror", "8.00")), "0 Mirrors")
    check(webloom, watch)
    page.goto("/watch?show=pages")
    pages = page.get_by_role("table", name="Pages").get_by_role("row")
    expect(pages.filter(has_text="/mirror").get_by_role("link", name="0 Mirrors")).to_be_visible()


def test_a_target_that_fails_is_shown(
    page: Page, webloom: Webloom, site: Site, added: Added
) -> None:
    url = site.serve("/rug", product("Rug", "70.00"))
    watch = added(url, "Rugs", targets=[{"url": "http://127.0.0.1:9/hook?token=secret-of-mine"}])
    check(webloom, watch)
    site.serve("/rug", product("Rug", "60.00"))
    check(webloom, watch)
    page.goto(f"/watch/{watch['jobId']}")
    notice = page.get_by_role("region", name="Notifications").get_by_role("row").nth(1)
    expect(notice).to_contain_text(re.compile("given up|tried again"))
    expect(notice).to_contain_text("60")
    expect(notice.locator(".text-bad").last).to_contain_text(re.compile("refuse|private|allow"))
    expect(page.get_by_text(re.compile("^Notifications to http.* fail: "))).to_be_in_viewport()
    assert "secret-of-mine" not in page.content()
    assert_accessible(page)
    assert_fits_a_phone(page)


def test_a_job_that_another_program_checks_shows_what_it_has_counted(
    page: Page, webloom: Webloom
) -> None:
    events = [
        {"jobId": "their-shop", "url": f"https://shop.test/{number}", "diff": {"textChanged": True}}
        for number in range(3)
    ]
    ask(webloom, "POST", "/api/watch/events", events)
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not any(
        each["pagesProcessed"] == 3
        for each in ask(webloom, "GET", "/api/watches?jobId=their-shop")["data"]
    ):
        assert time.monotonic() < deadline, "the events are not counted"
        time.sleep(POLL_SECONDS)
    page.goto("/watch/their-shop")
    settings = section(page, "Settings")
    expect(settings).to_contain_text("3 checks, 3 changes")
    expect(settings).to_contain_text("checked by another program")
    head = page.get_by_role("main")
    expect(head.get_by_text("external", exact=True)).to_be_visible()
    expect(head.get_by_role("button", name=re.compile("^Run now|^Pause|^Resume"))).to_have_count(0)
    expect(head.get_by_role("button", name=re.compile("^Remove"))).to_be_visible()
    assert_accessible(page)
    assert_fits_a_phone(page)


def test_why_a_watch_fails_is_said_first_and_counted_once(
    page: Page, webloom: Webloom, site: Site, added: Added
) -> None:
    watch = added(site.serve("/walled", WALL), "All away")
    assert check(webloom, watch)["status"] == "failed"
    reason = ask(webloom, "GET", f"/api/watches/{watch['jobId']}")["lastError"]
    page.goto(f"/watch/{watch['jobId']}")
    said = page.get_by_text(f"The last run failed: {reason}")
    expect(said).to_be_in_viewport()
    top = section(page, "Latest changes").bounding_box()
    assert top is not None
    assert said.evaluate("each => each.getBoundingClientRect().bottom") <= top["y"]
    assert_accessible(page)
    assert_fits_a_phone(page)
    whole = f"No page of the watch All away could be checked: {reason}"
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while whole not in (found := troubles(webloom)):
        assert time.monotonic() < deadline, found
        time.sleep(POLL_SECONDS)
    assert not [each for each in found if "could not be checked the last time" in each]
    ask(webloom, "DELETE", f"/api/watches/{watch['jobId']}")


def troubles(webloom: Webloom) -> list[str]:
    return [each["what"] for each in ask(webloom, "GET", "/api/troubles")["data"]]


def test_the_text_of_a_hostile_page_is_text(
    page: Page, webloom: Webloom, site: Site, added: Added
) -> None:
    url = site.serve("/hostile", product(HOSTILE, "1.00", text="calm"))
    watch = added(url, HOSTILE)
    check(webloom, watch)
    site.serve("/hostile", product(HOSTILE, "2.00", text=f"{HOSTILE} and more"))
    check(webloom, watch)
    page.goto(path_of(watch))
    expect(page.get_by_role("heading", level=1)).to_have_text(HOSTILE)
    expect(page.get_by_role("region", name="Differences")).to_contain_text(f"{HOSTILE} and more")
    assert_nothing_ran(page)
    page.goto(f"/watch/{watch['jobId']}")
    expect(page.get_by_role("heading", level=1)).to_have_text(HOSTILE)
    expect(page.get_by_role("region", name="Pages")).to_contain_text(HOSTILE)
    assert_nothing_ran(page)
    assert_fits_a_phone(page)


def test_a_wall_is_shown_as_such(page: Page, webloom: Webloom, site: Site, added: Added) -> None:
    url = site.serve("/vase", product("Vase", "3.00"))
    watch = added(url, "Vases")
    check(webloom, watch)
    site.serve("/vase", WALL)
    assert check(webloom, watch)["status"] == "failed"
    page.goto(path_of(watch))
    latest = section(page, "Latest")
    expect(latest).to_contain_text("a wall was served instead of the page")
    expect(latest).to_contain_text("€3.00")
    assert_accessible(page)
    page.goto(f"/watch/new?url={quote(url)}")
    page.get_by_role("button", name="Show selection").click()
    expect(page.get_by_text("A check of this page would fail: a wall was served")).to_be_visible()
