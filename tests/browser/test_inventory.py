"""The inventory: URLs are submitted, followed, searched, and their records read."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from urllib.parse import quote
from xml.sax.saxutils import escape

from playwright.sync_api import Browser, BrowserContext, Locator, Page, Route, expect

from browser.acts import assert_focus_is_kept, held, tab_to, two_tabs
from browser.checks import (
    assert_accessible,
    assert_fits_a_phone,
    assert_not_reloaded,
    assert_nothing_ran,
    mark,
    section,
)
from browser.conftest import Watched, ask
from browser.site import HOSTILE, Site
from e2e.running import Webloom
from timeouts import TIMEOUT_SECONDS

# Resolves when the element has been scrolled: the page's policy forbids Playwright's own way.
SCROLLED = """box => new Promise(done => {
  const look = () => (box.scrollTop > 1000 ? done() : requestAnimationFrame(look));
  look();
})"""

# The page waits thirty times less long for an answer.
SHORT_PATIENCE = """const timeout = AbortSignal.timeout.bind(AbortSignal);
AbortSignal.timeout = ms => timeout(ms / 30);"""


def submit(page: Page, *urls: str) -> None:
    page.goto("/inventory")
    page.get_by_label("URLs, one per line").fill("\n".join(urls))
    page.get_by_role("button", name="Submit").click()


def open_record(page: Page, webloom: Webloom, url: str, state: str = "completed") -> None:
    """Submits it, and opens its record while it is on its way."""
    ask(webloom, "POST", "/metadata", {"url": url})
    page.goto(f"/inventory/record?url={quote(url, safe='')}")
    expect(section(page, "Summary")).to_contain_text(state)


def row_of(page: Page, url: str) -> Locator:
    records = page.get_by_role("region", name="Records", exact=True)
    return records.get_by_role("row").filter(has=page.get_by_role("link", name=url, exact=True))


def test_submitted_urls_move_through_the_states_without_a_reload(page: Page, site: Site) -> None:
    urls = [site.serve(f"/held/{number}", b"<p>late</p>") for number in range(3)]
    followed = page.get_by_role("region", name="Results")
    with held(site):
        submit(page, *urls, "ftp://files.test/", "mailto:me@files.test")
        mark(page)
        expect(followed.get_by_role("heading", name="3 accepted")).to_be_visible()
        refused = followed.get_by_role("region", name="Refused URLs")
        expect(refused.get_by_role("listitem")).to_have_count(2)
        expect(refused.get_by_role("listitem").first).to_contain_text(re.compile("ftp.*http", re.S))
        field = page.get_by_label("URLs, one per line")
        expect(field).to_have_value(
            "ftp://files.test/\nmailto:me@files.test"
        )  # to be put right there
        expect(followed.get_by_text("in progress")).to_have_count(3)
        expect(row_of(page, urls[0])).to_contain_text("in progress")
    expect(followed.get_by_text("completed")).to_have_count(3)
    expect(row_of(page, urls[0])).to_contain_text("completed")
    assert_not_reloaded(page)
    assert_accessible(page)
    assert_fits_a_phone(page)


def test_https_is_added_to_what_is_submitted_without_a_scheme(page: Page, site: Site) -> None:
    address = site.base.removeprefix("http://")
    submit(page, f"{address}/no-scheme", f"https://{address}/no-scheme")
    followed = page.get_by_role("region", name="Results")
    expect(followed.get_by_role("heading", name="1 accepted")).to_be_visible()
    expect(followed.get_by_text(f"https://{address}/no-scheme")).to_be_visible()


def test_what_is_submitted_in_one_tab_moves_in_the_other(
    context: BrowserContext, site: Site
) -> None:
    url = site.serve("/held/tabs", b"<p>late</p>")
    tabs = two_tabs(context, "/inventory")
    with held(site):
        tabs[0].get_by_label("URLs, one per line").fill(url)
        tabs[0].get_by_role("button", name="Submit").click()
        for tab in tabs:
            expect(row_of(tab, url)).to_contain_text("in progress")
    for tab in tabs:
        expect(row_of(tab, url)).to_contain_text("completed")
        assert_not_reloaded(tab)


def test_urls_are_submitted_and_searched_by_keyboard_alone(page: Page, site: Site) -> None:
    urls = [site.serve(f"/typed/{name}", b"<p>typed</p>") for name in ("one", "two")]
    page.goto("/inventory")
    tab_to(page, page.get_by_label("URLs, one per line"))
    page.keyboard.type(urls[0])
    page.keyboard.press("Enter")
    page.keyboard.type(urls[1])
    tab_to(page, page.get_by_role("button", name="Submit"))
    page.keyboard.press("Space")
    followed = page.get_by_role("region", name="Results")
    expect(followed.get_by_text("completed")).to_have_count(2)
    assert_focus_is_kept(page)
    tab_to(page, page.get_by_label("Search", exact=True))
    page.keyboard.type("typed one")
    expect(row_of(page, urls[1])).to_have_count(0)
    tab_to(page, page.get_by_role("button", name="Clear", exact=True))
    page.keyboard.press("Enter")
    expect(row_of(page, urls[1])).to_be_visible()
    assert_focus_is_kept(page)
    tab_to(page, row_of(page, urls[0]).get_by_role("link"))
    page.keyboard.press("Enter")
    expect(section(page, "Summary")).to_contain_text("completed")


def test_an_empty_form_is_refused_and_one_url_is_taken(page: Page, site: Site) -> None:
    submit(page, "")
    expect(page.get_by_label("URLs, one per line")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_text("Enter at least one URL.")).to_be_visible()
    page.get_by_label("URLs, one per line").fill(site.serve("/alone", b"<p>alone</p>"))
    page.keyboard.press("Control+Enter")
    followed = page.get_by_role("region", name="Results")
    expect(followed.get_by_text("completed")).to_be_visible()


def test_search_and_state_are_in_the_address(page: Page, webloom: Webloom, site: Site) -> None:
    lamp, chair = site.serve("/lamp/red", b"lamp"), site.serve("/chair/red", b"chair")
    missing = f"{site.base}/lamp/missing"
    for url in (lamp, chair, missing):
        ask(webloom, "POST", "/metadata", {"url": url})
    page.goto("/inventory")
    expect(row_of(page, missing)).to_contain_text("failed permanent")
    page.get_by_label("Search", exact=True).fill("lamp")
    expect(page).to_have_url(re.compile(r"\?q=lamp$"))
    expect(row_of(page, chair)).to_have_count(0)
    expect(row_of(page, lamp)).to_be_visible()
    page.get_by_label("State", exact=True).select_option(label="failed permanent")
    expect(page).to_have_url(re.compile("status=FAILED_PERMANENT"))
    expect(row_of(page, lamp)).to_have_count(0)
    page.reload()
    expect(row_of(page, missing)).to_contain_text("404")
    expect(row_of(page, lamp)).to_have_count(0)
    expect(page.get_by_label("Search", exact=True)).to_have_value("lamp")
    page.go_back()
    expect(row_of(page, lamp)).to_be_visible()
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(row_of(page, chair)).to_be_visible()


def test_all_that_failed_are_fetched_again_at_once(
    page: Page, webloom: Webloom, site: Site
) -> None:
    urls = [f"{site.base}/repaired/{number}" for number in range(3)]
    for url in urls:
        ask(webloom, "POST", "/metadata", {"url": url})
    page.goto("/inventory?q=repaired&status=FAILED_PERMANENT")
    for url in urls:
        expect(row_of(page, url)).to_contain_text("404")
        site.serve(url.removeprefix(site.base), b"<p>here again</p>")
    page.get_by_role("checkbox", name="Select all on this page").check()
    page.get_by_role("button", name="Refetch", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Refetch").click()
    expect(page.get_by_text("3 records submitted.")).to_be_visible()
    expect(page.get_by_text("No matching records")).to_be_visible()
    page.get_by_label("State", exact=True).select_option(label="completed")
    for url in urls:
        expect(row_of(page, url)).to_contain_text("200")
    row_of(page, urls[0]).get_by_role("button", name="More for").click()
    row_of(page, urls[0]).get_by_role("button", name="Invalidate").click()
    page.get_by_role("dialog").get_by_role("button", name="Invalidate").click()
    expect(row_of(page, urls[0])).to_have_count(0)
    expect(row_of(page, urls[1])).to_be_visible()


def test_the_filters_keep_the_focus_and_what_is_being_typed(page: Page) -> None:
    page.goto("/inventory")
    state = page.get_by_label("State", exact=True)
    tab_to(page, state)
    page.keyboard.type("p")
    expect(page).to_have_url(re.compile("status=PENDING"))
    expect(state).to_be_focused()
    page.get_by_label("Search", exact=True).fill("half a wo")
    page.go_back()
    expect(state).to_have_value("")
    expect(page.get_by_label("Search", exact=True)).to_have_value("half a wo")


def test_a_request_that_is_never_answered_is_made_again(page: Page) -> None:
    page.add_init_script(SHORT_PATIENCE)
    held: list[Route] = []
    page.route("**/metadata/counts", lambda route: held.append(route), times=1)
    page.goto("/inventory")
    expect(page.get_by_role("heading", level=1)).to_have_text("Inventory")
    completed = page.get_by_role("link", name=re.compile("^completed"))
    expect(completed).to_have_text(re.compile(r"completed\d"))
    assert len(held) == 1


def test_a_record_shows_all_that_is_known(page: Page, webloom: Webloom, site: Site) -> None:
    site.serve("/plain", b"<title>Plain</title><p>the end of the way</p>")
    open_record(page, webloom, f"{site.base}/moved")
    hops = section(page, "Redirects").get_by_role("listitem")
    expect(hops).to_have_text([re.compile("301.*/moved"), re.compile("200.*/plain")])
    expect(page.get_by_role("region", name="Headers")).to_contain_text("text/html; charset=utf-8")
    expect(page.get_by_role("region", name="Cookies")).to_contain_text("oatmeal")
    whole = section(page, "Timings").locator("dt:text-is('All, with redirects') ~ dd").last
    expect(whole).to_have_text(re.compile(r"^[\d.]+ m?s$"))
    expect(page.get_by_role("region", name="Source")).to_contain_text("the end of the way")
    assert_accessible(page)
    assert_fits_a_phone(page)


def test_a_failed_record_says_why(page: Page, webloom: Webloom, site: Site) -> None:
    open_record(page, webloom, f"{site.base}/nowhere", "failed permanent")
    expect(page.get_by_text("The last attempt failed")).to_be_visible()
    expect(section(page, "Summary")).to_contain_text("404")
    assert_accessible(page)


def test_a_url_that_is_refused_says_why(page: Page, watched: Watched) -> None:
    watched.expected = ("422",)
    page.goto("/inventory/record?url=ftp%3A%2F%2Ffiles.test%2F")
    expect(page.get_by_role("alert").filter(has_text="http")).to_be_visible()


def test_a_hostile_page_is_inert_text(page: Page, webloom: Webloom, site: Site) -> None:
    body = f"<title>{escape(HOSTILE)}</title>\n{HOSTILE}\n<iframe src=/x></iframe>"
    open_record(page, webloom, site.serve("/hostile", body.encode()))
    expect(page.get_by_role("region", name="Source")).to_contain_text(HOSTILE)
    expect(section(page, "Source").get_by_text(f"Title: {HOSTILE}")).to_be_visible()
    assert_nothing_ran(page)


def test_a_page_that_is_too_large_is_shown_with_what_was_read_of_it(
    page: Page, webloom: Webloom, site: Site
) -> None:
    open_record(page, webloom, site.serve("/oversized", b"<p>a line</p>\n" * 800_000))
    expect(section(page, "Summary")).to_contain_text("more than 10 MB")
    source = section(page, "Source")
    expect(source.get_by_text("Only the first 1,000,000 characters are kept")).to_be_visible()


def test_a_large_source_stays_usable(page: Page, webloom: Webloom, site: Site) -> None:
    line = "<p class='row'>a line of a long page, as there are many of them</p>\n"
    body = line * (3_000_000 // len(line)) + "<p>the very end</p>"
    open_record(page, webloom, site.serve("/large", body.encode()))
    source = section(page, "Source")
    expect(source.get_by_text("Only the first 1,000,000 of 2,999,975 characters")).to_be_visible()
    shown = source.get_by_text(re.compile(r"^The first [\d,]+ of 1,000,000 characters"))
    before = shown.inner_text()
    source.get_by_role("button", name="Show more").click()
    expect(shown).not_to_have_text(before)
    region = page.get_by_role("region", name="Source")
    region.press("End")
    region.evaluate(SCROLLED)
    page.get_by_role("button", name="Invalidate").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_refetch_shows_what_is_there_now(page: Page, webloom: Webloom, site: Site) -> None:
    open_record(page, webloom, site.serve("/news", b"<p>yesterday</p>"))
    mark(page)
    source = page.get_by_role("region", name="Source")
    expect(source).to_contain_text("yesterday")
    site.serve("/news", b"<p>today</p>")
    page.get_by_role("button", name="Refetch").click()
    expect(source).to_contain_text("today")
    expect(page.get_by_role("status").get_by_text("Fetched: completed")).to_be_visible()
    assert_not_reloaded(page)


def test_to_invalidate_asks_first(page: Page, webloom: Webloom, site: Site) -> None:
    url = site.serve("/old", b"<p>old</p>")
    open_record(page, webloom, url)
    page.get_by_role("button", name="Invalidate").click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(section(page, "Summary")).to_be_visible()
    page.get_by_role("button", name="Invalidate").click()
    page.get_by_role("dialog").get_by_role("button", name="Invalidate").click()
    expect(page).to_have_url(re.compile("/inventory$"))
    expect(page.get_by_role("region", name="Records", exact=True)).to_be_visible()
    expect(row_of(page, url)).to_have_count(0)


def test_times_are_in_the_readers_zone(
    browser: Browser, webloom: Webloom, watched: Watched, site: Site
) -> None:
    context = browser.new_context(base_url=webloom.base, timezone_id="Asia/Tokyo", locale="en-GB")
    context.set_default_timeout(TIMEOUT_SECONDS * 1000)
    context.on("page", watched.follow)
    page = context.new_page()
    open_record(page, webloom, site.serve("/timed", b"<p>timed</p>"))
    since = section(page, "Summary").locator("dt:text-is('Known since') + dd time")
    exact = str(since.get_attribute("datetime"))
    there = datetime.fromisoformat(exact) + timedelta(hours=9)
    month = f"{there:%b}".replace("Sep", "Sept")  # as it is abbreviated in Britain
    expect(since).to_have_text(f"{there.day} {month} {there:%Y, %H:%M:%S}")
    expect(since).to_have_attribute("title", re.compile(rf"GMT\+9 \({re.escape(exact)}\)"))
    context.close()
