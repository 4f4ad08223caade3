"""Redirects, and the cookies that they set."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from e2e.hostile_site import HostileSite
from webloom.adapters.http.fetcher import HttpFetcher


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_followed_and_remembered(
    fetcher: HttpFetcher, site: HostileSite, status: int
) -> None:
    first = site.url(f"/redirect?code={status}&to=/hops%3Fleft=1%23top")
    received = await fetcher.fetch(first)
    assert received.status_code == 200
    assert received.final_url == site.url("/hops?left=0")
    assert received.details["redirect_chain"] == [
        {"url": first, "status_code": status},
        {"url": site.url("/hops?left=1"), "status_code": 302},
    ]


async def test_five_redirects_are_followed(fetcher: HttpFetcher, site: HostileSite) -> None:
    assert (await fetcher.fetch(site.url("/hops?left=5"))).status_code == 200


async def test_a_redirect_to_nowhere_is_an_answer(fetcher: HttpFetcher, site: HostileSite) -> None:
    received = await fetcher.fetch(site.url("/redirect-without-location"))
    assert (received.status_code, received.page_source) == (302, "lost")


async def test_a_location_that_is_not_utf8_keeps_its_bytes(
    fetcher: HttpFetcher, site: HostileSite
) -> None:
    received = await fetcher.fetch(site.url("/redirect-raw-bytes"))
    assert received.final_url == site.url("/caf%E9")


async def test_a_site_gets_back_the_cookie_that_it_set_on_the_way(
    fetcher: HttpFetcher, site: HostileSite
) -> None:
    received = await fetcher.fetch(site.url("/cookie-wall"))
    assert received.status_code == 200
    assert received.cookies == {"pass": "yes/1"}
    await fetcher.fetch(site.url("/page"))
    assert "cookie" not in site.requests[-1].headers  # the next fetch starts with none


@pytest.mark.parametrize(
    ("cookie", "host", "sent", "why"),
    [
        ("a=1", "site.test", "a=1", "the same host"),
        ("a=1", "other.test", None, "another site"),
        ("a=1", "sub.site.test", None, "a host below, without Domain"),
        ("a=1; Domain=site.test", "sub.site.test", "a=1", "a host below, with Domain"),
        ("a=1; Domain=other.test", "other.test", None, "set for another site"),
        ("a=1; Path=/elsewhere", "site.test", None, "for another path"),
        ("a=1; Secure", "site.test", None, "for secure connections only"),
        ("a=1; Max-Age=0", "site.test", None, "expired"),
    ],
)
async def test_a_cookie_goes_where_a_browser_would_send_it(
    fetcher: HttpFetcher, site: HostileSite, cookie: str, host: str, sent: str | None, why: str
) -> None:
    to = quote(site.url("/page", host=host), safe="")
    url = site.url(f"/redirect?to={to}&cookie={quote(cookie, safe='')}", host="site.test")
    received = await fetcher.fetch(url)
    assert received.final_url == site.url("/page", host=host)
    assert site.requests[-1].headers.get("cookie") == sent
    assert "authorization" not in site.requests[-1].headers
