"""Values as BSON can carry them, and back, without a database."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from bson.dbref import DBRef
from bson.int64 import Int64

Document = dict[str, Any]

PLACES_IN_A_MILLISECOND = 1 << 20

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST = 1 << 63
_NO_FLOAT = 1 << 1023
_SURROGATES = re.compile("[\ud800-\udfff]")


def first_place_of(moment: datetime) -> int:
    """Records stand in the listing by the millisecond of their creation, and within it by number:
    this is the first of such places."""
    return (moment - _EPOCH) // timedelta(milliseconds=1) * PLACES_IN_A_MILLISECOND


class Places:
    """Places in the listing, so that what one process makes in a millisecond stays in order."""

    def __init__(self) -> None:
        self._moment: datetime | None = None
        self._number = 0

    def next(self, created_at: datetime) -> int:
        is_same = created_at == self._moment
        self._number = min(self._number + 1, PLACES_IN_A_MILLISECOND - 1) if is_same else 0
        self._moment = created_at
        return first_place_of(created_at) + self._number


def moment_of(place: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=place // PLACES_IN_A_MILLISECOND)


def literal(value: object) -> Document:
    """For expressions, in which a text with a dollar would be a field."""
    return {"$literal": value}


def plain(text: str) -> str:
    """Text as BSON can carry it: lone surrogates are replaced."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", text)
    return text


def plain_name(name: str) -> str:
    """A field's name ends at a NUL."""
    is_usual = name.isascii() and "\0" not in name
    return name if is_usual else plain(name).replace("\0", "\ufffd")


def plain_values(value: Any) -> Any:
    """A JSON value as BSON can carry it: numbers have 64 bits."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict):
        return {plain_name(name): plain_values(each) for name, each in value.items()}
    if isinstance(value, list):
        return [plain_values(each) for each in value]
    if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        return float(value) if abs(value) < _NO_FLOAT else str(value)
    return value


def as_written(value: Any) -> Any:
    """PyMongo decodes a mapping with $ref and $id, and a 64-bit number, into types of its own:
    back to plain ones."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Int64):
        return int(value)
    if isinstance(value, DBRef):
        value = value.as_doc()
    if isinstance(value, Mapping):
        return {name: as_written(each) for name, each in value.items()}
    if isinstance(value, list):
        return [as_written(each) for each in value]
    return value
