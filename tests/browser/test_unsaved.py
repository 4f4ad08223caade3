"""Edits that are not saved: whichever way a form is left, there is a question first."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from browser.acts import add_feed, paste
from browser.checks import assert_accessible, assert_not_reloaded, mark
from browser.conftest import Watched, ask
from browser.site import Site, feed
from e2e.running import Webloom


@pytest.fixture(scope="module")
def webloom(at_size: Webloom) -> Webloom:
    return at_size


def question(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Discard your changes?")


def reply(page: Page, button: str) -> None:
    question(page).get_by_role("button", name=button).click()
    expect(question(page)).to_have_count(0)


def go(page: Page, link: str) -> None:
    page.get_by_role("navigation").get_by_role("link", name=link, exact=True).click()


def shortcut(page: Page) -> None:
    page.get_by_role("heading", level=1).click()  # who types a text does not mean a shortcut
    page.keyboard.press("g")
    page.keyboard.press("i")


# How the page is left, and where that leads.
WAYS: list[tuple[Callable[[Page], object], str]] = [
    (lambda page: go(page, "System"), "/system"),
    (lambda page: page.evaluate("history.back()"), "/feeds"),
    (lambda page: page.evaluate("history.forward()"), "/queues"),
    (lambda page: page.evaluate("history.go(-2)"), "/"),
    (shortcut, "/inventory"),
]


def test_a_form_with_edits_asks_whichever_way_its_page_is_left(
    page: Page, webloom: Webloom, site: Site
) -> None:
    url = site.serve_feed("/edited.rss", feed(1))
    path = f"/feeds/{add_feed(webloom, url, 'Edited')['feedId']}"
    name = page.get_by_label("Name", exact=True)
    for leave, target in WAYS:
        page.goto("/")
        mark(page)
        go(page, "Feeds")
        page.get_by_role("link", name="Edited", exact=True).click()
        expect(name).to_have_value("Edited")
        go(page, "Queues")  # nothing was changed
        expect(page).to_have_url(re.compile("/queues$"))
        page.go_back()
        name.fill("Edited by me")
        leave(page)
        expect(question(page)).to_be_visible()
        expect(page).to_have_url(re.compile(f"{path}$"))
        page.keyboard.press("Escape")
        expect(question(page)).to_have_count(0)
        expect(name).to_have_value("Edited by me")
        expect(page).to_have_url(re.compile(f"{path}$"))
        leave(page)
        reply(page, "Discard")
        expect(page).to_have_url(re.compile(f"{re.escape(webloom.base)}{target}$"))
        expect(name).to_have_count(0)
        assert_not_reloaded(page)


def test_closing_the_tab_asks_only_while_there_are_edits(page: Page) -> None:
    page.goto("/watch/new")
    urls = page.get_by_label("URLs")
    urls.click()
    urls.fill("https://example.com/")
    with page.expect_event("dialog") as asked:
        page.close(run_before_unload=True)
    assert asked.value.type == "beforeunload"
    asked.value.dismiss()
    expect(urls).to_have_value("https://example.com/")
    urls.fill("")
    with page.expect_event("close"):
        page.close(run_before_unload=True)


def test_what_is_saved_is_left_without_a_question(page: Page, webloom: Webloom, site: Site) -> None:
    url = site.serve_feed("/saved.rss", feed(1))
    path = f"/feeds/{add_feed(webloom, url, 'Saved')['feedId']}"
    page.goto(path)
    page.get_by_label("Name", exact=True).fill("Saved again")
    page.get_by_role("button", name="Save changes").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Saved again")
    go(page, "Watch")
    page.get_by_role("link", name="Add a watch").first.click()
    page.get_by_label("URLs").fill(site.serve("/kept", b"<p>Kept"))
    page.get_by_role("link", name="Cancel").click()
    reply(page, "Keep editing")
    page.get_by_role("button", name="Add the watch").click()
    expect(page).to_have_url(re.compile("/watch/(?!new)[^/]+$"))
    go(page, "System")
    expect(page).to_have_url(re.compile("/system$"))


def test_a_dialog_with_text_asks_before_it_closes(page: Page, webloom: Webloom) -> None:
    ask(webloom, "POST", "/api/watches", {"urls": ["https://shop.test/tag"], "enabled": False})
    page.set_viewport_size({"width": 1440, "height": 800})
    page.goto("/watch")
    page.get_by_role("checkbox", name="Select all on this page").check()
    add_tags = page.get_by_role("button", name="Tag", exact=True)
    dialog = page.get_by_role("dialog", name="Add tags")
    tags = dialog.get_by_label("Tags")
    add_tags.click()
    page.keyboard.press("Escape")  # it is empty
    expect(dialog).to_have_count(0)
    add_tags.click()
    tags.fill("chairs")
    page.keyboard.press("Escape")
    expect(question(page)).to_be_visible()
    assert_accessible(page)
    page.keyboard.press("Escape")  # keeps them
    expect(question(page)).to_have_count(0)
    expect(tags).to_have_value("chairs")
    # As a phone does by its Back button, when it has asked once already.
    dialog.evaluate("dialog => dialog.close()")
    reply(page, "Keep editing")
    expect(tags).to_be_visible()
    dialog.get_by_role("button", name="Cancel").click()
    reply(page, "Discard")
    expect(dialog).to_have_count(0)
    expect(add_tags).to_be_focused()


def test_a_list_to_import_is_not_lost_by_escape(page: Page) -> None:
    page.goto("/watch")
    page.get_by_role("button", name="Import a list").click()
    dialog = page.get_by_role("dialog", name="Import a list of pages")
    dialog.get_by_label("List").fill("https://shop.test/a\nhttps://shop.test/b")
    page.keyboard.press("Escape")
    reply(page, "Keep editing")
    expect(dialog.get_by_label("List")).to_have_value(re.compile("shop.test/b"))
    dialog.get_by_role("button", name="Cancel").click()
    reply(page, "Discard")
    expect(dialog).to_have_count(0)


def test_a_pasted_list_or_another_name_is_not_lost_with_its_dialog(
    page: Page, site: Site, watched: Watched
) -> None:
    watched.expected = ("409",)  # the scheduler may be the first to check it
    url = site.serve("/named", b"<!doctype html><title>Some title</title><p>Text")
    dialog = page.get_by_role("dialog", name="Add an address")
    address, name = dialog.get_by_label("Address"), dialog.get_by_label("Name")
    page.goto("/queues")
    expect(page.get_by_role("heading", level=1)).to_be_visible()

    page.keyboard.press("Control+k")
    paste(address, "https://shop.test/a\nhttps://shop.test/b")
    is_list = dialog.get_by_text("This is a list of 2 addresses.").last
    expect(is_list).to_be_visible()
    page.keyboard.press("Escape")
    reply(page, "Keep editing")
    expect(is_list).to_be_visible()
    dialog.get_by_role("button", name="Close").click()
    reply(page, "Discard")
    expect(dialog).to_have_count(0)

    page.keyboard.press("Control+k")
    paste(address, url)
    expect(name).to_have_value("Some title")
    page.keyboard.press("Escape")  # nothing was changed
    expect(dialog).to_have_count(0)
    page.keyboard.press("Control+k")
    paste(address, url)
    name.fill("My title")
    page.keyboard.press("Escape")
    reply(page, "Keep editing")
    expect(name).to_have_value("My title")
    dialog.get_by_role("button", name="Watch this page").click()  # with it, and without a question
    expect(page.get_by_role("heading", level=1)).to_have_text("My title")
    expect(dialog).to_have_count(0)
    expect(question(page)).to_have_count(0)


def test_an_export_leaves_what_is_typed_alone(page: Page) -> None:
    text = page.get_by_label("URLs, one per line")
    page.goto("/inventory")
    text.fill("typed with care")
    page.get_by_role("button", name="Export").click()
    with page.expect_download():
        page.get_by_role("link", name="CSV of all that match").click()
    expect(question(page)).to_have_count(0)
    expect(text).to_have_value("typed with care")
    page.keyboard.press("Escape")
    go(page, "Queues")
    reply(page, "Keep editing")
    expect(text).to_have_value("typed with care")


def test_edits_count_again_where_the_page_stays_after_all(page: Page, webloom: Webloom) -> None:
    body = {"urls": ["https://shop.test/stays"], "enabled": False}
    page.goto(f"/watch/{ask(webloom, 'POST', '/api/watches', body)['jobId']}")
    page.route("**/*.atom*", lambda route: route.fulfill(status=204))
    runs = page.get_by_role("region", name="Runs", exact=True)
    runs.get_by_role("button", name="Views").click()
    name = runs.get_by_label("Name of this view")
    name.fill("typed with care")
    page.keyboard.press("Escape")
    with page.expect_response("**/*.atom*"):
        page.get_by_role("link", name="Atom feed").click()
        reply(page, "Discard")
    go(page, "Queues")
    reply(page, "Keep editing")
    runs.get_by_role("button", name="Views").click()
    expect(name).to_have_value("typed with care")


@pytest.mark.parametrize(
    ("path", "field"),
    [("/inventory", "URLs, one per line"), ("/watch", "Name of this view")],
)
def test_a_text_outside_of_a_form_counts_too(page: Page, path: str, field: str) -> None:
    page.goto(path)
    if path == "/watch":
        page.get_by_role("button", name="Views").click()
    page.get_by_label(field).fill("typed with care")
    page.keyboard.press("Escape")
    go(page, "Queues")
    reply(page, "Discard")
    expect(page).to_have_url(re.compile("/queues$"))
