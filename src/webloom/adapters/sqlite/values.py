"""Moments and JSON as columns hold them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, Generic, TypeVar, get_args, get_origin, get_type_hints, overload

import msgspec

from webloom.adapters.sqlite.batches import plain

Value = TypeVar("Value")

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


def stored(value: Any) -> Any:
    """As a column holds it."""
    if value is None or isinstance(value, int | float | bytes):
        return value
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, datetime):
        return milliseconds(value)
    if isinstance(value, Decimal):
        return f"{value:f}"
    return encoded(value) if isinstance(value, dict | list) or is_dataclass(value) else value


def columns_of(*values: Any, without: Sequence[str] = ()) -> dict[str, Any]:
    """The fields of dataclasses as columns of the same names; those of structs as in JSON."""
    return {
        column: stored(getattr(value, name))
        for value in values
        for name, column in _columns(value.__class__)
        if column not in without
    }


@cache
def _columns(kind: type[Any]) -> tuple[tuple[str, str], ...]:
    if issubclass(kind, msgspec.Struct):
        return tuple((each.name, each.encode_name) for each in msgspec.structs.fields(kind))
    return tuple((each.name, each.name) for each in fields(kind))


class Columns(Generic[Value]):
    """The fields of a dataclass as columns, which have the same names unless they are renamed."""

    def __init__(self, kind: type[Value], *, without: Sequence[str] = (), **renamed: str) -> None:
        hints = get_type_hints(kind)
        kept = [name for name in hints if name not in without]
        self.names = tuple(renamed.get(name, name) for name in kept)
        self._kind = kind
        self._decoders = [(place, name, _decoder(hints[name])) for place, name in enumerate(kept)]
        self._values = attrgetter(*kept)

    def encode(self, value: Value) -> dict[str, Any]:
        """To be `stored`."""
        return dict(zip(self.names, self._values(value), strict=True))

    def decode(self, row: Sequence[Any], **given: Any) -> Value:
        """Of a row that begins with these columns."""
        for place, name, decode in self._decoders:
            value = row[place]
            given[name] = value if decode is None or value is None else decode(value)
        return self._kind(**given)


def _decoder(hint: Any) -> Callable[[Any], Any] | None:
    if get_origin(hint) is UnionType:
        [hint] = [each for each in get_args(hint) if each is not NoneType]
    if hint is datetime:
        return instant
    if hint in (str, int, float):
        return None
    is_json = get_origin(hint) is not None or is_dataclass(hint)
    decode: Callable[[Any], Any] = msgspec.json.Decoder(hint).decode if is_json else hint
    return decode
