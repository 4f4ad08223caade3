"""The system page: health, storage, settings, and none of their secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from browser.checks import assert_accessible, assert_fits_a_phone, section
from browser.conftest import ask
from browser.furnished import furnished
from e2e.running import Webloom
from servers.private import free_port

PASSWORD = "correct-horse-battery"


@pytest.fixture(scope="module")
def webloom(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    """One of its queues is on a server that is not there."""
    with furnished(
        tmp_path_factory.mktemp("system"),
        storage_budget=64 << 20,
        broker_import_feed=f"redis://weaver:{PASSWORD}@127.0.0.1:{free_port()}/0",
    ) as it:
        yield it


def test_dependencies_and_processes_are_shown(page: Page) -> None:
    page.goto("/system")
    dependencies = page.get_by_role("region", name="Dependencies")
    rows = dependencies.get_by_role("row")
    expect(rows.filter(has_text="redis")).to_contain_text("down")
    expect(rows.filter(has_text="sqlite").first).to_contain_text("up")
    processes = page.get_by_role("region", name="Processes").get_by_role("row")
    expect(processes.filter(has_text="worker")).to_contain_text("alive")
    expect(processes.filter(has_text="scheduler")).to_contain_text("alive")
    assert_accessible(page)
    assert_fits_a_phone(page)


def test_what_degrades_it_is_listed_beside_its_status(page: Page) -> None:
    page.goto("/system")
    health = section(page, "Health")
    expect(health).to_contain_text("degraded")
    expect(health.get_by_role("listitem")).to_contain_text("can't be used")


def test_no_time_of_the_log_is_covered_by_its_badge(browser: Browser, webloom: Webloom) -> None:
    """In the longest usual form of a time."""
    page = browser.new_page(
        base_url=webloom.base, locale="en-US", viewport={"width": 1440, "height": 900}
    )
    page.goto("/system")
    entry = page.get_by_role("list", name="Log entries").get_by_role("listitem").first
    expect(entry.get_by_role("time")).to_have_text(re.compile("[AP]M$"))
    room = entry.evaluate(
        """each => each.children[1].getBoundingClientRect().left
            - each.querySelector("time").getBoundingClientRect().right"""
    )
    assert room > 0
    page.close()


def test_the_header_says_what_is_wrong_on_every_page(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 700})
    page.goto("/jobs")
    header = page.get_by_role("banner")
    header.get_by_role("button", name=re.compile(r"Health: \d+ problems")).click()
    problems = header.locator("#problems")
    expect(problems).to_contain_text("can't be used")
    expect(problems).to_contain_text("Webloom reconnects by itself.")
    box = problems.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360
    assert_accessible(page)
    page.keyboard.press("Escape")
    expect(problems).to_be_hidden()
    page.keyboard.press("Enter")  # the focus is on the button again
    problems.get_by_role("link", name="Look").first.click()  # errors come first
    expect(page.get_by_role("heading", level=1)).to_have_text("System")
    expect(problems).to_be_hidden()


def test_logs_say_what_failed_and_can_be_filtered(page: Page) -> None:
    page.goto("/system")
    entries = page.get_by_role("list", name="Log entries").get_by_role("listitem")
    expect(entries.filter(has_text="worker started")).to_be_visible()
    expect(entries.filter(has_text="cannot reach Redis").first).to_contain_text("warning")
    page.get_by_label("Level").select_option("Warnings and errors")
    expect(entries.filter(has_text="worker started")).to_have_count(0)
    expect(entries.filter(has_text="cannot reach Redis").first).to_be_visible()
    expect(page).to_have_url(re.compile("level=warning"))


def test_storage_is_shown_with_its_budget(page: Page) -> None:
    page.goto("/system")
    storage = section(page, "Storage of watched pages")
    expect(storage.get_by_role("img", name=re.compile(r"of 64 MB are used"))).to_be_visible()
    expect(storage).to_contain_text("snapshots")


def test_settings_are_searched_and_the_search_is_in_the_address(page: Page) -> None:
    page.goto("/system")
    settings = page.get_by_role("region", name="Settings")
    expect(settings.get_by_role("row").filter(has_text="WEBLOOM_SLOTS")).to_be_visible()
    page.get_by_label("Search").fill("storage budget")
    expect(settings.get_by_role("row")).to_have_count(2)
    expect(settings).to_contain_text(str(64 << 20))
    expect(page).to_have_url(re.compile(r"q=storage(\+|%20)budget"))
    page.get_by_label("Search").fill("")
    page.get_by_label("Only settings that differ from the default").check()
    expect(settings.get_by_role("row").filter(has_text="WEBLOOM_SLOTS")).to_have_count(0)
    expect(page).to_have_url(re.compile("changed=yes"))
    page.reload()
    expect(settings.get_by_role("row").filter(has_text="WEBLOOM_DATA_DIR")).to_be_visible()
    expect(settings.get_by_role("row").filter(has_text="WEBLOOM_SLOTS")).to_have_count(0)
    page.get_by_label("Search").fill("no such setting")
    page.get_by_role("button", name="Show all").click()
    expect(settings.get_by_role("row").filter(has_text="WEBLOOM_SLOTS")).to_be_visible()


def test_a_password_is_not_shown(page: Page, webloom: Webloom) -> None:
    page.goto("/system?q=import_feed")
    row = page.get_by_role("region", name="Settings").get_by_role("row").nth(1)
    expect(row).to_contain_text("redis://")
    expect(page.get_by_role("region", name="Dependencies")).to_contain_text("redis://")
    assert PASSWORD not in page.content()
    assert PASSWORD not in str(ask(webloom, "GET", "/api/system"))
