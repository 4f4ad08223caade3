"""A real browser on the real server.

Every page that a test opens is watched: an error on its console, a violation of its policy, or a
request to anywhere else than the server fails the test at its end.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    expect,
    sync_playwright,
)

from browser.furnished import furnished
from browser.site import Site, served_site
from e2e.running import Webloom, running_for_module
from outcomes import mark_as_infrastructure
from servers.private import DidNotStart, program
from timeouts import TIMEOUT_SECONDS

UI = Path(__file__).parents[2] / "src/webloom/_ui"
AXE = Path(__file__).parents[2] / "admin/node_modules/axe-core/axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
COLOR_RULES = ["color-contrast", "link-in-text-block"]
CRASHED = ("Page crashed", "Target crashed", "page crashed!")
QUIET = ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
NO_GPU = "--disable-gpu"  # to emulate one takes more of the processor than to do without


def chromium() -> str:
    """The path of its program."""
    return program(
        "Chromium", "apt-get install chromium", "chromium", "chromium-browser", "google-chrome"
    )


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """For this folder: while it is open, no other event loop can run in this thread."""
    executable = chromium()
    expect.set_options(timeout=TIMEOUT_SECONDS * 1000)
    with sync_playwright() as playwright:
        try:
            opened = playwright.chromium.launch(
                executable_path=executable, args=[*QUIET, NO_GPU], timeout=TIMEOUT_SECONDS * 1000
            )
        except Error as error:
            raise DidNotStart(f"Chromium: {error}") from error
        yield opened
        opened.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    browser = getattr(item, "funcargs", {}).get("browser")
    if report.failed and isinstance(browser, Browser):
        assert call.excinfo is not None
        error = call.excinfo.value
        crashed = isinstance(error, Error) and error.message.endswith(CRASHED)
        if crashed or not browser.is_connected():
            mark_as_infrastructure(report, f"Chromium is gone: {error}")
    return report


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with served_site() as site:
        yield site


@pytest.fixture(scope="module")
def webloom(tmp_path_factory: pytest.TempPathFactory, site: Site) -> Iterator[Webloom]:
    """API, worker and scheduler that may fetch from the site."""
    assert (UI / "index.html").exists(), "the admin UI is not built: make setup"
    data = tmp_path_factory.mktemp("browser") / "data"
    allowed = f"127.0.0.1:{site.port}"
    with running_for_module("up", data_dir=data, allow_addresses=allowed) as it:
        yield it


@pytest.fixture(scope="package")
def at_size(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    """As `webloom`, with 10,000 watches and 200 feeds: one for all modules that want no more."""
    with furnished(tmp_path_factory.mktemp("at-size")) as it:
        yield it


@dataclass(kw_only=True)
class Watched:
    """What pages of one context did that they should not."""

    base: str
    wrong: list[str] = field(default_factory=list)
    expected: tuple[str, ...] = ()  # parts of console errors that the test provokes

    def follow(self, page: Page) -> None:
        page.on("console", self._note_console)
        page.on("pageerror", lambda error: self.wrong.append(f"error on the page: {error}"))
        page.on("request", lambda request: self._note_request(request.url))

    def _note_console(self, said: ConsoleMessage) -> None:
        """Of a busy machine /health may say for a moment that it is down, by a 503."""
        is_health = said.location["url"] == f"{self.base}/health" and "503" in said.text
        is_expected = is_health or any(each in said.text for each in self.expected)
        if said.type in ("error", "warning") and not is_expected:
            self.wrong.append(f"console {said.type}: {said.text}")

    def _note_request(self, url: str) -> None:
        if not url.startswith((self.base, "blob:", "data:")):
            self.wrong.append(f"request to {url}")


@pytest.fixture
def watched(webloom: Webloom) -> Iterator[Watched]:
    it = Watched(base=webloom.base)
    yield it
    assert it.wrong == []


@pytest.fixture
def context(browser: Browser, webloom: Webloom, watched: Watched) -> Iterator[BrowserContext]:
    opened = browser.new_context(
        base_url=webloom.base,
        viewport={"width": 1280, "height": 800},
        locale="en-GB",
        timezone_id="UTC",
    )
    opened.set_default_timeout(TIMEOUT_SECONDS * 1000)
    opened.on("page", watched.follow)
    yield opened
    opened.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


def ask(webloom: Webloom, method: str, path: str, body: object = None) -> Any:
    """The API as a program sees it."""
    request = urllib.request.Request(
        f"{webloom.base}{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def violations(page: Page, *, of_colors: bool = False) -> list[str]:
    """What axe finds against WCAG 2.2 AA, or only what colours can be wrong about."""
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate(
        "rules => axe.run(document, {runOnly: rules}).then(done => done.violations)",
        COLOR_RULES if of_colors else RULES,
    )
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in found]
