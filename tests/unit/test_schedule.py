from datetime import UTC, datetime, timedelta

import pytest

from webloom.domain.schedule import Schedule


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_an_interval_counts_from_the_moment() -> None:
    schedule = Schedule(every_minutes=90)
    assert schedule.next_after(at("2026-03-01 12:00")) == at("2026-03-01 13:30")


@pytest.mark.parametrize(
    ("line", "now", "due"),
    [
        ("* * * * *", "2026-03-01 12:00:30", "2026-03-01 12:01"),
        ("*/15 * * * *", "2026-03-01 12:15", "2026-03-01 12:30"),
        ("5/20 * * * *", "2026-03-01 12:00", "2026-03-01 12:05"),
        ("0 9-17/4 * * *", "2026-03-01 10:00", "2026-03-01 13:00"),
        ("30 8 * * mon-fri", "2026-03-06 09:00", "2026-03-09 08:30"),
        ("0 0 * * 7", "2026-03-02 00:00", "2026-03-08 00:00"),
        ("0 0 1,15 jan *", "2026-03-01 00:00", "2027-01-01 00:00"),
        ("0 0 29 2 *", "2026-03-01 00:00", "2028-02-29 00:00"),
        ("0 0 29 2 *", "2096-03-01 00:00", "2104-02-29 00:00"),
        ("0 0 13 * fri", "2026-03-01 00:00", "2026-03-06 00:00"),  # either day will do
        ("0 0 */2 * mon", "2026-03-01 00:00", "2026-03-09 00:00"),  # a star with a step: both
        ("@daily", "2026-03-01 12:00", "2026-03-02 00:00"),
    ],
)
def test_a_cron_line(line: str, now: str, due: str) -> None:
    assert Schedule(cron=line).next_after(at(now)) == at(due)


@pytest.mark.parametrize(
    ("now", "due", "why"),
    [
        ("2026-03-28 12:00", "2026-03-29 01:30", "02:30 is skipped: 03:30 local time instead"),
        ("2026-03-29 01:30", "2026-03-30 00:30", "the day after it is there again"),
        ("2026-10-24 12:00", "2026-10-25 00:30", "02:30 comes twice: the first one"),
        ("2026-10-25 00:30", "2026-10-26 01:30", "and not the second one"),
    ],
)
def test_a_clock_change(now: str, due: str, why: str) -> None:
    schedule = Schedule(cron="30 2 * * *", time_zone="Europe/Berlin")
    assert schedule.next_after(at(now)) == at(due), why


@pytest.mark.parametrize(
    ("schedule", "reason"),
    [
        (Schedule(), "either an interval or a cron line"),
        (Schedule(every_minutes=5, cron="* * * * *"), "either an interval or a cron line"),
        (Schedule(every_minutes=0), "an interval of 0 minutes"),
        (Schedule(every_minutes=float("nan")), "an interval of nan minutes"),
        (Schedule(cron="* * * *"), "has 4 fields"),
        (Schedule(cron="60 * * * *"), "is no minute, which goes from 0 to 59"),
        (Schedule(cron="* * 0 * *"), "is no day of month"),
        (Schedule(cron="5-1 * * * *"), "goes backwards"),
        (Schedule(cron="*/0 * * * *"), "a step is 1 or more"),
        (Schedule(cron="a * * * *"), "'a' is no minute"),
        (Schedule(cron="* * * * " + "1," * 200), "longer than 200"),
        (Schedule(cron="0 0 30 2 *"), "is never due"),
        (Schedule(cron="* * * * *", time_zone="Mars/Olympus"), "'Mars/Olympus' is not known"),
        (Schedule(cron="* * * * *", time_zone="../../etc/passwd"), "is not known"),
    ],
)
def test_what_is_refused(schedule: Schedule, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        schedule.refuse_bad()


def test_every_due_time_is_later() -> None:
    moment = at("2026-01-01 00:00")
    schedule = Schedule(cron="*/7 3-5 * * *", time_zone="America/New_York")
    for _ in range(500):
        due = schedule.next_after(moment)
        assert moment < due <= moment + timedelta(days=2)
        moment = due
