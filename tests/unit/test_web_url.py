from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webloom.domain.errors import UrlRefused
from webloom.parsing.web_url import MAX_URL_BYTES, host_of, join, normalise

SAME = [
    ("http://example.com/a?b=c", "http://example.com/a?b=c", "already normal"),
    ("HTTP://Example.COM/A", "http://example.com/A", "scheme and host have no case, paths do"),
    ("http://example.com", "http://example.com/", "an empty path is /"),
    ("http://example.com?q=1", "http://example.com/?q=1", "an empty path before a query"),
    ("http://example.com:80/", "http://example.com/", "default port of http"),
    ("https://example.com:0443/", "https://example.com/", "default port, written oddly"),
    ("http://example.com:443/", "http://example.com:443/", "the other scheme's default stays"),
    ("http://example.com:/", "http://example.com/", "an empty port is the default one"),
    ("http://example.com/a#b?c", "http://example.com/a", "the fragment is not sent"),
    ("  http://example.com/ \n", "http://example.com/", "surrounding whitespace"),
    ("http://example.com./", "http://example.com/", "a trailing dot on the host"),
    ("http://bücher.example/", "http://xn--bcher-kva.example/", "international name"),
    ("http://BÜCHER.example/", "http://xn--bcher-kva.example/", "international name, upper case"),
    ("http://faß.example/", "http://xn--fa-hia.example/", "non-transitional: ß is not ss"),
    ("http://my_host.bücher.example/", "http://my_host.xn--bcher-kva.example/", "underscore"),
    ("http://my_host.example/", "http://my_host.example/", "underscores exist in real names"),
    ("http://example.com/ä b", "http://example.com/%C3%A4%20b", "UTF-8, upper-case hex"),
    ("http://example.com/%c3%a4", "http://example.com/%C3%A4", "upper-case hex"),
    ("http://example.com/%7Eme", "http://example.com/~me", "an escape that is not needed"),
    ("http://example.com/%2F%3F", "http://example.com/%2F%3F", "an escape that is needed"),
    ("http://example.com/100%", "http://example.com/100%25", "a percent sign that escapes nothing"),
    ("http://example.com/?a=[1]|2", "http://example.com/?a=%5B1%5D%7C2", "unsafe in a query"),
    ("http://example.com/?b=2&a=1&b=2", "http://example.com/?b=2&a=1&b=2", "parameters stay put"),
    ("http://example.com/?", "http://example.com/?", "an empty query is a query"),
    ("http://example.com/a//b", "http://example.com/a//b", "slashes count"),
    ("http://example.com/a/./b/../c", "http://example.com/a/c", "dot segments"),
    ("http://example.com/../../a/..", "http://example.com/", "dot segments end at the root"),
    ("http://example.com/a/%2e%2e/b", "http://example.com/b", "escaped dot segments"),
    ("http://example.com/.well-known/x", "http://example.com/.well-known/x", "not a dot segment"),
    ("http://①②⑦.0.0.1/", "http://127.0.0.1/", "circled digits are an address, for the policy"),
    ("http://127。0。0。2/", "http://127.0.0.2/", "ideographic dots"),
    ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/", "a plain IPv4 address"),
    ("http://[2001:DB8:0:0::1]/", "http://[2001:db8::1]/", "IPv6 in its short form"),
    ("http://[::1]:8080/", "http://[::1]:8080/", "IPv6 with a port"),
    ("http://example.com:65535/", "http://example.com:65535/", "the last port"),
]


@pytest.mark.parametrize(("url", "normal", "reason"), SAME, ids=[row[2] for row in SAME])
def test_equivalent_urls_become_one_string(url: str, normal: str, reason: str) -> None:
    assert normalise(url) == normal
    assert normalise(normal) == normal


REFUSED = [
    ("", "http"),
    ("example.com/a", "http"),
    ("//example.com/a", "http"),
    ("http:example.com", "http"),
    ("http:/example.com", "http"),
    ("file:///etc/passwd", "http"),
    ("gopher://example.com/", "http"),
    ("ftp://example.com/", "http"),
    ("data:text/html,hi", "http"),
    ("unix:///run/docker.sock", "http"),
    ("javascript:alert(1)", "http"),
    ("http://", "no host"),
    ("http:///path", "no host"),
    ("http://:80/", "no host"),
    ("http://./", "no host"),
    ("http://user@example.com/", "user name"),
    ("http://user:pass@example.com/", "user name"),
    ("http://@example.com/", "user name"),
    ("http://ok@127.0.0.2/", "user name"),
    ("http://127.0.0.2\\@ok/", "backslash"),
    ("http://example.com/a\\b", "backslash"),
    ("http://exam\tple.com/", "control"),
    ("http://example.com/a\r\nX: y", "control"),
    ("http://example.com/\x00", "control"),
    ("http://example.com/a#\x7f", "control"),
    ("http://example.com/\x85a", "control"),
    ("http://example.com/\ud800", "surrogate"),
    ("http://127.0.0.%32/", "percent"),
    ("http://[fe80::1%25eth0]/", "percent"),
    ("http://\uff0531.example/", "not a valid"),
    ("http://example.com:0/", "port"),
    ("http://example.com:65536/", "port"),
    ("http://example.com:8x/", "port"),
    ("http://example.com:-1/", "port"),
    ("http://example.com:٨٠/", "port"),
    ("http://example.com:" + "9" * 5000 + "/", "port"),
    ("http://2130706433/", "number"),
    ("http://017700000001/", "number"),
    ("http://0x7f.1/", "number"),
    ("http://0x7f000001/", "number"),
    ("http://127.1/", "number"),
    ("http://0/", "number"),
    ("http://127.0.0.01/", "number"),
    ("http://127.0.0.256/", "number"),
    ("http://1.2.3.4.5/", "number"),
    ("http://example.123/", "number"),
    ("http://①②⑦.1/", "number"),
    ("http://[::1/", "IPv6"),
    ("http://[::g]/", "IPv6"),
    ("http://[127.0.0.1]/", "IPv6"),
    ("http://[v1.a]/", "IPv6"),
    ("http://::1/", "not a valid"),
    ("http://a..example/", "not a valid"),
    ("http://.example/", "not a valid"),
    ("http://a b.example/", "not a valid"),
    ("http://a<b.example/", "not a valid"),
    ("http://a\uff0fb.example/", "not a valid"),
    (f"http://{'a' * 64}.example/", "too long"),
    (f"http://{'a.' * 130}example/", "too long"),
    (f"http://{'ü' * 300}.example/", "too long"),
    (f"http://{'ü' * 63}.example/", "international"),
    ("http://\u200b.example/", "not a valid"),
    ("http://example.com/" + "a" * MAX_URL_BYTES, "longer"),
    ("http://example.com/" + "ä" * (MAX_URL_BYTES // 3), "longer"),
]


@pytest.mark.parametrize(("url", "reason"), REFUSED, ids=[ascii(row[0])[:40] for row in REFUSED])
def test_a_url_that_can_mean_two_things_or_nothing_is_refused(url: str, reason: str) -> None:
    with pytest.raises(UrlRefused, match=reason):
        normalise(url)


BASE = "http://example.com:8080/a/b?q=1"
JOINED = [
    ("https://other.example/x#y", "https://other.example/x", "absolute"),
    ("//other.example/x", "http://other.example/x", "scheme-relative keeps the scheme"),
    ("/x?y", "http://example.com:8080/x?y", "path"),
    ("c", "http://example.com:8080/a/c", "relative"),
    ("../c", "http://example.com:8080/c", "relative, upwards"),
    ("?r=2", "http://example.com:8080/a/b?r=2", "query only"),
    ("#top", "http://example.com:8080/a/b?q=1", "fragment only"),
    ("", "http://example.com:8080/a/b?q=1", "empty"),
    (" /ä ", "http://example.com:8080/%C3%A4", "spaces around, UTF-8 within"),
    ("//127.0.0.2/", "http://127.0.0.2/", "an address, for the policy"),
]


@pytest.mark.parametrize(("location", "url", "reason"), JOINED, ids=[row[2] for row in JOINED])
def test_a_redirect_is_resolved_against_its_page(location: str, url: str, reason: str) -> None:
    assert join(BASE, location) == url


@pytest.mark.parametrize(
    "location",
    ["file:///etc/passwd", "javascript:x", "///evil.example", "/\\evil.example", "//a@b/", "/\x00"],
)
def test_a_redirect_to_another_scheme_is_refused(location: str) -> None:
    with pytest.raises(UrlRefused):
        join(BASE, location)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://example.com/a:b", "example.com"),
        ("http://example.com:8080/", "example.com"),
        ("https://[::1]:8080/", "::1"),
        ("https://[2001:db8::1]/x", "2001:db8::1"),
    ],
)
def test_the_host_is_without_brackets_and_port(url: str, host: str) -> None:
    assert host_of(url) == host


_HOSTS = st.one_of(
    st.from_regex(r"[a-zA-Z0-9_.\-]{1,20}", fullmatch=True),
    st.from_regex(r"[0-9.x]{1,15}", fullmatch=True),
    st.text(max_size=12),
    st.ip_addresses().map(lambda ip: f"[{ip}]" if ip.version == 6 else str(ip)),
)
_TAILS = st.one_of(st.text(max_size=40), st.from_regex(r"(/(\.|\.\.|%2e|%[0-9a-f]{2}|a)?){0,8}"))


@given(
    scheme=st.sampled_from(["http", "HTTPS"]),
    host=_HOSTS,
    port=st.sampled_from(["", ":", ":80", ":443", ":8080", ":00"]),
    tail=_TAILS,
)
def test_a_normal_url_stays_as_it_is(scheme: str, host: str, port: str, tail: str) -> None:
    try:
        once = normalise(f"{scheme}://{host}{port}/{tail}")
    except UrlRefused:
        return
    assert normalise(once) == once
    assert once.isascii()
    assert join(once, once) == once
    assert host_of(once)


@given(st.text())
def test_any_text_is_either_normalised_or_refused(text: str) -> None:
    with suppress(UrlRefused):
        assert normalise(normalise(text)) == normalise(text)
