"""What a dump holds of an aggregate, and which of two states stands.

The rules are the same for every store. A store reads the state that it holds, asks `merged`, and
writes the answer on the condition that nothing has changed meanwhile.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, TypeVar

import msgspec

from webloom.domain.feed import Feed
from webloom.domain.import_run import ImportRun
from webloom.domain.inventory import Record, Status
from webloom.domain.notification import Notification
from webloom.domain.request_state import RequestState
from webloom.domain.retention import Retention
from webloom.domain.storage_event import EventPrice, Place, StorageEvent, milliseconds_of
from webloom.domain.watch import (
    Metrics,
    Outcome,
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

KEPT_IN_PROGRESS = timedelta(days=Retention().job_runs)  # since the last sign of life
MOST_TOGETHER = 500  # items
LARGE = 16_000_000  # bytes of JSON, after which no more items are read together
_OUTCOMES = (None, Outcome.FAILED, Outcome.UNCHANGED, Outcome.CHANGED)  # the last of a moment wins

_encode = msgspec.json.Encoder(order="deterministic").encode


def line_of(item: Any) -> Line:
    return Line(item, _encode(item))


def chunks(items: Iterator[Any]) -> Iterator[list[Line]]:
    """Lists that are neither long nor large."""
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
    """SQLite can't hold one."""
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
    page: StoredPage, places: Mapping[str, Place], validated_at: int | None
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
        job_id=page.job_id,
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
    )


def part_events(page: WholePage) -> dict[str, StorageEvent]:
    """For each part of a page the event that brought it."""
    parts = {name: getattr(page, name) for name in ("classification", "price", "availability")}
    return {
        name: event_of(page, part.place, **{name: part.value})
        for name, part in parts.items()
        if part is not None
    }


def event_of(
    item: WholePage | WholeVersion | WholePrice | WholeLog, place: Place, **said: Any
) -> StorageEvent:
    """An event that stores it, though not always with the same keys: those of an event without a
    time of its own are others."""
    return StorageEvent(
        job_id=item.job_id,
        url=item.url,
        snapshot_hash=place.snapshot_hash,
        ts=place.ts,
        claimed=place.claimed,
        **said,
    )


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


# Which of two stands: the one that the store holds, the one that is loaded, or parts of both


def merged(here: Any, new: Any) -> Any:
    return new if here is None else _RULES[type(new)](here, new)


def is_settled(here: Any, new: Any) -> bool:
    """Whether a store that holds one has nothing to learn from the other."""
    wanted = merged(here, new)
    names = _DERIVED.get(type(new), ())
    return bool(replace(wanted, **{name: getattr(here, name) for name in names}) == here)


def _by_time(moment: Callable[[Item], Any]) -> Callable[[Item, Item], Item]:
    return lambda here, new: here if moment(here) > moment(new) else new


def _record(here: WholeRecord, new: WholeRecord) -> WholeRecord:
    """A token never goes back."""
    if (here.updated_at, here.token) > (new.updated_at, new.token):
        return here
    return replace(new, token=max(here.token, new.token))


def _feed(here: Feed, new: Feed) -> Feed:
    """A run that has been started since the same state was loaded stays active."""
    mine, theirs = _last_change(here), _last_change(new)
    if mine == theirs:
        return replace(new, active_run_id=here.active_run_id or new.active_run_id)
    return here if mine > theirs else new


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
    """The earliest place, and content as soon as there is one. What is superseded stays so."""
    if here.content is None and new.content is not None:
        return replace(new, place=min(here.place, new.place))
    return replace(
        new,
        place=min(here.place, new.place),
        content=here.content if new.content is None else new.content,
        expires_at=_later(here.expires_at, new.expires_at),
    )


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    return max(one, other) if one is not None and other is not None else one or other


def _page(here: WholePage, new: WholePage) -> WholePage:
    """Of each part the latest."""
    checked, validated = _later_check(here, new), _later_validation(here, new)
    return replace(
        new,
        last_updated=max(here.last_updated, new.last_updated, key=_or_never),
        classification=_latest(here.classification, new.classification),
        price=_latest(here.price, new.price),
        availability=_latest(here.availability, new.availability),
        checked_at=checked.checked_at,
        outcome=checked.outcome,
        error=checked.error,
        validated_at=validated.validated_at,
        validators=validated.validators,
    )


def _or_never(moment: int | None) -> tuple[bool, int]:
    return moment is not None, moment or 0


def _latest(here: Any, new: Any) -> Any:
    return here if new is None or (here is not None and here.place > new.place) else new


_later_check: Callable[[WholePage, WholePage], WholePage] = _by_time(
    lambda page: (_or_never(page.checked_at), _OUTCOMES.index(page.outcome))
)
_later_validation: Callable[[WholePage, WholePage], WholePage] = _by_time(
    lambda page: _or_never(page.validated_at)
)


def _log(here: WholeLog, new: WholeLog) -> WholeLog:
    """The earliest event describes the change. What was announced stays so."""
    return replace(
        new if new.place <= here.place else here,
        number=new.number,
        batch=here.batch or new.batch,
        untold=here.untold and new.untold,
    )


def _price(here: WholePrice, new: WholePrice) -> WholePrice:
    return replace(new, expires_at=_later(here.expires_at, new.expires_at))


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
