"""Moments and JSON as columns of SQLite hold them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, overload

import msgspec

from webloom.adapters.sqlite.batches import plain

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


@overload
def milliseconds(moment: datetime) -> int: ...
@overload
def milliseconds(moment: datetime | None) -> int | None: ...
def milliseconds(moment: datetime | None) -> int | None:
    return None if moment is None else (moment - _EPOCH) // _MILLISECOND


@overload
def instant(time: int) -> datetime: ...
@overload
def instant(time: int | None) -> datetime | None: ...
def instant(time: int | None) -> datetime | None:
    return None if time is None else _EPOCH + time * _MILLISECOND


def encoded(value: object) -> str:
    """As JSON; a text that UTF-8 can't carry is mended."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(_mended(msgspec.to_builtins(value))).decode()


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict):
        return {_mended(name): _mended(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_mended(each) for each in value]
    return value
