"""A digest that could not be sent stays together, though the process dies while recording that."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from contracts.adapters import Watching
from contracts.dying import Dying, Killed
from contracts.watch_samples import config, notification
from fakes.clock import FakeClock
from fakes.notifier import FakeNotifier
from webloom.application.watch.send_notifications import SendNotifications, lines_of
from webloom.domain.errors import NotSent
from webloom.domain.watch import Target

TARGET = Target(url="json://hook.example/", digest_minutes=60.0)


async def test_a_digest_is_sent_as_one_though_its_scheduler_died_after_a_failure(
    watching: Watching, clock: FakeClock
) -> None:
    outbox, hook = watching.notifications, FakeNotifier()
    hook.failures[TARGET.url] = [NotSent(reason="no answer", retryable=True)]
    await watching.watches.add_watch("id of shop", config(targets=[TARGET]), next_run_at=None)
    names = ["one", "two", "three"]
    due = [replace(notification(name, due=clock.now()), target_url=TARGET.url) for name in names]
    await outbox.add(due)
    using = {
        "watches": watching.watches,
        "alerts": watching.alerts,
        "history": watching.history,
        "notifier": hook,
        "clock": clock,
    }
    make: Any = SendNotifications
    with pytest.raises(Killed):
        await make(notifications=Dying(outbox, "note_failed"), **using).send_due()
    for _ in range(3):
        await make(notifications=outbox, **using).send_due()
        clock.advance(120)
    [(_, message)] = hook.sent
    assert sorted(message.lines) == sorted(line for each in due for line in lines_of(each))
