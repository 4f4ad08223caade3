"""Feeds: added after a preview, changed, paused, removed, and carried in and out as OPML."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.sax.saxutils import escape

from playwright.sync_api import Locator, Page, expect

from browser.acts import add_feed, imported, tab_to
from browser.checks import (
    assert_accessible,
    assert_fits_a_phone,
    assert_nothing_ran,
    section,
)
from browser.conftest import Watched, ask
from browser.site import HOSTILE, Site, feed
from e2e.running import Webloom


def row_of(page: Page, name: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def said(page: Page, text: str) -> Locator:
    return page.get_by_role("status").get_by_text(text)


def test_without_feeds_the_list_says_what_to_do(page: Page) -> None:
    page.goto("/feeds")
    expect(page.get_by_text("No feeds yet")).to_be_visible()
    page.get_by_role("link", name="Add a feed").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Add a feed")


def test_a_feed_is_previewed_and_then_added(page: Page, site: Site, webloom: Webloom) -> None:
    bad = f"<item><description>{escape(escape(HOSTILE))}</description></item>"
    good = feed(3, title=f"Weaver {{number}} {HOSTILE}")
    url = site.serve_feed("/new.rss", good.replace(b"</channel>", f"{bad}</channel>".encode()))
    page.goto("/feeds/new")
    expect(page.get_by_role("button", name="Preview", exact=True)).to_be_disabled()
    page.get_by_label("URL", exact=True).fill(url)
    page.get_by_label("Name", exact=True).fill("Weavers")
    page.get_by_role("button", name="Preview", exact=True).click()
    preview = section(page, "Preview")
    expect(preview.get_by_text("Weaver 0").first).to_be_visible()
    expect(preview.get_by_role("heading", name="Records that fail")).to_be_visible()
    preview.get_by_text("Samples").click()
    expect(preview.locator("pre")).to_contain_text(HOSTILE)
    assert_nothing_ran(page)
    assert_accessible(page)
    assert_fits_a_phone(page)
    assert ask(webloom, "GET", "/api/feeds")["total"] == 0, "a preview stores nothing"
    page.get_by_role("button", name="Add feed", exact=True).click()
    expect(page).to_have_url(re.compile("/feeds/(?!new)[^/]+$"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Weavers")
    expect(page.get_by_role("link", name="partial run of Weavers")).to_be_visible()
    assert_accessible(page)
    assert_fits_a_phone(page)


def test_a_bad_url_says_why(page: Page, site: Site, watched: Watched) -> None:
    watched.expected = ("400", "422", "502")
    page.goto("/feeds/new")
    page.get_by_label("URL", exact=True).fill("ftp://example.com/jobs")
    page.get_by_role("button", name="Add feed", exact=True).click()
    expect(page.get_by_role("alert").filter(has_text="must begin with http")).to_be_visible()
    page.get_by_label("URL", exact=True).fill(f"{site.base}/nothing-here")
    page.get_by_role("button", name="Preview", exact=True).click()
    expect(section(page, "Preview").get_by_role("alert")).to_contain_text("404")
    expect(page).to_have_url(re.compile("/feeds/new$"))


def test_a_known_url_leads_to_its_feed(
    page: Page, site: Site, webloom: Webloom, watched: Watched
) -> None:
    watched.expected = ("409",)
    url = site.serve_feed("/known.rss", feed(1, first=10))
    add_feed(webloom, url, "Known already")
    page.goto("/feeds/new")
    page.get_by_label("URL", exact=True).fill(url)
    page.get_by_role("button", name="Add feed", exact=True).click()
    refusal = page.get_by_role("alert").filter(has_text="This URL is already a feed")
    refusal.get_by_role("link", name="Known already").click()
    page.get_by_role("dialog").get_by_role("button", name="Discard").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Known already")


def test_a_feed_is_edited(page: Page, site: Site, webloom: Webloom) -> None:
    url = site.serve_feed("/edited.rss", feed(1, first=20))
    feed_id = add_feed(webloom, url, "Old name")["feedId"]
    page.goto(f"/feeds/{feed_id}")
    page.get_by_label("Name", exact=True).fill("New name")
    page.get_by_label("Interval in minutes").fill("90")
    page.get_by_role("button", name="Add a path").click()
    page.get_by_label("Path of externalId").fill("guid")
    page.get_by_role("button", name="Save changes").click()
    expect(said(page, "Saved.")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text("New name")
    page.reload()
    expect(page.get_by_label("Name", exact=True)).to_have_value("New name")
    expect(page.get_by_text("every 90 minutes")).to_be_visible()
    expect(page.get_by_label("Path of externalId")).to_have_value("guid")
    page.get_by_role("button", name="Save changes").click()
    expect(said(page, "Nothing has changed.")).to_be_visible()


def test_a_feed_that_has_moved_is_pointed_at_its_new_url(
    page: Page, site: Site, webloom: Webloom
) -> None:
    old = site.serve_feed("/before.rss", feed(2, first=30))
    new = site.serve_feed("/after.rss", feed(2, first=30))
    feed_id = add_feed(webloom, old, "Moving")["feedId"]
    page.goto(f"/feeds/{feed_id}")
    page.get_by_label("URL", exact=True).fill(new)
    page.get_by_role("button", name="Save changes").click()
    expect(said(page, "Saved.")).to_be_visible()
    expect(page.get_by_text("Moved from")).to_be_visible()
    page.reload()
    expect(page.get_by_label("URL", exact=True)).to_have_value(new)
    expect(page.get_by_text(old, exact=True)).to_be_visible()


def test_a_feed_is_paused_imported_and_resumed(page: Page, site: Site, webloom: Webloom) -> None:
    add_feed(webloom, site.serve_feed("/paused.rss", feed(2, first=30)), "Now and then")
    page.goto("/feeds")
    row = row_of(page, "Now and then")
    menu = row.get_by_role("button", name="More for Now and then")
    menu.click()
    row.get_by_role("button", name="Pause").click()
    expect(row.get_by_text("paused", exact=True)).to_be_visible()
    row.get_by_role("button", name="Import now").click()
    expect(row.get_by_text("completed")).to_be_visible()
    page.get_by_label("State", exact=True).select_option("paused")
    expect(page).to_have_url(re.compile(r"state=paused"))
    expect(page.get_by_text("1 feed", exact=True)).to_be_visible()
    menu.click()
    row.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("No matching feeds")).to_be_visible()


def test_a_feed_is_removed_after_a_question(page: Page, site: Site, webloom: Webloom) -> None:
    url = site.serve_feed("/removed.rss", feed(1, first=40))
    add_feed(webloom, url, "Not for long")
    page.goto("/feeds")
    row = row_of(page, "Not for long")
    menu = row.get_by_role("button", name="More for Not for long")
    remove = row.get_by_role("button", name="Remove")
    menu.click()
    remove.click()
    dialog = page.get_by_role("dialog", name="Remove this feed?")
    assert_accessible(page)
    dialog.get_by_role("button", name="Cancel").click()
    expect(menu).to_be_focused()
    menu.click()
    remove.click()
    dialog.get_by_role("button", name="Remove").click()
    expect(said(page, "Not for long is removed.")).to_be_visible()
    expect(row).to_have_count(0)
    assert url not in [each["url"] for each in ask(webloom, "GET", "/api/feeds")["data"]]


def test_feeds_come_from_opml_and_go_out_as_it(page: Page, site: Site, tmp_path: Path) -> None:
    url = site.serve_feed("/from-opml.rss", feed(1, first=50))
    given = tmp_path / "mine.opml"
    given.write_text(
        '<opml version="2.0"><head/><body>'
        f'<outline type="rss" text="From a list" xmlUrl="{url}"/>'
        '<outline type="rss" text="No address" xmlUrl="javascript:alert(1)"/>'
        '<outline text="A page" htmlUrl="https://page.test/"/>'
        "</body></opml>",
        encoding="utf-8",
    )
    page.goto("/feeds")
    page.get_by_role("button", name="Import OPML").click()
    dialog = page.get_by_role("dialog", name="Import OPML")
    dialog.get_by_label("OPML file").set_input_files(given)
    shown = dialog.get_by_text("mine.opml: 1 new feed, 0 known already, 0 listed twice, 1 refused.")
    expect(shown).to_be_focused()
    expect(dialog.get_by_text("1 entry has a page and no feed")).to_be_visible()
    rows = dialog.get_by_role("region", name="Feeds of the file").get_by_role("row")
    expect(rows.nth(1)).to_contain_text("From a list")
    expect(rows.nth(2)).to_contain_text("javascript:alert(1)")
    assert_accessible(page)
    assert_fits_a_phone(page)
    dialog.get_by_role("button", name="Add 1 feed").click()
    expect(dialog.get_by_text("1 feed added, 0 known already, 1 refused.")).to_be_visible()
    expect(dialog.get_by_role("listitem")).to_contain_text(
        "No address, javascript:alert(1): the URL"
    )
    dialog.get_by_role("button", name="Done").click()
    expect(row_of(page, "From a list")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export OPML").click()
    assert download.value.suggested_filename == "webloom-feeds.opml"
    assert url in download.value.path().read_text(encoding="utf-8")


def test_what_is_no_opml_is_refused(page: Page, tmp_path: Path, watched: Watched) -> None:
    watched.expected = ("400", "422")
    given = tmp_path / "photo.opml"
    given.write_bytes(b"\x89PNG is not a list of feeds")
    page.goto("/feeds")
    page.get_by_role("button", name="Import OPML").click()
    page.get_by_label("OPML file").set_input_files(given)
    refusal = page.get_by_role("dialog").get_by_role("alert")
    expect(refusal).to_contain_text("photo.opml could not be imported")


def test_a_feed_is_added_and_run_by_keyboard_alone(page: Page, site: Site) -> None:
    url = site.serve_feed("/keys.rss", feed(2, first=60))
    page.goto("/")
    tab_to(page, page.get_by_role("navigation", name="Main").get_by_role("link", name="Feeds"))
    page.keyboard.press("Enter")
    tab_to(page, page.get_by_role("link", name="Add feed"))
    page.keyboard.press("Enter")
    tab_to(page, page.get_by_label("URL", exact=True))
    page.keyboard.type(url)
    tab_to(page, page.get_by_label("Name", exact=True))
    page.keyboard.type("By keyboard")
    tab_to(page, page.get_by_role("checkbox", name="Import right after adding"))
    page.keyboard.press("Space")
    tab_to(page, page.get_by_role("button", name="Add feed", exact=True))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("By keyboard")
    expect(page.get_by_text("never imported")).to_be_visible()
    tab_to(page, page.get_by_role("button", name="Import now"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="completed run of By keyboard")).to_be_visible()
    remove = page.get_by_role("button", name="Remove", exact=True)
    tab_to(page, remove)
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Remove this feed?")
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(remove).to_be_focused()


def test_a_run_that_began_on_the_full_second_is_followed(
    page: Page, site: Site, webloom: Webloom
) -> None:
    """The server writes no fraction of that second, and one of the moments after it."""
    run = imported(webloom, site.serve_feed("/full.rss", feed(1)), "On the second")
    run |= {"runId": "next", "startedAt": "2999-01-01T00:00:00Z"}
    news = (
        run | {"status": "running", "updatedAt": "2999-01-01T00:00:00Z"},
        run | {"status": "partial", "updatedAt": "2999-01-01T00:00:00.379Z"},
    )
    body = "".join(f"event: import_log\ndata: {json.dumps(each)}\n\n" for each in news)
    page.route(
        "**/api/import-logs/stream",
        lambda route: route.fulfill(body=body, content_type="text/event-stream"),
    )
    page.goto("/feeds")
    expect(page.get_by_role("link", name="partial run of On the second")).to_be_visible()


def test_the_list_is_accessible_and_fits_a_phone(page: Page, site: Site, webloom: Webloom) -> None:
    url = f"{site.base}/{'without-end-' * 20}.rss"
    imported(webloom, url, f"{HOSTILE} {'endless' * 12}")
    page.goto("/feeds")
    expect(page.get_by_role("link", name=re.compile("endless")).first).to_be_visible()
    assert_nothing_ran(page)
    assert_accessible(page)
    assert_fits_a_phone(page)
