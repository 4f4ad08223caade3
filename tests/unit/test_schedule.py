from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from webloom.adapters.cron import next_match
from webloom.domain.schedule import Schedule


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_an_interval_counts_from_the_moment() -> None:
    schedule = Schedule(every_minutes=90)
    assert schedule.next_after(at("2026-03-01 12:00"), next_match) == at("2026-03-01 13:30")


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
        ("5-5/20 * * * *", "2026-03-01 12:05", "2026-03-01 13:05"),
        ("0 0 L * *", "2026-02-01 00:00", "2026-02-28 00:00"),
        ("@daily", "2026-03-01 12:00", "2026-03-02 00:00"),
    ],
)
def test_a_cron_line(line: str, now: str, due: str) -> None:
    assert Schedule(cron=line).next_after(at(now), next_match) == at(due)


@pytest.mark.parametrize(
    ("now", "due", "why"),
    [
        ("2026-03-28 12:00", "2026-03-29 01:00", "02:30 is skipped: right after the gap, at 03:00"),
        ("2026-03-29 01:00", "2026-03-30 00:30", "once; the next day as usual"),
        ("2026-10-24 12:00", "2026-10-25 00:30", "02:30 comes twice: the first one"),
        ("2026-10-25 00:30", "2026-10-26 01:30", "and not the second one"),
        ("2026-10-25 01:10", "2026-10-26 01:30", "asked between the two: not the past one"),
    ],
)
def test_a_fixed_time_matches_once_when_the_clock_changes(now: str, due: str, why: str) -> None:
    schedule = Schedule(cron="30 2 * * *", time_zone="Europe/Berlin")
    assert schedule.next_after(at(now), next_match) == at(due), why


@pytest.mark.parametrize(
    ("line", "start", "times"),
    [
        ("*/10 * * * *", "2026-10-24 23:55", 18),  # 01:55 to 04:00 local time: three hours
        ("*/10 * * * *", "2026-03-28 23:55", 18),
        ("* * * * *", "2026-10-24 23:59", 180),
        ("30 * * * *", "2026-10-24 23:59", 3),
    ],
)
def test_a_repeating_time_runs_through_every_hour_when_the_clock_changes(
    line: str, start: str, times: int
) -> None:
    schedule = Schedule(cron=line, time_zone="Europe/Berlin")
    moment, end = at(start), at(start) + timedelta(hours=3)
    due = [schedule.next_after(moment, next_match)]
    while (later := schedule.next_after(due[-1], next_match)) <= end:
        due.append(later)
    assert len(due) == times
    assert {b - a for a, b in pairwise(due)} == {timedelta(hours=3) / times}


@pytest.mark.parametrize(
    ("schedule", "reason"),
    [
        (Schedule(), "either an interval or a cron line"),
        (Schedule(every_minutes=5, cron="* * * * *"), "either an interval or a cron line"),
        (Schedule(every_minutes=0), "an interval of 0 minutes"),
        (Schedule(every_minutes=float("nan")), "an interval of nan minutes"),
        (Schedule(cron="* * * *"), "has 4 fields"),
        (Schedule(cron="60 * * * *"), r"'60' is not a valid minute \(0 to 59\)"),
        (Schedule(cron="* * 0 * *"), "'0' is not a valid day of month"),
        (Schedule(cron="5-1 * * * *"), "'5-1' is not a valid minute"),
        (Schedule(cron="*/0 * * * *"), r"'\*/0' is not a valid minute"),
        (Schedule(cron="a * * * *"), "'a' is not a valid minute"),
        (Schedule(cron="* * * * " + "1," * 200), "longer than 200"),
        (Schedule(cron="* * * * * *"), "has 6 fields"),
        (Schedule(cron="0 0 30 2 *"), "a month that has it"),
        (Schedule(cron="0 0 */30 2 mon#3"), "is never due"),
        (Schedule(cron="* * * * *", time_zone="Mars/Olympus"), "'Mars/Olympus' is not known"),
        (Schedule(cron="* * * * *", time_zone="../../etc/passwd"), "is not known"),
    ],
)
def test_what_is_refused(schedule: Schedule, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        schedule.refuse_bad(next_match)


def test_every_due_time_is_later() -> None:
    moment = at("2026-01-01 00:00")
    schedule = Schedule(cron="*/7 3-5 * * *", time_zone="America/New_York")
    for _ in range(500):
        due = schedule.next_after(moment, next_match)
        assert moment < due <= moment + timedelta(days=2)
        moment = due
