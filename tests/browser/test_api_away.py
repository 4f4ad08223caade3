"""The server goes away under an open page, and comes back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from browser.checks import assert_accessible, assert_not_reloaded, mark
from browser.conftest import Watched, ask
from browser.site import Site
from e2e.running import Webloom, running_for_module

AWAY = "Webloom is not responding. What you see may be out of date"


@pytest.fixture
def webloom(tmp_path_factory: pytest.TempPathFactory, site: Site) -> Iterator[Webloom]:
    """One for each test, which ends it."""
    data = tmp_path_factory.mktemp("away") / "data"
    with running_for_module("up", data_dir=data, allow_addresses=f"127.0.0.1:{site.port}") as it:
        yield it


def cut_off(webloom: Webloom) -> None:
    webloom.process.kill()
    webloom.process.wait()


def test_an_open_page_reports_the_outage_keeps_its_content_and_recovers(
    page: Page, webloom: Webloom, site: Site, watched: Watched
) -> None:
    watched.expected = ("net::ERR_",)
    before = site.serve("/before", b"<p>before</p>")
    ask(webloom, "POST", "/metadata", {"url": before})
    page.goto("/inventory")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name=before))
    expect(row).to_contain_text("completed")
    mark(page)

    cut_off(webloom)
    notice = page.get_by_role("alert").filter(has_text=AWAY)
    expect(notice).to_be_visible()
    expect(row).to_contain_text("completed")
    page.get_by_label("URLs, one per line").fill("https://a.test/")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_label("URLs, one per line")).to_have_attribute("aria-invalid", "true")
    assert_accessible(page)

    with running_for_module(
        "up",
        data_dir=webloom.data_dir,
        allow_addresses=f"127.0.0.1:{site.port}",
        port=webloom.port,
    ) as again:
        expect(notice).to_have_count(0)
        after = site.serve("/after", b"<p>after</p>")
        ask(again, "POST", "/metadata", {"url": after})
        came = page.get_by_role("row").filter(has=page.get_by_role("link", name=after))
        expect(came).to_contain_text("completed")
        expect(page.get_by_label("URLs, one per line")).to_have_value("https://a.test/")
        assert_not_reloaded(page)
        page.goto("/")  # lets go of its streams before the server ends


def test_a_page_that_could_not_load_loads_when_the_server_is_back(
    page: Page, webloom: Webloom, site: Site, watched: Watched
) -> None:
    watched.expected = ("net::ERR_",)
    page.goto("/queues")
    expect(page.get_by_text("metadata_queue")).to_be_visible()
    cut_off(webloom)
    expect(page.get_by_role("alert").filter(has_text=AWAY)).to_be_visible()
    mark(page)
    page.get_by_role("banner").get_by_role("button", name="Health: not responding").click()
    said = page.locator("#problems")
    expect(said).to_contain_text(f"Nothing has come from 127.0.0.1:{webloom.port} since")
    expect(said.get_by_role("time")).to_be_visible()
    expect(said).to_contain_text("tries again automatically")
    expect(said.get_by_role("link")).to_have_count(0)
    assert_accessible(page)
    assert_not_reloaded(page)
    expect(page.get_by_text("metadata_queue")).to_be_visible()
    with running_for_module("up", data_dir=webloom.data_dir, port=webloom.port):
        expect(page.get_by_role("alert").filter(has_text=AWAY)).to_have_count(0)
        expect(page.get_by_role("link", name="Health: all well")).to_be_visible()
