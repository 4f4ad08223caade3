"""What routes make of a request's body and parameters, and how they refuse it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import TypeVar
from urllib.parse import unquote_to_bytes

import msgspec
from fastapi import HTTPException, Request
from pydantic import BeforeValidator

from webloom.parsing.json_limits import JsonLimits, JsonTooLarge, refuse_too_large

Decoded = TypeVar("Decoded")
Made = TypeVar("Made")

FIRST_MOMENT = datetime.min.replace(tzinfo=UTC)
LAST_MOMENT = datetime.max.replace(tzinfo=UTC)

# A form that leaves a field empty sends `status=`.
EMPTY_IS_NONE = BeforeValidator(lambda given: None if given == "" else given)

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


# Of one thing to add or to change. The longest list in one is the pages of a watch.
ONE_THING = JsonLimits(values=50_000)
SMALL_BYTES = 65_536  # that take less time to decode than a thread to begin


def decode(
    decoder: msgspec.json.Decoder[Decoded], content: bytes, limits: JsonLimits = ONE_THING
) -> Decoded:
    try:
        refuse_too_large(content, limits)
        return decoder.decode(content)
    except JsonTooLarge as error:
        raise HTTPException(422, f"The body has {error}.") from error
    except msgspec.ValidationError as error:
        raise HTTPException(422, f"The body does not fit: {error}.") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise HTTPException(400, f"The body is not JSON: {_reason(content, error)}.") from error


async def off_loop(work: Callable[[bytes], Made], content: bytes) -> Made:
    """A large body keeps a thread busy, and not the event loop."""
    if len(content) <= SMALL_BYTES:
        return work(content)
    return await asyncio.to_thread(work, content)


def _reason(content: bytes, error: Exception) -> str:
    if not content.strip():
        return "it is empty"
    if b"\\ud" in content.lower():  # which the decoder may call truncated
        return f"{error} (a \\u escape may be half of a surrogate pair)"
    return str(error)


def refuse_unknown(request: Request, known: set[str]) -> None:
    """Most often an ampersand in a URL that was not encoded: the rest of it would be lost."""
    try:
        unquote_to_bytes(request.scope["query_string"]).decode()
    except UnicodeDecodeError:  # it would be read as another URL, with U+FFFD in its place
        raise HTTPException(
            422,
            "A parameter is not UTF-8. "
            "A URL given as a parameter must be percent-encoded, its own percent signs too.",
        ) from None
    unknown = request.query_params.keys() - known
    if unknown:
        raise HTTPException(
            422,
            f"Unknown parameter {', '.join(sorted(unknown))!r}. "
            "A URL given as a parameter must be percent-encoded.",
        )


def refuse_nul(request: Request) -> None:
    if any("\0" in value for value in request.query_params.values()):
        raise HTTPException(422, "A parameter contains a NUL character.")


def instant(given: datetime | date | None) -> datetime | None:
    """In UTC. The beginning, of a day; without a time zone UTC is meant."""
    if given is None:
        return None
    if not isinstance(given, datetime):
        return datetime(given.year, given.month, given.day, tzinfo=UTC)
    if given.tzinfo is None:
        return given.replace(tzinfo=UTC)
    try:
        return given.astimezone(UTC)
    except OverflowError:  # before the first moment that there is, or after the last
        return FIRST_MOMENT if given.year == 1 else LAST_MOMENT


def last_instant(request: Request, name: str, given: datetime | date | None) -> datetime | None:
    """As `instant`, but the end of a day, which the type does not tell from its beginning."""
    moment = instant(given)
    if moment is not None and _DAY.fullmatch(request.query_params[name]):
        return moment + timedelta(days=1, microseconds=-1)
    return moment
