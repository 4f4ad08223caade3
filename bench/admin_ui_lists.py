"""Screens of the admin UI with 10,000 watches: how soon the list can be used, how long the browser
is busy while it is scrolled, and what moves while screens are loaded."""

import asyncio
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, Page, sync_playwright

from bench.table import Row
from browser.checks import MOST_SHIFT, PHONE, note_shifts
from browser.furnished import WATCHES, furnished
from browser.site import served_site
from browser.test_screens import DESKTOP, SCREENS, furnish_loom, open_at
from e2e.running import Webloom
from servers.private import program

LOADS = 10
MOST_MS = 1000.0  # until the list can be used
LONGEST_TASK_MS = 50.0
WHEELS, WHEEL_PIXELS = 40, 400

# From the start of the navigation until a row is there; its handlers are, too, as React made it.
_NOTE_ROWS = """
new MutationObserver((_, observer) => {
  if (!document.querySelector('[data-index] input[type=checkbox]')) return;
  observer.disconnect();
  requestAnimationFrame(() => { window.usable = performance.now(); });
}).observe(document, {subtree: true, childList: true});
"""
_NOTE_TASKS = """() => {
  window.tasks = [];
  new PerformanceObserver(list => window.tasks.push(...list.getEntries().map(({duration}) => duration)))
    .observe({type: 'longtask'});
}"""  # noqa: E501 - it is JavaScript


async def measure_lists(folder: Path) -> list[Row]:
    return await asyncio.to_thread(_measure, folder)


def _measure(folder: Path) -> list[Row]:
    chromium = program("Chromium", "apt-get install chromium", "chromium", "chromium-browser")
    with (
        served_site() as site,
        furnished(folder) as webloom,
        sync_playwright() as playwright,
    ):
        loom = furnish_loom(webloom, site)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--disable-gpu"])
        rows = [_usable(browser, webloom), _scrolled(browser, webloom)]
        rows += [_shifts(browser, webloom, loom, width) for width in (PHONE, DESKTOP)]
        browser.close()
    return rows


def _new_page(browser: Browser, webloom: Webloom) -> Page:
    """With an empty cache."""
    context = browser.new_context(
        base_url=webloom.base, viewport={"width": DESKTOP, "height": 900}, bypass_csp=True
    )
    return context.new_page()


def _limited(measure: str, unit: str, value: float, limit: float) -> Row:
    return Row(
        measure=measure,
        unit=unit,
        webloom=value,
        peer="the limit",
        peer_value=limit,
        must=1.0,
        lower_is_better=True,
    )


def _usable(browser: Browser, webloom: Webloom) -> Row:
    took = []
    for _ in range(LOADS):
        page = _new_page(browser, webloom)
        page.add_init_script(_NOTE_ROWS)
        page.goto("/watch")
        found = page.wait_for_function("window.usable")
        took.append(float(found.json_value()))
        page.context.close()
    name = f"list of {WATCHES:,} watches until it can be used, empty cache, median of {LOADS}"
    return _limited(name, "ms", median(took), MOST_MS)


def _scrolled(browser: Browser, webloom: Webloom) -> Row:
    """To the end of a page, and back. The browser names only tasks of more than 50 ms."""
    page = _new_page(browser, webloom)
    page.goto("/watch")
    page.wait_for_selector("[data-index]")
    page.evaluate(_NOTE_TASKS)
    page.mouse.move(DESKTOP / 2, 500)
    for step in (WHEEL_PIXELS, -WHEEL_PIXELS):
        for _ in range(WHEELS):
            page.mouse.wheel(0, step)
            page.evaluate("new Promise(requestAnimationFrame)")
    tasks = page.evaluate("window.tasks")
    page.context.close()
    name = f"longest task while {WATCHES:,} watches are scrolled ({len(tasks)} over 50 ms)"
    return _limited(name, "ms", max(tasks, default=LONGEST_TASK_MS), LONGEST_TASK_MS)


def _shifts(browser: Browser, webloom: Webloom, loom: str, width: int) -> Row:
    scores = {}
    for screen in SCREENS:
        page = _new_page(browser, webloom)
        note_shifts(page)
        open_at(page, screen, width, loom)
        page.wait_for_load_state("load")
        scores[screen.path.partition("?")[0]] = sum(
            score for score, *_ in page.evaluate("window.shifts")
        )
        page.context.close()
    worst = max(scores, key=lambda path: scores[path])
    name = f"layout shift at {width} px, worst of {len(SCREENS)} screens ({worst})"
    return _limited(name, "CLS", scores[worst], MOST_SHIFT)
