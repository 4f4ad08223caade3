"""The overview: what can be begun there, and what it shows live."""

from __future__ import annotations

import re
from html import escape

import pytest
from playwright.sync_api import Page, Request, Route, expect

from browser.acts import add_feed, ended, held, paste, start_import
from browser.checks import (
    assert_accessible,
    assert_fits_a_phone,
    assert_not_reloaded,
    assert_nothing_ran,
    mark,
    section,
)
from browser.conftest import Watched, ask
from browser.site import HOSTILE, Site, feed, product
from e2e.running import Webloom

APP = (
    b"<!doctype html><html lang=en><title>App</title><div id=root></div>"
    b'<script src="/app.js"></script></html>'
)


@pytest.fixture(scope="module")
def webloom(at_size: Webloom) -> Webloom:
    return at_size


def look_up(page: Page, address: str) -> None:
    page.get_by_label("Address", exact=True).fill(address)
    page.get_by_role("button", name="Look it up").click()


def test_a_feed_is_recognised_without_its_scheme_and_imported_at_once(
    page: Page, site: Site, webloom: Webloom
) -> None:
    url = site.serve_feed("/home.rss", feed(3))
    page.goto("/")
    look_up(page, url.removeprefix("http://"))
    expect(
        page.get_by_role("status").filter(has_text="A feed (rss) with 3 items.")
    ).to_be_attached()
    expect(page.get_by_role("list", name="The first items")).to_contain_text("Job 2")
    expect(page.get_by_label("Name")).to_have_value("Jobs")
    page.get_by_role("button", name="Import this feed").click()
    expect(page).to_have_url(re.compile("/import-history/[^/?]+$"))
    expect(page.get_by_role("heading", name="Finished", exact=True)).to_be_visible()
    expect(page.get_by_text("3 fetched = 3 new")).to_be_visible()
    [added] = [each for each in ask(webloom, "GET", "/api/feeds")["data"] if each["url"] == url]
    assert added["name"] == "Jobs"


def test_a_feed_that_is_being_imported_leads_to_its_run(
    page: Page, site: Site, webloom: Webloom, watched: Watched
) -> None:
    watched.expected = ("409",)
    url = site.serve_feed("/held/known.rss", feed(1, first=300))
    add_feed(webloom, url, "Known jobs")
    page.goto("/")
    look_up(page, url)
    expect(page.get_by_role("link", name="Feed Known jobs")).to_be_visible()
    with held(site):
        run_id = start_import(webloom, url)
        page.get_by_role("button", name="Import this feed").click()
        expect(page).to_have_url(re.compile(f"/import-history/{run_id}$"))
    ended(webloom, run_id)


def test_ctrl_k_on_any_page_watches_a_page_with_the_keyboard_alone(
    page: Page, site: Site, webloom: Webloom, watched: Watched
) -> None:
    watched.expected = ("409",)  # the scheduler may be first
    url = site.serve("/watched-at-once", product("Watched", "7.00"))
    page.goto("/jobs")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press("Control+k")
    dialog = page.get_by_role("dialog", name="Add an address")
    expect(dialog.get_by_label("Address")).to_be_focused()
    page.keyboard.press("Control+k")  # again changes nothing
    page.keyboard.type(url)
    page.keyboard.press("Enter")
    found = "A web page (product), price €7.00, in stock."
    expect(dialog.get_by_role("status").filter(has_text=found)).to_be_attached()
    assert_accessible(page)
    assert_fits_a_phone(page)
    name = dialog.get_by_label("Name")
    expect(name).to_have_value("Watched")
    name.focus()
    page.keyboard.press("Tab")
    expect(dialog.get_by_role("button", name="Watch this page")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/watch/[^/?]+$"))
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("heading", level=1)).to_have_text("Watched")
    expect(page.get_by_role("table", name="Runs").get_by_text("completed").first).to_be_visible()
    expect(section(page, "Pages").get_by_text("€7.00").first).to_be_visible()
    page.get_by_role("button", name="Add an address").click()
    look_up(page, url)
    dialog.get_by_role("link", name="Watch Watched").click()
    expect(dialog).to_be_hidden()
    page.keyboard.press("Control+k")
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_keys_after_ctrl_k_are_kept_while_the_dialog_is_loaded(page: Page, site: Site) -> None:
    url = site.serve("/typed-at-once", product("Typed", "3.00"))
    first_load = page.request.get("/watch").text()
    held: list[Route] = []
    is_slow = True

    def is_later(request: Request) -> bool:
        path = request.url.partition("/_next/static/chunks/")[2]
        return path.endswith(".js") and path not in first_load

    def hold(route: Route) -> None:
        if is_slow and is_later(route.request):
            held.append(route)
        else:
            route.continue_()

    page.route("**/_next/static/chunks/*.js", hold)
    with page.expect_request(is_later):  # once the page is idle, without a key
        page.goto("/watch", wait_until="domcontentloaded")  # `load` may wait for what is held
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("/" + url)  # "/" alone goes to the search of the page
    page.keyboard.press("Home")
    page.keyboard.press("Delete")
    dialog = page.get_by_role("dialog", name="Add an address")
    address = dialog.get_by_label("Address")
    expect(address).to_have_value(url)
    expect(dialog.get_by_role("button")).to_have_count(0)
    page.keyboard.press("Enter")
    is_slow = False
    for route in held:
        route.continue_()
    expect(dialog.get_by_text("A web page (product), price €3.00").last).to_be_visible()
    expect(address).to_have_value(url)
    expect(address).to_be_focused()
    expect(page.get_by_label("Search", exact=True)).to_have_value("")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_a_pasted_page_is_looked_up_and_offers_its_feeds(page: Page, site: Site) -> None:
    rss = site.serve_feed("/news.rss", feed(2, first=700))
    link = f'<link rel=alternate type="application/rss+xml" title="All the news" href="{rss}">'
    html = f"<!doctype html><html lang=en><title>{escape(HOSTILE)}</title>{link}"
    url = site.serve("/news", html.encode())
    page.goto("/")
    paste(page.get_by_label("Address", exact=True), f" {url}\n")
    expect(page.get_by_text("It offers 1 feed.").last).to_be_visible()
    expect(page.get_by_label("Name")).to_have_value(HOSTILE)
    assert_nothing_ran(page)
    page.get_by_role("button", name="Import All the news").click()
    expect(page.get_by_text("2 fetched = 2 new")).to_be_visible()
    page.goto("/")
    look_up(page, url)
    expect(page.get_by_role("link", name="Already here: All the news")).to_be_visible()


def test_a_page_that_needs_javascript_says_so(page: Page, site: Site) -> None:
    url = site.serve("/app", APP)
    sentence = "The text of this page appears only with JavaScript"
    page.goto("/")
    look_up(page, url)
    expect(page.get_by_text(sentence)).to_be_visible()
    page.goto(f"/watch/new?url={url}")
    page.get_by_role("button", name="Show selection").click()
    expect(page.get_by_text(sentence)).to_be_visible()
    expect(page.get_by_text("% sure")).to_be_hidden()
    assert_accessible(page)


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("mailto:me@example.com", "the URL must begin with http"),
        ("10.0.0.1", "10.0.0.1 is a private address"),
    ],
)
def test_an_address_that_is_none_is_refused_with_a_reason(
    page: Page, watched: Watched, address: str, reason: str
) -> None:
    watched.expected = ("422",)
    page.goto("/")
    look_up(page, address)
    refusal = page.get_by_role("alert").filter(has_text=reason)
    expect(refusal).to_contain_text("This address can't be fetched")
    expect(page).to_have_url(re.compile("/$"))


def test_a_running_import_shows_how_far_it_is(page: Page, site: Site, webloom: Webloom) -> None:
    url = site.serve_feed("/held/home.rss", feed(4, first=200))
    add_feed(webloom, url, "Slow jobs")
    page.goto("/")
    running = section(page, "Running imports")
    expect(running.get_by_text("No imports running")).to_be_visible()
    with held(site):
        run_id = start_import(webloom, url)
        expect(running.get_by_role("link", name="Slow jobs")).to_be_visible()
        expect(running.get_by_role("progressbar", name="Fetching the feed")).to_be_visible()
    expect(running.get_by_text("No imports running")).to_be_visible()
    assert ended(webloom, run_id)["newJobs"] == 4


def test_a_new_price_appears_on_the_open_overview(page: Page, site: Site, webloom: Webloom) -> None:
    url = site.serve("/loom", product("Loom", "20.00"))
    watch = {"url": url, "enabled": False}  # so that it is checked when it is asked to
    watch_id = ask(webloom, "POST", "/api/watches", watch)["jobId"]
    ask(webloom, "POST", f"/api/watches/{watch_id}/run")
    page.goto(f"/watch/{watch_id}")
    expect(page.get_by_role("table", name="Runs").get_by_text("completed").first).to_be_visible()
    page.goto("/")
    changes = section(page, "Latest changes")
    expect(changes).to_be_visible()
    mark(page)
    site.serve("/loom", product("Loom", "15.00"))
    ask(webloom, "POST", f"/api/watches/{watch_id}/run")
    change = changes.get_by_role("listitem").filter(
        has=page.get_by_role("link", name="Loom", exact=True)
    )
    expect(change).to_contain_text("€20.00 → became €15.00 ▼ down 25 %")
    expect(change).to_contain_text("the price fell by 25 % to €15.00")
    assert_not_reloaded(page)
