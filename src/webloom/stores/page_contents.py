"""Contents of versions as bytes: JSON, compressed whole or as a delta against a newer version."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from webloom.deltas import applied, restored
from webloom.domain.errors import EventRefused
from webloom.parsing.storage_event import canonical

LARGEST_CONTENT = 64_000_000  # bytes of JSON
LONGEST_CHAIN = 64  # bodies to be read for one version


def encoded(value: Any, *, with_surrogates: Callable[[Any], bytes]) -> bytes:
    """JSON. Text that UTF-8 can't encode goes through `with_surrogates`. Raises EventRefused."""
    try:
        try:
            data = canonical(value)
        except UnicodeEncodeError:
            data = with_surrogates(value)
    except RecursionError as error:
        raise EventRefused("it is nested too deeply to be stored") from error
    except (TypeError, ValueError, OverflowError) as error:
        raise EventRefused(f"it can't be stored as JSON: {error}") from error
    if len(data) > LARGEST_CONTENT:
        raise EventRefused(
            f"parsed takes {len(data):,} bytes, and {LARGEST_CONTENT:,} is the limit"
        )
    return data


def decoded(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:  # of lone surrogates
        return json.loads(data)


def joined(bodies: Sequence[bytes]) -> bytes:
    """The content of a version, from a whole body and the deltas that follow it. Raises ValueError
    if they are damaged."""
    if not bodies:
        raise ValueError("a stored version is missing")
    data = restored(bodies[0])
    for body in bodies[1:]:
        data = applied(body, data)
    return data
