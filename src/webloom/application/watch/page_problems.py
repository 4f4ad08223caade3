"""Why a page is unusable: what a check reports as a failure, and a preview shows."""

from __future__ import annotations

from typing import Any

from webloom.domain.page import PageType
from webloom.parsing.json_limits import JsonLimits, JsonTooLarge, refuse_too_large
from webloom.parsing.pages.page import PageReading
from webloom.parsing.storage_event import DEEPEST, MOST_PARSED, MOST_VALUES, canonical

KEPT = JsonLimits(values=MOST_VALUES - 1000, depth=DEEPEST - 1)  # room for the rest
_NOTHING = 20  # characters, such as "Loading …"
_WALLS = {
    401: "it asks for a login",
    403: "it refuses the request",
    429: "it receives too many requests",
}


def status_problem(status_code: int) -> str | None:
    if 200 <= status_code <= 299:
        return None
    what = _WALLS.get(status_code)
    return f"the server answered {status_code}{f': {what}' if what else ''}"


def content_problem(reading: PageReading) -> str | None:
    seen = reading.classification
    if seen.type.is_content:
        return _needs_javascript(reading)
    why = f": {seen.reasons[0]}" if seen.reasons else ""
    what = "a wall" if seen.type is PageType.BLOCKED else "an error"
    return f"{what} was served instead of the page{why}"


def _needs_javascript(reading: PageReading) -> str | None:
    """A page of scripts alone would never change. If it has a little text, or a price, that is
    watched."""
    is_seen = len(reading.parsed.text) > _NOTHING or reading.price is not None
    if reading.needs_javascript is None or is_seen:
        return None
    return "its text appears only with JavaScript, which Webloom does not run"


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
