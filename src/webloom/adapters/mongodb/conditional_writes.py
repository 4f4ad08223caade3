"""Documents that are read, changed, and written unless they have changed meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pymongo import WriteConcern

from webloom.adapters.mongodb.conditional import Change, change_each
from webloom.adapters.mongodb.documents import Document
from webloom.adapters.mongodb.indexes import Collection as MongoCollection
from webloom.adapters.mongodb.insertion import insert_new
from webloom.adapters.mongodb.write_ids import WriteIds

State = TypeVar("State")

WRITE_ID = "writeId"

_write_ids = WriteIds()


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
        self.fields = None if fields is None else dict.fromkeys((*fields, *self.guards), True)

    async def find(self, keys: Collection[str]) -> list[Document]:
        """Subclasses add what else a decision needs."""
        if len(keys) == 1:
            found = await self.collection.find_one({"_id": next(iter(keys))}, self.fields)
            return [] if found is None else [found]
        return await self.collection.find({"_id": {"$in": list(keys)}}, self.fields).to_list()

    async def before_insert(self, state: State) -> None:
        """What has to be stored before a new document. May be repeated."""

    def as_read(self, document: Document) -> list[Any]:
        return [document.get(name) for name in self.guards]


@dataclass(kw_only=True, eq=False)
class Plan(Generic[State]):
    """What is to be written to one document."""

    key: str
    read: Document | None
    before: State | None
    after: State | None
    fields: Document = field(default_factory=dict)  # that change
    write_id: str = ""
    answers: list[tuple[int, Any, Any]] = field(default_factory=list)  # (item, event, answer)


class Writer(Generic[State]):
    """Reads and conditional writes of one collection. To be called within `use`."""

    def __init__(self, codec: Codec[State]) -> None:
        self.codec = codec
        self._collection = codec.collection
        self._quick = codec.collection.with_options(write_concern=WriteConcern(w=1))
        guarded = [{"$ifNull": [f"${name}", None]} for name in codec.guards]
        self._unchanged: Document = {"$eq": [guarded, "$$given.read"]}

    async def plans(self, keys: Collection[str]) -> dict[str, Plan[State]]:
        found = {each["_id"]: each for each in await self.codec.find(keys)} if keys else {}
        plans = {}
        for key in keys:
            read = found.get(key)
            state = None if read is None else self.codec.decode(read)
            plans[key] = Plan(key=key, read=read, before=state, after=state)
        return plans

    def is_changed(self, plan: Plan[State]) -> bool:
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

    async def write(self, plans: Sequence[Plan[State]], *, durable: bool = True) -> set[str]:
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

    async def _delete(self, collection: MongoCollection, plan: Plan[State]) -> bool:
        return (await collection.delete_one(self._as_read(plan))).deleted_count == 1

    async def _insert(self, collection: MongoCollection, plans: list[Plan[State]]) -> int:
        for plan in plans:
            if plan.after is not None:
                await self.codec.before_insert(plan.after)
        documents = [{"_id": each.key} | each.fields | self.codec.inserted() for each in plans]
        return await insert_new(collection, documents)

    async def _update(self, collection: MongoCollection, plans: list[Plan[State]]) -> int:
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

    def _values(self, plan: Plan[State]) -> list[Any]:
        assert plan.read is not None  # noqa: S101 - an update is of a document that was read
        return self.codec.as_read(plan.read)

    def _as_read(self, plan: Plan[State]) -> Document:
        values = zip(self.codec.guards, self._values(plan), strict=True)
        return {"_id": plan.key} | dict(values)
