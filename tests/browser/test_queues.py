"""Queues and their dead letters. No worker runs here, so that what is put back stays to be seen."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from browser.acts import assert_focus_is_kept, tab_to, two_tabs
from browser.checks import (
    assert_accessible,
    assert_fits_a_phone,
    assert_not_reloaded,
    assert_nothing_ran,
    mark,
    section,
)
from browser.site import HOSTILE
from e2e.running import Webloom, environment, running_for_module
from webloom.bootstrap.connections import open_services
from webloom.domain.inventory import METADATA_QUEUE
from webloom.domain.page import STORAGE_QUEUE
from webloom.ports.broker import Message
from webloom.settings import load_settings

REASON = f"not a request: {HOSTILE}"


@pytest.fixture(scope="module")
def webloom(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    with running_for_module("api", data_dir=tmp_path_factory.mktemp("queues") / "data") as it:
        yield it


def dead_letter(webloom: Webloom, queue: str, **letters: str) -> None:
    """Message ids and what is in them. In a thread, as Playwright's loop occupies this one."""

    async def work() -> None:
        async with open_services(load_settings(environment(webloom.data_dir))) as services:
            for name, body in letters.items():
                await services.broker.publish(queue, Message(id=name, body=body.encode()))
            async with services.broker.deliveries(queue, len(letters)) as deliveries:
                for _ in letters:
                    await (await anext(deliveries)).dead_letter(REASON)

    thread = threading.Thread(target=lambda: asyncio.run(work()))
    thread.start()
    thread.join()


def figure(card: Locator, name: str) -> Locator:
    return card.locator(f"dt:text-is('{name}') + dd")


def letter(page: Page, name: str) -> Locator:
    return page.get_by_role("table", name="Dead letters").get_by_role("row").filter(has_text=name)


def choose(letter: Locator, action: str) -> None:
    """In the menu of the letter."""
    letter.get_by_role("button", name="More for").click()
    letter.get_by_role("button", name=action).click()


def test_depth_and_dead_letters_are_counted_live(page: Page, webloom: Webloom) -> None:
    page.goto("/queues")
    mark(page)
    card = section(page, "watch-pages")
    expect(figure(card, "Ready")).to_have_text("0")
    expect(figure(card, "Dead")).to_have_text("0")
    expect(card.get_by_role("img", name="0 ready of at most 1,000,000")).to_be_visible()
    dead_letter(webloom, "watch-pages", first="nonsense")
    expect(figure(card, "Dead")).to_have_text("1")
    assert_not_reloaded(page)
    assert_accessible(page)
    assert_fits_a_phone(page)
    card.get_by_role("link", name="See 1 dead letter").click()
    expect(page).to_have_url(re.compile("/queues/watch-pages$"))
    expect(letter(page, "first")).to_contain_text("not a request")


def test_reason_and_payload_are_text(page: Page, webloom: Webloom) -> None:
    payload = '{"url": "https://a.test/"}'
    dead_letter(webloom, "import-feed", hostile=HOSTILE, plain=payload, empty="")
    page.goto("/queues/import-feed")
    expect(letter(page, "hostile")).to_contain_text(REASON)
    letter(page, "hostile").get_by_role("button", name="Payload").click()
    expect(page.get_by_role("region", name="Payload of hostile")).to_contain_text(HOSTILE)
    letter(page, "plain").get_by_role("button", name="Payload").click()
    expect(page.get_by_role("region", name="Payload of plain")).to_contain_text("https://a.test/")
    letter(page, "empty").get_by_role("button", name="Payload").click()
    expect(letter(page, "empty")).to_contain_text("The message is empty.")
    assert_nothing_ran(page)
    assert_accessible(page)
    assert_fits_a_phone(page)


def test_one_is_put_back_and_many_are_discarded(page: Page, webloom: Webloom) -> None:
    dead_letter(webloom, METADATA_QUEUE, **{f"letter-{number}": "x" for number in range(4)})
    page.goto(f"/queues/{METADATA_QUEUE}")
    mark(page)
    now = section(page, "Now")
    expect(figure(now, "Dead")).to_have_text("4")

    choose(letter(page, "letter-0"), "Put back")
    page.get_by_role("dialog").get_by_role("button", name="Put back").click()
    expect(page.get_by_text("1 dead letter put back")).to_be_visible()
    expect(letter(page, "letter-0")).to_have_count(0)
    expect(figure(now, "Ready")).to_have_text("1")
    expect(figure(now, "Dead")).to_have_text("3")

    letter(page, "letter-1").get_by_role("checkbox").check()
    letter(page, "letter-2").get_by_role("checkbox").check()
    expect(page.get_by_text("2 dead letters selected")).to_be_visible()
    discard = page.get_by_role("button", name="Discard", exact=True)
    discard.click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(letter(page, "letter-1")).to_be_visible()
    discard.click()
    dialog = page.get_by_role("dialog", name="Discard 2 dead letters?")
    dialog.get_by_role("button", name="Discard").click()
    expect(letter(page, "letter-1")).to_have_count(0)
    expect(letter(page, "letter-3")).to_be_visible()
    expect(figure(now, "Dead")).to_have_text("1")

    dead_letter(
        webloom, METADATA_QUEUE, late="y"
    )  # takes what is ready: the letter that was put back
    expect(figure(now, "Dead")).to_have_text("2")
    page.get_by_role("checkbox", name="Select all on this page").check()
    discard.click()
    page.get_by_role("dialog").get_by_role("button", name="Discard").click()
    expect(page.get_by_text("No dead letters", exact=True)).to_be_visible()
    expect(figure(now, "Dead")).to_have_text("0")
    assert_not_reloaded(page)


def test_what_is_discarded_in_one_tab_is_gone_in_the_other(
    context: BrowserContext, webloom: Webloom
) -> None:
    dead_letter(webloom, STORAGE_QUEUE, first="x", second="y")
    tabs = two_tabs(context, f"/queues/{STORAGE_QUEUE}")
    for tab in tabs:
        expect(letter(tab, "first")).to_be_visible()
    choose(letter(tabs[0], "first"), "Discard")
    tabs[0].get_by_role("dialog").get_by_role("button", name="Discard").click()
    for tab in tabs:
        expect(letter(tab, "first")).to_have_count(0)
        expect(letter(tab, "second")).to_be_visible()
        expect(figure(section(tab, "Now"), "Dead")).to_have_text("1")
        assert_not_reloaded(tab)


def test_letters_are_put_back_and_discarded_by_keyboard_alone(page: Page, webloom: Webloom) -> None:
    dead_letter(webloom, STORAGE_QUEUE, typed="x", marked="y", other="z")
    page.goto(f"/queues/{STORAGE_QUEUE}")
    menu = letter(page, "typed").get_by_role("button", name="More for")
    put_back = letter(page, "typed").get_by_role("button", name="Put back")
    dialog = page.get_by_role("dialog")
    tab_to(page, menu)
    page.keyboard.press("Enter")
    tab_to(page, put_back)
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(menu).to_be_focused()
    page.keyboard.press("Enter")
    tab_to(page, put_back)
    page.keyboard.press("Enter")
    tab_to(page, dialog.get_by_role("button", name="Put back"))
    page.keyboard.press("Enter")
    expect(letter(page, "typed")).to_have_count(0)
    assert_focus_is_kept(page)

    tab_to(page, letter(page, "marked").get_by_role("checkbox"))
    page.keyboard.press("Space")
    tab_to(page, page.get_by_role("button", name="Discard", exact=True))
    page.keyboard.press("Space")
    tab_to(page, dialog.get_by_role("button", name="Discard"))
    page.keyboard.press("Space")
    expect(letter(page, "marked")).to_have_count(0)
    expect(letter(page, "other")).to_be_visible()
    assert_focus_is_kept(page)


def test_a_queue_that_is_not_there_says_so(page: Page) -> None:
    page.goto("/queues/nothing")
    expect(page.get_by_text("Queue not found")).to_be_visible()
    expect(page.get_by_text(METADATA_QUEUE)).to_be_visible()
