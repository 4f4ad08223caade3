from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webloom.domain.network_policy import (
    NetworkPolicy,
    Refusal,
    RefusalReason,
    refusal_of_name,
)

METADATA = [
    "169.254.169.254",
    "fd00:ec2::254",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
]
REFUSED = [
    ("127.0.0.1", "loopback"),
    ("127.255.255.254", "loopback"),
    ("::1", "loopback"),
    ("::ffff:127.0.0.2", "loopback"),
    ("0.0.0.0", "unspecified"),
    ("::", "unspecified"),
    ("10.0.0.1", "private"),
    ("172.16.0.1", "private"),
    ("172.31.255.255", "private"),
    ("192.168.1.1", "private"),
    ("fc00::1", "private"),
    ("fd12:3456::1", "private"),
    ("169.254.1.1", "link-local"),
    ("fe80::1", "link-local"),
    ("fe80::1%2", "link-local"),
    ("100.64.0.1", "carrier-grade NAT"),
    ("192.0.0.1", "protocol assignment"),
    ("192.0.0.9", "protocol assignment"),
    ("192.0.2.1", "documentation"),
    ("198.51.100.1", "documentation"),
    ("203.0.113.1", "documentation"),
    ("2001:db8::1", "documentation"),
    ("3fff::1", "documentation"),
    ("192.88.99.1", "6to4 relay"),
    ("198.18.0.1", "benchmarking"),
    ("224.0.0.1", "multicast"),
    ("239.255.255.250", "multicast"),
    ("ff02::1", "multicast"),
    ("ff0e::1", "multicast"),
    ("240.0.0.1", "reserved"),
    ("255.255.255.255", "reserved"),
    ("::127.0.0.1", "IPv4-compatible"),
    ("::127.0.0.2", "IPv4-compatible"),
    ("::ffff:0:127.0.0.1", "IPv4-translated"),
    ("64:ff9b::7f00:2", "NAT64"),
    ("64:ff9b::8.8.8.8", "NAT64"),
    ("64:ff9b:1::1", "NAT64"),
    ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "Teredo"),
    ("2001:10::1", "protocol assignment"),
    ("2002:7f00:1::", "6to4"),
    ("2002:7f00:2::", "6to4"),
    ("fec0::1", "site-local"),
    ("5f00::1", "segment routing"),
    ("100::1", "reserved"),
    ("4000::1", "reserved"),
    *((address, "cloud metadata") for address in METADATA),
]


def detail(refusal: Refusal | None) -> str:
    return "" if refusal is None else refusal.detail


def says_who_can_allow_it(text: str) -> bool:
    who, _, where = text.partition("the operator of this installation can allow ")
    return who != text and where.endswith(" in the setting WEBLOOM_ALLOW_ADDRESSES")


PUBLIC = [
    "8.8.8.8",
    "1.1.1.1",
    "93.184.216.34",
    "2606:4700::1111",
    "2a00:1450::1",
    "::ffff:8.8.8.8",
]


@pytest.mark.parametrize(("address", "kind"), REFUSED)
def test_an_address_that_is_not_public_is_refused_by_its_kind(address: str, kind: str) -> None:
    refusal = NetworkPolicy.parse().refusal(address, 80)
    assert refusal is not None
    assert kind in refusal.detail
    assert says_who_can_allow_it(refusal.detail)
    is_metadata = address in METADATA
    assert refusal.reason == (RefusalReason.METADATA if is_metadata else RefusalReason.NOT_PUBLIC)


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_open(address: str) -> None:
    assert NetworkPolicy.parse().refusal(address, 443) is None


ALLOWED = [
    ("10.1.2.3", "10.1.2.3", 80, True, "that address"),
    ("10.1.2.3", "10.1.2.4", 80, False, "another address"),
    ("10.1.2.3", "::ffff:10.1.2.3", 80, True, "the same address, mapped"),
    ("::ffff:10.1.2.3", "10.1.2.3", 80, True, "the same address, unmapped"),
    ("10.0.0.0/8", "10.9.9.9", 8080, True, "within the network"),
    ("10.0.0.0/8", "11.0.0.1", 8080, True, "public anyway"),
    ("10.0.0.0/8", "192.168.0.1", 8080, False, "outside the network"),
    ("::ffff:10.0.0.0/104", "10.9.9.9", 80, True, "a mapped network"),
    ("fd00::/8", "fd00::1", 80, True, "an IPv6 network"),
    ("127.0.0.1:8080", "127.0.0.1", 8080, True, "that address and port"),
    ("127.0.0.1:8080", "127.0.0.1", 8081, False, "another port"),
    ("[::1]:8080", "::1", 8080, True, "IPv6 with a port"),
    ("[::1]", "::1", 80, True, "IPv6 in brackets"),
    (" 10.1.2.3 ", "10.1.2.3", 80, True, "spaces around"),
    ("10.0.0.0/8", "10.0.0.1", 6379, False, "a service's port, only the network named"),
    ("10.0.0.1", "10.0.0.1", 5432, False, "a service's port, only the address named"),
    ("10.0.0.1:5432", "10.0.0.1", 5432, True, "a service's port, named exactly"),
    ("8.8.8.8:22", "8.8.8.8", 22, True, "a service's port of a public address, named exactly"),
    ("127.0.0.1", "127.0.0.1", 8081, False, "Webloom's own API, only the address named"),
    ("127.0.0.1:8081", "127.0.0.1", 8081, True, "Webloom's own API, named exactly"),
    ("0.0.0.0/0", "0.0.0.0", 8081, False, "Webloom's own API, by the address that is all of them"),
    ("127.0.0.0/8", "127.0.0.2", 8081, True, "the same port where Webloom does not listen"),
]


@pytest.mark.parametrize(
    ("entry", "address", "port", "open_", "reason"), ALLOWED, ids=[row[4] for row in ALLOWED]
)
def test_an_entry_allows_what_it_names(
    entry: str, address: str, port: int, open_: bool, reason: str
) -> None:
    policy = NetworkPolicy.parse([entry], own=(("127.0.0.1", 8081),))
    assert (policy.refusal(address, port) is None) is open_


@pytest.mark.parametrize("address", METADATA)
def test_metadata_is_allowed_by_its_exact_address_only(address: str) -> None:
    wide = NetworkPolicy.parse(["0.0.0.0/0", "::/0"])
    assert "cloud metadata" in detail(wide.refusal(address, 80))
    assert NetworkPolicy.parse([address]).refusal(address, 80) is None
    named = f"[{address}]:80" if ":" in address else f"{address}:80"
    assert NetworkPolicy.parse([named]).refusal(address, 80) is None
    assert NetworkPolicy.parse([named]).refusal(address, 81) is not None


@pytest.mark.parametrize("port", [22, 25, 2375, 3306, 5432, 5672, 6379, 9200, 10250, 11211, 27017])
def test_ports_of_other_services_are_refused_everywhere(port: int) -> None:
    refusal = NetworkPolicy.parse().refusal("8.8.8.8", port)
    assert refusal is not None
    assert refusal.reason is RefusalReason.PORT
    assert str(port) in refusal.detail
    assert says_who_can_allow_it(refusal.detail)
    assert says_who_can_allow_it(refusal_of_name("shop.test", port))


@pytest.mark.parametrize("port", [80, 443, 3000, 5000, 8000, 8080, 8081, 8443, 9000])
def test_ports_of_web_servers_are_open(port: int) -> None:
    assert NetworkPolicy.parse().refusal("8.8.8.8", port) is None


@pytest.mark.parametrize("own", ["0.0.0.0", "::", "localhost"])
def test_a_listener_on_every_address_is_refused_at_each_local_one(own: str) -> None:
    policy = NetworkPolicy.parse(["10.0.0.0/8", "127.0.0.0/8", "::1"], own=((own, 8081),))
    for address in ("10.0.0.1", "127.0.0.2", "::1"):
        refused = detail(policy.refusal(address, 8081))
        assert "own API" in refused
        assert says_who_can_allow_it(refused)
        assert policy.refusal(address, 8082) is None
    assert policy.refusal("8.8.8.8", 8081) is None


@pytest.mark.parametrize(
    ("entry", "hint"),
    [
        ("", "not an address"),
        ("localhost", "not an address"),
        ("localhost:80", "not an address"),
        ("10.0.0.0/33", "not an address"),
        ("10.0.0.0/8:80", "not an address"),
        ("[::1", "not an address"),
        ("[::1]80", "not an address"),
        ("127.1", "not an address"),
        ("10.0.0.1/8", "the network is 10.0.0.0/8"),
        ("127.0.0.1:0", "port"),
        ("127.0.0.1:65536", "port"),
        ("127.0.0.1:http", "port"),
        ("[::1]:", "port"),
    ],
)
def test_an_entry_that_cannot_be_read_is_named(entry: str, hint: str) -> None:
    with pytest.raises(ValueError, match=hint) as error:
        NetworkPolicy.parse([entry])
    assert repr(entry) in str(error.value)


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_and_its_mapped_form_fare_alike(address: object) -> None:
    policy = NetworkPolicy.parse(["10.0.0.0/9"])
    plain, mapped = policy.refusal(str(address), 80), policy.refusal(f"::ffff:{address}", 80)
    assert plain == mapped


OWN = [
    ([], "93.184.216.34", False, "a public address of this machine"),
    ([], "2606:4700::1111", False, "a public IPv6 address"),
    (["93.184.216.34"], "93.184.216.34", True, "named exactly"),
    (["93.184.216.34:80"], "93.184.216.34", True, "named with its port"),
    (["93.184.216.34:81"], "93.184.216.34", False, "named with another port"),
    (["93.184.216.0/24"], "93.184.216.34", False, "a network around it"),
    (["10.0.0.0/8"], "10.0.0.5", False, "a private network around it"),
    (["127.0.0.0/8"], "127.0.0.2", True, "loopback leads nowhere else"),
    (["::1/128"], "::1", True, "IPv6 loopback"),
    (["0.0.0.0/0"], "127.0.0.1", False, "all of IPv4 around loopback"),
    (["0.0.0.0/0"], "0.0.0.0", False, "the address that means all"),
    (["::/0"], "64:ff9b::5db8:d822", False, "by way of NAT64"),
]


@pytest.mark.parametrize(("allow", "address", "open_", "why"), OWN, ids=[row[3] for row in OWN])
def test_an_address_of_this_machine_has_to_be_named_itself(
    allow: list[str], address: str, open_: bool, why: str
) -> None:
    refusal = NetworkPolicy.parse(allow).refusal(address, 80, lambda _: True)
    assert (refusal is None) is open_
    if refusal is not None:
        assert refusal.reason is RefusalReason.OWN
        assert says_who_can_allow_it(refusal.detail)


def test_the_same_address_elsewhere_is_open() -> None:
    assert NetworkPolicy.parse().refusal("93.184.216.34", 80, lambda _: False) is None


DENIED = [
    (["93.184.216.34"], "93.184.216.34", 80, True, "an address"),
    (["93.184.216.0/24"], "93.184.216.34", 80, True, "its network"),
    (["93.184.216.34:80"], "93.184.216.34", 80, True, "its port"),
    (["93.184.216.34:81"], "93.184.216.34", 80, False, "another port"),
    (["93.184.216.35"], "93.184.216.34", 80, False, "another address"),
    (["93.184.216.34"], "::ffff:93.184.216.34", 80, True, "its mapped form"),
    (["93.184.216.34"], "64:ff9b::5db8:d822", 80, True, "by way of NAT64"),
    (["2606:4700::/32"], "2606:4700::1111", 443, True, "an IPv6 network"),
    (["0.0.0.0/0"], "10.0.0.1", 80, True, "all of IPv4"),
]


@pytest.mark.parametrize(
    ("deny", "address", "port", "refused", "why"), DENIED, ids=[row[4] for row in DENIED]
)
def test_what_is_denied_is_refused_whatever_is_allowed(
    deny: list[str], address: str, port: int, refused: bool, why: str
) -> None:
    written = f"[{address}]" if ":" in address else address
    for allow in ([], [written], [f"{written}:{port}"], ["0.0.0.0/0", "::/0"]):
        policy = NetworkPolicy.parse(allow, deny=deny)
        refusal = policy.refusal(address, port, lambda _: False)
        is_denied = refusal is not None and refusal.reason is RefusalReason.DENIED
        assert is_denied is refused, allow
        if is_denied:
            says = "by the operator of this installation, in the setting WEBLOOM_DENY_ADDRESSES"
            assert says in detail(refusal)


@pytest.mark.parametrize("port", [80, 22])
def test_what_an_error_says_about_a_name_depends_on_the_url_alone(port: int) -> None:
    reported = refusal_of_name("shop.test", port)
    assert "shop.test" in reported
    assert says_who_can_allow_it(reported)
    for word in ("loopback", "private", "metadata", "machine", "127."):
        assert word not in reported
