"""Whether this process can still open files and sockets."""

from __future__ import annotations

import errno
import os
import resource
import socket
from typing import Any

from webloom.domain.exhaustion import exhaustion_in

# Descriptors that web connections leave for the store, DNS lookups, spool files and child
# processes.
RESERVED = 64
_SHARE = 8  # at most this part of the limit
_ANY_PORT = 9  # nothing is sent


def require_descriptors(count: int) -> None:
    """Raises ResourcesExhausted unless `count` can be opened now."""
    opened: list[int] = []
    try:
        for _ in range(count):
            opened.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        if exhausted := exhaustion_in(error):
            raise exhausted from error
        raise
    finally:
        for each in opened:
            os.close(each)


def open_web_socket(family: int, kind: int, protocol: int) -> socket.socket:
    """Raises OSError, also if only the reserve is left."""
    opened = socket.socket(family, kind, protocol)
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The lowest free number is always used, so it shows how many are in use.
    usable = limit - min(RESERVED, limit // _SHARE)
    if limit != resource.RLIM_INFINITY and opened.fileno() >= usable:
        opened.close()
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    return opened


def is_out_of_ports(error: OSError, target: tuple[Any, ...]) -> bool:
    """Whether a connection failed for lack of a local port. The same error means that this machine
    has no address to reach the target from, for example without IPv6; then a datagram socket, which
    has its own ports, can't be connected either."""
    if error.errno != errno.EADDRNOTAVAIL:
        return False
    family = socket.AF_INET6 if ":" in target[0] else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((target[0], _ANY_PORT, *target[2:]))
        except OSError:
            return False
    return True
