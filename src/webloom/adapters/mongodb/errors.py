"""What PyMongo raises, in Webloom's words: the one place where that is decided."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from bson.errors import BSONError
from pymongo.errors import (
    BulkWriteError,
    ConfigurationError,
    ConnectionFailure,
    OperationFailure,
    PyMongoError,
    WriteConcernError,
)

from webloom.domain.errors import BackendRefused, StoreUnavailable

WRONG_CREDENTIALS = (18, 8000)  # the second is that of MongoDB's cloud
NOT_ALLOWED = 13
_REST = re.compile(
    r" \(configured timeouts: .*|, (full error|Timeout|Topology Description): .*", re.S
)
DUPLICATE_KEY = 11000


class Unsure(StoreUnavailable):
    """The connection broke, or the time ran out, after the write was sent: it may have been made
    and it may be made yet."""


class NotTried(StoreUnavailable):
    """The server was away a moment ago: the call was not made."""


@contextmanager
def translated(address: str) -> Iterator[None]:
    try:
        yield
    # Python's own: a number, a text or a nesting that BSON can't carry.
    except (PyMongoError, BSONError, OverflowError, UnicodeError, RecursionError) as error:
        raise explained(error, address) from error


def explained(error: Exception, address: str) -> BackendRefused | StoreUnavailable:
    if isinstance(error, OperationFailure) and error.code in WRONG_CREDENTIALS:
        return BackendRefused(
            f"MongoDB at {address} refuses the user name or the password: "
            "check both in the store's address, and authSource if the user is of another database"
        )
    if isinstance(error, OperationFailure) and error.code == NOT_ALLOWED:
        return BackendRefused(
            f"MongoDB at {address} does not allow this to the user of the store's address "
            f"({_first_line(error)}): name a user in it who may read and write the database"
        )
    if isinstance(error, ConfigurationError):
        return BackendRefused(
            f"MongoDB at {address} can't be used: {_first_line(error)}; "
            "check the options of the store's address and the server's version"
        )
    kind = Unsure if is_unsure(error) else StoreUnavailable
    return kind(f"MongoDB at {address}: {_first_line(error)}")


def is_unsure(error: Exception) -> bool:
    """Whether a write that ended so may have been made all the same."""
    if isinstance(error, BulkWriteError):
        return bool(error.details and error.details.get("writeConcernErrors"))
    return isinstance(error, (ConnectionFailure, WriteConcernError)) or (
        isinstance(error, PyMongoError) and error.timeout
    )


def _first_line(error: Exception) -> str:
    """Without PyMongo's description of all servers, which says the same again at length."""
    text = _REST.sub("", str(error))
    return (text.splitlines() or [""])[0][:500] or type(error).__name__
