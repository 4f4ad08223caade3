"""Records by URL: their states are read, decided, and written if nothing has changed since.

    calls of a kind gather -> one update on the guess -> answers
                                  |  did not hold for some
                                  v
                           one find -> decisions -> one conditional update -> answers
                               ^                            |
                               `---- somebody was faster ---'

What a worker asks for is nearly always the first attempt of a request that waits, or the end of an
attempt that runs. So both are decided on an assumed state and written without reading, on the
condition that the assumption holds.

Each write leaves its id in the document, in the field of its kind. If fewer writes were made than
sent, the ids tell which. When the answer to a write is lost, its id is remembered: the same call,
made again in this process, finds it in the document and gets its answer.

A guessed beginning is answered before it is safe from a crash of the server. What that undoes is
found out at the end of the attempt, whose token is then newer than the record's: tokens follow the
time. If the note before it was undone as well, the record is made again. All else is safe before it
is answered: what ends a request is followed by the end of its message.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pymongo import WriteConcern

from webloom.adapters.mongodb.batching import Batcher
from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.conditional import Change, change_each
from webloom.adapters.mongodb.documents import Document, Places, plain
from webloom.adapters.mongodb.insertion import insert_new
from webloom.adapters.mongodb.primitives import now_of
from webloom.adapters.mongodb.record_codec import (
    FIELDS,
    PROCESSING,
    STATE_FIELDS,
    WORK,
    difference,
    new_document,
    state_of,
)
from webloom.adapters.mongodb.write_ids import Unanswered, WriteIds
from webloom.domain.errors import StoreUnavailable, WebloomError
from webloom.domain.inventory import Attempt, Status, url_key
from webloom.domain.request_state import (
    FinishAttempt,
    Known,
    RequestState,
    Tombstone,
    before_attempt,
    begin_attempt,
    finish_attempt,
    new_state,
    resume_attempt,
)
from webloom.stores.inventory import Decided, Guess
from webloom.stores.primitives import Answer, Decide, Event, Now

MOST_ROUNDS = 20  # of deciding again because somebody was faster
LINGER = 0.003  # seconds, of a worker's writes

UNCHANGED = {
    "$and": [
        {"$eq": ["$work.version", "$$given.version"]},
        {"$eq": ["$work.token", "$$given.token"]},
    ]
}
# What `assume_waiting` assumes.
WAITS = {
    "$and": [
        {"$eq": ["$work.request_id", "$$given.request_id"]},
        {"$eq": ["$status", Status.PENDING.value]},
        {"$eq": ["$work.lease", None]},
        {"$eq": ["$work.retry_due", None]},
        {"$ne": ["$processing.last_request_id", "$$given.request_id"]},
        {"$lt": ["$work.token", "$$given.work.token"]},
    ]
}
# What `assume_running` assumes. The status matters only where the request stays outstanding.
RUNS = {
    "$and": [
        {
            "$or": [
                {
                    "$and": [
                        {"$eq": ["$work.token", "$$given.work.token"]},
                        {"$gt": ["$work.lease", None]},
                    ]
                },
                {"$lt": ["$work.token", "$$given.work.token"]},
            ]
        },
        {
            "$or": [
                {"$gt": ["$$given.fields.shelf", None]},
                {"$in": ["$status", [Status.PENDING.value, Status.IN_PROGRESS.value]]},
            ]
        },
    ]
}
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


class _Item(NamedTuple):
    key: str
    url: str
    event: Any


@dataclass(kw_only=True, eq=False)
class _Plan:
    """What is to be written to one document."""

    item: _Item
    read: Document | None
    before: Known
    after: Known
    now: Now
    write_id: str
    answers: dict[int, Any] = field(default_factory=dict)  # by place of the item


Found = dict[str, Document | None]  # by key; None: there is no such document


class Changes:
    """Of one kind, served together."""

    id_field = "change"  # of a write, in `work`

    def __init__(
        self, database: MongoDatabase, ids: WriteIds, places: Places, decide: Any, guess: Any
    ) -> None:
        self._db = database
        self._ids = ids
        self._places = places
        self._decide = decide
        self._guess = guess

    async def serve(self, calls: list[Sequence[tuple[str, Any]]]) -> list[list[Any] | WebloomError]:
        items = [_Item(url_key(url), url, event) for call in calls for url, event in call]
        answers: dict[int, Any] = {}
        error: WebloomError = StoreUnavailable(
            f"MongoDB at {self._db.address}: a record of {self._db.records.full_name} can't be "
            "made or keeps changing; is there a document for its URL that is not Webloom's?"
        )
        try:
            found: Found = await self._try_guesses(items, answers) if self._guess else {}
            for _ in range(MOST_ROUNDS):
                if len(answers) == len(items):
                    break
                found = await self._round(items, answers, found)
        except WebloomError as failure:
            if not answers:
                raise
            error = failure
        given = [answers.get(place, error) for place in range(len(items))]
        results: list[list[Any] | WebloomError] = []
        start = 0
        for call in calls:
            mine = given[start : start + len(call)]
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
                after, answer = self._decide(assumed, item.event, now)
                plan = self._plan(item, None, assumed, now)
                plan.after, plan.answers[place] = after, answer
                plans[item.key] = plan
        return await self._write(plans, answers, lambda: self._write_guesses(plans.values()))

    async def _write_guesses(self, plans: Collection[_Plan]) -> int:
        """Of records that are assumed not to exist. One can come so late that its request was
        answered and the record deleted."""
        by_key = {each.item.key: each for each in plans}

        def is_late(key: str, gone: Tombstone) -> bool:
            plan = by_key[key]
            return self._decide(gone, plan.item.event, plan.now)[0] is gone

        await self._insert_unless_deleted(plans, is_late)
        return len(plans)

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
                read = found[item.key]
                plan = self._plan(item, read, None if read is None else state_of(read, 0.0), now)
                plans[item.key] = plan
            if not isinstance(plan.after, Tombstone):
                plan.after, plan.answers[place] = self._decided(plan, item, now)
        for plan in plans.values():
            if plan.after is plan.before:
                answers |= plan.answers
        changed = {key: each for key, each in plans.items() if each.after is not each.before}
        return await self._write(changed, answers, lambda: self._save(changed.values()))

    def _decided(self, plan: _Plan, item: _Item, now: Now) -> tuple[Known, Any]:
        decided: tuple[Known, Any] = self._decide(plan.after, item.event, now)
        return decided

    async def _write(
        self,
        plans: dict[str, _Plan],
        answers: dict[int, Any],
        make: Callable[[], Awaitable[int]],
    ) -> Found:
        """Answers what was written. Returns the documents, where that was not all."""
        if not plans:
            return {}
        try:
            with self._db.use():
                made = await make()
            found = {} if made == len(plans) else await self._read(plans)
        except WebloomError:
            for plan in plans.values():
                self._note_unanswered(plan)
            raise
        for key, plan in plans.items():
            document = found.get(key)
            if document is not None and document["work"].get(self.id_field) == plan.write_id:
                del found[key]
            if key not in found:
                answers |= plan.answers
        return found

    def _note_unanswered(self, plan: _Plan) -> None:
        pass

    async def _save(self, plans: Collection[_Plan]) -> int:
        made = 0
        for plan in plans:
            if isinstance(plan.after, Tombstone):
                made += await self._delete(plan, plan.after)
        changes = (
            Change(each.item.key, self._given(each) | as_read(each.read))
            for each in plans
            if each.read is not None and isinstance(each.after, RequestState)
        )
        made += await change_each(self._db.records, changes, condition=UNCHANGED, result=MERGED)
        new = [self._document(each) for each in plans if each.read is None]
        return made + await insert_new(self._db.records, new)

    async def _delete(self, plan: _Plan, tombstone: Tombstone) -> int:
        """The tombstone comes first: who looks for it after making a record sees every deletion
        that came before."""
        read = plan.read or {}
        left = tombstone._asdict() | {"at": self._db.server_time()}
        await self._db.forgotten.replace_one({"_id": plan.item.key}, left, upsert=True)
        as_it_was = {f"work.{name}": value for name, value in as_read(read).items()}
        deleted = await self._db.records.delete_one({"_id": plan.item.key} | as_it_was)
        return deleted.deleted_count

    async def _insert_unless_deleted(
        self, plans: Collection[_Plan], is_late: Callable[[str, Tombstone], bool]
    ) -> None:
        documents = {each.item.key: self._document(each) for each in plans}
        await insert_new(self._db.records, documents.values())
        async for gone in self._db.forgotten.find({"_id": {"$in": list(documents)}}):
            key = gone["_id"]
            if is_late(key, Tombstone(gone["request_id"], gone.get("token", 0))):
                request_id = documents[key]["work"]["request_id"]
                await self._db.records.delete_one(
                    {"_id": key, "work.version": 0, "work.request_id": request_id}
                )

    async def _read(self, keys: Collection[str]) -> Found:
        if not keys:
            return {}
        with self._db.use():
            found = self._db.records.find(
                {"_id": {"$in": list(keys)}}, STATE_FIELDS, batch_size=len(keys) + 1
            )
            documents = {each["_id"]: each for each in await found.to_list()}
        return {key: documents.get(key) for key in keys}

    def _plan(self, item: _Item, read: Document | None, state: Known, now: Now) -> _Plan:
        write_id = self._ids.next()
        return _Plan(item=item, read=read, before=state, after=state, now=now, write_id=write_id)

    def _given(self, plan: _Plan) -> Document:
        assert isinstance(plan.before, RequestState)  # noqa: S101
        assert isinstance(plan.after, RequestState)  # noqa: S101
        given = difference(plan.before, plan.after)
        given[WORK][self.id_field] = plan.write_id
        return given

    def _document(self, plan: _Plan) -> Document:
        after, now = plan.after, plan.now
        assert isinstance(after, RequestState)  # noqa: S101
        document = new_document(
            plan.item.url,
            after.request_id,
            now=now.timeline,
            wall=now.wall,
            place=self._places.next(now.wall),
        )
        document[WORK][self.id_field] = plan.write_id
        new = new_state(after.request_id or "", now)
        if after != new:
            given = difference(new, after)
            document |= given[FIELDS]
            document[PROCESSING] |= given[PROCESSING]
            document[WORK] |= given[WORK]
        return document


class _Beginnings(Changes):
    id_field = "holder"

    def __init__(self, database: MongoDatabase, *others: Any) -> None:
        super().__init__(database, *others)
        self._soon_safe = database.records.with_options(write_concern=WriteConcern(w=1))
        self._unanswered: Unanswered[str] = Unanswered()

    async def _write_guesses(self, plans: Collection[_Plan]) -> int:
        changes = (
            Change(key, self._given(each) | {"request_id": event.request.request_id})
            for each in plans
            for key, _, event in [each.item]
        )
        return await change_each(self._soon_safe, changes, condition=WAITS, result=MERGED)

    def _note_unanswered(self, plan: _Plan) -> None:
        if any(isinstance(answer, Attempt) for answer in plan.answers.values()):
            self._unanswered.remember(plan.write_id, plan.item.key)

    def _decided(self, plan: _Plan, item: _Item, now: Now) -> tuple[Known, Any]:
        state = plan.after
        if (
            isinstance(state, RequestState)
            and state is plan.before
            and state.lease_until is not None
            and plan.read is not None
            and self._unanswered.is_for(plan.read["work"]["holder"], item.key)
        ):
            return resume_attempt(state, item.event, now)
        return super()._decided(plan, item, now)


class _Endings(Changes):
    id_field = "finish"

    def __init__(self, *others: Any) -> None:
        super().__init__(*others)
        self._unanswered: Unanswered[tuple[str, int]] = Unanswered()

    async def _write_guesses(self, plans: Collection[_Plan]) -> int:
        changes = (
            Change(each.item.key, given := self._given(each), _bytes(given)) for each in plans
        )
        return await change_each(self._db.records, changes, condition=RUNS, result=MERGED)

    def _note_unanswered(self, plan: _Plan) -> None:
        self._unanswered.remember(plan.write_id, _identity(plan.item))

    def _decided(self, plan: _Plan, item: _Item, now: Now) -> tuple[Known, Any]:
        if plan.read is not None and self._unanswered.is_for(
            plan.read["work"]["finish"], _identity(item)
        ):
            return plan.after, True
        return super()._decided(plan, item, now)

    async def _round(self, items: list[_Item], answers: dict[int, Any], found: Found) -> Found:
        """A record that is gone may have been undone by a crash: it is made again as it was before
        the attempt, once."""
        now = now_of(self._db)
        missing = {
            item.key: self._plan(item, None, None, now)
            for place, item in enumerate(items)
            if place not in answers and item.key in found and found[item.key] is None
        }
        for plan in missing.values():
            plan.after = before_attempt(plan.item.event, now)
        if missing:
            with self._db.use():
                await self._insert_unless_deleted(
                    missing.values(),
                    lambda key, gone: gone.is_after(missing[key].item.event.attempt),
                )
            found = await self._read(found)
        return await super()._round(items, answers, found)


def _identity(item: _Item) -> tuple[str, int]:
    event: FinishAttempt = item.event
    return item.key, event.attempt.token


def _bytes(given: Document) -> int:
    """About; a page source can be large, and the rest is not by far."""
    source = given[FIELDS].get("metadata", {}).get("page_source") or ""
    return len(source) if source.isascii() else 4 * len(source)


def as_read(document: Document) -> Document:
    return {"version": document["work"]["version"], "token": document["work"]["token"]}


_KINDS: dict[Any, type[Changes]] = {begin_attempt: _Beginnings, finish_attempt: _Endings}


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
            kind = _KINDS.get(decide, Changes)
            serve = kind(self._db, self._ids, self._places, decide, guess).serve
            changing = self._db.batcher(serve, linger=LINGER if decide in _KINDS else 0.0)
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
        with self._db.use():
            found = self._db.records.find(
                {"_id": {"$in": list(keys.values())}}, STATE_FIELDS, batch_size=len(keys) + 1
            )
            now = self._db.now()
            states = {each["_id"]: state_of(each, now) for each in await found.to_list()}
        return [
            {url: states[key] for url in urls if (key := keys[url]) in states} for urls in items
        ]
