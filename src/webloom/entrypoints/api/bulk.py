"""Responses to bulk actions: lines of JSON. The last one has the result."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Any

import msgspec
from starlette.responses import StreamingResponse

from webloom.application.bulk import MOST_GIVEN, Act, Failure, Progress, act_on_each
from webloom.application.bulk_items import BulkAction, BulkItems, BulkOptions
from webloom.domain.listing import ListedState, ListFilter
from webloom.entrypoints.api.formats import AtMost, Ids, Instant, Query, TagQuery, Tags
from webloom.entrypoints.api.responses import Refusal
from webloom.parsing.json_limits import JsonLimits

NDJSON = "application/x-ndjson"
PROGRESS_SECONDS = 0.25  # between two lines
LIMITS = JsonLimits(values=500_000, items=MOST_GIVEN, called="ids or items", items_level=2)

_encode = msgspec.json.Encoder().encode


class BulkProgress(msgspec.Struct, kw_only=True):
    """A line of a bulk action that continues."""

    done: int
    total: int


class BulkFailure(msgspec.Struct, kw_only=True):
    id: str
    name: str | None  # null: there is no such item
    reason: str
    skipped: bool  # there was nothing to do


class BulkStep(BulkProgress, kw_only=True):
    """A line of a bulk action that goes on, with what came of the items since the line before: if
    the last line does not arrive, this much can be undone."""

    failed: int
    skipped: int
    failures: list[BulkFailure]  # and what was skipped; the first 100
    before: list[Any] | None  # old values of what has changed; null: more than 10,000 items have


class BulkResult(BulkStep, kw_only=True):
    """The last line of a bulk action: what came of all. POST `before` back to undo it, as
    {"action": "restore", "items": before}."""

    succeeded: int


LINES = (BulkStep, BulkResult)


class ListChoice(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """All that a list with these parameters shows."""

    q: Query | None = None
    tag: TagQuery | None = None
    state: ListedState | None = None
    before: Instant | None = None  # only those that had been created by then


class BulkBody(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    """An action on the items with these ids, or on all that the filter finds."""

    action: BulkAction
    ids: Ids | None = None
    filter: ListChoice | None = None
    at_most: AtMost | None = None
    tags: Tags = []  # for tag and untag


Choose = Callable[[Any, float | None], Awaitable[list[str]]]  # by the filter and `at_most`


def by_list(bulk: BulkItems[Any]) -> Choose:
    async def choose(given: ListChoice, at_most: float | None) -> list[str]:
        chosen = ListFilter(text=given.q, tag=given.tag, state=given.state)
        return await bulk.chosen(chosen, at_most, before=given.before)

    return choose


async def change_items(
    bulk: BulkItems[Any],
    body: BulkBody,
    options: BulkOptions,
    before: Callable[[str, Mapping[str, Any]], object],
    choose: Choose,
) -> StreamingResponse:
    """Raises Refusal and BulkRefused before anything is done."""
    act = bulk.act(body.action, options)
    if body.action is BulkAction.RESTORE:
        return bulk_response(options.before, act, before)
    one_of(body.ids, body.filter, "ids")
    if body.filter is None:
        return bulk_response(body.ids or (), act, before)
    return bulk_response(await choose(body.filter, body.at_most), act, before)


def one_of(ids: list[str] | None, chosen: object, name: str) -> None:
    """Raises Refusal."""
    if (ids is None) == (chosen is None):
        raise Refusal(422, f'Name the items by "{name}", or choose them by "filter".')


def _nothing(item_id: str, before: Mapping[str, Any]) -> object:
    return {}


def bulk_response(
    ids: Iterable[str],
    act: Act,
    before: Callable[[str, Mapping[str, Any]], object] = _nothing,
) -> StreamingResponse:
    """`before` makes the entry of an item that can be undone."""
    return as_lines(bulk_steps(ids, act, before))


def as_lines(lines: AsyncIterator[object]) -> StreamingResponse:
    """Each is sent as a line of JSON at once, except mere progress that follows too closely."""
    headers = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}
    return StreamingResponse(_encoded(lines), 200, headers, NDJSON)


async def _encoded(lines: AsyncIterator[object]) -> AsyncIterator[bytes]:
    shown_at = time.monotonic()
    async for each in lines:
        if type(each) is BulkProgress:
            if time.monotonic() - shown_at < PROGRESS_SECONDS:
                continue
            shown_at = time.monotonic()
        yield _encode(each) + b"\n"


def _failure(it: Failure) -> BulkFailure:
    return BulkFailure(id=it.id, name=it.name, reason=it.reason, skipped=it.is_skipped)


async def bulk_steps(
    ids: Iterable[str], act: Act, before: Callable[[str, Mapping[str, Any]], object] = _nothing
) -> AsyncIterator[BulkStep]:
    async for each in act_on_each(ids, act):
        changed = each.before
        step = BulkStep(
            done=each.done if isinstance(each, Progress) else each.total,
            total=each.total,
            failed=each.failed,
            skipped=each.skipped,
            failures=[_failure(failure) for failure in each.failures],
            before=None if changed is None else [before(*one) for one in changed.items()],
        )
        if isinstance(each, Progress):
            yield step
        else:
            succeeded = each.total - each.failed - each.skipped
            yield BulkResult(**msgspec.structs.asdict(step), succeeded=succeeded)
