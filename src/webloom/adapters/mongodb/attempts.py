"""The right to an attempt: read, decide as the domain does, write if nothing has changed since.

What a worker gets is nearly always the first attempt of a request that waits. That is tried first,
without reading: one update. For the rest a batch is one find and one update. Every write is on the
condition of the version that was read, and leaves its mark in `work.holder`. If fewer were made
than sent, the marks tell whose; the others are read and decided again. Of several requests for one
URL in a batch, the first that writes ends the round for that URL, so that the next sees what it
did.

A first attempt is answered before it is safe from a crash of the server: what that undoes is found
out at the end of the attempt, whose token is then newer than the record's. So tokens follow the
time. All else is safe before it is answered: a record that was made here and undone would leave the
outcome no place, and what ends a request is followed by the end of its message.

When the answer to a write is lost, nobody knows whether it was made. Its mark is kept in memory:
whoever asks again in this process, and finds the mark in the record, has the attempt already.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from pymongo import WriteConcern

from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.conditional import Change, change_each
from webloom.adapters.mongodb.documents import (
    OPEN,
    STATE_FIELDS,
    Document,
    new_document,
    plain,
    state_of,
    token_at,
    url_key,
)
from webloom.adapters.mongodb.insertion import insert_new
from webloom.adapters.mongodb.marks import Marks, Places, Unanswered
from webloom.domain.errors import StoreUnavailable, WebloomError
from webloom.domain.inventory import (
    AlreadyDone,
    Attempt,
    Begin,
    Busy,
    FetchRequest,
    GiveUp,
    RequestState,
    Status,
    decide_attempt,
)

Begun = Attempt | Busy | AlreadyDone | GiveUp

MOST_ROUNDS = 20  # of deciding again because somebody was quicker

UNCHANGED = {
    "$and": [
        {"$eq": ["$work.version", "$$given.version"]},
        {"$eq": ["$work.token", "$$given.token"]},
    ]
}
CHANGED = {"$mergeObjects": ["$$ROOT", "$$given.fields"]}

WAITS = {
    "$and": [
        {"$eq": ["$work.request_id", "$$given.request_id"]},
        {"$eq": ["$status", Status.PENDING.value]},
        {"$eq": ["$work.lease", None]},
        {"$eq": ["$work.retry_due", None]},
        {"$ne": ["$processing.last_request_id", "$$given.request_id"]},
        {"$lt": ["$work.token", "$$given.token"]},
    ]
}
FIRST = {
    "$mergeObjects": [
        "$$ROOT",
        {
            "status": Status.IN_PROGRESS.value,
            "updated_at": "$$given.wall",
            "processing": {
                "$mergeObjects": [
                    "$processing",
                    {
                        "attempt_number": 1,
                        "retry_count": 0,
                        "last_attempt_at": "$$given.wall",
                        "last_request_id": "$$given.request_id",
                    },
                ]
            },
            "work": {
                "$mergeObjects": [
                    "$work",
                    "$$given.work",
                    {
                        "token": "$$given.token",
                        "background": False,
                        "version": {"$add": ["$work.version", 1]},
                    },
                ]
            },
        },
    ]
}


class BeginAttempt(NamedTuple):
    request: FetchRequest
    lease: float


@dataclass(kw_only=True)
class _Planned:
    read: Document | None  # as the record was found; None: it is new
    fields: Document
    mark: str
    answer: Begun
    places: list[int]  # of the items in the batch that this answers


class Attempts:
    def __init__(self, database: MongoDatabase, marks: Marks, places: Places) -> None:
        self._db = database
        self._soon_safe = database.records.with_options(write_concern=WriteConcern(w=1))
        self._marks = marks
        self._places = places
        self._unanswered: Unanswered[str] = Unanswered()

    async def begin(self, items: list[BeginAttempt]) -> list[Begun | WebloomError]:
        answers: dict[int, Begun | WebloomError] = {}
        keys = [url_key(item.request.url) for item in items]
        error: WebloomError = StoreUnavailable(
            f"MongoDB at {self._db.address}: a record of {self._db.records.full_name} can't be "
            "made or keeps changing; is there a document for its URL that is not Webloom's?"
        )
        try:
            answers |= await self._first_attempts(items, keys)
            for _ in range(MOST_ROUNDS):
                waiting = [place for place in range(len(items)) if place not in answers]
                if not waiting:
                    break
                await self._round(items, keys, waiting, answers)
        except WebloomError as failure:
            error = failure
        return [answers.get(place, error) for place in range(len(items))]

    async def _first_attempts(
        self, items: list[BeginAttempt], keys: list[str]
    ) -> dict[int, Begun | WebloomError]:
        """Of requests that wait for theirs, as `decide_attempt` would have it. The token is the
        time, as that of a new record: it has grown, and need not be read."""
        now, wall = self._db.now(), self._db.wall()
        planned: dict[str, _Planned] = {}
        for place, (key, item) in enumerate(zip(keys, items, strict=True)):
            if key in planned or item.request.background:
                continue
            request_id = plain(item.request.request_id)
            attempt = Attempt(
                url=item.request.url,
                request_id=request_id,
                token=token_at(now) + 1,  # more than a note of this moment has
                number=1,
                retry_count=0,
            )
            mark = self._marks.next()
            given = {
                "request_id": request_id,
                "token": attempt.token,
                "wall": wall,
                "work": {"lease": now + item.lease, "touched": now, "holder": mark},
            }
            planned[key] = _Planned(
                read=None, fields=given, mark=mark, answer=attempt, places=[place]
            )
        begun = await self._write(
            planned,
            lambda: change_each(
                self._soon_safe,
                (Change(key, plan.fields) for key, plan in planned.items()),
                condition=WAITS,
                result=FIRST,
            ),
        )
        return {place: planned[key].answer for key in begun for place in planned[key].places}

    async def _round(
        self,
        items: list[BeginAttempt],
        keys: list[str],
        waiting: list[int],
        answers: dict[int, Begun | WebloomError],
    ) -> None:
        found = await self._read({keys[place] for place in waiting})
        planned: dict[str, _Planned] = {}
        for place in waiting:
            key = keys[place]
            before = planned.get(key)
            if before is not None and not isinstance(before.answer, AlreadyDone):
                continue
            plan = self._plan(key, items[place], found.get(key))
            if isinstance(plan, Busy):
                answers[place] = plan
            elif before is None:
                plan.places.append(place)
                planned[key] = plan
            elif isinstance(plan.answer, AlreadyDone):
                before.places.append(place)
        for key in await self._write(planned, lambda: self._make(planned)):
            answers.update(dict.fromkeys(planned[key].places, planned[key].answer))

    async def _read(self, keys: Collection[str]) -> dict[str, Document]:
        with self._db.use():
            found = self._db.records.find(
                {"_id": {"$in": list(keys)}}, STATE_FIELDS, batch_size=len(keys) + 1
            )
            return {document["_id"]: document for document in await found.to_list()}

    async def _write(
        self, planned: dict[str, _Planned], make: Callable[[], Awaitable[int]]
    ) -> Iterable[str]:
        """The keys of those that were made."""
        if not planned:
            return ()
        try:
            with self._db.use():
                made = await make()
            if made == len(planned):
                return planned
            found = await self._read(planned)
        except WebloomError:
            for key, plan in planned.items():
                if isinstance(plan.answer, Attempt):
                    self._unanswered.remember(plan.mark, key)
            raise
        return [
            key
            for key, plan in planned.items()
            if key in found and found[key]["work"]["holder"] == plan.mark
        ]

    async def _make(self, planned: dict[str, _Planned]) -> int:
        new = [plan.fields for plan in planned.values() if plan.read is None]
        changes = (
            Change(key, as_read(plan.read) | {"fields": plan.fields})
            for key, plan in planned.items()
            if plan.read is not None
        )
        made = await change_each(self._db.records, changes, condition=UNCHANGED, result=CHANGED)
        return made + await insert_new(self._db.records, new)

    def _plan(self, key: str, item: BeginAttempt, document: Document | None) -> Busy | _Planned:
        moment = Moment(self._db.now(), self._db.wall(), self._marks.next())
        url, request_id = item.request.url, plain(item.request.request_id)
        known = document or new_document(
            url, request_id, now=moment.now, wall=moment.wall, place=self._places.next(moment.wall)
        )
        state = state_of(known, moment.now)
        answer: Begun
        if known["work"]["lease"] is not None and self._is_ours(known):
            answer = _running(url, state)
            fields = _renewed(known, item.lease, moment)
        else:
            decision = decide_attempt(state, request_id)
            match decision:
                case Busy():
                    return decision
                case AlreadyDone():
                    answer, fields = decision, _answered(known, moment)
                case GiveUp():
                    answer, fields = decision, _given_up(known, decision, moment)
                case Begin():
                    answer = _attempt(item.request, request_id, state, decision, moment)
                    background = item.request.background and state.status.is_final
                    fields = _started(known, answer, background, item.lease, moment)
        if document is None:
            fields = known | fields
        return _Planned(read=document, fields=fields, mark=moment.mark, answer=answer, places=[])

    def _is_ours(self, document: Document) -> bool:
        return self._unanswered.is_for(document["work"]["holder"], document["_id"])


class Moment(NamedTuple):
    now: float  # on the timeline
    wall: datetime
    mark: str  # of the write


def as_read(document: Document) -> Document:
    return {"version": document["work"]["version"], "token": document["work"]["token"]}


def _attempt(
    request: FetchRequest, request_id: str, state: RequestState, decision: Begin, moment: Moment
) -> Attempt:
    return Attempt(
        url=request.url,
        request_id=state.request_id or request_id,
        token=max(state.token + 1, token_at(moment.now)),
        number=decision.number,
        retry_count=decision.retry_count,
    )


def _running(url: str, state: RequestState) -> Attempt:
    return Attempt(
        url=url,
        request_id=state.request_id or "",
        token=state.token,
        number=state.attempt_number,
        retry_count=state.retry_count,
    )


def _work(document: Document, moment: Moment, **changes: object) -> Document:
    work: Document = document["work"]
    return work | {"version": work["version"] + 1, "holder": moment.mark} | changes


def _started(
    document: Document, attempt: Attempt, background: bool, lease: float, moment: Moment
) -> Document:
    """A background refresh leaves the record as its readers see it."""
    fields: Document = {
        "processing": document["processing"]
        | {
            "attempt_number": attempt.number,
            "retry_count": attempt.retry_count,
            "last_attempt_at": moment.wall,
            "last_request_id": attempt.request_id,
        },
        "work": _work(
            document,
            moment,
            token=attempt.token,
            request_id=attempt.request_id,
            background=background,
            lease=moment.now + lease,
            retry_due=None,
            touched=moment.now,
        ),
    }
    if not background:
        fields |= {"status": Status.IN_PROGRESS.value, "shelf": OPEN, "updated_at": moment.wall}
    return fields


def _renewed(document: Document, lease: float, moment: Moment) -> Document:
    return {"work": _work(document, moment, lease=moment.now + lease)}


def _answered(document: Document, moment: Moment) -> Document:
    """So that a note which comes late finds that the message was served."""
    return {"work": _work(document, moment, token=document["work"]["token"] + 1)}


def _given_up(document: Document, decision: GiveUp, moment: Moment) -> Document:
    return {
        "status": Status.FAILED_PERMANENT.value,
        "shelf": Status.FAILED_PERMANENT.value,
        "processing": document["processing"]
        | {"retry_count": decision.retry_count, "error_message": decision.reason},
        "updated_at": moment.wall,
        "work": _work(
            document,
            moment,
            token=document["work"]["token"] + 1,
            request_id=None,
            background=False,
            lease=None,
            retry_due=None,
            touched=moment.now,
        ),
    }
