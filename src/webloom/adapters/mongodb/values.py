"""Dataclasses as documents: `next_run_at` is kept as `nextRunAt`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields, is_dataclass
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Any, TypeVar

from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.page_codec import amount
from webloom.stores.primitives import whole_milliseconds

Value = TypeVar("Value")

_known: dict[Any, dict[str, str]] = {}


def _names(kind: Any) -> dict[str, str]:
    """The field of a document for each attribute."""
    if kind not in _known:
        words = {each.name: each.name.split("_") for each in fields(kind)}
        _known[kind] = {
            name: first + "".join(other.capitalize() for other in others)
            for name, (first, *others) in words.items()
        }
    return _known[kind]


def document_of(value: Any, *, without: Collection[str] = ()) -> Document:
    return {
        name: _kept(getattr(value, attribute))
        for attribute, name in _names(type(value)).items()
        if attribute not in without
    }


def _kept(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, datetime):
        return whole_milliseconds(value)
    if isinstance(value, list):
        return [_kept(each) for each in value]
    if isinstance(value, Decimal):
        return amount(value)
    return document_of(value) if is_dataclass(value) else value


def value_of(kind: type[Value], document: Document, **given: Any) -> Value:
    """What is neither in the document nor given has its default."""
    found = {
        attribute: document[name] for attribute, name in _names(kind).items() if name in document
    }
    return kind(**found | given)
