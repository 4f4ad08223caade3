"""Edits of watches and feeds, which several people and processes may make at the same time.

read -> change some settings -> check them -> write, unless another edit was faster: then again
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import wraps
from typing import ParamSpec, TypeVar

from webloom.domain.errors import EditOvertaken, WebloomError
from webloom.domain.schedule import MANY_FAILURES, restored_due
from webloom.domain.tags import checked_tags
from webloom.jitter import jitter

Given = ParamSpec("Given")
Result = TypeVar("Result")

Tags = list[str] | Callable[[list[str]], list[str]]  # or what becomes of those that are there


def until_in_time(
    edit: Callable[Given, Awaitable[Result]],
) -> Callable[Given, Awaitable[Result]]:
    """Repeats an edit that reads, decides and writes for as long as it raises EditOvertaken."""

    @wraps(edit)
    async def edit_in_time(*args: Given.args, **changes: Given.kwargs) -> Result:
        while True:
            with suppress(EditOvertaken):
                return await edit(*args, **changes)

    return edit_in_time


@contextmanager
def checking(setting: str, refusal: type[WebloomError]) -> Iterator[None]:
    """Raises `refusal`, which names the setting, instead of ValueError."""
    try:
        yield
    except ValueError as error:
        raise refusal(f"{setting}: {error}") from error


def due_after_edit(
    next_run: Callable[..., datetime | None], now: datetime, *, before: datetime | None
) -> datetime | None:
    """When the next run is due, if the edit moves it. `before` is when it was due earlier, if that
    is to be restored; `next_run` is that of the domain, for the new configuration."""
    if before is None:
        return next_run(now=now, failures=0, jitter=jitter())
    return restored_due(before, now, latest=next_run(now=now, failures=MANY_FAILURES, jitter=1.0))


def tags_after(tags: Tags, known: list[str]) -> list[str]:
    """Raises ValueError."""
    return checked_tags(tags(known) if callable(tags) else tags)
