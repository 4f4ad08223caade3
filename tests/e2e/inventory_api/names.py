"""Hosts that no other test has, and ids."""

from __future__ import annotations

import itertools
import uuid

_numbers = itertools.count(1)


def new_host() -> str:
    return f"host-{next(_numbers)}.test"


def is_request_id(value: object) -> bool:
    return isinstance(value, str) and str(uuid.UUID(value)) == value
