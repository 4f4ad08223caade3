"""Why a page is not what was asked for: what a check reports as failed, and a preview shows."""

from __future__ import annotations

from typing import Any

from webloom.domain.page import Classification, PageType
from webloom.parsing.storage_event import MOST_PARSED, canonical

_WALLS = {401: "it asks for a login", 403: "it refuses us", 429: "it is asked too often"}


def status_problem(status_code: int) -> str | None:
    if 200 <= status_code <= 299:
        return None
    what = _WALLS.get(status_code)
    return f"the server answered {status_code}{f': {what}' if what else ''}"


def content_problem(seen: Classification) -> str | None:
    if seen.type.is_content:
        return None
    why = f": {seen.reasons[0]}" if seen.reasons else ""
    what = "a wall" if seen.type is PageType.BLOCKED else "an error"
    return f"{what} was served instead of the page{why}"


def size_problem(parsed: dict[str, Any]) -> str | None:
    """`parsed` as it would be kept."""
    size = len(canonical(parsed))
    if size <= MOST_PARSED:
        return None
    return (
        f"what was read of the page takes {size:,} bytes, more than the {MOST_PARSED:,} "
        "that are kept: select a part of it"
    )
