"""Loads the items of a dump that are `Documents` into a store, through the codecs that it has.

A backend adds how its collections are scanned, and loads what it writes in batches of its own:
records, postings, and everything about a page.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from webloom.domain.feed import Feed
from webloom.domain.import_run import ImportRun, RunStatus
from webloom.domain.import_transitions import FeedState
from webloom.domain.import_transitions import RunState as ImportState
from webloom.domain.notification import Notification
from webloom.domain.watch import EVENTS, Watch
from webloom.domain.watch import RunStatus as WatchStatus
from webloom.domain.watch_run import RunState
from webloom.ports.dump import WholeRun
from webloom.stores.feeds import StoredFeeds
from webloom.stores.primitives import Documents, Now
from webloom.stores.whole import merged, whole_run, whole_watch, without_nul


class Aggregate(NamedTuple):
    key: Callable[[Any], str]  # of an item
    item: Callable[[Any], Any]  # of a state
    state: Callable[[Any, Any], Any]  # the state, which may be None, with an item in it


def _feed_state(state: FeedState | None, feed: Feed) -> FeedState | None:
    """A new feed has a write of its own, in which URLs are unique."""
    if state is None:
        return None
    is_same_run = state.feed.active_run_id == feed.active_run_id
    return replace(state, feed=feed, begun=state.begun if is_same_run else None)


def _import_state(state: ImportState | None, run: ImportRun) -> ImportState:
    """Who holds a run stays as it is."""
    if state is not None:
        return replace(state, run=run)
    return ImportState(run=run, started=run.started_at.timestamp(), revision=0)


def _run_state(state: RunState | None, item: WholeRun) -> RunState:
    """A run that is in progress here stays so."""
    if state is not None and state.run.status is WatchStatus.IN_PROGRESS:
        return state
    last_event_at = item.run.finished_at if item.run.trigger == EVENTS else None
    return RunState(run=item.run, expires_at=item.expires_at, last_event_at=last_event_at)


def _watch_state(state: Watch | None, watch: Watch) -> Watch:
    """A run that is active here stays so."""
    if state is None:
        return watch
    return replace(watch, active_run_id=state.active_run_id, begun=state.begun)


def _whole_notification(state: Notification) -> Notification:
    return replace(state, error=without_nul(state.error))


AGGREGATES = {
    "feeds": Aggregate(lambda feed: feed.feed_id, lambda state: state.feed, _feed_state),
    "import_logs": Aggregate(lambda run: run.run_id, lambda state: state.run, _import_state),
    "job_runs": Aggregate(lambda item: item.run.run_id, whole_run, _run_state),
    "watches": Aggregate(lambda watch: watch.watch_id, whole_watch, _watch_state),
    "notices": Aggregate(
        lambda item: item.notification_id, _whole_notification, lambda state, item: item
    ),
}


class StoredDump(ABC):
    """The writes of the port `WholeStore`; a backend adds its snapshots."""

    def __init__(
        self,
        documents: Mapping[str, Documents[Any]],  # of AGGREGATES; runs with their counters
        feeds: StoredFeeds,
        notes: Documents[str],
    ) -> None:
        self._documents = documents
        self._feeds = feeds
        self._notes = notes

    @abstractmethod
    async def _put(self, collection: str, items: Sequence[Any]) -> list[Any]:
        """As `put_if_newer`, of a collection that has no documents."""

    async def put_if_newer(self, collection: str, items: Sequence[Any]) -> list[Any]:
        aggregate = AGGREGATES.get(collection)
        if aggregate is None:
            return await self._put(collection, items)
        documents = self._documents[collection]
        keyed = [(aggregate.key(item), item) for item in items]
        if collection == "feeds":
            for feed in items:
                await self._put_feed(feed)
        await documents.change(partial(_merge, aggregate), keyed)
        if collection == "import_logs":
            running = [(it.feed_id, it.run_id) for it in items if it.status is RunStatus.RUNNING]
            await self._documents["feeds"].change(_tie, running)
        found = await documents.read([key for key, _ in keyed])
        return [aggregate.item(found[key]) if key in found else None for key, _ in keyed]

    async def _put_feed(self, feed: Feed) -> None:
        """Add it, or write what a person decided about it. It is left out if another feed has its
        URL."""
        state = (await self._documents["feeds"].read([feed.feed_id])).get(feed.feed_id)
        if state is None:
            await self._feeds.insert(FeedState(feed=feed))
        elif (wanted := merged(state.feed, feed)) != state.feed:
            after = replace(state, feed=wanted, revision=state.revision + 1)
            await self._feeds.replace(state, after)

    async def noted(self, name: str) -> str | None:
        return (await self._notes.read([name])).get(name)

    async def note(self, name: str, text: str | None) -> None:
        await self._notes.change(_note, [(name, text)])


def _merge(aggregate: Aggregate, state: Any, new: Any, now: Now) -> tuple[Any, None]:
    here = None if state is None else aggregate.item(state)
    wanted = merged(here, new)
    return (state if wanted == here else aggregate.state(state, wanted)), None


def _tie(state: FeedState | None, run_id: str, now: Now) -> tuple[FeedState | None, None]:
    """A run in progress is the active one of its feed."""
    if state is None or state.feed.active_run_id is not None:
        return state, None
    return replace(state, feed=replace(state.feed, active_run_id=run_id)), None


def _note(known: str | None, text: str | None, now: Now) -> tuple[str | None, None]:
    return text, None
