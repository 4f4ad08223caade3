"""Lists of pages: shown first, then imported."""

from __future__ import annotations

import re
from pathlib import Path
from random import randbytes

import pytest
from playwright.sync_api import Page, expect

from browser.acts import paste
from browser.checks import assert_accessible, assert_fits_a_phone
from browser.conftest import ask
from browser.site import Site, feed, product
from browser.test_watch import check
from changedetection import backup, watch
from e2e.running import Webloom


@pytest.fixture(scope="module")
def webloom(at_size: Webloom) -> Webloom:
    return at_size


def test_a_list_is_imported_as_far_as_it_can_be(page: Page, site: Site) -> None:
    one = site.serve("/list/one", product("One", "1.00"))
    two = site.serve("/list/two", product("Two", "2.00"))
    page.goto("/watch?q=list")
    page.get_by_role("button", name="Import a list").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("List").fill(f"# mine\n{one}\n{two}\n{one}\nftp://files.test/\n")
    dialog.get_by_role("button", name="Preview").click()
    said = dialog.get_by_role("status").filter(has_text="A list of addresses")
    expect(said).to_contain_text("2 new, 0 watched already, 1 listed twice, 1 refused.")
    entries = dialog.get_by_role("region", name="Entries of the list").get_by_role("row")
    expect(entries).to_have_count(1 + 4)
    dialog.get_by_role("button", name="Refused 1").click()
    expect(entries).to_have_count(1 + 1)
    expect(entries.nth(1)).to_contain_text("ftp://files.test/")
    assert_accessible(page)
    assert_fits_a_phone(page)
    dialog.get_by_role("checkbox", name="Also add pages").check()
    expect(dialog.get_by_role("button", name="Add 3 watches")).to_be_visible()
    dialog.get_by_role("checkbox", name="Also add pages").uncheck()
    dialog.get_by_role("button", name="Add 2 watches").click()
    expect(dialog.get_by_text("2 watches added, 1 left out, 1 refused.")).to_be_focused()
    refused = dialog.get_by_role("region", name="Rejected entries")
    expect(refused.get_by_role("row").nth(1)).to_contain_text("ftp://files.test/")
    assert_accessible(page)
    dialog.get_by_role("button", name="Done").click()
    expect(page.get_by_role("table", name="Watches")).to_contain_text("/list/one")
    page.get_by_role("link", name="Pages", exact=True).click()
    pages = page.get_by_role("table", name="Pages").get_by_role("row")
    expect(pages.filter(has_text="/list/one")).to_contain_text("€1.00")
    assert_accessible(page)
    assert_fits_a_phone(page)
    page.get_by_label("Search", exact=True).fill("list/two")
    expect(page).to_have_url(re.compile("q=list"))
    expect(pages).to_have_count(2)
    page.reload()
    expect(pages).to_have_count(2)


def test_a_backup_of_changedetection_is_imported(
    page: Page, webloom: Webloom, tmp_path: Path
) -> None:
    """Its snapshots, which are larger than the API takes, are not sent."""
    given = tmp_path / "changedetection-backup.zip"
    given.write_bytes(
        backup(
            watch("https://kept.test/a", title="Kept <b>one</b>", paused=True, headers={"A": "b"}),
            watch("https://kept.test/b", paused=True, tags=["shops"]),
            groups={"shops": {"title": "Shops"}},
            more={"0/1.txt.br": randbytes(17 << 20)},
        )
    )
    page.goto("/watch")
    page.get_by_role("button", name="Import a list").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("File").set_input_files(given)
    said = dialog.get_by_role("status").filter(has_text="A backup of changedetection.io: 2 new")
    expect(said).to_be_focused()
    lost = dialog.get_by_role("group").filter(has_text="Not carried over").get_by_role("listitem")
    expect(lost).to_have_text(["Snapshots and history", "Request headers (1 entry)"])
    entries = dialog.get_by_role("region", name="Entries of the list").get_by_role("row")
    expect(entries.nth(1)).to_contain_text("Kept <b>one</b>")
    expect(entries.nth(1)).to_contain_text("Not carried over: Request headers")
    expect(entries.nth(2)).to_contain_text("paused · tagged Shops")
    assert_accessible(page)
    dialog.get_by_role("button", name="Add 2 watches").click()
    expect(dialog.get_by_text("2 watches added, 0 left out, 0 refused.")).to_be_visible()
    dialog.get_by_role("button", name="Done").click()
    added = ask(webloom, "GET", "/api/watches?q=kept.test")["data"]
    assert [each["enabled"] for each in added] == [False, False]


def test_the_buttons_of_a_long_list_stay_on_the_screen(page: Page) -> None:
    page.goto("/watch")
    page.get_by_role("button", name="Import a list").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("List").fill("\n".join(f"https://long.test/{n}" for n in range(90)))
    dialog.get_by_role("button", name="Preview").click()
    add = dialog.get_by_role("button", name="Add 90 watches")
    expect(add).to_be_in_viewport(ratio=1)
    shown, whole = dialog.evaluate("each => [each.clientHeight, each.scrollHeight]")
    assert whole > 2 * shown
    dialog.evaluate("each => each.scrollTo(0, each.scrollHeight)")
    expect(dialog.get_by_role("row").last).to_be_in_viewport(ratio=1)
    expect(add).to_be_in_viewport(ratio=1)
    assert_accessible(page)


def test_several_lines_in_the_one_field_are_a_list(page: Page, webloom: Webloom) -> None:
    ask(webloom, "POST", "/api/watches", {"url": "https://lines.test/b", "enabled": False})
    page.goto("/watch?q=lines.test")
    expect(page.get_by_role("table", name="Watches")).to_contain_text("lines.test/b")
    page.keyboard.press("Control+k")
    one = page.get_by_role("dialog", name="Add an address")
    expect(one.get_by_role("button", name="Look it up")).to_be_visible()
    lines = "# mine\nlines.test/a\nlines.test/b\nmailto:a@lines.test\n"
    paste(one.get_by_label("Address"), lines)
    expect(one.get_by_text("This is a list of 3 addresses.").last).to_be_visible()
    one.get_by_role("button", name="Preview the import").click()
    dialog = page.get_by_role("dialog", name="Import a list of pages")
    expect(dialog.get_by_text("1 new, 1 watched already, 0 listed twice, 1")).to_be_visible()
    expect(dialog.get_by_role("row").nth(1)).to_contain_text("https://lines.test/a")
    dialog.get_by_role("button", name="Back").click()
    expect(dialog.get_by_label("List")).to_have_value(re.compile("lines.test/a"))
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(one.get_by_role("button", name="Preview the import")).to_be_visible()


def test_opml_on_one_line_is_a_list_of_feeds_or_of_pages(
    page: Page, webloom: Webloom, site: Site
) -> None:
    url = site.serve_feed("/pasted.rss", feed(1))
    opml = (
        '<opml version="2.0"><head/><body>'
        f'<outline type="rss" text="Pasted" xmlUrl="{url}" htmlUrl="https://pasted.test/"/>'
        "</body></opml>"
    )
    page.goto("/queues")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press("Control+k")
    one = page.get_by_role("dialog", name="Add an address")
    expect(one.get_by_role("button", name="Look it up")).to_be_visible()
    paste(one.get_by_label("Address"), opml)
    expect(one.get_by_text("This is a list of feeds or pages (OPML).").last).to_be_visible()
    assert_accessible(page)
    one.get_by_role("button", name="Preview as pages").click()
    pages = page.get_by_role("dialog", name="Import a list of pages")
    expect(pages.get_by_text("OPML: 1 new")).to_be_visible()
    pages.get_by_role("button", name="Back").click()
    page.keyboard.press("Escape")
    expect(pages).to_be_hidden()
    one.get_by_role("button", name="Preview as feeds").click()
    feeds = page.get_by_role("dialog", name="Import OPML")
    expect(feeds.get_by_text("The list: 1 new feed")).to_be_visible()
    assert_accessible(page)
    feeds.get_by_role("button", name="Add 1 feed").click()
    expect(feeds.get_by_text("1 feed added")).to_be_visible()
    feeds.get_by_role("button", name="Done").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Feeds")
    expect(one).to_have_count(0)
    [added] = [each for each in ask(webloom, "GET", "/api/feeds")["data"] if each["url"] == url]
    assert added["name"] == "Pasted"


def test_json_on_one_line_is_a_list(page: Page) -> None:
    page.goto("/queues")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press("Control+k")
    one = page.get_by_role("dialog", name="Add an address")
    expect(one.get_by_role("button", name="Look it up")).to_be_visible()
    paste(one.get_by_label("Address"), '["https://json.test/a", "https://json.test/b"]')
    one.get_by_role("button", name="Preview the import").click()
    dialog = page.get_by_role("dialog", name="Import a list of pages")
    expect(dialog.get_by_text("JSON: 2 new")).to_be_visible()


def test_the_watches_of_chosen_pages_are_removed(page: Page, webloom: Webloom, site: Site) -> None:
    for name in ("gone", "stays"):
        body = {"url": site.serve(f"/shown/{name}", b"<p>Text"), "name": name, "enabled": False}
        check(webloom, ask(webloom, "POST", "/api/watches", body))
    page.goto("/watch?show=pages&q=shown")
    gone = page.get_by_role("table", name="Pages").get_by_role("row").filter(has_text="/shown/gone")
    gone.get_by_role("checkbox").check()
    page.get_by_role("button", name="Remove", exact=True).click()
    question = page.get_by_role("dialog", name="Remove the watches of 1 page?")
    question.get_by_label("Also delete their stored pages").check()
    question.get_by_role("button", name="Remove").click()
    expect(page.get_by_text("1 watch removed.")).to_be_visible()
    expect(page.get_by_role("table", name="Pages").get_by_role("rowheader")).to_have_count(1)
    left = ask(webloom, "GET", "/api/watches?q=shown")["data"]
    assert [each["name"] for each in left] == ["stays"]
