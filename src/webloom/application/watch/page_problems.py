"""Why a page is unusable: what a check reports as a failure, and a preview shows."""

from __future__ import annotations

from typing import Any

from webloom.domain.page import Classification, PageType
from webloom.parsing.json_limits import JsonLimits, JsonTooLarge, refuse_too_large
from webloom.parsing.storage_event import DEEPEST, MOST_PARSED, MOST_VALUES, canonical

KEPT = JsonLimits(values=MOST_VALUES - 1000, depth=DEEPEST - 1)  # room for the rest
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
    content = canonical(parsed)
    if len(content) > MOST_PARSED:
        return (
            f"the content of the page takes {len(content):,} bytes, more than the "
            f"{MOST_PARSED:,} that are kept: select a part of it"
        )
    try:
        refuse_too_large(content, KEPT)
    except JsonTooLarge as error:
        return f"the content of the page has {error}: select a part of it"
    return None
