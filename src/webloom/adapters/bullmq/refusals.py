"""Translates errors of Redis and its client into Webloom's errors."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from typing import Any

from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    InvalidResponse,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
)

from webloom.adapters.consumer import Refused
from webloom.domain.errors import BackendRefused, BrokerUnavailable

OLDEST = (7, 0)  # older versions hide why a script failed
# Prefixes of replies about temporary conditions.
TEMPORARY = ("NOREPLICAS", "MISCONF", "BUSY ", "TRYAGAIN", "MASTERDOWN", "CLUSTERDOWN")


class CommandRefused(Refused):
    """One command or script can't be applied to its data."""


def translated(error: Exception, address: str) -> BrokerUnavailable | BackendRefused:
    """BrokerUnavailable is temporary; BackendRefused needs a person."""
    match error:
        case AuthenticationError():
            return BackendRefused(
                f"Redis at {address} refuses the user or password: check them in its address, "
                "redis://user:password@host/0"
            )
        case NoPermissionError():
            return BackendRefused(
                f"Redis at {address} denies commands that queues need ({error}): "
                "give that user the keys ~bull:* and the commands +@all -@dangerous +info"
            )
        case OutOfMemoryError():
            return BrokerUnavailable(
                f"Redis at {address} is full: it accepts messages again when workers have emptied "
                "its queues, or after maxmemory was raised"
            )
        case InvalidResponse():
            return BackendRefused(f"the server at {address} is not Redis: check host and port")
        case BusyLoadingError():
            return BrokerUnavailable(f"Redis at {address} is still loading its data")
        case ReadOnlyError():
            return BrokerUnavailable(f"Redis at {address} is a replica, which can't be written to")
        case ResponseError() if str(error).startswith(TEMPORARY):
            return BrokerUnavailable(f"Redis at {address} is temporarily unavailable: {error}")
        case ResponseError():
            return CommandRefused(f"Redis at {address} refuses a command: {error}")
    if isinstance(_root(error), ssl.SSLCertVerificationError):
        return BackendRefused(
            f"the certificate of Redis at {address} is not trusted ({_root(error)}): name its "
            "authority with ?ssl_ca_certs=<file>"
        )
    return BrokerUnavailable(f"Redis at {address} does not answer: {error or 'timeout'}")


def _root(error: BaseException) -> BaseException:
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return error


def check_server(info: Mapping[str, Any], address: str) -> None:
    """Raises BackendRefused for a server that could lose messages; `info` is its answer to INFO."""
    version = str(info.get("redis_version", "0"))
    numbers = [int(number) for number in re.findall(r"\d+", version)]
    if (*numbers, 0, 0)[:2] < OLDEST:
        raise BackendRefused(
            f"Redis at {address} is version {version}: Webloom needs 7.0 or newer, so upgrade it"
        )
    policy = info.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        raise BackendRefused(
            f"Redis at {address} may evict messages when it is full: its maxmemory-policy is "
            f"{policy}; set it to noeviction in redis.conf, or with CONFIG SET"
        )
    if info.get("cluster_enabled"):
        raise BackendRefused(
            f"Redis at {address} is a node of a cluster, where the keys of a queue would be on "
            "several nodes: use a server that is not"
        )


# What the client raises; UnicodeError for an invalid host name.
FOREIGN = (RedisError, OSError, UnicodeError)
