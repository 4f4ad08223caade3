"""The PageStores' contract: change logs with alerts, until they are notified; and that each is
notified once, whenever the sender is killed."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

from contracts.adapters import Processes, Watching
from contracts.dying import Killed
from contracts.watch_samples import add_watch, begin, config, end, event, started, url
from fakes.clock import FakeClock
from fakes.notifier import FakeNotifier
from webloom.application.watch.send_notifications import SendNotifications
from webloom.domain.errors import StoreUnavailable
from webloom.domain.storage_event import StorageEvent
from webloom.domain.watch import RunStatus, Target, WatchRun
from webloom.ports.change_alerts import AlertSource
from webloom.ports.notifier import NotificationMessage
from webloom.ports.page_history import ChangeFilter

JOB = "id of shop"
HOOK, NTFY = "https://hook.example/", "ntfy://hook.example/topic"


def change(page: str, alert: str | None = "it changed", **changes: Any) -> StorageEvent:
    made = event(page, claimed=2, is_change=True, changes={"textChanged": True})
    return replace(made, alerts=[] if alert is None else [alert], **changes)


async def pages_of(store: Watching, batch: str) -> list[str]:
    """That a batch tells of."""
    logs, cursor = await store.history.change_logs(ChangeFilter(batch=batch), limit=100)
    assert cursor is None
    return sorted(each.url[-1] for each in logs)


async def test_alerts_are_late_when_no_run_will_send_them(watching: Watching) -> None:
    run = await begin(watching)
    for each in (
        change("a", run_id=run.run_id),
        change("b", None, run_id="closed", closes_run=RunStatus.COMPLETED),
        change("c", run_id="closed"),
        change("d"),
        change("g", run_id="opened"),
        change("e", watch_id="other", run_id=run.run_id),
        event("f", alerts=["of no change"]),
    ):
        await watching.pages.store_event(each)
    late = {
        AlertSource(watch_id=JOB, run_id="closed"),
        AlertSource(watch_id=JOB, run_id=None),
        AlertSource(watch_id="other", run_id=run.run_id),
    }
    found = await watching.alerts.pending(limit=9)
    assert (set(found), len(found)) == (late, 3)
    assert len(await watching.alerts.pending(limit=2)) == 2
    await end(watching, run)
    found = await watching.alerts.pending(limit=9)
    assert set(found) == late | {AlertSource(watch_id=JOB, run_id=run.run_id)}


async def test_what_is_in_a_batch_is_fixed(watchings: Processes[Watching]) -> None:
    async with watchings.open() as one, watchings.open() as other:
        run = await begin(one)
        assert await one.alerts.assign_batch(JOB, run.run_id, "none") == []
        for page in "ab":
            await one.pages.store_event(change(page, run_id=run.run_id))
        await one.pages.store_event(change("c", None, run_id=run.run_id))
        await one.pages.store_event(change("d"))
        assert await one.alerts.assign_batch(JOB, run.run_id, "first") == ["first"]
        assert await pages_of(other, "first") == ["a", "b"]
        await one.pages.store_event(change("c", None, run_id=run.run_id))
        await other.pages.store_event(change("e", run_id=run.run_id))
        found = await other.alerts.assign_batch(JOB, run.run_id, "second")
        assert sorted(found) == ["first", "second"]
        assert await pages_of(one, "first") == ["a", "b"]
        assert await pages_of(one, "second") == ["e"]
        for _ in range(2):
            await one.alerts.note_notified("first")
        assert await other.alerts.assign_batch(JOB, run.run_id, "third") == ["second"]
        await other.alerts.note_notified("second")
        assert await one.alerts.assign_batch(JOB, run.run_id, "fourth") == []
        assert await pages_of(one, "first") == ["a", "b"]
        assert await one.alerts.assign_batch(JOB, None, "fifth") == ["fifth"]
        assert await pages_of(one, "fifth") == ["d"]


async def test_a_repeated_event_is_not_notified_again(watching: Watching) -> None:
    reported, quiet = change("a", run_id="r"), change("b", None, run_id="r")
    for each in (reported, quiet):
        await watching.pages.store_event(each)
    [batch] = await watching.alerts.assign_batch(JOB, "r", "batch")
    await watching.alerts.note_notified(batch)
    earlier: dict[str, Any] = {"ts": reported.ts - 1000, "alerts": ["as sent at first"]}
    for each in (reported, replace(reported, **earlier), quiet):
        await watching.pages.store_event(each)
    assert await watching.alerts.pending(limit=9) == []
    # An earlier event of that version is what counts, and it was not notified.
    await watching.pages.store_event(replace(quiet, **earlier))
    assert await watching.alerts.assign_batch(JOB, "r", "more") == ["more"]
    assert await pages_of(watching, "more") == ["b"]


# No matter who is killed


class Deadly:
    """A store of a process that is killed at a moment: before or after one of its calls."""

    def __init__(self, store: Any, moments: list[bool]) -> None:
        self._store = store
        self._moments = moments  # what is left of its life

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._store, name)

        async def call(*arguments: Any, **options: Any) -> Any:
            self._pass()
            result = await verb(*arguments, **options)
            self._pass()
            return result

        return call

    def _pass(self) -> None:
        if not self._moments:
            raise Killed
        self._moments.pop()


class Sink(FakeNotifier):
    """A notifier that nothing is ever sent with."""

    async def send(self, target: Target, message: NotificationMessage) -> None:
        raise StoreUnavailable("it is not asked")


def teller(store: Watching, clock: FakeClock, life: int = 10_000) -> SendNotifications:
    moments = [True] * life
    return SendNotifications(
        watches=Deadly(store.watches, moments),
        notifications=Deadly(store.notifications, moments),
        alerts=Deadly(store.alerts, moments),
        history=Deadly(store.history, moments),
        notifier=Sink(),
        clock=clock,
    )


async def test_killed_at_any_moment_each_alert_is_sent_once(
    watching: Watching, clock: FakeClock
) -> None:
    """One comes before the end of its run, one while it ends, one after it; each is delivered
    again at last."""
    await add_watch(watching)
    targets = [Target(url=HOOK), Target(url=NTFY)]
    watch = await watching.watches.edit_watch(JOB, config(targets=targets), next_run_at=None)
    assert watch is not None
    for life in itertools.count():
        run = await started(watching)
        events = [replace(each, run_id=run.run_id) for each in _some(life)]
        await watching.pages.store_event(events[0])
        deaths = 0
        try:
            await teller(watching, clock, life).after_run(watch, run)
        except Killed:
            deaths += 1
        await watching.pages.store_event(events[1])
        await teller(watching, clock).after_run(watch, run)
        await end(watching, run)
        for each in (events[0], events[2], events[1]):
            await watching.pages.store_event(each)
        try:
            await teller(watching, clock, life).after_late_events()
        except Killed:
            deaths += 1
        for _ in range(2):
            for each in events:
                await watching.pages.store_event(each)
            await teller(watching, clock).after_late_events()
        lines = sorted(f"{url(page)}: {life}" for page in "abc")
        assert await _sent_lines(watching, run) == {HOOK: lines, NTFY: lines}
        if deaths == 0:
            assert life > 10
            return


def _some(life: int) -> list[StorageEvent]:
    return [change(page, str(life), claimed=life + 2) for page in "abc"]


async def _sent_lines(store: Watching, run: WatchRun) -> dict[str, list[str]]:
    found, _ = await store.notifications.of_watch(JOB, limit=1000)
    reported: dict[str, list[str]] = {}
    for each in found:
        if each.run_id == run.run_id:
            reported.setdefault(each.target_url, []).extend(each.lines)
    return {name: sorted(lines) for name, lines in reported.items()}
