"""The collections of records, imports and watches, for a dump."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

from webloom.adapters.mongodb import notifications, watch_run_codec
from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import Document, Places, plain, plain_texts, plain_values
from webloom.adapters.mongodb.dump import Kind, Session
from webloom.adapters.mongodb.feeds import feed_document, feed_of
from webloom.adapters.mongodb.import_run_codec import run_document, run_of
from webloom.adapters.mongodb.posting_codec import (
    id_of,
    mark_text,
    stored_posting,
)
from webloom.adapters.mongodb.posting_codec import (
    new_document as new_posting,
)
from webloom.adapters.mongodb.posting_words import list_of
from webloom.adapters.mongodb.record_codec import WITH_SOURCE, new_document, record_of, state_of
from webloom.adapters.mongodb.watch_codec import (
    metrics_fields,
    tally_fields,
    watch_document,
    watch_of,
)
from webloom.adapters.mongodb.watch_ledger import page_in_run, tally_of
from webloom.domain.feed import Feed
from webloom.domain.import_run import ImportRun, RunStatus
from webloom.domain.inventory import url_key
from webloom.domain.notification import Notification
from webloom.domain.request_state import RequestState
from webloom.domain.watch import EVENTS, MOST_FAILURES, PageFailure, Watch, WatchRun
from webloom.domain.watch import RunStatus as WatchStatus
from webloom.domain.watch_run import RunState
from webloom.ports.dump import WholeRecord, WholeRun
from webloom.ports.postings import StoredPosting
from webloom.stores.whole import whole_record, whole_run, whole_watch, without_nul

_COUNTERS = ("processed", "failed", "changes", "priceChanges")


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
        metadata, processing = item.metadata, item.processing
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
        return document | {
            "metadata": {
                "status_code": metadata.status_code,
                "headers": metadata.headers and plain_texts(metadata.headers),
                "cookies": metadata.cookies and plain_texts(metadata.cookies),
                "page_source": metadata.page_source and plain(metadata.page_source),
                "final_url": metadata.final_url,
            },
            "additional_details": plain_values(item.additional_details),
        }

    def replacement(self, new: Document, here: Document) -> Document:
        work = new["work"] | {"version": here["work"]["version"] + 1}
        return new | {"work": work, "place": here["place"]}

    def behind(self, document: Document) -> Document:
        """The index knows the millisecond; the rest is compared."""
        made, place = document["created_at"], document["place"]
        later = [{"created_at": {"$gt": made}}, {"place": {"$gt": place}}]
        same = {"place": place, "_id": {"$gt": document["_id"]}}
        return {"created_at": {"$gte": made}, "$or": [*later, same]}


class _Feeds(Kind):
    def key(self, item: Feed) -> str:
        return plain(item.feed_id)

    def item(self, document: Document) -> Feed:
        return feed_of(document)

    def document(self, item: Feed) -> Document:
        return feed_document(item)

    def replacement(self, new: Document, here: Document) -> Document:
        is_same_run = new["activeRunId"] == here["activeRunId"]
        run = {"activeRun": here["activeRun"]} if is_same_run and "activeRun" in here else {}
        return new | run | {"revision": here["revision"] + 1}


class _ImportRuns(Kind):
    kept = ("work",)
    settles = True

    def key(self, item: ImportRun) -> str:
        return plain(item.run_id)

    def item(self, document: Document) -> ImportRun:
        return run_of(document)

    def document(self, item: ImportRun) -> Document:
        work = {
            "token": 0,
            "owner": None,
            "lease": 0.0,
            "started": item.started_at.timestamp(),  # about; the timeline follows the wall clock
            "revision": 0,
            "ending": None,
        }
        return run_document(item) | {"work": work}

    async def settle(self, items: Sequence[ImportRun]) -> None:
        """A run in progress is the active one of its feed."""
        for run in items:
            if run.status is RunStatus.RUNNING:
                await self.db.feeds.update_one(
                    {"_id": plain(run.feed_id), "activeRunId": None},
                    {"$set": {"activeRunId": plain(run.run_id)}},
                )


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

    async def documents(
        self, items: Sequence[StoredPosting], *, are_new: bool = True
    ) -> list[Document]:
        """After the words that they are found by."""
        if items:
            words = list_of([(self.key(item), item.posting) for item in items])
            await self.db.job_words.insert_one(words)
        return await super().documents(items)


class _Watches(Kind):
    kept = ("activeRunId", "activeRun", "openCounts", "settlements")

    def key(self, item: Watch) -> str:
        return plain(item.watch_id)

    def item(self, document: Document) -> Watch:
        return whole_watch(watch_of(document))

    def document(self, item: Watch) -> Document:
        return {"_id": self.key(item)} | watch_document(item)


class _WatchRuns(Kind):
    kept = ("made",)

    def key(self, item: WholeRun) -> str:
        return plain(item.run.run_id)

    async def items(
        self, documents: AsyncIterator[Document], session: Session
    ) -> AsyncIterator[tuple[Document, Any]]:
        async for document in documents:
            state = watch_run_codec.run_state_of(document)
            if state.run.status is WatchStatus.IN_PROGRESS:
                ledger = self.db.watch_ledger.find({"run": document["_id"]}, session=session)
                run, missed = _counted(state.run, await ledger.to_list())
                state = replace(state, run=run, unchecked=missed)
            yield document, whole_run(state)

    def document(self, item: WholeRun) -> Document:
        run = item.run
        return {
            "_id": self.key(item),
            **watch_run_codec.run_document(RunState(run=run, expires_at=item.expires_at)),
            **watch_run_codec.made(),
            **(_counts_of_events(run) if run.trigger == EVENTS else {}),
        }

    def replacement(self, new: Document, here: Document) -> Document:
        """One that is in progress here stays so."""
        is_open = here["status"] == WatchStatus.IN_PROGRESS.value
        return here if is_open else super().replacement(new, here)


def _counted(run: WatchRun, ledger: list[Document]) -> tuple[WatchRun, list[str]]:
    """A run in progress, by its ledger, and the URLs that are not checked yet."""
    buckets = [row for row in ledger if "seen" in row]
    seen = {key for row in buckets for key in row["seen"]}
    failures = sorted(
        (
            PageFailure(url=each["url"], reason=each["reason"])
            for row in buckets
            for each in row.get("failures", {}).values()
        ),
        key=lambda each: each.url,
    )
    sums = {name: sum(row[name] for row in buckets) for name in _COUNTERS}
    missed = [url for row in ledger for url in row.get("urls", ()) if page_in_run(url) not in seen]
    return replace(run, tally=tally_of(sums), failures=failures[:MOST_FAILURES]), missed


def _counts_of_events(run: WatchRun) -> Document:
    """Its ledger is not in a dump: what it counts here is added. The metrics of its watch, which
    come along, contain it."""
    return {
        "lastEventAt": run.finished_at,
        "carried": tally_fields(run.tally),
        "inMetrics": metrics_fields(run.tally.metrics),
    }


class _Notifications(Kind):
    kept = ("made",)

    def key(self, item: Notification) -> str:
        return plain(item.notification_id)

    def item(self, document: Document) -> Notification:
        notification = notifications.notification_of(document)
        return replace(notification, error=without_nul(notification.error))

    def document(self, item: Notification) -> Document:
        fields = notifications.notification_document(item)
        return {"_id": self.key(item)} | fields | notifications.made()


def kinds(database: MongoDatabase) -> dict[str, Kind]:
    return {
        "metadata": _Records(database),
        "feeds": _Feeds(database, database.feeds),
        "import_logs": _ImportRuns(database, database.import_logs),
        "jobs": _Postings(database, database.jobs),
        "job_runs": _WatchRuns(database, database.job_runs),
        "watches": _Watches(database, database.watches),
        "notices": _Notifications(database, database.notices),
    }
