"""Focus, scrolling, figures, wording and narrow screens: pages are easy to use."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import FloatRect, Locator, Page, expect

from browser.acts import add_feed, assert_focus_is_kept, ended, held, imported, start_import
from browser.checks import (
    PHONE,
    assert_accessible,
    assert_fits_a_phone,
    section,
)
from browser.conftest import Watched, ask
from browser.site import Site, feed, product
from browser.test_watch import check, path_of
from e2e.running import Webloom

TABLET = 820
IS_CUT = "each => each.scrollWidth > each.clientWidth"
NO_FEED = b"<!doctype html><title>Log in</title><p>No feed is here"


@pytest.fixture(scope="module")
def webloom(at_size: Webloom) -> Webloom:
    return at_size


def added(webloom: Webloom, url: str, name: str) -> dict[str, Any]:
    """A watch that is checked only when a test says so."""
    body = {"urls": [url], "name": name, "enabled": False}
    return dict(ask(webloom, "POST", "/api/watches", body))


def press(page: Page, button: Locator) -> None:
    """By keyboard, as who has no mouse loses most by a lost focus."""
    button.focus()
    page.keyboard.press("Enter")


def box_of(seen: Locator) -> FloatRect:
    box = seen.bounding_box()
    assert box is not None
    return box


def right_of(seen: Locator) -> float:
    box = box_of(seen)
    return box["x"] + box["width"]


def test_a_page_that_is_opened_begins_at_its_top(page: Page, webloom: Webloom, site: Site) -> None:
    run = imported(webloom, site.serve_feed("/top.rss", feed(3)), "Top")
    page.set_viewport_size({"width": 1280, "height": 400})
    page.goto("/import-history")
    link = page.locator(f"[data-key='{run['runId']}']").get_by_role("link")
    expect(link).to_be_visible()
    page.evaluate("scrollTo(0, 60)")
    link.click()
    expect(page.get_by_role("heading", name="History of the feed")).to_be_visible()
    assert page.evaluate("scrollY") == 0


def test_a_page_with_little_on_it_does_not_scroll(page: Page, watched: Watched) -> None:
    watched.expected = ("404",)
    page.goto("/no-such-page")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollHeight - innerHeight") == 0


def test_a_run_that_is_cancelled_leaves_the_focus_on_what_can_be_done_next(
    page: Page, webloom: Webloom, site: Site
) -> None:
    url = site.serve_feed("/held/cancelled.rss", feed(3))
    add_feed(webloom, url, "Held")
    with held(site):
        page.goto(f"/import-history/{start_import(webloom, url)}")
        press(page, page.get_by_role("button", name="Cancel the run"))
        press(page, page.get_by_role("dialog").get_by_role("button", name="Cancel the run"))
        expect(page.get_by_role("button", name="Retry")).to_be_focused()
        assert_focus_is_kept(page)


def test_what_is_removed_from_a_list_leaves_the_focus_beside_it(
    page: Page, webloom: Webloom, site: Site
) -> None:
    for name in ("Focus one", "Focus two"):
        add_feed(webloom, site.serve_feed(f"/{quote(name)}.rss", feed(1)), name)
    page.goto("/feeds?q=focus")
    press(page, page.get_by_role("button", name="More for Focus one"))
    press(page, page.get_by_role("button", name="Remove: Focus one"))
    press(page, page.get_by_role("dialog").get_by_role("button", name="Remove"))
    expect(page.get_by_role("checkbox", name="Select Focus two")).to_be_focused()
    assert_focus_is_kept(page)

    page.goto("/feeds/new")
    page.get_by_role("button", name="Add a path").click()
    press(page, page.get_by_role("button", name="Remove the path of"))
    expect(page.get_by_role("button", name="Add a path")).to_be_focused()
    assert_focus_is_kept(page)


def test_who_has_left_a_control_does_not_get_the_focus_back_when_it_goes(
    page: Page, webloom: Webloom, site: Site
) -> None:
    added = add_feed(webloom, site.serve_feed("/left.rss", feed(1)), "Left behind")
    page.goto("/feeds?q=left")
    link = page.get_by_role("link", name="Left behind", exact=True)
    link.focus()
    page.get_by_role("banner").click()  # where nothing takes the focus
    expect(link).not_to_be_focused()
    ask(webloom, "DELETE", f"/api/feeds/{added['feedId']}")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # it looks again then
    empty = page.get_by_text("No matching feeds").or_(page.get_by_text("No feeds yet"))
    expect(empty).to_be_visible()
    expect(page.locator("body :focus")).to_have_count(0)


def test_an_import_that_failed_as_a_whole_says_so_in_every_figure(
    page: Page, webloom: Webloom, site: Site
) -> None:
    run = imported(webloom, site.serve("/login", NO_FEED), "Log in first")
    assert run["status"] == "failed"
    page.goto("/import-history?q=Log+in+first")
    row = page.locator(f"[data-key='{run['runId']}']")
    expect(row).to_contain_text("The answer is a web page (HTML)")
    row.get_by_role("link").click()
    progress = section(page, "Failed")
    expect(progress).to_contain_text("nothing was stored")
    expect(progress).to_contain_text("0 %")
    expect(progress.get_by_role("progressbar")).to_have_js_property("value", 0)
    history = section(page, "History of the feed")
    expect(history).to_contain_text("1 run, 1 failed: 0 new")
    red = history.locator("svg[role=img] rect.fill-bad")
    expect(red).not_to_have_attribute("height", "0")


def test_a_price_of_a_million_is_grouped_and_stays_on_its_chart(
    page: Page, webloom: Webloom, site: Site
) -> None:
    watch = added(webloom, site.serve("/dear", product("Dear", "24.90")), "Dear things")
    check(webloom, watch)
    site.serve("/dear", product("Dear", "1000000.00"))
    check(webloom, watch)
    page.goto(path_of(watch))
    expect(section(page, "Change log")).to_contain_text("up 4,015,964.26 %")
    chart = page.get_by_role("slider", name="Price over time")
    expect(chart.get_by_text("€0.00", exact=True)).to_be_visible()
    expect(chart.get_by_text(re.compile("^-"))).to_have_count(0)
    for label in chart.locator("text").all():
        assert box_of(label)["x"] >= box_of(chart)["x"] - 1
        assert right_of(label) <= right_of(chart) + 1


def test_a_page_that_was_checked_once_is_new_and_has_not_changed(
    page: Page, webloom: Webloom, site: Site
) -> None:
    watch = added(webloom, site.serve("/once", product("Once", "5.00")), "Checked once")
    check(webloom, watch)
    page.goto(f"/watch/{watch['jobId']}")
    row = page.get_by_role("table", name="Pages").get_by_role("row").last
    expect(row).to_contain_text("new")
    expect(row).not_to_contain_text("changed")
    page.goto(path_of(watch))
    expect(section(page, "Latest")).not_to_contain_text("changed")
    site.serve("/once", product("Once", "6.00"))
    check(webloom, watch)
    expect(section(page, "Latest")).to_contain_text("changed")


def test_a_queue_says_of_which_time_its_rate_is(page: Page) -> None:
    page.goto("/queues")
    expect(section(page, "watch-pages")).to_contain_text("handled per minute, last 5 minutes")


def test_a_system_without_a_scheduler_says_what_that_means(page: Page, webloom: Webloom) -> None:
    page.goto("/system")
    health = section(page, "Health")
    expect(health).to_contain_text("Everything works.")
    expect(health.get_by_role("listitem")).to_have_count(0)
    trouble = {
        "level": "error",
        "what": "No scheduler is running, and 2 feeds wait for one.",
        "advice": "Start one with `webloom scheduler`.",
        "where": "/system",
    }
    page.route("**/api/troubles", lambda route: route.fulfill(json={"data": [trouble]}))
    page.reload()
    expect(health).to_contain_text("Running, but something is wrong:")
    expect(health.get_by_role("listitem")).to_have_text(
        re.compile("^error.*No scheduler is running.*Start one with")
    )
    expect(page.get_by_text("No scheduler is running").locator("visible=true")).to_have_count(1)
    assert_accessible(page)


def test_two_problems_of_the_same_words_are_both_listed(page: Page) -> None:
    """Also after one has come before them."""
    found = [
        {"level": "warning", "what": "A target fails.", "advice": "Look at it.", "where": where}
        for where in ("/watch/one", "/watch/two")
    ]
    page.route("**/api/troubles", lambda route: route.fulfill(json={"data": found}))
    page.goto("/queues")
    page.get_by_role("banner").get_by_role("button", name="2 problems").click()
    links = page.locator("#problems").get_by_role("link")
    expect(links).to_have_count(2)
    found = [{**found[0], "what": "Another one fails.", "where": "/feeds"}, *found]
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # it looks again then
    expect(page.get_by_role("banner").get_by_role("button", name="3 problems")).to_be_visible()
    expect(links).to_have_count(3)
    for link, where in zip(links.all(), ("/feeds", "/watch/one", "/watch/two"), strict=True):
        expect(link).to_have_attribute("href", where)


@pytest.mark.parametrize("path", ["/import-history/none", "/watch/edit?jobId=none"])
def test_what_is_not_there_is_named_in_words_of_the_page(
    page: Page, watched: Watched, path: str
) -> None:
    watched.expected = ("404",)
    page.goto(path)
    main = page.get_by_role("main")
    expect(main.get_by_role("link", name=re.compile("^All (imports|watches)$"))).to_be_visible()
    expect(main).not_to_contain_text("GET /api")
    expect(main.get_by_role("button", name="Try again")).to_have_count(0)


def test_a_watch_that_is_refused_names_the_field_as_the_form_does(
    page: Page, site: Site, watched: Watched
) -> None:
    watched.expected = ("422",)
    page.goto("/watch/new")
    page.get_by_label("URLs", exact=True).fill(site.serve("/sofa", product("Sofa", "9.00")))
    page.get_by_label("Price below").fill("-5")
    page.get_by_role("button", name="Add the watch").click()
    refusal = page.get_by_role("alert").filter(has_text="Price below: not an amount above 0")
    expect(refusal).to_be_visible()
    expect(page.get_by_role("main")).not_to_contain_text("thresholds")
    page.get_by_label("Price below").fill("")
    page.get_by_label("Keep only").fill("div[")
    page.get_by_role("button", name="Add the watch").click()
    refusal = page.get_by_role("alert").filter(has_text="Keep only: the CSS selector 'div['")
    expect(refusal).to_be_visible()
    expect(page.get_by_role("main")).not_to_contain_text("selection:")


@pytest.mark.parametrize("width", [PHONE, TABLET])
def test_nothing_of_a_feed_and_its_runs_is_out_of_reach_on_a_narrow_screen(
    page: Page, webloom: Webloom, site: Site, width: int
) -> None:
    name = f"Narrow {width} " + "N" * 150
    imported(webloom, site.serve(f"/narrow/{width}", NO_FEED), name)
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"/feeds?q=narrow+{width}")
    card = page.get_by_role("table", name="Feeds").locator("[data-index]")
    expect(card).to_have_count(1)
    expect(card).to_contain_text("The answer is a web page (HTML)")
    assert right_of(card.get_by_role("button", name="Import now")) <= width
    card.get_by_role("button", name="More for").click()
    for what in ("Pause", "Remove"):
        assert right_of(card.get_by_role("button", name=what)) <= width
    assert_accessible(page)
    page.goto(f"/import-history?q=narrow+{width}")
    run = page.get_by_role("table", name="Import runs").locator("[data-index]")
    expect(run).to_contain_text("The answer is a web page (HTML)")
    for counter in ("Total", "Unchanged", "Failed"):
        assert right_of(run.get_by_text(counter, exact=True)) <= width
    assert_accessible(page)
    assert_fits_a_phone(page)


def test_an_amount_stays_on_one_line_on_a_tablet(page: Page, webloom: Webloom, site: Site) -> None:
    watch = added(webloom, site.serve("/coat", product("Coat", "1164.50")), "Coats")
    check(webloom, watch)
    page.goto(path_of(watch))
    amount = section(page, "Price").get_by_text("€1,164.50", exact=True).first
    expect(amount).to_be_visible()
    height = box_of(amount)["height"]
    page.set_viewport_size({"width": TABLET, "height": 800})
    expect(amount).to_be_visible()
    assert box_of(amount)["height"] == height


def test_a_run_of_a_watch_moves_nothing_on_a_phone(
    page: Page, webloom: Webloom, site: Site
) -> None:
    watch = added(webloom, site.serve("/held/still", product("Still", "5.00")), "Still")
    check(webloom, watch)
    page.set_viewport_size({"width": PHONE, "height": 800})
    page.goto("/watch?q=still")
    row = page.get_by_role("table", name="Watches").get_by_role("row").filter(has_text="Still")
    run = row.get_by_role("button", name="Run now")
    expect(row).to_contain_text("completed")
    before = box_of(run)["y"]
    with held(site):
        ask(webloom, "POST", f"/api/watches/{watch['jobId']}/run")
        expect(row).to_contain_text("checking")
        assert box_of(run)["y"] == before


def test_almost_a_minute_ago_is_not_sixty_seconds(page: Page, webloom: Webloom, site: Site) -> None:
    run = imported(webloom, site.serve_feed("/clock.rss", feed(1)), "Clock")
    run = ended(webloom, run["runId"])
    [known] = [
        each for each in ask(webloom, "GET", "/api/feeds")["data"] if each["name"] == "Clock"
    ]
    at = datetime.fromisoformat(known["lastRunAt"])
    page.clock.set_fixed_time(at + timedelta(seconds=59, milliseconds=700))
    page.goto("/feeds?q=clock")
    row = page.get_by_role("row").filter(has_text="Clock")
    expect(row).to_contain_text("1 minute ago")


def test_the_chosen_theme_stays_after_a_reload(page: Page) -> None:
    page.emulate_media(color_scheme="light")
    page.goto("/queues")
    dark = "rgb(11, 22, 32)"
    page.get_by_role("button", name="Theme: system").click()
    page.get_by_role("button", name="Theme: light").click()
    expect(page.get_by_role("button", name="Theme: dark")).to_be_visible()
    expect(page.locator("html")).to_have_css("background-color", dark)
    page.reload()
    expect(page.locator("html")).to_have_css("background-color", dark)
    assert_accessible(page)
    page.get_by_role("button", name="Theme: dark").click()
    expect(page.locator("html")).not_to_have_css("background-color", dark)


def test_keys_lead_to_places_and_can_be_turned_off(page: Page) -> None:
    page.goto("/queues")
    expect(page.get_by_role("heading", level=1)).to_have_text("Queues")
    page.keyboard.type("gi")
    expect(page.get_by_role("heading", level=1)).to_have_text("Inventory")
    page.keyboard.press("/")
    expect(page.locator("main input[type=search]").first).to_be_focused()
    page.keyboard.type("gw?")  # in a field, they are letters
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("heading", level=1).click()  # out of the field
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(keys).to_be_visible()
    page.keyboard.press("Escape")
    expect(keys).to_have_count(0)
    page.get_by_role("button", name="Keyboard shortcuts").click()
    expect(keys).to_contain_text("Add an address")
    expect(keys).to_contain_text("Import history")
    assert_accessible(page)
    keys.get_by_label("Shortcuts with single keys").uncheck()
    keys.get_by_role("button", name="Close").click()
    page.keyboard.type("gw?")
    expect(page.get_by_role("heading", level=1)).to_have_text("Inventory")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_lists_on_small_screens_stay_aligned_and_cut_nothing_that_matters(
    page: Page, webloom: Webloom
) -> None:
    url = "https://loom.test:9391/a/rather/long/way/to/the/listed/feed/7.atom"
    tag = "Competitors and rivals"
    watches = [
        ask(webloom, "POST", "/api/watches", {"url": each, "enabled": False, **more})
        for each, more in ((url, {}), (f"{url}?2", {"name": "Rivals", "tags": [tag]}))
    ]
    page.goto("/watch?q=loom.test")
    table = page.get_by_role("table", name="Watches")
    expect(table.get_by_text(tag)).to_be_visible()
    assert not table.get_by_text(tag).evaluate(IS_CUT)
    page.set_viewport_size({"width": 1024, "height": 700})
    parts = table.get_by_role("link", name=url, exact=True).locator("[aria-hidden] > span")
    expect(parts).to_have_count(3)
    assert [part.evaluate(IS_CUT) for part in parts.all()][:2] == [False, True]
    page.set_viewport_size({"width": 360, "height": 700})
    ticks = page.get_by_role("checkbox", name=re.compile("^Select"))
    expect(page.get_by_text("Select all on this page")).to_be_visible()
    assert len(ticks.all()) == 3
    assert len({box_of(tick)["x"] for tick in ticks.all()}) == 1
    page.goto("/jobs")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    room = page.get_by_label("Search", exact=True).evaluate(
        """field => {
            const {font, paddingLeft, paddingRight} = getComputedStyle(field);
            const context = document.createElement("canvas").getContext("2d");
            context.font = font;
            return field.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight)
                - context.measureText(field.placeholder).width;
        }"""
    )
    assert room >= 0
    for watch in watches:
        ask(webloom, "DELETE", f"/api/watches/{watch['jobId']}")


@pytest.mark.parametrize("width", [360, 1024])
def test_the_two_days_of_a_range_stand_together(page: Page, width: int) -> None:
    """One below the other on a phone, and else on a line."""
    page.set_viewport_size({"width": width, "height": 700})
    page.goto("/import-history")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    menu = page.get_by_role("button", name="Filters")
    if menu.is_visible():
        menu.click()
    begin, end = (box_of(page.get_by_label(each, exact=True)) for each in ("From", "To"))
    is_below = end["y"] - begin["y"] < 2 * begin["height"] and end["x"] < width / 2
    assert begin["y"] == end["y"] or (width == 360 and is_below)
