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
NO_FEED = b"<!doctype html><title>Log in</title><p>No feed is here"


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
    link = page.locator(f"[data-run='{run['runId']}']").get_by_role("link")
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
    press(page, page.get_by_role("button", name="Remove Focus one"))
    press(page, page.get_by_role("dialog").get_by_role("button", name="Remove"))
    expect(page.get_by_role("link", name="Focus two", exact=True)).to_be_focused()
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
    row = page.locator(f"[data-run='{run['runId']}']")
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
    chart = page.get_by_role("img", name="Price over time, 2 records")
    expect(chart.get_by_text("€0.00", exact=True)).to_be_visible()
    expect(chart.get_by_text(re.compile("^-"))).to_have_count(0)
    assert right_of(chart.get_by_text("+4,015,964.26 %", exact=True)) <= right_of(chart) + 1


def test_a_page_that_was_checked_once_is_new_and_has_not_changed(
    page: Page, webloom: Webloom, site: Site
) -> None:
    watch = added(webloom, site.serve("/once", product("Once", "5.00")), "Checked once")
    check(webloom, watch)
    page.goto(f"/watch/{watch['jobId']}")
    cells = page.get_by_role("region", name="Pages").get_by_role("row").last.get_by_role("cell")
    expect(cells.nth(4)).to_contain_text("new")
    expect(cells.nth(4)).not_to_contain_text("changed")
    page.goto(path_of(watch))
    expect(section(page, "Latest")).not_to_contain_text("changed")
    site.serve("/once", product("Once", "6.00"))
    check(webloom, watch)
    expect(section(page, "Latest")).to_contain_text("changed")


def test_a_queue_says_of_which_time_its_rate_is(page: Page) -> None:
    page.goto("/queues")
    expect(section(page, "watch-pages")).to_contain_text("a minute handled, last 5 minutes")


def test_a_system_without_a_scheduler_says_what_that_means(page: Page, webloom: Webloom) -> None:
    health = ask(webloom, "GET", "/health")
    page.goto("/system")
    processes = section(page, "Processes")
    expect(processes.get_by_role("cell", name="scheduler")).to_be_visible()
    expect(processes).not_to_contain_text("No scheduler is running")
    health["others"] = [each for each in health["others"] if each["role"] != "scheduler"]
    page.route("**/health", lambda route: route.fulfill(json=health))
    page.reload()
    expect(processes).to_contain_text("No scheduler is running")
    expect(processes).to_contain_text("webloom scheduler starts one")
    assert_accessible(page)


@pytest.mark.parametrize("path", ["/import-history/none", "/watch/edit?jobId=none"])
def test_what_is_not_there_is_told_in_words_of_the_page(
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


@pytest.mark.parametrize("button", ["Fetch it", "Import it", "Watch it"])
def test_each_button_of_the_overview_answers_to_what_is_no_address(
    page: Page, watched: Watched, button: str
) -> None:
    watched.expected = ("422",)
    page.goto("/")
    page.get_by_label("Address").fill("example.com/jobs")
    page.get_by_role("button", name=button).click()
    refusal = page.get_by_role("alert").filter(has_text="the URL must begin with http://")
    expect(refusal).to_be_visible()
    expect(refusal).not_to_contain_text("urls:")


@pytest.mark.parametrize("width", [PHONE, TABLET])
def test_nothing_of_a_feed_and_its_runs_is_out_of_reach_on_a_narrow_screen(
    page: Page, webloom: Webloom, site: Site, width: int
) -> None:
    name = f"Narrow {width} " + "N" * 150
    imported(webloom, site.serve(f"/narrow/{width}", NO_FEED), name)
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"/feeds?q=narrow+{width}")
    card = page.get_by_role("list", name="Feeds").get_by_role("listitem")
    expect(card).to_have_count(1)
    expect(card).to_contain_text("The answer is a web page (HTML)")
    for what in ("Import now", "Pause", "Remove"):
        assert right_of(card.get_by_role("button", name=what)) <= width
    assert_accessible(page)
    page.goto(f"/import-history?q=narrow+{width}")
    run = page.get_by_role("list", name="Import runs").get_by_role("listitem")
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
    page.goto("/watch")
    row = section(page, "Watches").get_by_role("listitem").filter(has_text="Still")
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
