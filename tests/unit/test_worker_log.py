from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from webloom.domain.worker_log import (
    MOST_ALIKE,
    MOST_CHARACTERS,
    MOST_FIELDS,
    MOST_IN_ENTRY,
    MOST_MESSAGES,
    MOST_WAITING,
    Level,
    LogBuffer,
    LogEntry,
    bounded,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ENTRY = LogEntry(
    at=NOON, level=Level.INFO, role="worker", host="host", pid=1, message="a URL failed"
)


def at(seconds: float, message: str = ENTRY.message, level: Level = ENTRY.level) -> LogEntry:
    return replace(ENTRY, at=NOON + timedelta(seconds=seconds), message=message, level=level)


def test_what_was_added_is_taken_once_in_its_order() -> None:
    buffer = LogBuffer()
    entries = [at(number, f"message {number}") for number in range(3)]
    for entry in entries:
        buffer.add(entry)
    assert buffer.take(NOON) == entries
    assert buffer.take(NOON) == []


def test_of_equal_messages_in_a_minute_the_first_are_kept_and_the_others_counted() -> None:
    buffer = LogBuffer()
    for number in range(MOST_ALIKE + 5):
        buffer.add(at(number / 10))
    assert len(buffer.take(NOON + timedelta(seconds=59))) == MOST_ALIKE
    later = NOON + timedelta(seconds=61)
    [summary] = buffer.take(later)
    assert summary == replace(ENTRY, at=later, fields={"more_in_a_minute": "5"})
    assert buffer.take(later + timedelta(seconds=61)) == []


def test_successes_neither_hide_the_failures_of_their_minute_nor_count_among_them() -> None:
    buffer = LogBuffer()
    buffer.add(at(0, level=Level.WARNING))
    for _ in range(MOST_ALIKE + 5):
        buffer.add(at(1))
    failures = [at(2, level=Level.WARNING), at(3, level=Level.ERROR)]
    for failure in failures:
        buffer.add(failure)
    assert buffer.take(NOON + timedelta(seconds=59))[-2:] == failures
    [summary] = buffer.take(NOON + timedelta(seconds=61))
    assert (summary.level, summary.fields) == (Level.INFO, {"more_in_a_minute": "5"})


def test_while_the_store_is_away_what_is_info_makes_room_for_the_failures() -> None:
    buffer = LogBuffer()
    failure = at(0, "a failure", Level.WARNING)
    buffer.add(failure)
    for number in range(2 * MOST_WAITING):
        buffer.add(at(1, f"message {number}"))
    taken = buffer.take(NOON)
    assert (taken[0], len(taken)) == (failure, MOST_WAITING)
    for number in range(MOST_WAITING):
        buffer.add(at(2, f"newer {number}"))
    buffer.put_back(taken)
    assert failure in buffer.take(NOON)


def test_a_message_is_kept_again_in_the_next_minute() -> None:
    buffer = LogBuffer()
    for number in range(MOST_ALIKE + 1):
        buffer.add(at(number / 10))
    buffer.take(NOON)
    buffer.add(at(60))
    assert [each.fields for each in buffer.take(NOON)] == [{"more_in_a_minute": "1"}, {}]


def test_other_messages_are_kept_while_one_floods() -> None:
    buffer = LogBuffer()
    for _ in range(10 * MOST_WAITING):
        buffer.add(at(0))
    buffer.add(at(0, "another"))
    assert [each.message for each in buffer.take(NOON)] == [ENTRY.message] * MOST_ALIKE + [
        "another"
    ]


def test_a_clock_that_is_set_back_does_not_silence_a_message() -> None:
    buffer = LogBuffer()
    for _ in range(MOST_ALIKE + 1):
        buffer.add(at(0))
    buffer.take(NOON)
    buffer.add(at(-3600))
    assert at(-3600) in buffer.take(NOON - timedelta(hours=1))


def test_the_oldest_go_when_too_many_wait() -> None:
    buffer = LogBuffer()
    for number in range(MOST_WAITING + MOST_MESSAGES):
        buffer.add(at(0, f"message {number}"))
    taken = buffer.take(NOON)
    assert len(taken) == MOST_WAITING
    assert taken[-1].message == f"message {MOST_WAITING + MOST_MESSAGES - 1}"


def test_what_could_not_be_stored_waits_before_what_came_since() -> None:
    buffer = LogBuffer()
    buffer.add(at(0, "first"))
    taken = buffer.take(NOON)
    buffer.add(at(1, "second"))
    buffer.put_back(taken)
    assert [each.message for each in buffer.take(NOON)] == ["first", "second"]


def test_of_what_is_put_back_the_oldest_are_lost_if_there_is_no_room() -> None:
    buffer = LogBuffer()
    for number in range(MOST_WAITING):
        buffer.add(at(0, f"old {number}"))
    taken = buffer.take(NOON)
    buffer.add(at(1, "new"))
    buffer.put_back(taken)
    messages = [each.message for each in buffer.take(NOON)]
    assert messages[0] == "old 1"
    assert messages[-1] == "new"
    assert len(messages) == MOST_WAITING
    for number in range(MOST_WAITING):
        buffer.add(at(2, f"newer {number}"))
    buffer.put_back([at(0, "no room")])
    assert "no room" not in {each.message for each in buffer.take(NOON)}


def test_an_entry_is_bounded() -> None:
    large = replace(
        ENTRY,
        message="m" * 10_000,
        fields={f"{number}" + "n" * 1000: "v" * 10_000 for number in range(100)},
    )
    entry = bounded(large)
    assert len(entry.message) == MOST_CHARACTERS
    *kept, (mark, rest) = entry.fields.items()
    assert (len(kept), mark, rest) == (MOST_FIELDS, "…", "80 more")
    for name, value in kept:
        assert name.endswith("n…"), "it says that it is cut"
        assert value.endswith("v…")
    texts = [entry.message, entry.role, entry.host, *entry.fields, *entry.fields.values()]
    assert 0.95 * MOST_IN_ENTRY < sum(map(len, texts)) <= MOST_IN_ENTRY


def test_a_few_long_fields_keep_what_there_is_room_for() -> None:
    short = {"url": "https://a.example/", "attempt": "3"}
    entry = bounded(replace(ENTRY, fields=short | {"error": "e" * 10_000}))
    assert entry.fields == short | {"error": "e" * (MOST_CHARACTERS - 1) + "…"}
    many = {f"field {number}": "v" * 400 for number in range(12)}
    shares = {len(value) for value in bounded(replace(ENTRY, fields=many)).fields.values()}
    assert min(shares) > 300
    assert max(shares) - min(shares) <= 1, "each has the same"


def test_levels_are_in_order() -> None:
    assert Level.WARNING.and_above == [Level.WARNING, Level.ERROR]
