"""The collections of records and postings, for a dump."""

from __future__ import annotations

from collections.abc import Sequence

from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document, Places, plain
from webloom.adapters.mongodb.dump import Kind
from webloom.adapters.mongodb.posting_codec import (
    id_of,
    mark_text,
    stored_posting,
)
from webloom.adapters.mongodb.posting_codec import (
    new_document as new_posting,
)
from webloom.adapters.mongodb.posting_words import list_of
from webloom.adapters.mongodb.record_codec import (
    WITH_SOURCE,
    new_document,
    record_of,
    response_fields,
    state_of,
)
from webloom.domain.inventory import url_key
from webloom.domain.request_state import RequestState
from webloom.ports.dump import WholeRecord
from webloom.ports.postings import StoredPosting
from webloom.stores.whole import whole_record


class _Records(Kind):
    fields = WITH_SOURCE
    sort = (("created_at", 1), ("place", 1), ("_id", 1))

    def __init__(self, database: MongoDatabase) -> None:
        super().__init__(database, database.records)
        self._places = Places()

    def key(self, item: WholeRecord) -> str:
        return url_key(item.url)

    def item(self, document: Document) -> WholeRecord:
        return whole_record(record_of(document), state_of(document, now=0.0))

    def document(self, item: WholeRecord) -> Document:
        """What waits for a message or a retry counts as quiet: the scheduler queues it at once."""
        processing = item.processing
        place = self._places.next(item.created_at)
        state = RequestState(
            item.status,
            item.token,
            item.request_id,
            item.background,
            processing.last_request_id,
            processing.attempt_number,
            processing.retry_count,
            retry_due=0.0 if item.waits else None,
            error_message=processing.error_message,
            last_attempt_at=processing.last_attempt_at,
            updated_at=item.updated_at,
        )
        document = new_document(item.url, state, created_at=item.created_at, place=place)
        return document | response_fields(item.metadata, item.additional_details)

    def replacement(self, new: Document, here: Document) -> Document:
        work = new["work"] | {"version": here["work"]["version"] + 1}
        return new | {"work": work, "place": here["place"]}


class _Postings(Kind):
    def key(self, item: StoredPosting) -> str:
        return plain(id_of(item.posting))

    def item(self, document: Document) -> StoredPosting | None:
        return stored_posting(document)

    def document(self, item: StoredPosting) -> Document:
        document = new_posting(
            item.posting,
            created_at=item.created_at,
            updated_at=item.updated_at,
            created_by=mark_text(item.created_by),
        )
        if item.changed_by != item.created_by:
            document["changedBy"] = mark_text(item.changed_by)
        if item.closed_by is not None:
            document |= {"closedAt": item.closed_at, "closedBy": item.closed_by}
        return document

    async def documents(self, items: Sequence[StoredPosting]) -> list[Document]:
        """After the words that they are found by."""
        if items:
            words = list_of([(self.key(item), item.posting) for item in items])
            await self.db.job_words.insert_one(words)
        return await super().documents(items)


def kinds(database: MongoDatabase) -> dict[str, Kind]:
    return {"metadata": _Records(database), "jobs": _Postings(database, database.jobs)}
