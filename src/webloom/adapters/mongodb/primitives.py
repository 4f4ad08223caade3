"""`Documents` and `Pairs` on MongoDB: read, decide, write if the document is as it was read.

    calls gather -> one find -> decisions -> one conditional update for all -> answers
                      ^                            |
                      `---- somebody was faster ---'

Each write leaves an id of its own in `writeId`. If fewer writes were made than sent, these ids tell
which. They also tell whether a write was made whose answer was lost: the call that is repeated
finds its id in the document.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from webloom.adapters.mongodb.batching import Batcher
from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.conditional_writes import WRITE_ID, Plan, Writer
from webloom.adapters.mongodb.conditional_writes import Codec as Codec
from webloom.adapters.mongodb.documents import plain
from webloom.domain.errors import StoreUnavailable, WebloomError
from webloom.stores.primitives import Answer, Decide, DecidePair, Event, First, Now, Second

State = TypeVar("State")

MOST_ROUNDS = 50  # of deciding again because another process was faster
MOST_REMEMBERED = 10_000  # writes whose answers were lost


def now_of(database: MongoDatabase) -> Now:
    expiry = database.server_time()
    whole = expiry.replace(microsecond=expiry.microsecond // 1000 * 1000)
    return Now(database.wall(), whole, database.now())


class _Call(NamedTuple):
    decide: Decide[Any, Any, Any]
    items: list[tuple[str, Any]]


class _Item(NamedTuple):
    decide: Decide[Any, Any, Any]
    key: str
    event: Any


class MongoDocuments(Generic[State]):
    def __init__(self, database: MongoDatabase, codec: Codec[State]) -> None:
        self._db = database
        self._codec = codec
        self._writer = Writer(codec)
        self._durable: Batcher[_Call, list[Any]] = database.batcher(self._serve)
        self._quick: Batcher[_Call, list[Any]] = database.batcher(self._serve_quickly)
        # By write id: the key, and the events with their answers.
        self._unanswered: dict[str, list[tuple[Any, Any]]] = {}

    async def read(self, keys: Sequence[str]) -> dict[str, State]:
        wanted = {plain(key): key for key in keys}
        with self._db.use():
            found = await self._codec.find(wanted)
        return {wanted[each["_id"]]: self._codec.decode(each) for each in found}

    async def change(
        self,
        decide: Decide[State, Event, Answer],
        items: Sequence[tuple[str, Event]],
        *,
        durable: bool = True,
    ) -> list[Answer]:
        if not items:
            return []
        call = _Call(decide, [(plain(key), event) for key, event in items])
        return await (self._durable if durable else self._quick).ask(call)

    async def _serve_quickly(self, calls: list[_Call]) -> list[list[Any] | WebloomError]:
        return await self._serve(calls, durable=False)

    async def _serve(
        self, calls: list[_Call], *, durable: bool = True
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
                self._remember(plan)
            raise

    def _remember(self, plan: Plan[State]) -> None:
        self._unanswered[plan.write_id] = [(event, answer) for _, event, answer in plan.answers]
        if len(self._unanswered) > MOST_REMEMBERED:
            del self._unanswered[next(iter(self._unanswered))]

    def _lost_answer(self, plan: Plan[State], event: Any) -> tuple[Any] | None:
        """Of the same call, if its write is the one that this document was last changed by."""
        if plan.read is None or not self._unanswered:
            return None
        known = self._unanswered.get(plan.read.get(WRITE_ID, ""), ())
        return next(((answer,) for other, answer in known if other == event), None)


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
