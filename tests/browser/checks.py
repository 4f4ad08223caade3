"""What holds for every screen, checked where it shows real data."""

from __future__ import annotations

from typing import Literal

from playwright.sync_api import Locator, Page, expect

from browser.conftest import violations

PHONE = 390
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")

# `wait_for_function` is no help here: the page's policy forbids the eval that it waits with.
_FADED = """() => {
  const fades = document.getAnimations().filter(each => each instanceof CSSTransition);
  return Promise.allSettled(fades.map(each => each.finished));
}"""
_RESIZED = """width => new Promise(done => {
  const isWide = () => document.documentElement.clientWidth !== width;
  const look = () => requestAnimationFrame(isWide() ? look : () => requestAnimationFrame(done));
  look();
})"""


def section(page: Page, title: str) -> Locator:
    """The card with this heading."""
    heading = page.get_by_role("heading", level=2, name=title, exact=True)
    return page.locator("section").filter(has=heading)


def assert_accessible(page: Page) -> None:
    """As it is shown, in the light and in the dark theme."""
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        page.evaluate(_FADED)
        found = violations(page)
        assert found == [], f"{page.url}, {scheme}: {found}"
    page.emulate_media(color_scheme="light")


def assert_fits_a_phone(page: Page) -> None:
    """Wide things scroll in their own box, never the page."""
    page.set_viewport_size({"width": PHONE, "height": 800})
    page.evaluate(_RESIZED, PHONE)
    expect(page.locator("html")).to_have_js_property("scrollWidth", PHONE)
    page.set_viewport_size({"width": 1280, "height": 800})


def mark(page: Page) -> None:
    """So that `assert_not_reloaded` can tell."""
    page.evaluate("window.isTheSame = true")


def assert_not_reloaded(page: Page) -> None:
    assert page.evaluate("window.isTheSame === true")


def assert_nothing_ran(page: Page) -> None:
    """Of a page's hostile text: it is shown, and no element is made of it."""
    assert "owned" not in page.title()
    assert page.locator("main img, main script, main iframe, main [onerror]").count() == 0
