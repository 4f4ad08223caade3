"""Whether an address belongs to this machine now.

On Linux the kernel is queried for the route to the address (RTM_GETROUTE over netlink): a route of
the type `local` leads to this machine, on any interface, also if a whole network is routed here.
Nothing is sent, and nothing is cached, because addresses change.

Without netlink there are two portable tests. A socket can be bound only to addresses of this
machine; unless the system lets it bind to any, which an unused address reveals. And a datagram
socket that is connected to an address of this machine usually has that address as its source.
"""

from __future__ import annotations

import errno
import socket
import struct
import sys

_NOBODYS = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}  # for documentation
_PORT = 9  # any: nothing is sent

# linux/netlink.h and linux/rtnetlink.h
_HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, port
_ROUTE = struct.Struct("=BBBBBBBBI")  # family, prefix length, ..., type, flags
_ATTRIBUTE = struct.Struct("=HH")  # length, type
_NLMSG_ERROR, _RTM_NEWROUTE, _RTM_GETROUTE = 2, 24, 26
_NLM_F_REQUEST = 1
_RTA_DST, _RTA_OIF = 1, 4
_RTN_LOCAL = 2
_TYPE_AT = _HEADER.size + 7
_NO_ROUTE = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EACCES})


def is_own_address(address: str) -> bool:
    """Raises OSError if no socket can be opened."""
    plain, _, scope = address.partition("%")
    family = socket.AF_INET6 if ":" in plain else socket.AF_INET
    index = _index_of(scope)
    if sys.platform == "linux":
        answer = _asked_by_netlink(family, plain, index)
        if answer is not None:
            return answer
    return _can_bind(family, plain, index) or _is_source_to_itself(family, plain, index)


def _asked_by_netlink(family: socket.AddressFamily, address: str, index: int) -> bool | None:
    """None: there is no netlink here."""
    packed = socket.inet_pton(family, address)
    body = _ROUTE.pack(family, len(packed) * 8, 0, 0, 0, 0, 0, 0, 0)
    body += _ATTRIBUTE.pack(_ATTRIBUTE.size + len(packed), _RTA_DST) + packed
    if index:
        body += _ATTRIBUTE.pack(_ATTRIBUTE.size + 4, _RTA_OIF) + struct.pack("=I", index)
    size = _HEADER.size + len(body)
    question = _HEADER.pack(size, _RTM_GETROUTE, _NLM_F_REQUEST, 1, 0) + body
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:
            kernel.setblocking(False)  # the kernel answers before sendto returns
            kernel.sendto(question, (0, 0))
            answer = kernel.recv(4096)
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
            raise
        return None  # a sandbox without netlink sockets
    _, kind, *_ = _HEADER.unpack_from(answer)
    if kind == _RTM_NEWROUTE:
        return answer[_TYPE_AT] == _RTN_LOCAL
    if kind == _NLMSG_ERROR:
        (code,) = struct.unpack_from("=i", answer, _HEADER.size)
        return False if -code in _NO_ROUTE else None
    return None


def _can_bind(family: socket.AddressFamily, address: str, index: int) -> bool:
    return _binds(family, address, index) and not _binds(family, _NOBODYS[family], 0)


def _binds(family: socket.AddressFamily, address: str, index: int) -> bool:
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(_socket_address(family, address, 0, index))
        except OSError:
            return False
        return True


def _is_source_to_itself(family: socket.AddressFamily, address: str, index: int) -> bool:
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_socket_address(family, address, _PORT, index))
            source = str(probe.getsockname()[0]).partition("%")[0]
        except OSError:  # unreachable
            return False
    return socket.inet_pton(family, source) == socket.inet_pton(family, address)


def _socket_address(
    family: socket.AddressFamily, address: str, port: int, index: int
) -> tuple[str, int] | tuple[str, int, int, int]:
    return (address, port) if family == socket.AF_INET else (address, port, 0, index)


def _index_of(scope: str) -> int:
    """The interface's index, from its number or name; 0: none."""
    if not scope:
        return 0
    try:
        return int(scope) if scope.isdigit() else socket.if_nametoindex(scope)
    except OSError:
        return 0
