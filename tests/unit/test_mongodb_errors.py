from __future__ import annotations

from typing import Any

import pytest
from pymongo.errors import BulkWriteError, OperationFailure

from webloom.adapters.mongodb.errors import explained
from webloom.domain.errors import BackendRefused, StoreFull, StoreUnavailable, WebloomError

QUOTA = "you are over your space quota, using 513 MB of 512 MB"


def bulk(code: int, text: str) -> BulkWriteError:
    details: dict[str, Any] = {"writeErrors": [{"index": 0, "code": code, "errmsg": text}]}
    return BulkWriteError(details)


REFUSALS: list[tuple[Exception, type[WebloomError], str]] = [
    (OperationFailure("Authentication failed.", 18), BackendRefused, "credentials"),
    (OperationFailure("bad auth : authentication failed", 8000), BackendRefused, "in the cloud"),
    (OperationFailure("bad auth: Authentication failed.", 8000), BackendRefused, "in other words"),
    (OperationFailure(QUOTA, 8000), StoreFull, "a quota of the cloud"),
    (OperationFailure("over the storage limit", 8000), StoreFull, "in other words"),
    (bulk(8000, QUOTA), StoreFull, "a quota, met by one of several writes"),
    (OperationFailure("available disk space is less than needed", 14031), StoreFull, "a disk"),
    (OperationFailure("CMD_NOT_ALLOWED: top", 8000), StoreUnavailable, "whatever the cloud means"),
    (OperationFailure("", 8000), StoreUnavailable, "without a word"),
    (OperationFailure("over the quota", 1), StoreUnavailable, "a code that means nothing here"),
    (OperationFailure("not authorized on x to execute y", 13), BackendRefused, "rights"),
]


@pytest.mark.parametrize(
    ("error", "kind"),
    [row[:2] for row in REFUSALS],
    ids=[f"{row[1].__name__}, {row[2]}" for row in REFUSALS],
)
def test_a_refusal_is_recognised_by_its_code_and_its_text(
    error: Exception, kind: type[WebloomError]
) -> None:
    reported = explained(error, "mongodb://host")
    assert type(reported) is kind
    assert "mongodb://host" in str(reported)
