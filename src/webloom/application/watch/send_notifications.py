"""Send notifications of what a run has found.

    a run is over -> its change logs with alerts make a batch -> one for each target (outbox)
    what was stored after its run, or names none -> the same, at the next look
    due -> for each target by itself: those of one moment make one message -> send
                                              sent: noted | failed: retried later, or given up

A change log is in one batch, and what is in a batch is fixed: after a crash its notifications are
made again with the same ids. So each change is reported once, and by schedulers that get in each
other's way rather twice than never.

A crash between sending and noting sends the message again, with the same id: what makes one message
is fixed once it is due.
"""

from __future__ import annotations

import asyncio
import hashlib
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
from webloom.domain.notification import Notification, next_attempt
from webloom.domain.storage_event import run_of_day
from webloom.domain.watch import Target, Watch, WatchRun
from webloom.ports.clock import Clock
from webloom.ports.notifications import Notifications
from webloom.ports.notifier import NotificationMessage, Notifier
from webloom.ports.page_store import ChangeFilter, ChangeLog, Late, PageStore, PriceRecord
from webloom.ports.watches import Watches

log = logging.getLogger(__name__)

MOST_LINES = 500  # of one message
LONGEST_LINE = 500
_LATE_AT_ONCE = 100  # jobs and their runs
_LOGS_AT_ONCE = 200
_AT_ONCE = 1000
_PRICES_LOOKED_AT = 50
_TARGETS_AT_ONCE = 10_000  # that a look finds
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def notifications_of(
    watch: Watch, batch: str, logs: Sequence[ChangeLog], now: datetime, *, more: int = 0
) -> list[Notification]:
    """One for each target. `more` changes have alerts too and are counted only. None when there is
    nothing to tell."""
    told = [each for each in logs if each.alerts]
    if not told:
        return []
    # Whoever sees but a part of what another scheduler is gathering tells that under another id.
    count = str(len(told) + more)
    return [
        Notification(
            notification_id=_digest(batch, target.url, count),
            watch_id=watch.watch_id,
            target_url=target.url,
            run_id=_run_of(told[0]),
            due_at=due_at(target, now),
            lines=_bounded([line_of(each) for each in told], more),
            batch=batch,
        )
        for target in {each.url: each for each in watch.config.targets}.values()
    ]


def _run_of(change: ChangeLog) -> str:
    """That it counts for."""
    return change.run_id or run_of_day(change.job_id, change.timestamp)


def line_of(change: ChangeLog) -> str:
    return _one_line(f"{change.url}: {'; '.join(change.alerts)}")


def due_at(target: Target, now: datetime) -> datetime:
    """Digests end at whole multiples of their length, so that several runs share one."""
    if target.digest_minutes is None:
        return now
    length = timedelta(minutes=target.digest_minutes)
    return _EPOCH + ((now - _EPOCH) // length + 1) * length


def together(notifications: Iterable[Notification]) -> list[list[Notification]]:
    """Those that make one message: of one watch and target, due at the same moment. Those of a
    digest are, and stay so when they fail; others are told one by one."""
    groups: dict[tuple[str, str, datetime], list[Notification]] = {}
    for each in notifications:
        key = (each.watch_id, each.target_url, each.due_at)
        groups.setdefault(key, []).append(each)
    return [sorted(group, key=lambda each: each.notification_id) for group in groups.values()]


class _Unexpected(NotSent):
    """The fault of this message, not of its target."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SendNotifications:
    watches: Watches
    notifications: Notifications
    pages: PageStore
    notifier: Notifier
    clock: Clock

    async def after_run(self, watch: Watch, run: WatchRun) -> None:
        """May be repeated. Raises StoreUnavailable."""
        await self._gather(watch, run.watch_id, run.run_id)

    async def gather_late(self) -> None:
        """What no end of a run tells. May be repeated. Raises StoreUnavailable."""
        while True:
            some = await self.pages.late_alerts(limit=_LATE_AT_ONCE)
            gathered = [await self._gather_from(each) for each in some]
            if len(some) < _LATE_AT_ONCE or not any(gathered):
                return

    async def _gather_from(self, late: Late) -> bool:
        """What can't be told of one watch is not to stop all others."""
        try:
            watch = await self.watches.find_watch(late.job_id)
            await self._gather(watch, late.job_id, late.run_id)
        except Unavailable:
            raise
        except Exception as error:
            told = {"watch_id": late.job_id, "run_id": late.run_id}
            log.error("unexpected error in gathering alerts", exc_info=error, extra=told)
            return False
        return True

    async def _gather(self, watch: Watch | None, job_id: str, run_id: str | None) -> None:
        for batch in await self.pages.gather_alerts(job_id, run_id, uuid.uuid4().hex):
            if watch is not None and watch.config.targets:
                logs, more = await self._told_changes(batch, most=MOST_LINES)
                notifications = notifications_of(watch, batch, logs, self.clock.now(), more=more)
                if notifications:
                    await self.notifications.add(notifications)
            await self.pages.note_told(batch)

    async def send_due(self, stop: asyncio.Event | None = None) -> int:
        """How many were due. No target waits for another (`SendByTarget`). After `stop`, no message
        is begun. Raises StoreUnavailable."""
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
        """What one target gets, one after the other. While it is away, the rest waits: it stays
        due, and its turn comes at another look. False: it is away."""
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
            # One message that can't be made or sent is not to stop all others.
            log.error(
                "unexpected error in sending a notification",
                extra={**_told(first), "kind": type(error).__name__, "at": _places(error)},
            )
            return _Unexpected(reason=f"unexpected: {type(error).__name__}", retryable=True)

    async def _note_failure(self, group: list[Notification], failure: NotSent) -> None:
        # By the one that was tried most, so that a digest stays together.
        tried = max(group, key=lambda each: each.attempts)
        again = next_attempt(tried, failure, self.clock.now())
        ids = [each.notification_id for each in group]
        await self.notifications.note_failed(ids, error=failure.reason, retry_at=again)
        message = "a notification is sent later" if again else "a notification is given up"
        log.warning(message, extra={**_told(tried), "error": failure.reason})

    async def _message(self, watch: Watch, group: list[Notification]) -> NotificationMessage:
        found = [(each, *await self._told_changes(each.batch, most=MOST_LINES)) for each in group]
        found.sort(key=lambda each: max((change.timestamp for change in each[1]), default=0))
        lines = _joined([each.lines for each, _, _ in found])
        logs = [change for _, each, _ in found for change in each][:MOST_LINES]
        # Counted anew, as lines are bounded; but what the lines tell may be gone from the store.
        count = max(len(lines), sum(len(each) + more for _, each, more in found))
        ids = [each.notification_id for each in group]
        return NotificationMessage(
            message_id=ids[0] if len(ids) == 1 else _digest(*ids),
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
                "changes": [await self._change(each) for each in logs],
            },
        )

    async def _told_changes(self, batch: str | None, *, most: int) -> tuple[list[ChangeLog], int]:
        """Those of a batch with alerts, and how many there are beyond `most`."""
        kept: list[ChangeLog] = []
        more, cursor = 0, None
        while batch is not None:
            logs, cursor = await self.pages.change_logs(
                ChangeFilter(batch=batch), limit=_LOGS_AT_ONCE, cursor=cursor
            )
            found = [each for each in logs if each.alerts]
            room = most - len(kept)
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
            "alerts": [_one_line(each) for each in change.alerts],
            "price": price,
        }

    async def _price(self, change: ChangeLog) -> PriceRecord | None:
        """That came with the change: the latest, mostly; in a digest it may be an earlier one."""
        for limit in (1, _PRICES_LOOKED_AT):
            prices, more = await self.pages.prices(change.job_id, change.url, limit=limit)
            found = next((each for each in prices if each.version == change.current), None)
            if found is not None or more is None:
                return found
        return None


def _told(notification: Notification) -> dict[str, Any]:
    """For the log: no target, as its URL is a secret."""
    return {
        "watch_id": notification.watch_id,
        "notice_id": notification.notification_id,
        "run_id": notification.run_id,
    }


def _bounded(lines: list[str], more: int) -> list[str]:
    more += len(lines[MOST_LINES:])
    kept = lines[:MOST_LINES]
    return [*kept, f"and {more} more"] if more else kept


def _joined(parts: list[list[str]]) -> list[str]:
    """Of lines that are bounded each."""
    lines = [line for part in parts for line in part[:MOST_LINES]]
    more = sum(int(part[-1].split()[1]) for part in parts if len(part) > MOST_LINES)
    return _bounded(lines, more)


def _one_line(text: str) -> str:
    """Texts of other people's pages break no line and hide nothing."""
    shown = "".join(
        " " if unicodedata.category(each) in ("Cc", "Cf", "Cs", "Zl", "Zp") else each
        for each in text[:LONGEST_LINE]
    )
    return shown + "…" if len(text) > LONGEST_LINE else shown


def _digest(*parts: str) -> str:
    joined = "\0".join(parts).encode(errors="replace")
    return hashlib.blake2b(joined, digest_size=16).hexdigest()


def _places(error: BaseException) -> str:
    """A traceback without texts, as one may quote the target's URL."""
    frames = traceback.walk_tb(error.__traceback__)
    return " ".join(f"{Path(frame.f_code.co_filename).name}:{line}" for frame, line in frames)
