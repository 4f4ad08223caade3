"""Job postings: searched, filtered, read; what a feed says is text and nothing else."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from browser.acts import ended, imported, start_import
from browser.checks import (
    assert_accessible,
    assert_fits_a_phone,
    assert_not_reloaded,
    assert_nothing_ran,
    mark,
    section,
)
from browser.conftest import Watched
from browser.site import HOSTILE, Site, feed
from e2e.running import Webloom

MANY = 60  # postings: three pages
SMUGGLED = escape(escape(HOSTILE))  # behind a tag, an import takes it for text
SCRIPT_LINK = "javascript:document.title='owned'"


def item(number: int, title: str, *, company: str, description: str, link: str, day: int) -> str:
    return (
        f"<item><guid>one-{number}</guid><title>{escape(title)}</title>"
        f"<author>{escape(company)}</author><description>{escape(description)}</description>"
        f"<link>{escape(link)}</link><pubDate>{day:02} Nov 2026 10:00:00 GMT</pubDate></item>"
    )


def board(*items: str) -> bytes:
    return f'<rss version="2.0"><channel><title>B</title>{"".join(items)}</channel></rss>'.encode()


WEAVER = item(
    1,
    "Weaver of carpets",
    company="Loom & Sons",
    description='<p>Weave <b>well</b>.</p><p><a href="https://jobs.test/how">How</a></p>',
    link="https://jobs.test/weaver",
    day=3,
)
DYER = item(2, "Dyer", company="Madder", description="Red.", link="https://jobs.test/dyer", day=5)
HOSTILE_ONE = item(
    3,
    f"<b>Hostile</b> {SMUGGLED}",
    company=f"<b>Evil</b> {SMUGGLED}",
    description=f'<p onclick="document.title=1">Words {HOSTILE}</p><a href="{SCRIPT_LINK}">go</a>',
    link=SCRIPT_LINK,
    day=4,
)


@pytest.fixture(scope="module", autouse=True)
def postings(site: Site, webloom: Webloom) -> dict[str, str]:
    """The URLs of two feeds that were imported."""
    many = site.serve_feed("/many.rss", feed(MANY))
    few = site.serve_feed("/few.rss", board(WEAVER, DYER, HOSTILE_ONE))
    assert imported(webloom, many, "Many jobs")["newJobs"] == MANY
    assert imported(webloom, few, "Few jobs")["newJobs"] == 3
    return {"many": many, "few": few}


def titles(page: Page) -> Locator:
    return page.get_by_role("table", name="Postings").get_by_role("rowheader").get_by_role("link")


def test_a_search_is_in_the_address(page: Page, context: BrowserContext) -> None:
    page.goto("/jobs")
    expect(titles(page).first).to_have_text("Dyer")
    page.get_by_label("Search").fill("weav*")
    expect(titles(page)).to_have_text(["Weaver of carpets"])
    expect(page).to_have_url(re.compile(r"\?q=weav"))
    page.reload()
    copied = context.new_page()
    copied.goto(page.url)
    for each in (page, copied):
        expect(titles(each)).to_have_text(["Weaver of carpets"])
        expect(each.get_by_label("Search")).to_have_value("weav*")


def test_filters_narrow_the_list(page: Page, postings: dict[str, str]) -> None:
    page.goto("/jobs")
    page.get_by_label("Source").select_option("Few jobs")
    expect(titles(page)).to_have_count(3)
    page.get_by_label("until", exact=True).fill("2026-11-04")
    expect(titles(page)).to_have_text([re.compile("Hostile"), "Weaver of carpets"])
    page.get_by_label("Company").fill("loom")
    expect(titles(page)).to_have_text(["Weaver of carpets"])
    page.get_by_label("State").select_option("closed")
    expect(page.get_by_text("No matching postings")).to_be_visible()
    page.get_by_role("button", name="Clear the filters").click()
    expect(titles(page).first).to_have_text("Dyer")
    expect(page).to_have_url(re.compile("/jobs$"))


def test_a_posting_is_read_and_left(page: Page) -> None:
    page.goto("/jobs?q=weaver")
    page.get_by_role("link", name="Weaver of carpets").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Weaver of carpets")
    description = section(page, "Description")
    expect(description).to_contain_text("Weave well.")
    expect(description.get_by_role("link", name="How")).to_have_attribute(
        "rel", re.compile("noopener")
    )
    expect(section(page, "Posting")).to_contain_text("Loom & Sons")
    page.reload()
    expect(section(page, "Source").get_by_role("link", name="Few jobs")).to_be_visible()
    assert_accessible(page)
    assert_fits_a_phone(page)
    page.go_back()
    expect(page.get_by_label("Search")).to_have_value("weaver")


def test_hostile_postings_are_text(page: Page) -> None:
    page.goto("/jobs?q=hostile")
    expect(titles(page)).to_have_text([f"Hostile {HOSTILE}"])
    expect(page.get_by_role("table", name="Postings")).to_contain_text(f"Evil {HOSTILE}")
    assert_nothing_ran(page)
    titles(page).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Hostile {HOSTILE}")
    expect(section(page, "Description")).to_contain_text("Words")
    section(page, "Description").get_by_text("Words").click()
    expect(page.locator('a[href^="javascript" i]')).to_have_count(0)
    assert_nothing_ran(page)
    assert_accessible(page)
    assert_fits_a_phone(page)


def test_all_postings_are_reached_page_by_page(page: Page, postings: dict[str, str]) -> None:
    page.set_viewport_size({"width": 1280, "height": 3000})  # so that all rows are in sight
    page.goto(f"/jobs?source={postings['many']}")
    following = page.get_by_role("button", name="Next", exact=True)
    expect(titles(page)).to_have_count(50)
    first = set(titles(page).all_inner_texts())
    following.click()
    expect(titles(page)).to_have_count(10)
    second = set(titles(page).all_inner_texts())
    assert not first & second, "a posting is on two pages"
    assert first | second == {f"Job {number}" for number in range(MANY)}
    expect(following).to_be_disabled()
    page.reload()
    expect(titles(page)).to_have_count(10)
    page.get_by_role("button", name="Previous", exact=True).click()
    expect(titles(page)).to_have_count(50)


def test_an_open_list_shows_an_import(
    page: Page, site: Site, webloom: Webloom, postings: dict[str, str]
) -> None:
    page.goto("/jobs?q=spinner")
    expect(page.get_by_text("No matching postings")).to_be_visible()
    mark(page)
    spinner = item(4, "Spinner", company="Wool", description="", link="https://a.test/4", day=6)
    site.serve_feed("/few.rss", board(WEAVER, DYER, HOSTILE_ONE, spinner))
    ended(webloom, start_import(webloom, postings["few"]))
    page.get_by_role("button", name="Show them").click()
    expect(titles(page)).to_have_text(["Spinner"])
    assert_not_reloaded(page)


def test_an_unknown_posting_says_so(page: Page, watched: Watched) -> None:
    watched.expected = ("404",)
    page.goto("/jobs/no-such-posting")
    expect(page.get_by_text("Posting not found")).to_be_visible()


def test_the_list_is_accessible_and_fits_a_phone(page: Page) -> None:
    page.goto("/jobs")
    expect(titles(page).first).to_be_visible()
    assert_accessible(page)
    assert_fits_a_phone(page)
