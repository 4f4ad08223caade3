from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webloom.domain.network_policy import SETTING, NetworkPolicy

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
    reason = NetworkPolicy.parse().refusal(address, 80)
    assert reason is not None
    assert kind in reason
    assert SETTING in reason


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
    assert "cloud metadata" in (wide.refusal(address, 80) or "")
    assert NetworkPolicy.parse([address]).refusal(address, 80) is None
    named = f"[{address}]:80" if ":" in address else f"{address}:80"
    assert NetworkPolicy.parse([named]).refusal(address, 80) is None
    assert NetworkPolicy.parse([named]).refusal(address, 81) is not None


@pytest.mark.parametrize("port", [22, 25, 2375, 3306, 5432, 5672, 6379, 9200, 10250, 11211, 27017])
def test_ports_of_other_services_are_refused_everywhere(port: int) -> None:
    reason = NetworkPolicy.parse().refusal("8.8.8.8", port)
    assert reason is not None
    assert str(port) in reason


@pytest.mark.parametrize("port", [80, 443, 3000, 5000, 8000, 8080, 8081, 8443, 9000])
def test_ports_of_web_servers_are_open(port: int) -> None:
    assert NetworkPolicy.parse().refusal("8.8.8.8", port) is None


@pytest.mark.parametrize("own", ["0.0.0.0", "::", "localhost"])
def test_a_listener_on_every_address_is_refused_at_each_local_one(own: str) -> None:
    policy = NetworkPolicy.parse(["10.0.0.0/8", "127.0.0.0/8", "::1"], own=((own, 8081),))
    for address in ("10.0.0.1", "127.0.0.2", "::1"):
        assert "own API" in (policy.refusal(address, 8081) or "")
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
