"""Which addresses Webloom may connect to.

Users submit URLs; without this policy they could reach this machine's services, its neighbours and
the cloud's metadata service through Webloom. Only public addresses of other machines are allowed.
The operator may allow exceptions; the most dangerous ones must be named exactly. What the operator
denies is always refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

SETTING = "WEBLOOM_ALLOW_ADDRESSES"
DENY_SETTING = "WEBLOOM_DENY_ADDRESSES"

_METADATA_KIND = "a cloud metadata address"
_METADATA: frozenset[Address] = frozenset(
    ip_address(text)
    for text in (
        "169.254.169.254",  # most clouds
        "fd00:ec2::254",  # AWS
        "100.100.100.200",  # Alibaba
        "168.63.129.16",  # Azure
        "192.0.0.192",  # Oracle
    )
)

# The first network that holds an address names its kind.
_KINDS: tuple[tuple[Network, str], ...] = tuple(
    (ip_network(text), kind)
    for text, kind in (
        ("0.0.0.0/8", "an unspecified address"),
        ("10.0.0.0/8", "a private address"),
        ("100.64.0.0/10", "a carrier-grade NAT address"),
        ("127.0.0.0/8", "a loopback address"),
        ("169.254.0.0/16", "a link-local address"),
        ("172.16.0.0/12", "a private address"),
        ("192.0.0.0/24", "a protocol assignment address"),
        ("192.0.2.0/24", "a documentation address"),
        ("192.88.99.0/24", "a 6to4 relay address"),
        ("192.168.0.0/16", "a private address"),
        ("198.18.0.0/15", "a benchmarking address"),
        ("198.51.100.0/24", "a documentation address"),
        ("203.0.113.0/24", "a documentation address"),
        ("224.0.0.0/4", "a multicast address"),
        ("240.0.0.0/4", "a reserved address"),
        ("::/128", "an unspecified address"),
        ("::1/128", "a loopback address"),
        ("::/96", "an IPv4-compatible address"),
        ("::ffff:0:0:0/96", "an IPv4-translated address"),
        ("64:ff9b::/96", "a NAT64 address"),
        ("64:ff9b:1::/48", "a NAT64 address"),
        ("2001::/32", "a Teredo address"),
        ("2001::/23", "a protocol assignment address"),
        ("2001:db8::/32", "a documentation address"),
        ("2002::/16", "a 6to4 address"),
        ("3fff::/20", "a documentation address"),
        ("5f00::/16", "a segment routing address"),
        ("fc00::/7", "a private address"),
        ("fe80::/10", "a link-local address"),
        ("fec0::/10", "a site-local address"),
        ("ff00::/8", "a multicast address"),
    )
)
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_MAPPED = IPv6Network("::ffff:0:0/96")

# IPv6 networks whose addresses carry an IPv4 address, and how far left of the end it ends.
_CARRIERS: tuple[tuple[IPv6Network, int], ...] = (
    (IPv6Network("::/96"), 0),
    (IPv6Network("::ffff:0:0:0/96"), 0),
    (IPv6Network("64:ff9b::/96"), 0),
    (IPv6Network("2002::/16"), 80),
)

# Services that do not expect HTTP, where a request can do harm: the fetch standard's bad ports ...
_FETCH_BAD_PORTS = (
    "0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111"
    " 113 115 117 119 123 135 137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540"
    " 548 554 556 563 587 601 636 989 990 993 995 1719 1720 1723 2049 3659 4045 4190 5060 5061"
    " 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080"
)
# ... and databases, brokers, caches, remote desktops, container and cluster control.
_SERVICE_PORTS = (
    "445 873 1433 1434 1521 1883 2181 2375 2376 2377 2379 2380 3306 3389 4222 4369 5432 5433 5671"
    " 5672 5900 5901 5984 5985 5986 6379 6380 6443 7000 7001 8883 9042 9092 9160 9200 9300 10250"
    " 10255 10256 11211 15672 25672 26379 27017 27018 27019 28015 33060 50000 61613 61616"
)
_REFUSED_PORTS = frozenset(int(port) for port in f"{_FETCH_BAD_PORTS} {_SERVICE_PORTS}".split())


def operator_can_allow(what: str) -> str:
    """A part of a sentence. Forms show it, so it says who has the setting."""
    return f"the operator of this installation can allow {what} in the setting {SETTING}"


_NO_WEB_PORT = "belongs to a service that does not expect web requests; " + operator_can_allow(
    "exactly that address and port"
)


class RefusalReason(StrEnum):
    """Also the label of a metric: a small, closed set."""

    DENIED = "deny-list"
    METADATA = "metadata"
    NOT_PUBLIC = "not-public"
    OWN = "own-address"
    PORT = "port"


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    reason: RefusalReason
    # One sentence that names the address: for the log, and for a URL that names it itself.
    detail: str


def refusal_of_name(host: str, port: int) -> str:
    """The message for the caller if a name leads to a refused address. It depends on the URL alone
    and reveals neither the address nor its kind."""
    if port in _REFUSED_PORTS:
        return f"port {port} of {host} {_NO_WEB_PORT}"
    return (
        f"{host} leads to an address that Webloom does not connect to; the log says which and why, "
        f"and whether {operator_can_allow('it')}"
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class AddressList:
    """What an operator names: addresses, networks, and ports of addresses."""

    addresses: frozenset[Address]
    networks: tuple[Network, ...]
    endpoints: frozenset[tuple[Address, int]]

    @classmethod
    def parse(cls, entries: Iterable[str]) -> AddressList:
        """Raises ValueError, whose text names the invalid entry."""
        addresses: set[Address] = set()
        networks: list[Network] = []
        endpoints: set[tuple[Address, int]] = set()
        for entry in entries:
            host, port = _split_port(entry.strip())
            if port is not None:
                endpoints.add((_parse_address(host, entry), port))
            elif "/" not in host:
                addresses.add(_parse_address(host, entry))
            else:
                network = _parse_network(host, entry)
                if network.prefixlen == network.max_prefixlen:
                    addresses.add(network.network_address)
                else:
                    networks.append(network)
        return cls(
            addresses=frozenset(addresses),
            networks=tuple(networks),
            endpoints=frozenset(endpoints),
        )

    def entries(self) -> list[str]:
        """`parse` turns them into the same list."""
        return [
            *map(str, sorted(self.addresses, key=str)),
            *map(str, self.networks),
            *(f"[{address}]:{port}" for address, port in self.endpoints),
        ]

    def holds(self, target: Address, port: int) -> bool:
        return (
            target in self.addresses
            or (target, port) in self.endpoints
            or any(target in network for network in self.networks)
        )


def _nobody_knows(address: str) -> bool:
    return False


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkPolicy:
    allowed: AddressList  # although not public; an endpoint always, unless it is denied
    denied: AddressList  # even if allowed
    own: tuple[
        tuple[Address, int], ...
    ]  # Webloom's own listeners; an unspecified one is everywhere

    @classmethod
    def parse(
        cls,
        allow: Iterable[str] = (),
        own: tuple[tuple[str, int], ...] = (),
        deny: Iterable[str] = (),
    ) -> NetworkPolicy:
        """Raises ValueError, whose text names the invalid entry."""
        return cls(
            allowed=AddressList.parse(allow),
            denied=AddressList.parse(deny),
            own=tuple((_listener(address), port) for address, port in own),
        )

    def refusal(
        self, address: str, port: int, is_own: Callable[[str], bool] = _nobody_knows
    ) -> Refusal | None:
        """None: the connection is allowed. `is_own` says whether an address belongs to this machine
        now; it is called only if the result decides."""
        target = _unwrap(ip_address(address))
        if any(self.denied.holds(each, port) for each in (target, *_carried(target))):
            return Refusal(
                reason=RefusalReason.DENIED,
                detail=f"{target} port {port} is refused by the operator of this installation, in "
                f"the setting {DENY_SETTING}",
            )
        if (target, port) in self.allowed.endpoints:
            return None
        kind = _kind(target)
        if kind is not None and not self._allows(target):
            return Refusal(
                reason=(
                    RefusalReason.METADATA if kind == _METADATA_KIND else RefusalReason.NOT_PUBLIC
                ),
                detail=f"{target} is {kind}; {operator_can_allow('it')}",
            )
        if self._is_own_api(target, port, public=kind is None):
            return Refusal(
                reason=RefusalReason.OWN,
                detail=f"{target} port {port} is Webloom's own API; "
                + operator_can_allow("exactly that address and port"),
            )
        if not self._names_this_machine(target) and (
            target.is_unspecified
            or is_own(address)
            or any(is_own(str(each)) for each in _carried(target))
        ):
            return Refusal(
                reason=RefusalReason.OWN,
                detail=f"{target} is an address of this machine; "
                + operator_can_allow("exactly that address, or with its port,"),
            )
        if port in _REFUSED_PORTS:
            return Refusal(
                reason=RefusalReason.PORT, detail=f"port {port} of {target} {_NO_WEB_PORT}"
            )
        return None

    def contradictions(self) -> list[str]:
        """Addresses that are both allowed and denied: they are refused."""
        named = {*((address, None) for address in self.allowed.addresses), *self.allowed.endpoints}
        return sorted(
            f"{address}" if port is None else f"{address} port {port}"
            for address, port in named
            if self.denied.holds(address, port or 0)
        )

    def _allows(self, target: Address) -> bool:
        if target in self.allowed.addresses:
            return True
        if _metadata_in(target):  # a network that happens to cover it is not consent
            return False
        return any(target in network for network in self.allowed.networks)

    def _names_this_machine(self, target: Address) -> bool:
        """By its exact address, or by loopback networks, which lead nowhere else. A wider network
        that happens to cover an address of this machine is not consent."""
        return target in self.allowed.addresses or any(
            target in network and network.is_loopback for network in self.allowed.networks
        )

    def _is_own_api(self, target: Address, port: int, *, public: bool) -> bool:
        for address, own_port in self.own:
            if port != own_port:
                continue
            if target == address:
                return True
            # A listener on every address is found at each local one, and connecting to the
            # unspecified address reaches every listener of this machine.
            if not public and (address.is_unspecified or target.is_unspecified):
                return True
        return False


def _kind(address: Address) -> str | None:
    """What makes the address not public; None for a public one."""
    if _metadata_in(address):
        return _METADATA_KIND
    for network, kind in _KINDS:
        if address in network:
            return kind
    if isinstance(address, IPv6Address) and address not in _GLOBAL_UNICAST:
        return "a reserved address"
    if not address.is_global or address.is_multicast or address.is_reserved:
        return "a reserved address"
    return None


def _metadata_in(address: Address) -> bool:
    return address in _METADATA or any(each in _METADATA for each in _carried(address))


def _carried(address: Address) -> Iterator[IPv4Address]:
    """The IPv4 address within an IPv6 address, where a gateway may pass the connection on to it."""
    if isinstance(address, IPv6Address):
        for network, shift in _CARRIERS:
            if address in network:
                yield IPv4Address((int(address) >> shift) & 0xFFFFFFFF)


def _unwrap(address: Address) -> Address:
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address.scope_id is not None:  # fe80::1%eth0 is as link-local as fe80::1
            return IPv6Address(int(address))
    return address


def _split_port(entry: str) -> tuple[str, int | None]:
    host, port = entry, ""
    if entry.startswith("["):
        host, bracket, port = entry[1:].partition("]")
        if not bracket or (port and not port.startswith(":")):
            raise ValueError(_cannot_read(entry))
    elif entry.count(":") == 1:
        host, _, port = entry.partition(":")
        port = ":" + port
    if not port:
        return host, None
    digits = port[1:]
    if not (digits.isascii() and digits.isdigit() and 0 < int(digits[:6]) <= 65535):
        raise ValueError(f"{entry!r} must end in a port from 1 to 65535")
    return host, int(digits)


def _parse_address(text: str, entry: str) -> Address:
    try:
        return _unwrap(ip_address(text))
    except ValueError:
        raise ValueError(_cannot_read(entry)) from None


def _parse_network(text: str, entry: str) -> Network:
    try:
        network = ip_network(text, strict=False)
    except ValueError:
        raise ValueError(_cannot_read(entry)) from None
    if str(network.network_address) != str(ip_address(text.partition("/")[0])):
        raise ValueError(f"{entry!r} is an address inside a network; the network is {network}")
    if isinstance(network, IPv6Network) and network.subnet_of(_MAPPED):
        mapped = _unwrap(network.network_address)
        return ip_network((int(mapped), network.prefixlen - 96)) if mapped.version == 4 else network
    return network


def _cannot_read(entry: str) -> str:
    return (
        f"{entry!r} is not an address, a network or address:port, "
        "such as 192.168.1.10, 10.0.0.0/8, 127.0.0.1:8080 or [::1]:8080"
    )


def _listener(address: str) -> Address:
    try:
        return _unwrap(ip_address(address))
    except ValueError:  # a name: it may stand for any address of this machine
        return IPv4Address(0)
