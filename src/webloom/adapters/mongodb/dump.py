"""A MongoDB database as a whole: read from one snapshot where the server has them, filled item by
item.

Aggregates that are `Documents` are read and written by their codecs. For the others a kind says how
documents become items and back.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from datetime import timedelta
from typing import Any, ClassVar

import bson
from bson.raw_bson import DEFAULT_RAW_BSON_OPTIONS, RawBSONDocument
from pymongo import ASCENDING, ReplaceOne
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.errors import OperationFailure

from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document
from webloom.adapters.mongodb.feeds import MongoFeeds, feed_codec
from webloom.adapters.mongodb.import_run_codec import run_codec
from webloom.adapters.mongodb.indexes import Collection
from webloom.adapters.mongodb.insertion import insert_new
from webloom.adapters.mongodb.notifications import notification_codec
from webloom.adapters.mongodb.primitives import Codec, MongoDocuments
from webloom.adapters.mongodb.watch_codec import metrics_fields
from webloom.adapters.mongodb.watch_ledger import IN_PROGRESS, WatchLedger
from webloom.adapters.mongodb.watch_run_codec import run_document, tally_fields
from webloom.adapters.mongodb.watch_runs import CountedRunCodec, watch_codec
from webloom.domain.errors import StoreUnavailable
from webloom.domain.watch import EVENTS
from webloom.domain.watch_run import RunState
from webloom.ports.dump import Line
from webloom.stores.dump import AGGREGATES, StoredDump
from webloom.stores.whole import LARGE, MOST_TOGETHER, line_of, merged

log = logging.getLogger(__name__)

Session = AsyncClientSession | None
Sort = Sequence[tuple[str, int]]
Items = AsyncIterator[tuple[Document, Any]]  # documents with their items

MOST_ROUNDS = 10  # of writing documents that others change at the same time
_TOO_OLD = (239, 246)  # what the server keeps for snapshots, five minutes as a rule, is gone
_ID = {"_id": True}
_SMALL = 1000  # bytes of a value that is compared to see whether a document has changed


class Kind:
    """A collection of a dump."""

    fields: Document | None = None  # that are read
    carried: ClassVar[Document] = {}  # which documents are items
    sort: Sort = (("_id", ASCENDING),)
    settles = False  # it has a `settle`

    def __init__(self, database: MongoDatabase, collection: Collection) -> None:
        self.db = database
        self.collection = collection

    def item(self, document: Document) -> Any:
        """None: another program has made something else of it."""
        raise NotImplementedError

    async def items(self, documents: AsyncIterator[Document], session: Session) -> Items:
        async for document in documents:
            yield document, self.item(document)

    def key(self, item: Any) -> str:
        raise NotImplementedError

    def document(self, item: Any) -> Document:
        raise NotImplementedError

    async def documents(self, items: Sequence[Any]) -> list[Document]:
        return [self.document(item) for item in items]

    def replacement(self, new: Document, here: Document) -> Document:
        """Of one document by another."""
        return new

    async def settle(self, items: Sequence[Any]) -> None:
        """Write what depends on several documents, after these."""

    async def find(self, items: Sequence[Any]) -> dict[str, tuple[Document, Any]]:
        """Documents with their items, by key."""
        keys = [self.key(item) for item in items]
        found = self.collection.find({"_id": {"$in": keys}}, self.fields, sort=list(self.sort))
        return {
            document["_id"]: (document, item)
            async for document, item in self.items(found, None)
            if item is not None
        }

    async def put(self, items: Sequence[Any]) -> list[Any]:
        """What is there afterwards. To be called within `use`."""
        keys = [self.key(item) for item in items]
        wanted = dict(zip(keys, items, strict=True))
        known = await self.collection.find({"_id": {"$in": keys}}, _ID).to_list()
        new = {**wanted}
        for each in known:
            del new[each["_id"]]
        found = await self._insert(new)
        rest = [item for key, item in wanted.items() if key not in found]
        if rest:
            await self.replace(rest)
        if self.settles:
            await self.settle(items)
            found, rest = {}, [*wanted.values()]
        if rest:
            found |= {key: item for key, (_, item) in (await self.find(rest)).items()}
        return [found.get(key) for key in keys]

    async def _insert(self, items: dict[str, Any]) -> dict[str, Any]:
        """Those that are stored byte for byte as they were sent: they need not be decoded."""
        if not items:
            return {}
        sent = [bson.encode(each) for each in await self.documents([*items.values()])]
        documents: list[Any] = [RawBSONDocument(each) for each in sent]
        await insert_new(self.collection, documents)
        if self.settles:  # all are read then
            return items
        by_data = dict(zip(sent, items, strict=True))
        raw = self.collection.with_options(codec_options=DEFAULT_RAW_BSON_OPTIONS)
        stored = await raw.find({"_id": {"$in": [*items]}}).to_list()
        same = [key for each in stored if (key := by_data.get(bytes(each.raw))) is not None]
        return {key: items[key] for key in same}

    async def replace(self, items: Sequence[Any]) -> None:
        """Documents that are there, as `merged` decides; overtaken: decide again."""
        for _ in range(MOST_ROUNDS):
            here = await self.find(items)
            pairs = [(*here[self.key(it)], it) for it in items if self.key(it) in here]
            news = [(old, new) for old, it, item in pairs if (new := merged(it, item)) != it]
            documents = await self.documents([new for _, new in news])
            changes = [
                ReplaceOne(_as_read(old), wanted)
                for (old, _), document in zip(news, documents, strict=True)
                if (wanted := self.replacement(document, old)) != old
            ]
            if not changes:
                return
            await self.collection.bulk_write(changes, ordered=False)
        raise StoreUnavailable(
            f"MongoDB at {self.db.address}: {self.collection.name} is changed by others all the "
            "time: stop them, and try again"
        )


def _as_read(document: Document) -> Document:
    """Large values don't change without a small one."""
    small = {
        name: {"$eq": value}
        for name, value in document.items()
        if name != "_id" and len(bson.encode({"": value})) <= _SMALL
    }
    return small | {"_id": document["_id"]}


class _RunCodec(CountedRunCodec):
    """Runs that have ended. Their ledgers are not in a dump: what is counted here of a run of
    events is added. The metrics of its watch, which come along, contain it."""

    def __init__(self, database: MongoDatabase) -> None:
        super().__init__(database, WatchLedger(database, timedelta()))
        self.encode = _run_document

    async def before_insert(self, state: RunState) -> None:
        """It has checked all its URLs."""


def _run_document(state: RunState) -> Document:
    tally = state.run.tally
    counted = {"carried": tally_fields(tally), "inMetrics": metrics_fields(tally.metrics)}
    return run_document(state) | (counted if state.run.trigger == EVENTS else {})


def _codecs(database: MongoDatabase) -> dict[str, Codec[Any]]:
    return {
        "feeds": feed_codec(database),
        "import_logs": run_codec(database),
        "job_runs": _RunCodec(database),
        "watches": watch_codec(database),
        "notices": notification_codec(database),
    }


def _note_codec(database: MongoDatabase) -> Codec[str]:
    return Codec(
        database.copies,
        decode=lambda document: str(document["position"]),
        encode=lambda text: {"position": text},
        guards=(),
    )


class _Documents(Kind):
    """They are only read here. A run in progress is read with its ledger."""

    def __init__(self, database: MongoDatabase, name: str, codec: Codec[Any]) -> None:
        super().__init__(database, codec.collection)
        self.fields = codec.fields
        self._item = AGGREGATES[name].item
        self._codec = codec

    async def items(self, documents: AsyncIterator[Document], session: Session) -> Items:
        async for document in documents:
            found = [document]
            if isinstance(self._codec, _RunCodec) and document["status"] == IN_PROGRESS["status"]:
                async with session.bind(end_session=False) if session else nullcontext():
                    found = await self._codec.find([document["_id"]]) or found
            yield document, self._item(self._codec.decode(found[0]))


class MongoDump(StoredDump):
    def __init__(self, database: MongoDatabase, kinds: Mapping[str, Kind]) -> None:
        codecs = _codecs(database)
        super().__init__(
            {name: MongoDocuments(database, codec) for name, codec in codecs.items()},
            MongoFeeds(database),
            MongoDocuments(database, _note_codec(database)),
        )
        self._db = database
        self._kinds: dict[str, Kind] = {
            name: _Documents(database, name, codec) for name, codec in codecs.items()
        }
        self._kinds |= kinds

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[_Snapshot]:
        async with self._db.snapshot() as session:
            yield _Snapshot(self._db, self._kinds, session)

    async def _put(self, collection: str, items: Sequence[Any]) -> list[Any]:
        with self._db.use():
            return await self._kinds[collection].put(items)


class _Snapshot:
    def __init__(self, database: MongoDatabase, kinds: dict[str, Kind], session: Session) -> None:
        self._db = database
        self._kinds = kinds
        self._session = session

    async def count(self, collection: str) -> int:
        with self._db.use():
            return await self._kinds[collection].collection.estimated_document_count()

    async def scan(self, collection: str) -> AsyncIterator[list[Line]]:
        kind = self._kinds[collection]
        lines, size = list[Line](), 0
        last: Document | None = None
        while True:
            try:
                with self._db.use():
                    async for document, item in self._read(kind, last):
                        last = document
                        if item is None:
                            continue
                        lines.append(line_of(item))
                        size += len(lines[-1].raw)
                        if len(lines) == MOST_TOGETHER or size >= LARGE:
                            yield lines
                            lines, size = [], 0
                break
            except StoreUnavailable as error:
                if self._session is None or not _is_too_old(error):
                    raise
                # Without it, the order of the collections keeps every invariant.
                log.warning("the snapshot has expired; the rest is read as it is now")
                self._session = None
        if lines:
            yield lines

    async def _read(self, kind: Kind, last: Document | None) -> Items:
        rest = kind.carried | ({} if last is None else behind(kind.sort, last))
        found = kind.collection.find(rest, kind.fields, sort=list(kind.sort), session=self._session)
        async with found as documents:
            async for pair in kind.items(documents, self._session):
                yield pair


def behind(sort: Sort, document: Document) -> Document:
    """What comes after it in this order."""
    names = [name for name, _ in sort]
    same = [{name: document[name] for name in names[:place]} for place in range(len(names))]
    return {
        "$or": [
            equal | {name: {"$gt" if order == ASCENDING else "$lt": document[name]}}
            for equal, (name, order) in zip(same, sort, strict=True)
        ]
    }


def _is_too_old(error: StoreUnavailable) -> bool:
    return isinstance(error.__cause__, OperationFailure) and error.__cause__.code in _TOO_OLD
