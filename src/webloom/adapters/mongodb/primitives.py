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
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from pymongo import WriteConcern

from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.conditional import Change, change_each
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.gathering import Gathering
from webloom.adapters.mongodb.indexes import Collection as MongoCollection
from webloom.adapters.mongodb.insertion import insert_new
from webloom.adapters.mongodb.marks import Marks
from webloom.domain.errors import StoreUnavailable, WebloomError
from webloom.stores.primitives import Answer, Decide, DecidePair, Event, First, Now, Second

State = TypeVar("State")

MOST_ROUNDS = 50  # of deciding again because another process was faster
MOST_REMEMBERED = 10_000  # writes whose answers were lost
WRITE_ID = "writeId"

_write_ids = Marks()


class Codec(Generic[State]):
    """How the states of one aggregate are kept in the documents of a collection."""

    def __init__(
        self,
        collection: MongoCollection,
        *,
        decode: Callable[[Document], State],
        encode: Callable[[State], Document],  # whole values of top-level fields, without the _id
        guards: Sequence[str],  # single values that processes of earlier versions change
        fields: Collection[str] | None = None,  # that `decode` reads, where that is not all
        inserted: Callable[[], Document] = dict,  # more fields of a new document
    ) -> None:
        self.collection = collection
        self.decode = decode
        self.encode = encode
        self.inserted = inserted
        self.guards = (WRITE_ID, *guards)
        self._fields = None if fields is None else dict.fromkeys((*fields, *self.guards), True)

    async def find(self, keys: Collection[str]) -> list[Document]:
        """May add to the documents what else a decision needs."""
        if len(keys) == 1:
            found = await self.collection.find_one({"_id": next(iter(keys))}, self._fields)
            return [] if found is None else [found]
        return await self.collection.find({"_id": {"$in": list(keys)}}, self._fields).to_list()

    async def before_insert(self, state: State) -> None:
        """What has to be stored before a new document. May be repeated."""

    def as_read(self, document: Document) -> list[Any]:
        return [document.get(name) for name in self.guards]


def now_of(database: MongoDatabase) -> Now:
    expiry = database.server_time()
    whole = expiry.replace(microsecond=expiry.microsecond // 1000 * 1000)
    return Now(database.wall(), whole, database.now())


@dataclass(kw_only=True, eq=False)
class _Plan(Generic[State]):
    """What is to be written to one document."""

    key: str
    read: Document | None
    before: State | None
    after: State | None
    fields: Document = field(default_factory=dict)  # that change
    write_id: str = ""
    answers: list[tuple[int, Any, Any]] = field(default_factory=list)  # (item, event, answer)


class _Writer(Generic[State]):
    """Reads and conditional writes of one collection. To be called within `use`."""

    def __init__(self, codec: Codec[State]) -> None:
        self.codec = codec
        self._collection = codec.collection
        self._quick = codec.collection.with_options(write_concern=WriteConcern(w=1))
        guarded = [{"$ifNull": [f"${name}", None]} for name in codec.guards]
        self._unchanged: Document = {"$eq": [guarded, "$$given.read"]}

    async def plans(self, keys: Collection[str]) -> dict[str, _Plan[State]]:
        found = {each["_id"]: each for each in await self.codec.find(keys)} if keys else {}
        plans = {}
        for key in keys:
            read = found.get(key)
            state = None if read is None else self.codec.decode(read)
            plans[key] = _Plan(key=key, read=read, before=state, after=state)
        return plans

    def is_changed(self, plan: _Plan[State]) -> bool:
        if plan.after is plan.before:
            return False
        if plan.after is not None:
            plan.fields = self.codec.encode(plan.after)
            if (read := plan.read) is not None:
                plan.fields = {
                    name: value for name, value in plan.fields.items() if read.get(name) != value
                }
                if not plan.fields:
                    return False
        plan.write_id = _write_ids.next()
        plan.fields[WRITE_ID] = plan.write_id
        return True

    async def write(self, plans: Sequence[_Plan[State]], *, durable: bool = True) -> set[str]:
        """The keys of the documents that were written."""
        collection = self._collection if durable else self._quick
        new = [each for each in plans if each.read is None]
        gone = [each for each in plans if each.after is None]
        old = [each for each in plans if each.read is not None and each.after is not None]
        written = {each.key for each in gone if await self._delete(collection, each)}
        made = await self._insert(collection, new) + await self._update(collection, old)
        if made == len(new) + len(old):
            return written | {each.key for each in (*new, *old)}
        by_id = {each.write_id: each.key for each in (*new, *old)}
        found = collection.find({"_id": {"$in": list(by_id.values())}}, {WRITE_ID: True})
        return written | {
            each["_id"] for each in await found.to_list() if each.get(WRITE_ID) in by_id
        }

    async def _delete(self, collection: MongoCollection, plan: _Plan[State]) -> bool:
        return (await collection.delete_one(self._as_read(plan))).deleted_count == 1

    async def _insert(self, collection: MongoCollection, plans: list[_Plan[State]]) -> int:
        for plan in plans:
            if plan.after is not None:
                await self.codec.before_insert(plan.after)
        documents = [{"_id": each.key} | each.fields | self.codec.inserted() for each in plans]
        return await insert_new(collection, documents)

    async def _update(self, collection: MongoCollection, plans: list[_Plan[State]]) -> int:
        if len(plans) == 1:
            written = await collection.update_one(
                self._as_read(plans[0]), {"$set": plans[0].fields}
            )
            return written.matched_count
        return await change_each(
            collection,
            (
                Change(each.key, {"read": self._values(each), "fields": each.fields})
                for each in plans
            ),
            condition=self._unchanged,
            result={"$mergeObjects": ["$$ROOT", "$$given.fields"]},
        )

    def _values(self, plan: _Plan[State]) -> list[Any]:
        assert plan.read is not None  # noqa: S101 - an update is of a document that was read
        return self.codec.as_read(plan.read)

    def _as_read(self, plan: _Plan[State]) -> Document:
        values = zip(self.codec.guards, self._values(plan), strict=True)
        return {"_id": plan.key} | dict(values)


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
        self._writer = _Writer(codec)
        self._durable: Gathering[_Call, list[Any]] = database.gather(self._serve)
        self._quick: Gathering[_Call, list[Any]] = database.gather(self._serve_quickly)
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

    async def _write(self, changed: list[_Plan[State]], *, durable: bool) -> Collection[str]:
        if not changed:
            return ()
        try:
            with self._db.use():
                return await self._writer.write(changed, durable=durable)
        except StoreUnavailable:
            for plan in changed:
                self._remember(plan)
            raise

    def _remember(self, plan: _Plan[State]) -> None:
        self._unanswered[plan.write_id] = [(event, answer) for _, event, answer in plan.answers]
        if len(self._unanswered) > MOST_REMEMBERED:
            del self._unanswered[next(iter(self._unanswered))]

    def _lost_answer(self, plan: _Plan[State], event: Any) -> tuple[Any] | None:
        """Of the same call, if its write is the one that this document was last changed by."""
        if plan.read is None or not self._unanswered:
            return None
        known = self._unanswered.get(plan.read.get(WRITE_ID, ""), ())
        return next(((answer,) for other, answer in known if other == event), None)


class MongoPairs(Generic[First, Second]):
    def __init__(self, database: MongoDatabase, first: Codec[First], second: Codec[Second]) -> None:
        self._db = database
        self._first = _Writer(first)
        self._second = _Writer(second)

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


async def _is_written(writer: _Writer[State], plan: _Plan[State]) -> bool:
    return not writer.is_changed(plan) or plan.key in await writer.write([plan])


def _overtaken(database: MongoDatabase, codec: Codec[Any]) -> StoreUnavailable:
    return StoreUnavailable(
        f"MongoDB at {database.address}: a document of {codec.collection.full_name} can't be "
        "written or keeps changing; does another program use this collection?"
    )
