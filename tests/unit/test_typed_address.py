"""Addresses as people paste them."""

from __future__ import annotations

import pytest

from webloom.domain.errors import UrlRefused
from webloom.parsing.typed_address import urls_meant
from webloom.parsing.web_url import normalise


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("https://example.com/a", ["https://example.com/a"]),
        ("HTTP://example.com", ["http://example.com/"]),
        ("  https://example.com/a\n", ["https://example.com/a"]),
        ("<https://example.com/a>", ["https://example.com/a"]),
        ("<URL:https://example.com/a>", ["https://example.com/a"]),
        ('"https://example.com/a"', ["https://example.com/a"]),
        ("“ (https://example.com/a) ”", ["https://example.com/a"]),
        ("\u200bhttps://example.com/a\ufeff", ["https://example.com/a"]),
        ("feed:https://example.com/rss", ["https://example.com/rss"]),
        ("feed://example.com/rss", ["https://example.com/rss", "http://example.com/rss"]),
        ("example.com", ["https://example.com/", "http://example.com/"]),
        ("//example.com/a", ["https://example.com/a", "http://example.com/a"]),
        ("Example.com/Jobs?q=a b", [f"{s}://example.com/Jobs?q=a%20b" for s in ("https", "http")]),
        ("example.com:8080/a", ["https://example.com:8080/a", "http://example.com:8080/a"]),
        ("localhost:8080", ["https://localhost:8080/", "http://localhost:8080/"]),
        ("bücher.example", ["https://xn--bcher-kva.example/", "http://xn--bcher-kva.example/"]),
        ("[2001:db8::1]:81/", ["https://[2001:db8::1]:81/", "http://[2001:db8::1]:81/"]),
        ("192.0.2.1", ["https://192.0.2.1/", "http://192.0.2.1/"]),
    ],
)
def test_what_was_typed_is_understood(typed: str, meant: list[str]) -> None:
    assert [normalise(url) for url in urls_meant(typed)] == meant


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("", "the address is empty"),
        (" \t\u200b ", "the address is empty"),
        ("<>", "the address is empty"),
        ("https://a.example/\nhttps://b.example/", "one address at a time"),
        ("mailto:me@example.com", "must begin with http:// or https://"),
        ("javascript:alert(1)", "must begin with http:// or https://"),
        ("data:text/html,hello", "must begin with http:// or https://"),
        ("ftp://example.com/", "must begin with http:// or https://"),
        ("me:secret@example.com", "must begin with http:// or https://"),
        ("me@example.com", "user name or password"),
        ("two words", "not a valid name"),
        ("example.com\\a", "backslash"),
        ("x" * 100_000, "longer than"),
    ],
)
def test_what_is_not_an_address_is_refused_with_the_reason(typed: str, reason: str) -> None:
    with pytest.raises(UrlRefused, match=reason):
        normalise(urls_meant(typed)[0])
