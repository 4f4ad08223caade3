"""What Redis and its client say, as errors of Webloom. The only place that knows both."""

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

OLDEST = (7, 0)  # older ones hide why a script failed
# How replies begin that say what passes.
PASSING = ("NOREPLICAS", "MISCONF", "BUSY ", "TRYAGAIN", "MASTERDOWN", "CLUSTERDOWN")


class CommandRefused(Refused):
    """Of one command or script: what it was to work on is not as it must be."""


def translated(error: Exception, address: str) -> BrokerUnavailable | BackendRefused:
    """Unavailable is what can heal without a person."""
    match error:
        case AuthenticationError():
            return BackendRefused(
                f"Redis at {address} refuses the user or password: check them in its address, "
                "redis://user:password@host/0"
            )
        case NoPermissionError():
            return BackendRefused(
                f"Redis at {address} does not let its user do what queues need ({error}): "
                "give that user the keys ~bull:* and the commands +@all -@dangerous +info"
            )
        case OutOfMemoryError():
            return BrokerUnavailable(
                f"Redis at {address} is full: it takes new messages when workers have emptied its "
                "queues, or after maxmemory was raised"
            )
        case InvalidResponse():
            return BackendRefused(
                f"what answers at {address} is not a Redis server: check host and port"
            )
        case BusyLoadingError():
            return BrokerUnavailable(f"Redis at {address} is still reading its data")
        case ReadOnlyError():
            return BrokerUnavailable(f"Redis at {address} is a replica, which can't be written to")
        case ResponseError() if str(error).startswith(PASSING):
            return BrokerUnavailable(f"Redis at {address} can't do it now: {error}")
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
    """Refuse a server that would lose or mix up messages; `info` is its answer to INFO."""
    version = str(info.get("redis_version", "0"))
    numbers = [int(number) for number in re.findall(r"\d+", version)]
    if (*numbers, 0, 0)[:2] < OLDEST:
        raise BackendRefused(
            f"Redis at {address} is version {version}: Webloom needs 7.0 or newer, so upgrade it"
        )
    policy = info.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        raise BackendRefused(
            f"Redis at {address} may throw messages away when it is full: its maxmemory-policy is "
            f"{policy}; set it to noeviction in redis.conf, or with CONFIG SET"
        )
    if info.get("cluster_enabled"):
        raise BackendRefused(
            f"Redis at {address} is a node of a cluster, where the keys of a queue would be on "
            "several nodes: use a server that is not"
        )


# What the client raises when it can't do what it was asked; a host that can't be a name included.
FOREIGN = (RedisError, OSError, UnicodeError)
