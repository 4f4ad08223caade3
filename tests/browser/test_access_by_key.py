"""A Webloom that wants a key: asked for once in a tab, and sent with everything after that."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from browser.checks import assert_accessible, assert_fits_a_phone, assert_not_reloaded, mark
from browser.conftest import Watched
from browser.site import Site
from e2e.running import Webloom, running_for_module
from timeouts import TIMEOUT_SECONDS

KEY = "wl_a-key-for-the-browser"


@pytest.fixture(scope="module")
def webloom(tmp_path_factory: pytest.TempPathFactory, site: Site) -> Iterator[Webloom]:
    data = tmp_path_factory.mktemp("keys") / "data"
    allowed = f"127.0.0.1:{site.port}"
    with running_for_module("up", data_dir=data, allow_addresses=allowed, api_keys=KEY) as it:
        submit(it, site.serve("/kept-secret", b"<p>secret</p>"))
        yield it


@pytest.fixture(autouse=True)
def _asked_without_the_key(watched: Watched) -> None:
    watched.expected = ("401", "403")


def submit(webloom: Webloom, url: str) -> None:
    request = urllib.request.Request(
        f"{webloom.base}/metadata",
        data=json.dumps({"url": url}).encode(),
        headers={"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"},
    )
    urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS).close()


def give(page: Page, key: str) -> None:
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Sign in").click()


@pytest.mark.parametrize("path", ["/", "/inventory", "/queues/metadata_queue", "/watch", "/system"])
def test_nothing_but_the_form_is_shown_without_a_key(page: Page, path: str) -> None:
    page.goto(path)
    expect(page.get_by_role("heading", level=1)).to_have_text("API key required")
    expect(page.get_by_role("main").get_by_role("heading")).to_have_count(1)
    expect(page.get_by_role("main").get_by_role("link")).to_have_count(0)


def test_a_wrong_key_is_rejected_and_the_right_one_opens_everything(page: Page, site: Site) -> None:
    page.goto("/inventory")
    expect(page.get_by_text("This Webloom requires an API key.")).to_be_visible()
    assert_accessible(page)
    assert_fits_a_phone(page)
    give(page, "wl_a-key-of-somebody-else")
    expect(page.get_by_text("This API key is not valid.")).to_be_visible()
    give(page, KEY)
    expect(page.get_by_role("link", name=f"{site.base}/kept-secret")).to_be_visible()
    page.reload()
    expect(page.get_by_role("link", name=f"{site.base}/kept-secret")).to_be_visible()
    for name in ("Watch", "Queues", "Postings", "Overview"):
        page.get_by_role("navigation", name="Main").get_by_role("link", name=name).click()
        expect(page.get_by_role("heading", level=1)).to_have_text(name)
        expect(page.get_by_role("alert").filter(has_text="could not be loaded")).to_have_count(0)


def test_a_key_that_can_not_be_sent_is_refused_at_its_field(page: Page) -> None:
    page.goto("/inventory")
    give(page, "wl_schlüssel")
    field = page.get_by_label("API key")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_accessible_description(re.compile("plain ASCII"))
    give(page, KEY)
    expect(page.get_by_role("heading", level=1)).to_have_text("Inventory")


def test_live_streams_carry_the_key(page: Page, webloom: Webloom, site: Site) -> None:
    page.goto("/inventory")
    give(page, KEY)
    expect(page.get_by_role("link", name=f"{site.base}/kept-secret")).to_be_visible()
    mark(page)
    late = site.serve("/late", b"<p>late</p>")
    submit(webloom, late)
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name=late))
    expect(row).to_contain_text("completed")
    assert_not_reloaded(page)


def test_the_key_itself_is_not_shown(page: Page) -> None:
    page.goto("/system?q=api_keys")
    give(page, KEY)
    settings = page.get_by_role("region", name="Settings")
    expect(settings.get_by_role("row").filter(has_text="WEBLOOM_API_KEYS")).to_be_visible()
    assert KEY not in page.content()
