"""The end of an attempt: one update, for each on the condition that the attempt's token stands and
that it was not finished before.

When the answer to it is lost, the outcome may be stored or not. The caller asks again; then the
mark of the first writing, in `work.finish`, tells that it was his.
"""

from __future__ import annotations

from typing import NamedTuple

from webloom.adapters.mongodb.attempts import Moment
from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.conditional import Change, change_each
from webloom.adapters.mongodb.documents import (
    Document,
    plain,
    response_fields,
    url_key,
)
from webloom.adapters.mongodb.marks import Marks, Unanswered
from webloom.domain.errors import WebloomError
from webloom.domain.inventory import (
    Attempt,
    Completed,
    Failed,
    GivenBack,
    Outcome,
    RetryLater,
    Status,
)

# Or its beginning was undone by a crash of the server, and nobody has begun anything since.
STANDS = {
    "$or": [
        {
            "$and": [
                {"$eq": ["$work.token", "$$given.token"]},
                {"$gt": ["$work.lease", None]},
            ]
        },
        {"$lt": ["$work.token", "$$given.token"]},
    ]
}
# A refresh that runs behind a readable record, and is not done yet, leaves its status as it is.
FINISHED = {
    "$mergeObjects": [
        "$$ROOT",
        "$$given.fields",
        {"$cond": [{"$eq": ["$status", Status.IN_PROGRESS.value]}, "$$given.if_shown", {}]},
        {
            "processing": {"$mergeObjects": ["$processing", "$$given.processing"]},
            "work": {
                "$mergeObjects": [
                    "$work",
                    "$$given.work",
                    {"token": "$$given.token", "version": {"$add": ["$work.version", 1]}},
                ]
            },
        },
    ]
}


class FinishAttempt(NamedTuple):
    attempt: Attempt
    outcome: Outcome


class Outcomes:
    def __init__(self, database: MongoDatabase, marks: Marks) -> None:
        self._db = database
        self._marks = marks
        self._unanswered: Unanswered[tuple[str, int]] = Unanswered()

    async def finish(self, items: list[FinishAttempt]) -> list[bool]:
        """The same attempt twice in one batch: the first counts."""
        attempts = [(url_key(item.attempt.url), item.attempt.token) for item in items]
        first: dict[tuple[str, int], int] = {}
        for place, attempt in enumerate(attempts):
            first.setdefault(attempt, place)
        marks = {attempt: self._marks.next() for attempt in first}
        changes = [
            self._change(attempt, items[place], marks[attempt]) for attempt, place in first.items()
        ]
        try:
            answers = await self._write(changes, marks)
        except WebloomError:
            for attempt, mark in marks.items():
                self._unanswered.remember(mark, attempt)
            raise
        return [
            first[attempt] == place and answers[attempt] for place, attempt in enumerate(attempts)
        ]

    async def _write(
        self, changes: list[Change], marks: dict[tuple[str, int], str]
    ) -> dict[tuple[str, int], bool]:
        with self._db.use():
            records = self._db.records
            made = await change_each(records, changes, condition=STANDS, result=FINISHED)
            if made == len(marks):
                return dict.fromkeys(marks, True)
            found = records.find(
                {"_id": {"$in": [key for key, _ in marks]}},
                {"work.finish": True},
                batch_size=len(marks) + 1,
            )
            finishes = {each["_id"]: each["work"]["finish"] for each in await found.to_list()}
        return {
            attempt: (finish := finishes.get(attempt[0])) == mark
            or self._unanswered.is_for(finish, attempt)
            for attempt, mark in marks.items()
        }

    def _change(self, attempt: tuple[str, int], item: FinishAttempt, mark: str) -> Change:
        key, token = attempt
        moment = Moment(self._db.now(), self._db.wall(), mark)
        match item.outcome:
            case Completed() | Failed() as outcome:
                given = _settled(item.attempt, outcome, moment)
            case RetryLater() as later:
                given = _postponed(later, moment)
            case GivenBack():
                given = _released(item.attempt, moment)
        return Change(key, given | {"token": token}, _bytes(given))


def _settled(attempt: Attempt, outcome: Completed | Failed, moment: Moment) -> Document:
    """Without a response, what an earlier one brought stays."""
    if isinstance(outcome, Failed):
        status, failures, reason = Status.FAILED_PERMANENT, outcome.retry_count, outcome.reason
    else:
        status, failures, reason = Status.COMPLETED, attempt.retry_count, None
    response = {} if outcome.received is None else response_fields(outcome.received)
    return {
        "fields": response | {"shelf": status.value} | _shown(status, moment),
        "processing": {"retry_count": failures, "error_message": reason and plain(reason)},
        "work": _ended(moment) | {"request_id": None, "background": False, "retry_due": None},
    }


def _postponed(later: RetryLater, moment: Moment) -> Document:
    return {
        "if_shown": _shown(Status.FAILED_RETRYABLE, moment),
        "processing": {
            "retry_count": later.retry_count,
            "error_message": plain(later.reason),
        },
        "work": _ended(moment) | {"retry_due": moment.now + later.seconds},
    }


def _released(attempt: Attempt, moment: Moment) -> Document:
    return {
        "if_shown": _shown(Status.PENDING, moment),
        "processing": {"attempt_number": attempt.number - 1},
        "work": _ended(moment),
    }


def _bytes(given: Document) -> int:
    """About; a page source can be large, and the rest is not by far."""
    source = given.get("fields", {}).get("metadata", {}).get("page_source") or ""
    return len(source) if source.isascii() else 4 * len(source)


def _shown(status: Status, moment: Moment) -> Document:
    return {"status": status.value, "updated_at": moment.wall}


def _ended(moment: Moment) -> Document:
    return {"lease": None, "touched": moment.now, "finish": moment.mark}
