"""The screen of one watched page: act on it, compare and read its versions, follow its price."""

from __future__ import annotations

import re
import time
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, Route, expect

from browser.acts import assert_focus_is_kept, tab_to
from browser.checks import (
    PHONE,
    assert_accessible,
    assert_fits_a_phone,
    assert_no_texts_overlap,
    assert_not_reloaded,
    mark,
    section,
)
from browser.conftest import ask
from browser.site import Site, product
from browser.test_watch import check, path_of
from e2e.running import POLL_SECONDS, Webloom
from timeouts import TIMEOUT_SECONDS

DAY = 86_400_000


@pytest.fixture(scope="module")
def webloom(at_size: Webloom) -> Webloom:
    return at_size


def added(webloom: Webloom, *urls: str, name: str) -> dict[str, Any]:
    """A watch that is checked only when a test says so."""
    return dict(
        ask(webloom, "POST", "/api/watches", {"urls": urls, "name": name, "enabled": False})
    )


@pytest.fixture(scope="module")
def lamp(webloom: Webloom, site: Site) -> dict[str, Any]:
    """A watch whose page has three versions."""
    url = site.serve("/lamp", product("Lamp", "12.50", text="A red lamp."))
    watch = added(webloom, url, name="Lamps")
    check(webloom, watch)
    site.serve("/lamp", product("Lamp", "10.00", text="A green lamp."))
    check(webloom, watch)
    site.serve("/lamp", product("Lamp", "11.00", text="A blue lamp.", stock="OutOfStock"))
    check(webloom, watch)
    return watch


@pytest.fixture(scope="module")
def long_page(webloom: Webloom) -> str:
    """The screen of a page that differs in line 123,456."""
    url, now = "https://shop.test/long", int(time.time() * 1000)
    for number in (1, 2):
        text = "line\n" * 123_455 + f"version {number}\nthe end"
        parsed = {"title": "Long", "text": text}
        event = {"jobId": "long", "url": url, "parsed": parsed, "ts": now + number}
        ask(webloom, "POST", "/api/watch/events", [event])
    return f"/watch/page?{urlencode({'jobId': 'long', 'url': url})}"


@pytest.mark.parametrize("width", [PHONE, 1440])
def test_numbers_of_many_lines_collide_with_nothing(page: Page, long_page: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(long_page)
    differences = page.get_by_role("region", name="Differences")
    expect(differences).to_contain_text("123456")
    assert_no_texts_overlap(differences)
    page.get_by_role("button", name="Side by side").click()
    expect(differences.get_by_role("table", name="side by side")).to_be_visible()
    assert_no_texts_overlap(differences)


@pytest.fixture(scope="module")
def old_prices(webloom: Webloom) -> tuple[str, int]:
    """A page whose price changed 100, 50, 6 and 0.5 days before a time: its screen, that time."""
    now = int(time.time() * 1000)
    prices = ((100, "80"), (50, "120"), (6, "90"), (0.5, "99.5"))
    return priced(webloom, "wardrobes", now, *prices), now


def priced(webloom: Webloom, job_id: str, now: int, *prices: tuple[float, str]) -> str:
    """The screen of a page that had these prices, each so many days before `now`."""
    url = f"https://shop.test/{job_id}"
    events = [
        {
            "jobId": job_id, "url": url, "parsed": {"title": job_id, "text": price},
            "price": {"current": float(price), "currency": "EUR"}, "ts": now - int(days * DAY),
        }
        for days, price in prices
    ]  # fmt: skip
    ask(webloom, "POST", "/api/watch/events", events)
    named = urlencode({"jobId": job_id, "url": url})
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while len(ask(webloom, "GET", f"/api/watch/pages/prices?{named}")["data"]) < len(events):
        assert time.monotonic() < deadline, "the events are not stored"
        time.sleep(POLL_SECONDS)
    return f"/watch/page?{named}"


def test_a_page_whose_text_needs_javascript_says_so_in_the_list(
    page: Page, webloom: Webloom, site: Site
) -> None:
    asks = b"<noscript>You need to enable JavaScript.</noscript><script src=/a.js></script>"
    little = site.serve(
        "/app", b"<title>App</title><p>A shop with a little text of its own.</p>" + asks
    )
    nothing = site.serve("/empty-app", b"<title>Empty</title><div id=root></div>" + asks)
    watch = added(webloom, little, nothing, name="Apps")
    check(webloom, watch)
    page.goto(f"/watch/{watch['jobId']}")
    pages = page.get_by_role("region", name="Pages", exact=True)
    expect(pages).to_contain_text("The text of this page appears only with JavaScript")
    expect(pages).to_contain_text(
        "its text appears only with JavaScript, which Webloom does not run"
    )
    assert_accessible(page)


def test_a_click_on_a_change_lands_on_its_diff(page: Page, webloom: Webloom, site: Site) -> None:
    urls = [site.serve(f"/stand/{n}", product("Stand", "5.00")) for n in (1, 2)]
    watch = added(webloom, *urls, name="Stands")
    check(webloom, watch)
    site.serve("/stand/2", product("Stand", "6.00"))
    check(webloom, watch)
    page.set_viewport_size({"width": PHONE, "height": 600})
    page.goto(f"/watch/{watch['jobId']}")
    change = section(page, "Latest changes").get_by_role("listitem").first
    expect(change).to_contain_text("/stand/2")
    change.get_by_role("link", name="Stand").click()
    expect(page.get_by_role("heading", name="Version 1 → 2")).to_be_in_viewport()
    expect(page.get_by_role("region", name="Differences")).to_contain_text("6.00")
    expect(section(page, "Price")).to_contain_text("2 records")
    expect(page.get_by_role("heading", name="Version 1 → 2")).to_be_in_viewport()
    expect(page.get_by_role("heading", name="Version 1 → 2")).to_be_focused()
    link = page.url
    page.goto("/system")
    page.goto(link)
    expect(page.get_by_role("region", name="Differences")).to_contain_text("6.00")
    expect(page.get_by_role("heading", name="Version 1 → 2")).to_be_in_viewport()


def test_another_version_is_shown_where_the_reader_is(page: Page, lamp: dict[str, Any]) -> None:
    page.goto(path_of(lamp))
    page.get_by_role("heading", name="Version 2 → 3").scroll_into_view_if_needed()
    expect(page.get_by_role("region", name="Differences")).to_contain_text("blue")
    change = section(page, "Change log").get_by_role("link", name="Version 1 → 2")
    change.scroll_into_view_if_needed()
    before = page.evaluate("scrollY")
    change.click()
    expect(page.get_by_role("heading", name="Version 1 → 2")).to_be_in_viewport()
    expect(page.get_by_role("region", name="Differences")).to_contain_text("red")
    assert page.evaluate("scrollY") == before
    page.set_viewport_size({"width": PHONE, "height": 500})
    change = section(page, "Change log").get_by_role("link", name="Version 2 → 3")
    change.scroll_into_view_if_needed()
    change.click()
    expect(page.get_by_role("heading", name="Version 2 → 3")).to_be_in_viewport()


def test_two_versions_are_compared_inline_and_side_by_side(
    page: Page, lamp: dict[str, Any]
) -> None:
    page.goto(path_of(lamp))
    compared = page.get_by_role("region", name="Differences")
    expect(page.get_by_role("heading", name="Version 2 → 3")).to_be_visible()
    expect(compared.locator("del")).to_have_text(["green", re.compile("10")])
    expect(compared.locator("ins")).to_have_text(["blue", re.compile("11")])
    expect(page.get_by_role("columnheader", name="Old text")).to_have_count(0)
    assert_accessible(page)
    page.get_by_role("button", name="Side by side").click()
    expect(page.get_by_role("columnheader", name="Old text")).to_have_count(1)
    page.get_by_label("From").select_option("1")
    expect(page.get_by_role("heading", name="Version 1 → 3")).to_be_visible()
    expect(compared.locator("del").first).to_have_text("red")
    assert_accessible(page)
    page.reload()
    expect(page.get_by_role("heading", name="Version 1 → 3")).to_be_visible()
    expect(page.get_by_role("columnheader", name="Old text")).to_have_count(1)
    assert {"form=side", "from=1", "to=3"} <= set(page.url.partition("?")[2].split("&"))
    assert_fits_a_phone(page)


def test_versions_are_chosen_and_read_by_keyboard_alone(page: Page, lamp: dict[str, Any]) -> None:
    page.goto(path_of(lamp))
    expect(page.get_by_role("heading", name="Version 2 → 3")).to_be_visible()
    tab_to(page, page.get_by_label("From"))
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("heading", name="Version 1 → 3")).to_be_visible()
    expect(page.get_by_label("From")).to_be_focused()
    tab_to(page, page.get_by_role("button", name="Older"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Version 1 → 2")).to_be_visible()
    assert_focus_is_kept(page)
    tab_to(page, page.get_by_role("button", name="Versions"))
    page.keyboard.press("Space")
    tab_to(page, page.get_by_role("button", name="Read version 1"))
    page.keyboard.press("Enter")
    text = page.get_by_role("region", name="Text of version 1")
    expect(text).to_contain_text("A red lamp.")
    assert_focus_is_kept(page)
    assert_accessible(page)
    page.reload()
    expect(text).to_contain_text("A red lamp.")
    page.get_by_role("button", name="Newer").click()
    expect(page.get_by_role("region", name="Text of version 2")).to_contain_text("A green lamp.")
    page.get_by_role("button", name="Inline").click()
    expect(page.get_by_role("heading", name="Version 1 → 2")).to_be_visible()


def test_a_page_is_checked_paused_and_edited_where_it_is_shown(
    page: Page, webloom: Webloom, site: Site
) -> None:
    url = site.serve("/kettle", product("Kettle", "30.00"))
    watch = added(webloom, url, name="Kettles")
    check(webloom, watch)
    page.goto(path_of(watch))
    expect(page.get_by_role("heading", name="Version 1", exact=True)).to_be_visible()
    site.serve("/kettle", product("Kettle", "33.00"))
    mark(page)
    page.get_by_role("button", name="Check now").click()
    expect(page.get_by_role("heading", name="Version 1 → 2")).to_be_visible()
    page.get_by_role("button", name="Resume: Kettles").click()
    page.get_by_role("button", name="Pause: Kettles").click()
    expect(page.get_by_role("button", name="Resume: Kettles")).to_be_visible()
    assert_not_reloaded(page)
    opened = page.get_by_role("link", name=re.compile("^Open the page"))
    expect(opened).to_have_attribute("href", url)
    expect(opened).to_have_attribute("target", "_blank")
    page.get_by_role("link", name=re.compile("^Edit ?: Kettles$")).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Edit Kettles")


def test_a_price_is_followed_over_ranges_with_a_crosshair(
    page: Page, old_prices: tuple[str, int]
) -> None:
    path, now = old_prices
    page.goto(path)
    prices = section(page, "Price")
    chart = page.get_by_role("slider", name="Price over time")
    expect(prices).to_contain_text("4 records, 2 rises, 1 fall")
    expect(prices.locator("div").filter(has_text=re.compile("^Lowest in 90 days"))).to_have_text(
        "Lowest in 90 days€80.00"
    )
    expect(chart.locator("[data-move=rise]")).to_have_count(2)
    expect(chart.locator("[data-move=fall]")).to_have_count(1)
    tab_to(page, chart)
    page.keyboard.press("Home")
    expect(chart).to_have_attribute("aria-valuetext", re.compile(r"€80\.00$"))
    page.keyboard.press("ArrowRight")
    moment = page.evaluate(
        "at => new Date(at).toLocaleString([], {dateStyle: 'medium', timeStyle: 'medium'})",
        now - 50 * DAY,
    )
    expect(chart).to_have_attribute("aria-valuetext", f"{moment}, €120.00, rose by 50 %")
    expect(prices).to_contain_text(f"€120.00 · {moment} ▲ rose by 50 %")
    assert_accessible(page)

    page.get_by_role("button", name="7 d", exact=True).click()
    expect(prices).to_contain_text("2 records, 1 rise, 1 fall")
    chart.hover(position={"x": 120, "y": 100})
    expect(prices).to_contain_text("€120.00 ·")
    page.get_by_role("button", name="24 h").click()
    expect(prices).to_contain_text("1 record, 1 rise, 0 falls")
    page.reload()
    expect(prices).to_contain_text("1 record, 1 rise, 0 falls")
    expect(page.get_by_role("button", name="24 h")).to_have_attribute("aria-pressed", "true")
    assert_fits_a_phone(page)


def test_a_price_says_that_it_is_the_lowest_in_90_days(
    page: Page, webloom: Webloom, old_prices: tuple[str, int]
) -> None:
    now = int(time.time() * 1000)
    page.goto(priced(webloom, "lowest", now, (100, "60"), (50, "90"), (6, "80"), (0.5, "60")))
    badge = section(page, "Price").get_by_text("lowest in 90 days", exact=True)
    expect(badge).to_be_visible()
    page.goto(old_prices[0])
    expect(section(page, "Price")).to_contain_text("4 records")
    expect(badge).to_have_count(0)


def test_a_chart_with_fewer_points_than_prices_counts_no_moves(
    page: Page, old_prices: tuple[str, int]
) -> None:
    def thin_out(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json=answer.json() | {"isThinned": True, "records": 9999})

    page.route("**/api/watch/pages/prices/curve?*", thin_out)
    page.goto(old_prices[0])
    words = "9,999 records, more changes than fit; lows and highs are all shown"
    prices = section(page, "Price")
    expect(prices.get_by_text(words, exact=True)).to_be_visible()
    chart = page.get_by_role("slider", name="Price over time")
    expect(chart).to_have_accessible_description(re.compile(f"to now: {words}, now €99.50"))
    page.unroute_all(behavior="ignoreErrors")


def test_prices_have_a_table_and_a_file(page: Page, lamp: dict[str, Any]) -> None:
    page.goto(path_of(lamp))
    expect(section(page, "Latest")).to_contain_text("out of stock")
    page.get_by_text("All records as a table").click()
    rows = page.get_by_role("region", name="Prices").get_by_role("row")
    expect(rows).to_have_text([re.compile("Time"), *map(re.compile, ("11.00", "10.00", "12.50"))])
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    assert len(download.value.path().read_text().splitlines()) == 4
    assert_fits_a_phone(page)
