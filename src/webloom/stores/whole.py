"""What a dump holds of an aggregate, and which of two states wins.

The rules are the same for every store. A store reads the state that it holds, asks `merged`, and
writes the answer on the condition that nothing has changed meanwhile.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeVar, overload

import msgspec
from msgspec import structs

from webloom.domain.feed import Feed
from webloom.domain.import_run import ImportRun
from webloom.domain.inbox import Muting, latest_muting, latest_triage
from webloom.domain.inventory import Record, Status
from webloom.domain.notification import Notification
from webloom.domain.page_check import OUTCOMES
from webloom.domain.page_parts import PARTS, latest
from webloom.domain.request_state import RequestState
from webloom.domain.retention import Retention
from webloom.domain.storage_event import (
    EventPrice,
    Place,
    StorageEvent,
    milliseconds_of,
    price_rank,
)
from webloom.domain.watch import (
    Metrics,
    Watch,
)
from webloom.domain.watch_run import RunState, ended
from webloom.ports.dump import (
    Line,
    PagePart,
    PagePrice,
    WholeLog,
    WholePage,
    WholePrice,
    WholeRecord,
    WholeRun,
    WholeVersion,
)
from webloom.ports.pages import StoredPage
from webloom.ports.postings import StoredPosting

Item = TypeVar("Item")

KEPT_IN_PROGRESS = Retention().kept_runs  # since the last sign of life
MOST_TOGETHER = 500  # items
LARGE = 16_000_000  # bytes of JSON, after which no more items are read together

_encode = msgspec.json.Encoder(order="deterministic").encode


def line_of(item: Any) -> Line:
    return Line(item, _encode(item))


def chunks(items: Iterator[Any]) -> Iterator[list[Line]]:
    """Lists that are short, and small in bytes."""
    taken, size = list[Line](), 0
    for item in items:
        taken.append(line_of(item))
        size += len(taken[-1].raw)
        if len(taken) == MOST_TOGETHER or size >= LARGE:
            yield taken
            taken, size = [], 0
    if taken:
        yield taken


# As they are dumped


def whole_record(record: Record, state: RequestState) -> WholeRecord:
    """A running attempt is returned: it does not count."""
    status, attempts = record.status, record.processing.attempt_number
    if state.in_progress_for is not None:
        attempts -= 1
        status = Status.PENDING if status is Status.IN_PROGRESS else status
    return WholeRecord(
        url=record.url,
        status=status,
        metadata=record.metadata,
        processing=replace(
            record.processing,
            attempt_number=attempts,
            error_message=without_nul(record.processing.error_message),
            last_request_id=state.last_request_id,
        ),
        additional_details=record.additional_details,
        created_at=record.created_at,
        updated_at=record.updated_at,
        token=int(state.token),  # a driver may have a type of its own for it
        request_id=state.request_id,
        background=state.background,
        waits=state.waits_for is not None,
    )


def without_nul(text: str | None) -> str | None:
    """SQLite can't store NUL."""
    return text and text.replace("\0", "\ufffd")


def whole_watch(watch: Watch) -> Watch:
    thresholds = watch.config.thresholds
    plain = replace(
        thresholds,
        price_below=plain_amount(thresholds.price_below),
        price_change_percent=plain_amount(thresholds.price_change_percent),
    )
    config = replace(watch.config, thresholds=plain)
    return replace(watch, active_run_id=None, begun=None, config=config)


def whole_run(state: RunState) -> WholeRun:
    """One in progress has ended with its last sign of life."""
    last = state.run.updated_at
    expires_at = state.expires_at or last + KEPT_IN_PROGRESS
    state = ended(state, now=last, next_run=None, expires_at=expires_at)
    return WholeRun(run=state.run, expires_at=expires_at)


def whole_page(
    page: StoredPage,
    places: Mapping[str, Place],
    validated_at: int | None,
    muting: Muting | None,
) -> WholePage:
    """`places` are those of the events that brought its parts."""

    def part(name: str, value: Any) -> Any:
        return None if value is None else PagePart(place=places[name], value=mended(value))

    price = None
    if (current := plain_amount(page.price)) is not None:
        price = EventPrice(
            current=current,
            list=plain_amount(page.list_price),
            currency=page.currency,
            change_percent=plain_amount(page.change_percent),
        )
    return WholePage(
        watch_id=page.watch_id,
        url=page.url,
        last_updated=page.last_updated,
        classification=part("classification", page.classification),
        price=None if price is None else PagePrice(place=places["price"], price=price),
        availability=part("availability", page.availability),
        checked_at=None if page.last_checked is None else milliseconds_of(page.last_checked),
        outcome=page.last_outcome,
        error=without_nul(page.last_error),
        validated_at=validated_at,
        validators=page.validators,
        muting=muting,
    )


def part_events(page: WholePage) -> dict[str, StorageEvent]:
    """For each part of a page the event that brought it."""
    parts = {name: getattr(page, name) for name in PARTS}
    return {
        name: StorageEvent(
            watch_id=page.watch_id,
            url=page.url,
            snapshot_hash=part.place.snapshot_hash,
            ts=part.place.ts,
            claimed=part.place.claimed,
            **{name: part.value},
        )
        for name, part in parts.items()
        if part is not None
    }


@overload
def plain_amount(value: Decimal) -> Decimal: ...
@overload
def plain_amount(value: Decimal | None) -> Decimal | None: ...
def plain_amount(value: Decimal | None) -> Decimal | None:
    """Without trailing zeros."""
    return None if value is None else Decimal(f"{value.normalize():f}")


def json_value(stored: bytes | str) -> Any:
    """A lone surrogate, which only some stores can hold, is replaced."""
    try:
        return msgspec.json.decode(stored)
    except msgspec.DecodeError:
        return mended(json.loads(stored))


def mended(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {mended(name): mended(each) for name, each in value.items()}
    return [mended(each) for each in value] if isinstance(value, list) else value


# Which of two wins: the one that the store holds, the one that is loaded, or parts of both


def merged(here: Any, new: Any) -> Any:
    return new if here is None else _RULES[type(new)](here, new)


def is_settled(here: Any, new: Any) -> bool:
    """Whether a store that holds `here` would write nothing for `new`."""
    wanted = merged(here, new)
    if names := _DERIVED.get(type(new)):
        wanted = structs.replace(wanted, **{name: getattr(here, name) for name in names})
    return bool(wanted == here)


def _by_time(moment: Callable[[Item], Any]) -> Callable[[Item, Item], Item]:
    return lambda here, new: here if moment(here) > moment(new) else new


def _record(here: WholeRecord, new: WholeRecord) -> WholeRecord:
    """A token never goes back."""
    if (here.updated_at, here.token) > (new.updated_at, new.token):
        return here
    return replace(new, token=max(here.token, new.token))


def _feed(here: Feed, new: Feed) -> Feed:
    """A run that is active here stays so."""
    if _last_change(here) > _last_change(new):
        return here
    return replace(new, active_run_id=here.active_run_id or new.active_run_id)


def _watch(here: Watch, new: Watch) -> Watch:
    """Metrics only grow."""
    mine, theirs = here.metrics, new.metrics
    metrics = Metrics(
        pages_processed=max(mine.pages_processed, theirs.pages_processed),
        changes=max(mine.changes, theirs.changes),
        price_changes=max(mine.price_changes, theirs.price_changes),
    )
    return replace(here if _last_change(here) > _last_change(new) else new, metrics=metrics)


def _last_change(it: Feed | Watch) -> datetime:
    return max(it.updated_at, it.last_run_at or it.updated_at)


def _version(here: WholeVersion, new: WholeVersion) -> WholeVersion:
    """The earliest place and the first content. A superseded version stays superseded."""
    place = min(here.place, new.place)
    if here.content is None and new.content is not None:
        return structs.replace(new, place=place)
    expires_at = _later(here.expires_at, new.expires_at)
    return structs.replace(new, place=place, content=here.content, expires_at=expires_at)


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    return max(one, other) if one is not None and other is not None else one or other


def _page(here: WholePage, new: WholePage) -> WholePage:
    """The latest of each part."""
    checked, validated = _later_check(here, new), _later_validation(here, new)
    return structs.replace(
        new,
        last_updated=max(here.last_updated, new.last_updated, key=_or_never),
        classification=latest(here.classification, new.classification),
        price=latest(here.price, new.price),
        availability=latest(here.availability, new.availability),
        checked_at=checked.checked_at,
        outcome=checked.outcome,
        error=checked.error,
        validated_at=validated.validated_at,
        validators=validated.validators,
        muting=latest_muting(here.muting, new.muting),
    )


def _or_never(moment: int | None) -> tuple[bool, int]:
    return moment is not None, moment or 0


_later_check: Callable[[WholePage, WholePage], WholePage] = _by_time(
    lambda page: (_or_never(page.checked_at), (None, *OUTCOMES).index(page.outcome))
)
_later_validation: Callable[[WholePage, WholePage], WholePage] = _by_time(
    lambda page: (_or_never(page.validated_at), page.validators.order)
)


def _log(here: WholeLog, new: WholeLog) -> WholeLog:
    """As for events (`earliest`), the earliest describes the change, and among equals the one that
    was stored first. What was announced stays so; the latest decision about it counts."""
    return structs.replace(
        new if new.place < here.place else here,
        number=new.number,
        batch=here.batch or new.batch,
        is_pending=here.is_pending and new.is_pending,
        triage=latest_triage(here.triage, new.triage),
    )


def _price(here: WholePrice, new: WholePrice) -> WholePrice:
    """As for events: the lowest rank wins, with the time that was stored first."""
    lowest = min(here, new, key=_price_rank)
    expires_at = _later(here.expires_at, new.expires_at)
    return structs.replace(lowest, ts=here.ts, expires_at=expires_at)


def _price_rank(it: WholePrice) -> tuple[int, str, str, str]:
    return price_rank(it.claimed, it.version_key, it.currency, it.change_percent)


def _notification(here: Notification, new: Notification) -> Notification:
    return new if _progress(new) > _progress(here) else here


def _progress(it: Notification) -> tuple[bool, int]:
    return not it.is_pending, it.attempts


_RULES: dict[type, Callable[[Any, Any], Any]] = {
    WholeRecord: _record,
    Feed: _feed,
    ImportRun: _by_time(lambda run: run.updated_at),
    StoredPosting: _by_time(lambda it: max(it.updated_at, it.closed_at or it.updated_at)),
    WholeRun: _by_time(lambda it: it.run.updated_at),
    Watch: _watch,
    WholePage: _page,
    WholeVersion: _version,
    WholePrice: _price,
    WholeLog: _log,
    Notification: _notification,
}
# What a store may have to decide otherwise: it knows other versions of the page.
_DERIVED: dict[type, tuple[str, ...]] = {
    WholeVersion: ("number", "expires_at"),
    WholePrice: ("expires_at",),
    WholeLog: ("number",),
}
