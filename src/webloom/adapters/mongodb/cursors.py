"""Parts of cursors that only MongoDB has."""

from __future__ import annotations

from datetime import datetime

from bson.errors import InvalidId
from bson.objectid import ObjectId

from webloom.domain.storage_event import moment_of
from webloom.stores.cursors import bad_cursor


def object_id(text: str, cursor: str) -> ObjectId:
    """Raises BadCursor."""
    try:
        return ObjectId(text)
    except InvalidId as error:
        raise bad_cursor(cursor) from error


def moment(milliseconds: int, cursor: str) -> datetime:
    """Raises BadCursor."""
    try:
        return moment_of(milliseconds)
    except OverflowError as error:
        raise bad_cursor(cursor) from error
