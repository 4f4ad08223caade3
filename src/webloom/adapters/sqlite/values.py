"""Moments and JSON as columns hold them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
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
    """JSON; text that UTF-8 can't carry is replaced."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(_replaced(msgspec.to_builtins(value))).decode()


def _replaced(value: Any) -> Any:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict):
        return {_replaced(name): _replaced(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_replaced(each) for each in value]
    return value


def columns_of(*values: Any, without: Sequence[str] = ()) -> dict[str, Any]:
    """The fields of dataclasses as columns of the same names."""
    return {
        field.name: _stored(getattr(value, field.name))
        for value in values
        for field in fields(value)
        if field.name not in without
    }


def _stored(value: Any) -> Any:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, datetime):
        return milliseconds(value)
    if isinstance(value, Decimal):
        return f"{value:f}"
    return encoded(value) if isinstance(value, dict | list) or is_dataclass(value) else value
