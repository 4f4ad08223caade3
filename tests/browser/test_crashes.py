"""A browser that crashes says nothing about the code: its test runs once more."""

from __future__ import annotations

from pathlib import Path

from browser.conftest import chromium
from small_suite import FAILS_AT_FIRST, run, suite

__all__ = ["suite"]  # a fixture

BROWSER_AT_FIRST = """
def test_browser(browser):
    if is_first("browser"):
        browser.new_browser_cdp_session().send("Browser.crash")
"""


def test_a_browser_that_crashed_is_tried_once_more_alone(suite: Path) -> None:
    chromium()  # or skip this test
    plugins = ("-n0", "-p", "browser.conftest")
    code, said = run(suite, FAILS_AT_FIRST + BROWSER_AT_FIRST, *plugins)
    assert code == 0, said
    assert "Once more, alone:\n  test_it.py::test_browser\n" in said
