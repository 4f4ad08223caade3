"""The end of an attempt: one update, for each on the condition that the attempt's token stands and
that it was not finished before.

When the answer to it is lost, the outcome may be stored or not. The caller asks again; then the
mark of the first writing, in `work.finish`, tells that it was his.

A crash of the server may have undone the beginning of the attempt, and the note before it that had
made the record. Its message is there, and is ended after this: so the record is made again, and
says all that the beginning had said.
"""

from __future__ import annotations

from typing import NamedTuple

from webloom.adapters.mongodb.attempts import Moment
from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.conditional import Change, change_each
from webloom.adapters.mongodb.documents import (
    Document,
    new_document,
    plain,
    response_fields,
    url_key,
)
from webloom.adapters.mongodb.insertion import insert_unless_deleted
from webloom.adapters.mongodb.marks import Marks, Places, Unanswered
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
_IS_SHOWN = {"$in": ["$status", [Status.PENDING.value, Status.IN_PROGRESS.value]]}
FINISHED = {
    "$mergeObjects": [
        "$$ROOT",
        "$$given.fields",
        {"$cond": [_IS_SHOWN, "$$given.if_shown", {}]},
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
    def __init__(self, database: MongoDatabase, marks: Marks, places: Places) -> None:
        self._db = database
        self._marks = marks
        self._places = places
        self._unanswered: Unanswered[tuple[str, int]] = Unanswered()

    async def finish(self, items: list[FinishAttempt]) -> list[bool]:
        """The same attempt twice in one batch: the first counts."""
        attempts = [(url_key(item.attempt.url), item.attempt.token) for item in items]
        first: dict[tuple[str, int], int] = {}
        for place, attempt in enumerate(attempts):
            first.setdefault(attempt, place)
        marks = {attempt: self._marks.next() for attempt in first}
        changes = {
            attempt: self._change(attempt, items[place], marks[attempt])
            for attempt, place in first.items()
        }
        try:
            answers, missing = await self._write(changes, marks)
            if missing:
                await self._make([items[first[attempt]].attempt for attempt in missing])
                again = {attempt: changes[attempt] for attempt in missing}
                answers |= (await self._write(again, marks))[0]
        except WebloomError:
            for attempt, mark in marks.items():
                self._unanswered.remember(mark, attempt)
            raise
        return [
            first[attempt] == place and answers[attempt] for place, attempt in enumerate(attempts)
        ]

    async def _write(
        self, changes: dict[tuple[str, int], Change], marks: dict[tuple[str, int], str]
    ) -> tuple[dict[tuple[str, int], bool], list[tuple[str, int]]]:
        """Whether each stands, and those of which there is no record."""
        with self._db.use():
            records = self._db.records
            made = await change_each(records, changes.values(), condition=STANDS, result=FINISHED)
            if made == len(changes):
                return dict.fromkeys(changes, True), []
            found = records.find(
                {"_id": {"$in": [key for key, _ in changes]}},
                {"work.finish": True},
                batch_size=len(changes) + 1,
            )
            finishes = {each["_id"]: each["work"]["finish"] for each in await found.to_list()}
        answers = {
            attempt: (finish := finishes.get(attempt[0])) == marks[attempt]
            or self._unanswered.is_for(finish, attempt)
            for attempt in changes
        }
        return answers, [attempt for attempt in changes if attempt[0] not in finishes]

    async def _make(self, attempts: list[Attempt]) -> None:
        """Their records, as they were before the attempts began."""
        now, wall = self._db.now(), self._db.wall()
        made: dict[str, Document] = {}
        for each in attempts:
            place = self._places.next(wall)
            document = new_document(each.url, each.request_id, now=now, wall=wall, place=place)
            document["work"]["token"] = each.token - 1
            made[document["_id"]] = document
        with self._db.use():
            await insert_unless_deleted(self._db, made, by_token=True)

    def _change(self, attempt: tuple[str, int], item: FinishAttempt, mark: str) -> Change:
        key, token = attempt
        moment = Moment(self._db.now(), self._db.wall(), mark)
        match item.outcome:
            case Completed() | Failed() as outcome:
                given = _settled(item.attempt, outcome, moment)
            case RetryLater() as later:
                given = _postponed(item.attempt, later, moment)
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
        "processing": _tried(attempt)
        | {"retry_count": failures, "error_message": reason and plain(reason)},
        "work": _ended(moment) | {"request_id": None, "background": False, "retry_due": None},
    }


def _postponed(attempt: Attempt, later: RetryLater, moment: Moment) -> Document:
    return {
        "if_shown": _shown(Status.FAILED_RETRYABLE, moment),
        "processing": _tried(attempt)
        | {"retry_count": later.retry_count, "error_message": plain(later.reason)},
        "work": _ended(moment) | {"retry_due": moment.now + later.seconds},
    }


def _released(attempt: Attempt, moment: Moment) -> Document:
    return {
        "if_shown": _shown(Status.PENDING, moment),
        "processing": {"attempt_number": attempt.number - 1},
        "work": _ended(moment),
    }


def _tried(attempt: Attempt) -> Document:
    """As its beginning has written."""
    return {"attempt_number": attempt.number, "last_request_id": plain(attempt.request_id)}


def _bytes(given: Document) -> int:
    """About; a page source can be large, and the rest is not by far."""
    source = given.get("fields", {}).get("metadata", {}).get("page_source") or ""
    return len(source) if source.isascii() else 4 * len(source)


def _shown(status: Status, moment: Moment) -> Document:
    return {"status": status.value, "updated_at": moment.wall}


def _ended(moment: Moment) -> Document:
    return {"lease": None, "touched": moment.now, "finish": moment.mark}
