"""Send notifications of what a run has found.

    a run ends -> its change logs with alerts form a batch -> one notification per target (outbox)
    stored after its run, or without a run -> the same, at the next poll
    due -> per target: notifications due at the same time form one message -> send
                                              sent: recorded | failed: retried later, or given up

A change log is in one batch, and a batch never changes: after a crash its notifications are created
again with the same ids. So each change is reported once; concurrent schedulers may report it twice,
but never not at all.

After a crash between sending and recording, the message is sent again with the same id: which
notifications form a message is fixed once they are due.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
import unicodedata
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from webloom.application.watch.send_by_target import SendByTarget
from webloom.domain.errors import NotSent, Unavailable
from webloom.domain.notification import Notification, NotifiedChange, next_attempt
from webloom.domain.price_history import PriceRecord
from webloom.domain.reason_words import sentences
from webloom.domain.storage_event import digest, run_of_day
from webloom.domain.watch import Target, Watch, WatchRun
from webloom.parsing.reasons import plain_reasons, reasons_of, stored_reasons
from webloom.ports.change_alerts import AlertSource, ChangeAlerts
from webloom.ports.clock import Clock
from webloom.ports.notifications import Notifications
from webloom.ports.notifier import NotificationMessage, Notifier
from webloom.ports.page_history import ChangeFilter, ChangeLog, PageHistory
from webloom.ports.watches import Watches

log = logging.getLogger(__name__)

MOST_LINES = 500  # of one message
LONGEST_LINE = 500
_SOURCES_AT_ONCE = 100  # watches and their runs
_LOGS_AT_ONCE = 200
_AT_ONCE = 1000
_PRICES_LOOKED_AT = 50
_TARGETS_AT_ONCE = 10_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def notifications_of(
    watch: Watch, batch: str, logs: Sequence[ChangeLog], now: datetime, *, more: int = 0
) -> list[Notification]:
    """One per target, if there are changes to notify. `more` changes are only counted."""
    alerting = [each for each in logs if each.sentences]
    if not alerting:
        return []
    count = len(alerting) + more
    lines = [line_of(each.url, each.sentences) for each in alerting[:MOST_LINES]]
    return [
        Notification(
            # A scheduler that sees only a part of what another is collecting uses another id.
            notification_id=digest(batch, target.url, str(count)),
            watch_id=watch.watch_id,
            target_url=target.url,
            run_id=_run_of(alerting[0]),
            due_at=due_at(target, now),
            lines=_bounded(lines, count),
            changes=[_notified(*each) for each in zip(alerting, lines, strict=False)],
            batch=batch,
        )
        for target in {each.url: each for each in watch.config.targets}.values()
    ]


def _run_of(change: ChangeLog) -> str:
    """The run that the change counts for."""
    return change.run_id or run_of_day(change.watch_id, change.timestamp)


def line_of(url: str, alerts: Sequence[str]) -> str:
    return _one_line(f"{url}: {'; '.join(alerts)}")


def _notified(change: ChangeLog, line: str) -> NotifiedChange:
    """A line that is cut stays as it is: what it can't show is not stored for each target."""
    reasons = change.reasons if len(line) <= LONGEST_LINE else []
    return NotifiedChange(url=change.url[:LONGEST_LINE], reasons=stored_reasons(reasons))


def lines_of(notification: Notification) -> list[str]:
    """Those of changes with reasons are worded now."""
    lines = list(notification.lines)
    for place, change in enumerate(notification.changes[: len(lines)]):
        if reasons := reasons_of(change.reasons, alerts=lines[place : place + 1]):
            lines[place] = line_of(change.url, sentences(reasons))
    return lines


def due_at(target: Target, now: datetime) -> datetime:
    """Digests are due at whole multiples of their length, so several runs share one."""
    if target.digest_minutes is None:
        return now
    length = timedelta(minutes=target.digest_minutes)
    return _EPOCH + ((now - _EPOCH) // length + 1) * length


def together(notifications: Iterable[Notification]) -> list[list[Notification]]:
    """Groups that form one message each: of one watch and target, due at the same time. A digest
    stays together when it fails; other notifications are sent one by one."""
    groups: dict[tuple[str, str, datetime], list[Notification]] = {}
    for each in notifications:
        key = (each.watch_id, each.target_url, each.due_at)
        groups.setdefault(key, []).append(each)
    return [sorted(group, key=lambda each: each.notification_id) for group in groups.values()]


class _Unexpected(NotSent):
    """This message failed for a reason other than its target."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SendNotifications:
    watches: Watches
    notifications: Notifications
    alerts: ChangeAlerts
    history: PageHistory
    notifier: Notifier
    clock: Clock

    async def after_run(self, watch: Watch, run: WatchRun) -> None:
        """May be repeated. Raises StoreUnavailable."""
        await self._notify(watch, run.watch_id, run.run_id)

    async def after_late_events(self) -> None:
        """Changes that no end of a run covers. May be repeated. Raises StoreUnavailable."""
        while True:
            some = await self.alerts.pending(limit=_SOURCES_AT_ONCE)
            notified = [await self._notify_source(each) for each in some]
            if len(some) < _SOURCES_AT_ONCE or not any(notified):
                return

    async def _notify_source(self, source: AlertSource) -> bool:
        """A watch whose alerts can't be collected does not stop the others."""
        try:
            watch = await self.watches.find_watch(source.watch_id)
            await self._notify(watch, source.watch_id, source.run_id)
        except Unavailable:
            raise
        except Exception as error:
            fields = {"watch_id": source.watch_id, "run_id": source.run_id}
            log.error("unexpected error in collecting alerts", exc_info=error, extra=fields)
            return False
        return True

    async def _notify(self, watch: Watch | None, watch_id: str, run_id: str | None) -> None:
        for batch in await self.alerts.assign_batch(watch_id, run_id, uuid.uuid4().hex):
            if watch is not None and watch.config.targets:
                logs, more = await self._alerting_changes(batch)
                notifications = notifications_of(watch, batch, logs, self.clock.now(), more=more)
                if notifications:
                    await self.notifications.add(notifications)
            await self.alerts.note_notified(batch)

    async def send_due(self, stop: asyncio.Event | None = None) -> int:
        """How many were due. No target waits for another (`SendByTarget`). After `stop`, no message
        is started. Raises StoreUnavailable."""
        is_over = stop or asyncio.Event()
        found = 0

        async def send(target_url: str) -> bool:
            nonlocal found
            due = await self.notifications.due(
                self.clock.now(), limit=_AT_ONCE, target_url=target_url
            )
            found += len(due)
            return await self._send_all(together(due), is_over)

        await SendByTarget(
            due=lambda: self.notifications.due_targets(self.clock.now(), limit=_TARGETS_AT_ONCE),
            send=send,
            lane_of=self.notifier.lane,
            stop=is_over,
        )()
        return found

    async def _send_all(self, groups: list[list[Notification]], stop: asyncio.Event) -> bool:
        """Messages to one target, one after the other. False: it is unavailable, and the rest stays
        due until the next poll."""
        for group in groups:
            if stop.is_set():
                break
            failure = await self._attempt(group)
            if failure is None:
                ids = [each.notification_id for each in group]
                await self.notifications.note_sent(ids, self.clock.now())
                continue
            await self._note_failure(group, failure)
            if failure.retryable and not isinstance(failure, _Unexpected):
                return False
        return True

    async def _attempt(self, group: list[Notification]) -> NotSent | None:
        first = group[0]
        try:
            watch = await self.watches.find_watch(first.watch_id)
            if watch is None:
                return NotSent(reason="the watch was removed", retryable=False)
            for target in watch.config.targets:
                if target.url == first.target_url:
                    await self.notifier.send(target, await self._message(watch, group))
                    return None
            return NotSent(reason="the target was removed from its watch", retryable=False)
        except NotSent as failure:
            return failure
        except Unavailable:
            raise
        except Exception as error:
            # A message that can't be built or sent does not stop the others.
            log.error(
                "unexpected error in sending a notification",
                extra={**_fields(first), "kind": type(error).__name__, "at": _places(error)},
            )
            return _Unexpected(reason=f"unexpected: {type(error).__name__}", retryable=True)

    async def _note_failure(self, group: list[Notification], failure: NotSent) -> None:
        # As for the one with the most attempts, so that a digest stays together.
        tried = max(group, key=lambda each: each.attempts)
        again = next_attempt(tried, failure, self.clock.now())
        ids = [each.notification_id for each in group]
        await self.notifications.note_failed(ids, error=failure.reason, retry_at=again)
        message = (
            "a notification failed, to be retried" if again else "a notification failed for good"
        )
        log.warning(message, extra={**_fields(tried), "error": failure.reason})

    async def _message(self, watch: Watch, group: list[Notification]) -> NotificationMessage:
        found = [(each, *await self._alerting_changes(each.batch)) for each in group]
        found.sort(key=lambda each: max((change.timestamp for change in each[1]), default=0))
        lines = [line for each, _, _ in found for line in lines_of(each)[:MOST_LINES]]
        # Lines are bounded; but the store may have dropped change logs that they quote.
        count = max(len(lines), sum(len(logs) + more for _, logs, more in found))
        lines = _bounded(lines, count)
        changes = [change for _, logs, _ in found for change in logs][:MOST_LINES]
        ids = [each.notification_id for each in group]
        return NotificationMessage(
            message_id=ids[0] if len(ids) == 1 else digest(*ids),
            at=self.clock.now(),
            title=f"{_one_line(watch.config.name)}: {count:,} change{'' if count == 1 else 's'}",
            lines=lines,
            payload={
                "watchId": watch.watch_id,
                "watchName": watch.config.name,
                "runId": found[-1][0].run_id,
                "runIds": list(dict.fromkeys(each.run_id for each, _, _ in found)),
                "noticeIds": ids,
                "lines": lines,
                "changes": [await self._change(each) for each in changes],
            },
        )

    async def _alerting_changes(self, batch: str | None) -> tuple[list[ChangeLog], int]:
        """The first MOST_LINES of a batch that are to be notified, and the number of those
        beyond."""
        kept: list[ChangeLog] = []
        more, cursor = 0, None
        while batch is not None:
            logs, cursor = await self.history.change_logs(
                ChangeFilter(batch=batch), limit=_LOGS_AT_ONCE, cursor=cursor
            )
            found = [each for each in logs if each.sentences]
            room = MOST_LINES - len(kept)
            kept += found[:room]
            more += len(found[room:])
            if cursor is None:
                break
        return kept, more

    async def _change(self, change: ChangeLog) -> dict[str, Any]:
        record = await self._price(change)
        price = record and {
            "current": record.price,
            "currency": record.currency,
            "changePercent": record.change_percent,
        }
        return {
            "url": change.url,
            "version": {"previous": change.previous, "current": change.current},
            "timestamp": change.timestamp,
            "alerts": [_one_line(each) for each in change.sentences],
            "reasons": plain_reasons(change.reasons),
            "price": price,
        }

    async def _price(self, change: ChangeLog) -> PriceRecord | None:
        """The record of the changed version: usually the latest, in a digest perhaps an earlier
        one."""
        for limit in (1, _PRICES_LOOKED_AT):
            prices, more = await self.history.prices(change.watch_id, change.url, limit=limit)
            found = next((each for each in prices if each.version == change.current), None)
            if found is not None or more is None:
                return found
        return None


def _fields(notification: Notification) -> dict[str, Any]:
    """For the log. Without the target, whose URL is a secret."""
    return {
        "watch_id": notification.watch_id,
        "notification_id": notification.notification_id,
        "run_id": notification.run_id,
    }


def _bounded(lines: list[str], count: int) -> list[str]:
    """At most MOST_LINES of `count` lines, and how many more there are."""
    kept = lines[:MOST_LINES]
    more = count - len(kept)
    return [*kept, f"and {more} more"] if more else kept


def _one_line(text: str) -> str:
    """Text of other people's pages can't break lines or hide anything."""
    shown = "".join(
        " " if unicodedata.category(each) in ("Cc", "Cf", "Cs", "Zl", "Zp") else each
        for each in text[:LONGEST_LINE]
    )
    return shown + "…" if len(text) > LONGEST_LINE else shown


def _places(error: BaseException) -> str:
    """A traceback without messages, which may quote the target's URL."""
    frames = traceback.walk_tb(error.__traceback__)
    return " ".join(f"{Path(frame.f_code.co_filename).name}:{line}" for frame, line in frames)
