from __future__ import annotations

import pytest

from webloom.application.inventory.check_url import check_address, check_url
from webloom.domain.errors import UrlRefused
from webloom.domain.network_policy import NetworkPolicy

OPEN = NetworkPolicy.parse()

ACCEPTED = [
    ("http://site.example/", "http://site.example/", "a name"),
    ("HTTP://Site.Example:80", "http://site.example/", "a name, normalised"),
    ("http://web1/", "http://web1/", "a name that ends in a digit"),
    ("http://www2.site.example/", "http://www2.site.example/", "a digit inside a name"),
    ("http://site.co1/", "http://site.co1/", "a last label that ends in a digit"),
    ("http://8.8.8.8/", "http://8.8.8.8/", "a public address"),
    ("https://8.8.8.8:8443/a:25/", "https://8.8.8.8:8443/a:25/", "a public address with a port"),
    ("http://[2606:4700::1111]/", "http://[2606:4700::1111]/", "a public IPv6 address"),
    ("http://[2606:4700::1111]:81/", "http://[2606:4700::1111]:81/", "with a port"),
    ("http://localhost.example/", "http://localhost.example/", "not localhost"),
    ("http://10.0.0.1.example/", "http://10.0.0.1.example/", "a name that begins like an address"),
]


@pytest.mark.parametrize(("url", "normal", "reason"), ACCEPTED, ids=[row[2] for row in ACCEPTED])
def test_what_may_be_public_is_accepted_in_its_normal_form(
    url: str, normal: str, reason: str
) -> None:
    assert check_url(url, policy=OPEN) == normal


def test_an_address_as_people_type_it_is_https() -> None:
    for address in ("site.example", " <Site.example/> ", "//site.example", "https://site.example"):
        assert check_address(address, policy=OPEN) == "https://site.example/"
    assert check_address("http://site.example", policy=OPEN) == "http://site.example/"
    for address in ("mailto:me@site.example", "ftp://site.example"):
        with pytest.raises(UrlRefused, match="must begin with http"):
            check_address(address, policy=OPEN)
    with pytest.raises(UrlRefused, match="a private address"):
        check_address("10.0.0.1:8080", policy=OPEN)


REFUSED = [
    ("http://127.0.0.1/", "127.0.0.1", "loopback"),
    ("http://①②⑦.0.0.1/", "127.0.0.1", "loopback in disguise"),
    ("http://localhost/", "127.0.0.1", "loopback by name"),
    ("http://LOCALHOST.:8080/", "127.0.0.1", "loopback by name, spelt oddly"),
    ("http://anything.localhost/", "127.0.0.1", "a name that always means loopback"),
    ("http://[::1]/", "::1", "IPv6 loopback"),
    ("http://[::ffff:127.0.0.1]/", "127.0.0.1", "loopback wrapped in IPv6"),
    ("http://10.1.2.3/", "10.1.2.3", "a private network"),
    ("http://169.254.169.254/latest", "metadata", "a cloud's metadata"),
    ("http://8.8.8.8:25/", "port 25", "a port of another service"),
    ("http://[2606:4700::1111]:25/", "port 25", "a port of another service, IPv6"),
    ("http://0x7f.1/", "plain IPv4", "an address that is not written plainly"),
    ("ftp://site.example/", "http", "not the web"),
]


@pytest.mark.parametrize(("url", "named", "reason"), REFUSED, ids=[row[2] for row in REFUSED])
def test_what_the_gate_would_refuse_is_refused_at_the_door(
    url: str, named: str, reason: str
) -> None:
    with pytest.raises(UrlRefused, match=named):
        check_url(url, policy=OPEN)


ALLOWED = [
    ("http://127.0.0.1:8080/", True, "the endpoint that is named"),
    ("http://localhost:8080/", True, "the same by name"),
    ("http://127.0.0.1/", False, "another port of the address"),
    ("http://10.1.2.3:99/", True, "a network that is named"),
    ("http://[::1]:8080/", False, "an address that is not named"),
]


@pytest.mark.parametrize(("url", "allowed", "reason"), ALLOWED, ids=[row[2] for row in ALLOWED])
def test_what_the_settings_allow_is_accepted(url: str, allowed: bool, reason: str) -> None:
    policy = NetworkPolicy.parse(["127.0.0.1:8080", "10.0.0.0/8"])
    if allowed:
        assert check_url(url, policy=policy) == url
    else:
        with pytest.raises(UrlRefused):
            check_url(url, policy=policy)
