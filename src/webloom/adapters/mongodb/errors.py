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

from webloom.domain.errors import BackendRefused, Exhausted, StoreFull, StoreUnavailable

WRONG_CREDENTIALS = 18
OF_THE_CLOUD = 8000  # whatever MongoDB's cloud refuses by itself; only the text says why
NOT_ALLOWED = 13
OUT_OF_DISK = 14031
_BAD_CREDENTIALS = re.compile(r"\bauth", re.I)
_OVER_QUOTA = re.compile(r"\bquota\b|\b(space|storage|size) limit\b", re.I)
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
    if is_full(error):
        exhausted = Exhausted(
            f"MongoDB at {address} is full ({_first_line(error)})",
            "superseded versions are being pruned; if that is not enough, remove watches, feeds or "
            "records, or give it more room",
        )
        return StoreFull(exhausted)
    if has_wrong_credentials(error):
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


def is_full(error: Exception) -> bool:
    return any(
        code == OUT_OF_DISK or (code == OF_THE_CLOUD and _OVER_QUOTA.search(text))
        for code, text in _refusals(error)
    )


def has_wrong_credentials(error: Exception) -> bool:
    return any(
        code == WRONG_CREDENTIALS or (code == OF_THE_CLOUD and _BAD_CREDENTIALS.search(text))
        for code, text in _refusals(error)
    )


def _refusals(error: Exception) -> list[tuple[int | None, str]]:
    """Codes and texts: of the command, and of the writes in it."""
    if not isinstance(error, OperationFailure):
        return []
    details = error.details if isinstance(error, BulkWriteError) else {}
    writes = [*(details or {}).get("writeErrors", ())]
    return [
        (error.code, str(error)),
        *((each.get("code"), str(each.get("errmsg"))) for each in writes),
    ]


def is_unsure(error: Exception) -> bool:
    """Whether a write that ended so may still have been made."""
    if isinstance(error, BulkWriteError):
        return bool(error.details and error.details.get("writeConcernErrors"))
    return isinstance(error, (ConnectionFailure, WriteConcernError)) or (
        isinstance(error, PyMongoError) and error.timeout
    )


def _first_line(error: Exception) -> str:
    """Without PyMongo's description of all servers, which says the same again at length."""
    text = _REST.sub("", str(error))
    return (text.splitlines() or [""])[0][:500] or type(error).__name__
