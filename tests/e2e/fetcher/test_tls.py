"""Pages served over TLS, and bad certificates."""

from __future__ import annotations

import ssl
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta

import pytest
import trustme

from e2e.fetcher.fetching import SMALL, FakeResolver, failure_of, only
from e2e.hostile_site import HostileSite
from webloom.adapters.http.fetcher import HttpFetcher
from webloom.domain.errors import NotConnected


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def _server_context(certificate: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    certificate.configure_cert(context)
    return context


async def test_a_secure_page_is_kept_with_facts_of_its_connection(authority: trustme.CA) -> None:
    expires = datetime(2035, 1, 2, 3, 4, 5, tzinfo=UTC)
    certificate = authority.issue_cert("site.test", not_after=expires)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    async with AsyncExitStack() as stack:
        site = await stack.enter_async_context(
            HostileSite(ssl_context=_server_context(certificate))
        )
        fetcher = await stack.enter_async_context(
            HttpFetcher(
                policy=only(site),
                limits=SMALL,
                resolver=FakeResolver(site_test=[["127.0.0.1"]]),
                ssl_context=trusting,
            )
        )
        for _ in range(2):  # on a new connection, and on one from the pool
            received = await fetcher.fetch(site.url("/page", host="site.test"))
            assert received.details["tls"] == {
                "version": "TLSv1.3",
                "cipher": received.details["tls"]["cipher"],
                "certificate_expires_at": "2035-01-02T03:04:05+00:00",
            }
            assert received.details["tls"]["cipher"].startswith("TLS_")
        assert site.connections == 1


YESTERDAY = datetime.now(UTC) - timedelta(days=1)


@pytest.mark.parametrize(
    ("name", "trusted", "expires", "why"),
    [
        ("site.test", False, None, "an unknown authority"),
        ("other.test", True, None, "another name"),
        ("site.test", True, YESTERDAY, "expired"),
    ],
)
async def test_a_bad_certificate_is_refused_for_good(
    authority: trustme.CA, name: str, trusted: bool, expires: datetime | None, why: str
) -> None:
    begins = YESTERDAY - timedelta(days=9) if expires else None
    certificate = authority.issue_cert(name, not_before=begins, not_after=expires)
    context = ssl.create_default_context()
    if trusted:
        authority.configure_trust(context)
    async with HostileSite(ssl_context=_server_context(certificate)) as site:
        resolver = FakeResolver(site_test=[["127.0.0.1"]])
        async with HttpFetcher(
            policy=only(site), limits=SMALL, resolver=resolver, ssl_context=context
        ) as fetcher:
            failure = await failure_of(fetcher, site.url("/page", host="site.test"))
    assert "certificate" in failure.reason
    assert not failure.retryable
    assert not isinstance(failure, NotConnected)  # so that no caller goes on without a certificate
    assert site.requests == []


async def test_plain_http_on_an_https_url_is_refused(site: HostileSite) -> None:
    async with HttpFetcher(policy=only(site), limits=SMALL) as fetcher:
        failure = await failure_of(fetcher, site.url("/page").replace("http:", "https:"))
    assert failure.reason == (
        "no secure connection could be agreed on: the server does not speak TLS"
    )
    assert isinstance(failure, NotConnected)
