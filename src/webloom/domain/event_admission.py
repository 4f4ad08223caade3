"""Which events are stored: all from our own checker, and those from other programs that can't
damage the pages it maintains.

A `ts` in the far future would remain the latest of its page for years. An event of another program
for a page that the checker maintains would be mistaken for a version of it.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from datetime import datetime, timedelta

from webloom.domain.errors import EventRefused
from webloom.domain.shown import shown_time
from webloom.domain.storage_event import Origin, StorageEvent, milliseconds_of, moment_of
from webloom.domain.watch import EVENTS, RunHead, Watch

FURTHEST_AHEAD = timedelta(days=1)  # for clock skew, or a wrong time zone


def refuse_far_future(ts: int, now: datetime) -> None:
    """Raises EventRefused."""
    if ts > milliseconds_of(now + FURTHEST_AHEAD):
        raise EventRefused(
            f"ts: {shown_time(moment_of(ts))} is more than a day in the future; it is when "
            "the page was read, in milliseconds since 1970"
        )


def maintained_urls(watch: Watch | None) -> Sequence[str]:
    """Normalised URLs of pages that other programs may not change."""
    if watch is None or watch.is_external or watch.config.accepts_events:
        return ()
    return watch.config.urls


def refuse_maintained(url: str, maintained: Container[str]) -> None:
    """`url` is normalised. Raises EventRefused."""
    if url in maintained:
        raise EventRefused(
            "url: Webloom checks this page itself for this jobId. Let the watch accept events "
            "(acceptsEvents), or send them for another jobId"
        )


def admitted(
    event: StorageEvent,
    *,
    url: str,
    maintained: Container[str],
    run: RunHead | None,
    now: datetime,
) -> StorageEvent:
    """The event to store. `url` is its normalised URL; `maintained` are those of its watch; `run`
    is its run. Raises EventRefused.

    An event without an origin in a run of its watch comes from a worker of an earlier version. An
    event from another program does not count for such a run.
    """
    is_in_run_of_ours = run is not None and run.watch_id == event.watch_id and run.trigger != EVENTS
    if event.origin is Origin.CHECKER or (event.origin is None and is_in_run_of_ours):
        return event
    refuse_far_future(event.ts, now)
    refuse_maintained(url, maintained)
    return event.without_run if is_in_run_of_ours else event
