"""Which notifications are sent, and when they are retried."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from unit.notification_world import (
    HOOK,
    MAIL,
    NTFY,
    MakeWorld,
    a_change,
)
from webloom.application.watch import send_notifications
from webloom.domain import reason_words
from webloom.domain.errors import StoreUnavailable
from webloom.domain.notification import Notification, NotifiedChange
from webloom.domain.reason import PageReason, PriceReason
from webloom.domain.storage_event import EventPrice
from webloom.domain.watch import RunStatus
from webloom.entrypoints.api.watch_schemas import notification_response
from webloom.parsing.reasons import plain_reasons


def a_price(amount: str, *, percent: str) -> EventPrice:
    return EventPrice(current=Decimal(amount), change_percent=Decimal(percent), currency="EUR")


async def test_all_alerts_of_a_run_are_one_message_for_each_target(world_of: MakeWorld) -> None:
    world = await world_of(HOOK, NTFY)
    await world.run(
        "r1",
        a_change(1, "the price fell", "it is in stock now"),
        a_change(2),
        a_change(3, "the page changed"),
    )
    assert await world.send.send_due() == 2
    assert sorted(url for url, _ in world.notifier.sent) == [HOOK.url, NTFY.url]
    message = world.notifier.sent[0][1]
    assert message.title == "My shop: 2 changes"
    assert message.lines == [
        "https://shop.test/3: the page changed",
        "https://shop.test/1: the price fell; it is in stock now",
    ], "the latest first"
    assert await world.send.send_due() == 0


async def test_the_payload_has_the_changes_with_prices(world_of: MakeWorld) -> None:
    world = await world_of(HOOK)
    price = a_price("79.99", percent="-5.00")
    await world.run("r1", a_change(1, "the price fell", price=price), a_change(2, "it changed"))
    await world.send.send_due()
    [(_, message)] = world.notifier.sent
    assert message.payload["watchId"] == "w"
    assert message.payload["watchName"] == "My shop"
    assert message.payload["runId"] == "r1"
    assert message.payload["changes"] == [
        {
            "url": "https://shop.test/2",
            "version": {"previous": 1, "current": 2},
            "timestamp": 1002,
            "alerts": ["it changed"],
            "reasons": [],
            "price": None,
        },
        {
            "url": "https://shop.test/1",
            "version": {"previous": 1, "current": 2},
            "timestamp": 1001,
            "alerts": ["the price fell"],
            "reasons": [],
            "price": {
                "current": Decimal("79.99"),
                "currency": "EUR",
                "changePercent": Decimal("-5.00"),
            },
        },
    ]


async def test_each_change_of_a_digest_has_its_own_price(world_of: MakeWorld) -> None:
    world = await world_of(replace(HOOK, digest_minutes=60.0))
    for version, amount in ((2, "80"), (3, "60")):
        run_id, price = f"r{version}", a_price(amount, percent="-20")
        alert = f"the price fell to {amount}"
        await world.run(
            run_id, a_change(1, alert, run_id=run_id, ts=version, claimed=version, price=price)
        )
    await world.store(a_change(1, ts=4, claimed=4, price=a_price("70", percent="20")))
    world.clock.advance(3600)
    await world.send.send_due()
    [(_, message)] = world.notifier.sent
    prices = [change["price"]["current"] for change in message.payload["changes"]]
    assert prices == [Decimal(80), Decimal(60)]


FELL = PriceReason(previous=Decimal(100), current=Decimal(15), currency="EUR")


async def test_reasons_are_worded_when_the_message_is_sent(
    world_of: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = await world_of(replace(HOOK, digest_minutes=60.0))
    both = a_change(1, "as the previous version reads it", reasons=[FELL, PageReason()])
    await world.run("r1", both, a_change(2, "another program's text"))
    [stored] = await world.notifications()
    assert sorted(stored.lines) == [
        "https://shop.test/1: the price fell by 85 % to 15.00 EUR; the page changed",
        "https://shop.test/2: another program's text",
    ]
    monkeypatch.setattr(reason_words, "_price", lambda reason: f"nun {reason.current} Euro")
    world.clock.advance(3600)
    await world.send.send_due()
    [(_, message)] = world.notifier.sent
    assert notification_response(stored).lines == message.lines
    assert sorted(message.lines) == [
        "https://shop.test/1: nun 15 Euro; the page changed",
        "https://shop.test/2: another program's text",
    ]
    changes = {each["url"][-1]: each for each in message.payload["changes"]}
    assert changes["1"]["alerts"] == ["nun 15 Euro", "the page changed"]
    assert changes["1"]["reasons"] == plain_reasons([FELL, PageReason()])
    assert (changes["2"]["alerts"], changes["2"]["reasons"]) == (["another program's text"], [])


@pytest.mark.parametrize(
    "reasons",
    [None, [{"kind": "a kind of the next version"}], [{"kind": "page"}, {"kind": "other"}]],
    ids=["the previous version", "the next version", "some of both"],
)
async def test_a_notification_of_another_version_is_sent_in_its_words(
    world_of: MakeWorld, reasons: list[Any] | None
) -> None:
    world = await world_of(HOOK)
    changed = NotifiedChange(url="https://shop.test/1", reasons=reasons or [])
    notification = Notification(
        notification_id="n",
        watch_id="w",
        target_url=HOOK.url,
        run_id="r",
        due_at=world.clock.now(),
        lines=["https://shop.test/1: the price fell", "and 2 more"],
        changes=[] if reasons is None else [changed],
    )
    await world.outbox.add([notification])
    await world.send.send_due()
    [(_, message)] = world.notifier.sent
    assert message.lines == notification.lines


async def test_without_alerts_there_is_no_notification(world_of: MakeWorld) -> None:
    world = await world_of(HOOK)
    await world.run("r1", a_change(1))
    assert await world.notifications() == []


async def test_the_end_of_a_run_may_be_repeated(world_of: MakeWorld) -> None:
    world = await world_of(HOOK, HOOK)  # nor does a target that is named twice get it twice
    await world.run("r1", a_change(1, "x"))
    await world.send.send_due()
    await world.run("r1")
    assert await world.send.send_due() == 0
    assert len(world.notifier.sent) == 1


async def test_changes_stored_after_their_run_are_reported_once(world_of: MakeWorld) -> None:
    world = await world_of(HOOK, NTFY)
    await world.run("r1", a_change(1, "first"))
    await world.start("r2")
    await world.store(a_change(2, "late"), a_change(3, "not yet", run_id="r2"), a_change(4))
    await world.send.after_late_events()
    await world.send.after_late_events()
    await world.send.send_due()
    assert sorted(line for _, message in world.notifier.sent for line in message.lines) == sorted(
        ["https://shop.test/1: first", "https://shop.test/2: late"] * 2
    )
    reported = [message.payload["changes"] for _, message in world.notifier.sent]
    assert sorted(change["url"] for changes in reported for change in changes) == sorted(
        ["https://shop.test/1", "https://shop.test/2"] * 2
    )
    assert {message.payload["runId"] for _, message in world.notifier.sent} == {"r1"}


async def test_all_late_changes_are_reported(
    world_of: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(send_notifications, "_SOURCES_AT_ONCE", 10)
    world = await world_of(HOOK)
    over = RunStatus.COMPLETED
    await world.store(
        *(a_change(number, "x", run_id=f"r{number}", closes_run=over) for number in range(25))
    )
    await world.send.after_late_events()
    assert len(await world.notifications()) == 25


async def test_changes_without_a_run_are_reported_with_the_run_of_their_day(
    world_of: MakeWorld,
) -> None:
    world = await world_of(HOOK)
    await world.store(a_change(1, "x", run_id=None))
    await world.send.after_late_events()
    await world.send.send_due()
    [(_, message)] = world.notifier.sent
    assert message.payload["runId"] == "w:1970-01-01"


async def test_after_a_crash_before_recording_each_change_is_reported_once(
    world_of: MakeWorld,
) -> None:
    """More may have come meanwhile."""
    world = await world_of(HOOK)
    world.alerts.dies_at_note = True
    with pytest.raises(StoreUnavailable):
        await world.run("r1", a_change(1, "first"))
    await world.send.send_due()
    world.alerts.dies_at_note = False
    await world.run("r1", a_change(2, "second"))
    await world.send.send_due()
    await world.store(a_change(3, "third"))
    await world.send.after_late_events()
    await world.send.send_due()
    assert [message.lines for _, message in world.notifier.sent] == [
        ["https://shop.test/1: first"],
        ["https://shop.test/2: second"],
        ["https://shop.test/3: third"],
    ]


@pytest.mark.parametrize("missing", ["watch", "target"])
async def test_changes_without_a_target_are_not_kept_for_later(
    world_of: MakeWorld, missing: str
) -> None:
    world = await world_of()
    if missing == "watch":
        assert await world.watches.remove_watch("w")
    await world.store(a_change(1, "x"))
    await world.send.after_late_events()
    await world.add(HOOK)
    await world.send.after_late_events()
    assert await world.notifications() == []
    assert await world.alerts.pending(limit=1) == []


async def test_an_unexpected_error_of_one_watch_does_not_stop_the_others(
    world_of: MakeWorld,
) -> None:
    world = await world_of(HOOK)
    await world.add(HOOK, watch_id="odd")
    await world.store(a_change(1, "x", watch_id="odd", run_id=None), a_change(2, "y", run_id=None))
    world.alerts.odd = "odd"
    await world.send.after_late_events()
    await world.send.send_due()
    assert [message.lines for _, message in world.notifier.sent] == [["https://shop.test/2: y"]]


async def test_a_message_is_bounded_and_says_how_much_more_there_is(
    world_of: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(send_notifications, "MOST_LINES", 50)
    monkeypatch.setattr(send_notifications, "_LOGS_AT_ONCE", 20)
    world = await world_of(HOOK)
    await world.run("r1", *(a_change(number, "x") for number in range(75)))
    await world.send.send_due()
    [(_, message)] = world.notifier.sent
    assert len(message.lines) == 51
    assert message.lines[-1] == "and 25 more"
    assert message.title == "My shop: 75 changes"
    assert len(message.payload["changes"]) == 50


async def test_a_digest_of_bounded_messages_counts_all_changes(
    world_of: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(send_notifications, "MOST_LINES", 3)
    world = await world_of(MAIL)
    await world.run("r1", *(a_change(number, "x") for number in range(5)))
    await world.run("r2", *(a_change(number, "y", run_id="r2") for number in range(5, 11)))
    world.clock.advance(3600)
    await world.send.send_due()
    [(_, message)] = world.notifier.sent
    assert [line.rpartition(": ")[2] for line in message.lines] == ["x", "x", "x", "and 8 more"]
    assert message.title == "My shop: 11 changes"
