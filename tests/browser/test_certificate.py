"""A site with a certificate: it is on the page of its record, and its addresses need no scheme."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from urllib.parse import quote

import pytest
import trustme
from playwright.sync_api import Page, expect

from browser.checks import assert_accessible, assert_fits_a_phone, section
from browser.conftest import ask
from browser.site import Site, feed, product, served_site
from e2e.running import Webloom, running_for_module

EXPIRES = datetime(2035, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def site(authority: trustme.CA) -> Iterator[Site]:
    secured_by = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", not_after=EXPIRES).configure_cert(secured_by)
    with served_site(secured_by) as site:
        yield site


@pytest.fixture(scope="module")
def webloom(
    tmp_path_factory: pytest.TempPathFactory, authority: trustme.CA, site: Site
) -> Iterator[Webloom]:
    """It trusts whom the system trusts, and here that is the authority of this test."""
    folder = tmp_path_factory.mktemp("certificate")
    authority.cert_pem.write_to_path(str(folder / "authority.pem"))
    allowed = f"127.0.0.1:{site.port}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(folder / "authority.pem"))
        with running_for_module("up", data_dir=folder / "data", allow_addresses=allowed) as it:
            yield it


def test_a_record_shows_the_certificate(page: Page, webloom: Webloom, site: Site) -> None:
    url = site.serve("/secret", b"<title>Secret</title><p>nobody else can read this</p>")
    ask(webloom, "POST", "/metadata", {"url": url})
    page.goto(f"/inventory/record?url={quote(url, safe='')}")
    expect(section(page, "Summary")).to_contain_text("completed")
    certificate = section(page, "Certificate")
    expect(certificate.locator("dt:text-is('TLS version') + dd")).to_have_text("TLSv1.3")
    expect(certificate.locator("dt:text-is('Cipher') + dd")).to_contain_text("TLS_")
    expires = certificate.locator("dt:text-is('Certificate expires') + dd")
    expect(expires.locator("time")).to_have_attribute("datetime", "2035-01-02T03:04:05.000Z")
    expect(expires).not_to_contain_text("expired")
    assert_accessible(page)
    assert_fits_a_phone(page)


def test_a_watch_is_made_of_an_address_without_its_scheme(
    page: Page, webloom: Webloom, site: Site
) -> None:
    url = site.serve("/shelf", product("Shelf", "20.00", text="A plain shelf."))
    page.goto("/watch/new")
    page.get_by_label("URLs", exact=True).fill(url.removeprefix("https://"))
    page.get_by_role("button", name="Show selection").click()
    expect(page.get_by_label("Selected text")).to_contain_text("A plain shelf.")
    page.get_by_role("button", name="Add the watch").click()
    expect(page).to_have_url(re.compile("/watch/(?!new)[^/]+$"))
    [watch] = ask(webloom, "GET", "/api/watches?q=shelf")["data"]
    assert watch["urls"] == [url]


def test_a_feed_is_added_by_an_address_without_its_scheme(
    page: Page, webloom: Webloom, site: Site
) -> None:
    url = site.serve_feed("/plain.rss", feed(3))
    page.goto("/feeds/new")
    page.get_by_label("URL", exact=True).fill(url.removeprefix("https://"))
    page.get_by_role("button", name="Preview", exact=True).click()
    expect(section(page, "Preview")).to_contain_text("Job 2")
    page.get_by_role("button", name="Add feed").click()
    expect(page).to_have_url(re.compile("/feeds/(?!new)[^/]+$"))
    [added] = ask(webloom, "GET", "/api/feeds")["data"]
    assert added["url"] == url
