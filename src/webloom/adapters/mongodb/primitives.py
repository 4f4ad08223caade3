"""`Documents` and `Pairs` on MongoDB: read, decide, write if the document is as it was read.

    calls gather -> one find -> decisions -> one conditional update for all -> answers
                      ^                            |
                      `---- somebody was faster ---'

Each write leaves an id of its own in `writeId`. If fewer writes were made than sent, these ids tell
which. They also tell whether a write was made whose answer was lost: the call that is repeated
finds its id in the document.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from webloom.adapters.mongodb.batching import Batcher
from webloom.adapters.mongodb.conditional_writes import WRITE_ID, Plan, Writer
from webloom.adapters.mongodb.conditional_writes import Codec as Codec
from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import plain
from webloom.adapters.mongodb.write_ids import Unanswered
from webloom.domain.errors import StoreUnavailable, WebloomError
from webloom.stores.primitives import (
    Answer,
    BatchedDocuments,
    Call,
    Decide,
    DecidePair,
    Event,
    First,
    Now,
    Second,
)

State = TypeVar("State")

MOST_ROUNDS = 50  # of deciding again because another process was faster


def now_of(database: MongoDatabase) -> Now:
    expiry = database.server_time()
    whole = expiry.replace(microsecond=expiry.microsecond // 1000 * 1000)
    return Now(database.wall(), whole, database.now())


class _Item(NamedTuple):
    decide: Decide[Any, Any, Any]
    key: str
    event: Any


class MongoDocuments(BatchedDocuments[State]):
    def __init__(self, database: MongoDatabase, codec: Codec[State]) -> None:
        super().__init__(plain)
        self._db = database
        self._codec = codec
        self._writer = Writer(codec)
        self._durable: Batcher[Call, list[Any]] = database.batcher(self._serve)
        self._quick: Batcher[Call, list[Any]] = database.batcher(
            partial(self._serve, durable=False)
        )
        self._unanswered: Unanswered[list[tuple[Any, Any]]] = Unanswered()  # events, answers

    async def _read(self, keys: Collection[str]) -> dict[str, State]:
        with self._db.use():
            found = await self._codec.find(keys)
        return {each["_id"]: self._codec.decode(each) for each in found}

    async def _submit(self, call: Call, *, durable: bool) -> list[Any]:
        return await (self._durable if durable else self._quick).ask(call)

    async def _serve(
        self, calls: list[Call], *, durable: bool = True
    ) -> list[list[Any] | WebloomError]:
        items = [_Item(call.decide, key, event) for call in calls for key, event in call.items]
        answers: dict[int, Any] = {}
        error: WebloomError = _overtaken(self._db, self._codec)
        try:
            for _ in range(MOST_ROUNDS):
                await self._round(items, answers, durable=durable)
                if len(answers) == len(items):
                    break
        except WebloomError as failure:
            error = failure
        results: list[list[Any] | WebloomError] = []
        place = 0
        for call in calls:
            places = range(place, place + len(call.items))
            is_answered = all(each in answers for each in places)
            results.append([answers[each] for each in places] if is_answered else error)
            place = places.stop
        return results

    async def _round(self, items: list[_Item], answers: dict[int, Any], *, durable: bool) -> None:
        waiting = [place for place in range(len(items)) if place not in answers]
        with self._db.use():
            plans = await self._writer.plans({items[place].key for place in waiting})
        now = now_of(self._db)
        for place in waiting:
            item = items[place]
            plan = plans[item.key]
            if plan.after is plan.before and (lost := self._lost_answer(plan, item.event)):
                answers[place] = lost[0]
                continue
            plan.after, answer = item.decide(plan.after, item.event, now)
            plan.answers.append((place, item.event, answer))
        changed = {each.key: each for each in plans.values() if self._writer.is_changed(each)}
        written = await self._write(list(changed.values()), durable=durable)
        for key, plan in plans.items():
            if key in written or key not in changed:
                answers.update({place: answer for place, _, answer in plan.answers})

    async def _write(self, changed: list[Plan[State]], *, durable: bool) -> Collection[str]:
        if not changed:
            return ()
        try:
            with self._db.use():
                return await self._writer.write(changed, durable=durable)
        except StoreUnavailable:
            for plan in changed:
                answers = [(event, answer) for _, event, answer in plan.answers]
                self._unanswered.remember(plan.write_id, answers)
            raise

    def _lost_answer(self, plan: Plan[State], event: Any) -> tuple[Any] | None:
        """Of the same call, if its write is the one that this document was last changed by."""
        known = None if plan.read is None else self._unanswered.get(plan.read.get(WRITE_ID))
        return next(((answer,) for other, answer in known or () if other == event), None)


class MongoPairs(Generic[First, Second]):
    def __init__(self, database: MongoDatabase, first: Codec[First], second: Codec[Second]) -> None:
        self._db = database
        self._first = Writer(first)
        self._second = Writer(second)

    async def change(
        self,
        decide: DecidePair[First, Second, Event, Answer],
        key: str,
        event: Event,
        *,
        second: Callable[[First | None], str | None],
    ) -> Answer:
        key = plain(key)
        with self._db.use():
            for _ in range(MOST_ROUNDS):
                one = (await self._first.plans([key]))[key]
                named = second(one.before)
                others = await self._second.plans([] if named is None else [plain(named)])
                other = next(iter(others.values()), None)
                after, other_after, answer = decide(
                    one.before, None if other is None else other.before, event, now_of(self._db)
                )
                one.after = after
                if not await _is_written(self._first, one):
                    continue
                if other is not None:
                    other.after = other_after
                    if not await _is_written(self._second, other):
                        continue
                return answer
        raise _overtaken(self._db, self._first.codec)


async def _is_written(writer: Writer[State], plan: Plan[State]) -> bool:
    return not writer.is_changed(plan) or plan.key in await writer.write([plan])


def _overtaken(database: MongoDatabase, codec: Codec[Any]) -> StoreUnavailable:
    return StoreUnavailable(
        f"MongoDB at {database.address}: a document of {codec.collection.full_name} can't be "
        "written or keeps changing; does another program use this collection?"
    )
