"""Records by URL: their states are read, decided, and written if nothing has changed since.

    calls of a kind gather -> one update on the guess -> answers
                                  |  did not hold for some
                                  v
                           one find -> decisions -> one conditional update -> answers
                               ^                            |
                               `---- another was faster ----'

What a caller asks for is nearly always the note of a settled URL, the first attempt of a request
that waits, or the end of an attempt that runs. These are decided on an assumed state and written
without reading, on its conditions.

Each write leaves its id in the document, in the field of its kind. If fewer writes were made than
sent, the ids tell which. When the answer to a write is lost, its id is remembered: the same call,
made again in this process, finds it in the document and gets its answer.

A guessed beginning is answered before it is safe from a crash of the server. What that undoes is
found out at the end of the attempt, whose token is then newer than the record's: tokens follow the
time. All else is safe before it is answered: what ends a request is followed by the end of its
message.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

from pymongo import WriteConcern

from webloom.adapters.mongodb.batching import Batcher
from webloom.adapters.mongodb.conditional import Change, change_each
from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document, Places, plain
from webloom.adapters.mongodb.indexes import Collection as MongoCollection
from webloom.adapters.mongodb.insertion import insert_new
from webloom.adapters.mongodb.primitives import now_of
from webloom.adapters.mongodb.record_codec import (
    FIELDS,
    PROCESSING,
    STATE_FIELDS,
    WORK,
    difference,
    new_document,
    path_of,
    state_of,
)
from webloom.adapters.mongodb.write_ids import Unanswered, WriteIds
from webloom.domain.errors import StoreUnavailable, WebloomError
from webloom.domain.inventory import url_key
from webloom.domain.request_state import (
    Known,
    RequestState,
    Tombstone,
    begin_attempt,
    finish_again,
    finish_attempt,
    note_request,
    resume_attempt,
)
from webloom.stores.inventory import Decided, Guess
from webloom.stores.primitives import Answer, Decide, Event, Now

MOST_ROUNDS = 20  # of deciding again because another process was faster
LINGER = 0.003  # seconds, of a worker's writes

MERGED = {
    "$mergeObjects": [
        "$$ROOT",
        "$$given.fields",
        {
            PROCESSING: {"$mergeObjects": ["$processing", "$$given.processing"]},
            WORK: {
                "$mergeObjects": [
                    "$work",
                    "$$given.work",
                    {"version": {"$add": ["$work.version", 1]}},
                ]
            },
        },
    ]
}


class _Where(NamedTuple):
    """The names of an assumption's conditions."""

    compared: tuple[str, ...]  # with values that a change brings
    unset: tuple[str, ...] = ()
    is_set: tuple[str, ...] = ()


_AS_READ = _Where(("version", "token"))


@cache
def _condition(where: _Where) -> Document:
    tests: list[Document] = []
    for name in where.compared:
        field, _, comparison = name.partition("__")
        tests.append({f"${comparison or 'eq'}": [f"${path_of(field)}", f"$$given.if.{name}"]})
    tests += ({"$eq": [f"${path_of(field)}", None]} for field in where.unset)
    tests += ({"$ne": [f"${path_of(field)}", None]} for field in where.is_set)
    return {"$and": tests}


class _Repeat(NamedTuple):
    """Of a call that got no answer."""

    identity: Callable[[Any], Any]  # what its event has in common with the first one
    decide: Callable[[RequestState, Any, Now], tuple[Known, Any]]


class _Kind(NamedTuple):
    """Changes that are decided by one function, and served together."""

    id_field: str = "change"  # of the last write of this kind, in `work`
    linger: float = 0.0
    is_quick: bool = False  # a guessed write need not be safe from a crash
    heeds_deletion: bool = False  # the tombstone of a record matters
    leaves_existing: bool = False  # it makes records, and a record that exists already stays
    repeat: _Repeat | None = None


_KINDS: dict[Any, _Kind] = {
    note_request: _Kind(heeds_deletion=True, leaves_existing=True),
    begin_attempt: _Kind(
        id_field="holder",
        linger=LINGER,
        is_quick=True,
        repeat=_Repeat(attrgetter("request.request_id"), resume_attempt),
    ),
    finish_attempt: _Kind(
        id_field="finish",
        linger=LINGER,
        heeds_deletion=True,
        repeat=_Repeat(attrgetter("attempt.token"), finish_again),
    ),
}


class _Item(NamedTuple):
    key: str
    url: str
    event: Any


class _Plan:
    """What is to be written to one document."""

    __slots__ = ("after", "answers", "before", "conditions", "item", "read", "where", "write_id")

    def __init__(self, item: _Item, read: Document | None, state: Known, write_id: str) -> None:
        self.item = item
        self.read = read
        self.before = self.after = state
        self.write_id = write_id
        self.where = _AS_READ
        self.conditions: Mapping[str, Any] = {}
        self.answers: dict[int, Any] = {}  # by place of the item


Found = dict[str, Document | Tombstone | None]  # by key; None: there is no such document


class RecordChanges:
    """Of one kind."""

    def __init__(
        self, database: MongoDatabase, ids: WriteIds, places: Places, decide: Any, guess: Any
    ) -> None:
        self._db = database
        self._records = database.records
        self._ids = ids
        self._places = places
        self._decide = decide
        self._guess = guess
        self._kind = _KINDS.get(decide, _Kind())
        self._guessed = self._records
        if self._kind.is_quick:
            self._guessed = self._records.with_options(write_concern=WriteConcern(w=1))
        self._unanswered: Unanswered[tuple[str, Any]] = Unanswered()

    async def serve(self, calls: list[Sequence[tuple[str, Any]]]) -> list[list[Any] | WebloomError]:
        items = [_Item(url_key(url), url, event) for call in calls for url, event in call]
        answers: dict[int, Any] = {}
        error: WebloomError = StoreUnavailable(
            f"MongoDB at {self._db.address}: a record of {self._records.full_name} can't be "
            "made or keeps changing; is there a document for its URL that is not Webloom's?"
        )
        try:
            found = await self._try_guesses(items, answers) if self._guess else {}
            for _ in range(MOST_ROUNDS):
                if len(answers) == len(items):
                    break
                found = await self._round(items, answers, found)
        except WebloomError as failure:
            if not answers:
                raise
            error = failure
        results: list[list[Any] | WebloomError] = []
        start = 0
        for call in calls:
            mine = [answers.get(place, error) for place in range(start, start + len(call))]
            results.append(error if error in mine else mine)
            start += len(call)
        return results

    async def _try_guesses(self, items: list[_Item], answers: dict[int, Any]) -> Found:
        now = now_of(self._db)
        plans: dict[str, _Plan] = {}
        for place, item in enumerate(items):
            if item.key in plans:
                continue
            assumed = self._guess(item.event, now)
            if assumed is not None:
                plan = _Plan(item, None, assumed.state, self._ids.next())
                plan.after, plan.answers[place] = self._decide(assumed.state, item.event, now)
                plan.conditions = assumed.conditions
                plan.where = _Where(tuple(assumed.conditions), assumed.unset, assumed.is_set)
                plans[item.key] = plan
        return await self._write(plans, answers, now, self._guessed)

    async def _round(self, items: list[_Item], answers: dict[int, Any], found: Found) -> Found:
        """Later items of a URL see what earlier ones have changed."""
        waiting = [place for place in range(len(items)) if place not in answers]
        found |= await self._read({items[place].key for place in waiting} - found.keys())
        now = now_of(self._db)
        plans: dict[str, _Plan] = {}
        for place in waiting:
            item = items[place]
            plan = plans.get(item.key)
            if plan is None:
                plan = plans[item.key] = self._plan(item, found[item.key])
            if not isinstance(plan.after, Tombstone) or plan.after is plan.before:
                plan.after, plan.answers[place] = self._decided(plan, item, now)
        for plan in plans.values():
            if plan.after is plan.before:
                answers |= plan.answers
        changed = {key: each for key, each in plans.items() if each.after is not each.before}
        return await self._write(changed, answers, now, self._records)

    def _plan(self, item: _Item, found: Document | Tombstone | None) -> _Plan:
        if found is None or isinstance(found, Tombstone):
            return _Plan(item, None, found, self._ids.next())
        plan = _Plan(item, found, state_of(found, 0.0), self._ids.next())
        plan.conditions = {name: found[WORK][name] for name in _AS_READ.compared}
        return plan

    def _decided(self, plan: _Plan, item: _Item, now: Now) -> tuple[Known, Any]:
        state, repeat = plan.after, self._kind.repeat
        if (
            repeat is not None
            and plan.read is not None
            and isinstance(state, RequestState)
            and state is plan.before
        ):
            write_id = plan.read[WORK].get(self._kind.id_field)
            if self._unanswered.is_for(write_id, (item.key, repeat.identity(item.event))):
                return repeat.decide(state, item.event, now)
        decided: tuple[Known, Any] = self._decide(state, item.event, now)
        return decided

    async def _write(
        self,
        plans: dict[str, _Plan],
        answers: dict[int, Any],
        now: Now,
        records: MongoCollection,
    ) -> Found:
        """Answers what was written. Returns what was found where that was not all."""
        if not plans:
            return {}
        try:
            with self._db.use():
                unsure, found = await self._save(plans, now, records)
            found |= await self._read(unsure - found.keys())
        except WebloomError:
            if (repeat := self._kind.repeat) is not None:
                for key, plan in plans.items():
                    call = (key, repeat.identity(plan.item.event))
                    self._unanswered.remember(plan.write_id, call)
            raise
        for key, plan in plans.items():
            document = found.get(key)
            if (
                isinstance(document, dict)
                and document[WORK].get(self._kind.id_field) == plan.write_id
            ):
                del found[key]
            if key not in found:
                answers |= plan.answers
        return found

    async def _save(
        self, plans: dict[str, _Plan], now: Now, records: MongoCollection
    ) -> tuple[set[str], Found]:
        """The keys among which some were not written, and tombstones of what came too late."""
        unsure: set[str] = set()
        new: dict[str, Document] = {}
        updates: dict[_Where, list[Change]] = {}
        for key, plan in plans.items():
            before, after = plan.before, plan.after
            if isinstance(after, Tombstone):
                if not await self._is_deleted(plan, after):
                    unsure.add(key)
            elif isinstance(after, RequestState):
                if isinstance(before, RequestState):
                    change = self._given(plan, before, after)
                    updates.setdefault(plan.where, []).append(change)
                else:
                    place = self._places.next(now.wall)
                    url = plan.item.url
                    document = new_document(url, after, created_at=now.wall, place=place)
                    document[WORK][self._kind.id_field] = plan.write_id
                    new[key] = document
        for where, changes in updates.items():
            condition = _condition(where)
            made = await change_each(records, changes, condition=condition, result=MERGED)
            if made < len(changes):
                unsure |= {each.key for each in changes}
        inserted = await insert_new(records, new.values())
        if inserted < len(new) and not self._kind.leaves_existing:
            unsure |= new.keys()
        return unsure, await self._withdraw_late(plans, new, now)

    def _given(self, plan: _Plan, before: RequestState, after: RequestState) -> Change:
        given = difference(before, after)
        given[WORK][self._kind.id_field] = plan.write_id
        given["if"] = plan.conditions
        return Change(plan.item.key, given, _bytes(given))

    async def _is_deleted(self, plan: _Plan, tombstone: Tombstone) -> bool:
        """The tombstone comes first: who looks for it after making a record sees every deletion
        that came before."""
        left = {
            "request_id": tombstone.request_id,
            "token": tombstone.token,
            "at": self._db.server_time(),
        }
        await self._db.forgotten.replace_one({"_id": plan.item.key}, left, upsert=True)
        as_read = {path_of(name): value for name, value in plan.conditions.items()}
        deleted = await self._records.delete_one({"_id": plan.item.key} | as_read)
        return deleted.deleted_count == 1

    async def _withdraw_late(
        self, plans: dict[str, _Plan], new: dict[str, Document], now: Now
    ) -> Found:
        """A call can come so late that its request was answered and the record deleted. What it
        has made, now or when it got no answer, goes again."""
        late: Found = {}
        if new and self._kind.heeds_deletion:
            async for each in self._db.forgotten.find({"_id": {"$in": list(new)}}):
                key, gone = each["_id"], Tombstone(each["request_id"], each.get("token", 0))
                if self._decide(gone, plans[key].item.event, now)[0] is gone:
                    request_id = new[key][WORK]["request_id"]
                    made = {"_id": key, "work.version": 0, "work.request_id": request_id}
                    await self._records.delete_one(made)
                    late[key] = gone
        return late

    async def _read(self, keys: Collection[str]) -> Found:
        documents = await _documents(self._db, keys) if keys else {}
        return {key: documents.get(key) for key in keys}


async def _documents(database: MongoDatabase, keys: Collection[str]) -> dict[str, Document]:
    with database.use():
        found = database.records.find(
            {"_id": {"$in": list(keys)}}, STATE_FIELDS, batch_size=len(keys) + 1
        )
        return {each["_id"]: each for each in await found.to_list()}


def _bytes(given: Document) -> int:
    """About; a page source can be large, and the rest is not by far."""
    source = given[FIELDS].get("metadata", {}).get("page_source") or ""
    return len(source) if source.isascii() else 4 * len(source)


class MongoRecords:
    def __init__(self, database: MongoDatabase) -> None:
        self._db = database
        self._ids, self._places = WriteIds(), Places()
        self._reading = database.batcher(self._read)
        self._changing: dict[Any, Batcher[Any, Any]] = {}  # by the function that decides

    async def read(self, urls: Sequence[str]) -> dict[str, RequestState]:
        return await self._reading.ask(urls)

    async def change(
        self,
        decide: Decide[Decided, Event, Answer],
        items: Sequence[tuple[str, Event]],
        *,
        guess: Guess[Event] | None = None,
        durable: bool = True,
    ) -> list[Answer]:
        """Guessed beginnings alone are not durable."""
        if not items:
            return []
        changing = self._changing.get(decide)
        if changing is None:
            changes = RecordChanges(self._db, self._ids, self._places, decide, guess)
            changing = self._db.batcher(changes.serve, linger=_KINDS.get(decide, _Kind()).linger)
            self._changing[decide] = changing
        answers: list[Answer] = await changing.ask(items)
        return answers

    async def check_room(self) -> None:
        await self._db.check_room()

    def text(self, text: str) -> str:
        return plain(text)

    async def _read(
        self, items: list[Sequence[str]]
    ) -> list[dict[str, RequestState] | WebloomError]:
        keys = {url: url_key(url) for urls in items for url in urls}
        found = await _documents(self._db, keys.values())
        now = self._db.now()
        states = {key: state_of(document, now) for key, document in found.items()}
        return [
            {url: states[key] for url in urls if (key := keys[url]) in states} for urls in items
        ]
