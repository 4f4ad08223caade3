"""Postings, a batch at a time.

    read what is there -> judge -> list the words of what will be written -> insert what is new,
    change what differs -> judge again what somebody else was quicker with

A batch may be applied twice at the same time, by processes that die in between: each posting says
which batch has made or changed it, so that whoever comes later counts the same.

All is written by a majority and to the journal. A weaker promise would not be quicker, as several
batches are on their way at once and share the flush; and a server that dies after it has the
postings and before it has the ledger's row would forget them and be told the row.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec
import pymongo
from bson.raw_bson import DEFAULT_RAW_BSON_OPTIONS, RawBSONDocument
from pymongo.errors import BulkWriteError, DocumentTooLarge, OperationFailure

from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.conditional import Change, change_each
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.errors import DUPLICATE_KEY
from webloom.adapters.mongodb.postings_documents import (
    REFUSALS,
    WHAT_IS_KNOWN,
    encoded,
    id_of,
    known_of,
    mark_text,
    new_document,
    start_of_source,
    stored_posting,
)
from webloom.adapters.mongodb.postings_words import hash_of, list_of, words_in
from webloom.domain.import_run import LONGEST_SAMPLE, Failure, Mark, Verdict, judge
from webloom.parsing.job_posting import JobPosting
from webloom.ports.import_store import StoredPosting

CLOSED_AT_ONCE = 1000
COUNT_SECONDS = 60.0
COUNTED_FOR = 2.0
_BY_KEY = [("dedupeKey", 1)]

# What a server answers that will not have a document, whoever asks and whenever.
_WILL_NOT_HAVE = (2, 9, 22, 52, 57, 121, 171, 10334, 17280, 17419, 17420)

_IS_AS_READ = {
    "$and": [
        {"$eq": ["$contentHash", "$$given.hash"]},
        {"$eq": [{"$ifNull": ["$changedBy", "$createdBy"]}, "$$given.mark"]},
        {"$eq": [{"$ifNull": ["$closedBy", None]}, "$$given.closedBy"]},
    ]
}
_WITH_ITS_BIRTH = {
    "$mergeObjects": [
        "$$given.new",
        {"_id": "$_id", "createdAt": "$createdAt", "createdBy": "$createdBy"},
    ]
}


class _Wanted(NamedTuple):
    """A posting to be written."""

    job: JobPosting
    document: RawBSONDocument
    words: list[str] | None  # None: as they were


class Postings:
    def __init__(self, database: MongoDatabase) -> None:
        self._db = database
        self._jobs = database.jobs
        self._raw = database.jobs.with_options(codec_options=DEFAULT_RAW_BSON_OPTIONS)
        self._counts = (0, 0)
        self._counted_until = 0.0

    async def apply(
        self, jobs: Sequence[JobPosting], mark: Mark
    ) -> tuple[dict[Verdict, int], list[Failure]]:
        verdicts = dict.fromkeys(Verdict, 0)
        failures: list[Failure] = []
        by = plain(mark_text(mark))
        with self._db.use():
            while jobs:
                now = self._db.wall()
                found = await self._read(jobs)
                new: list[_Wanted] = []
                changed: list[tuple[_Wanted, Document]] = []
                for job in jobs:
                    document = found.get(job.dedupe_key)
                    known = None if document is None else known_of(document)
                    verdict = judge(known, job.content_hash, mark)
                    if verdict is Verdict.INSERT or verdict is Verdict.UPDATE:
                        wanted = _wanted(job, by, now, document, failures)
                        if wanted is None:
                            continue
                        if document is None:
                            new.append(wanted)
                        else:
                            changed.append((wanted, document))
                    verdicts[verdict] += 1
                jobs = []
                await self._write_words([*new, *(wanted for wanted, _ in changed)])
                if new:
                    lost = await self._insert(new, failures)
                    verdicts[Verdict.INSERT] -= len(lost)
                    jobs += [each for each in lost if each is not None]
                if changed:
                    lost = await self._change(changed, failures)
                    verdicts[Verdict.UPDATE] -= len(lost)
                    jobs += [each for each in lost if each is not None]
        return verdicts, failures

    async def judge_known(
        self, source_url: str, known: Sequence[tuple[str, str]], mark: Mark
    ) -> dict[Verdict, int] | None:
        """None: one of them is not as it was."""
        if not known:
            return {}
        start = start_of_source(source_url)
        ids = [start + key for key, _ in known]
        with self._db.use():
            if await self._are_unchanged(ids, [each for _, each in known], mark):
                return {Verdict.UNCHANGED: len(known)}
            found = await self._find(ids, WHAT_IS_KNOWN)
        verdicts: dict[Verdict, int] = {}
        for key, content_hash in known:
            document = found.get(key)
            if document is None:
                return None
            verdict = judge(known_of(document), content_hash, mark)
            if verdict is Verdict.UPDATE:
                return None
            verdicts[verdict] = verdicts.get(verdict, 0) + 1
        return verdicts

    async def _are_unchanged(self, ids: list[str], hashes: list[str], mark: Mark) -> bool:
        """The usual answer, without reading them: a content hash covers what the key is made of,
        so that one of them is of one of the keys, and the server may just count."""
        another_run = {"$not": {"$regex": f"^{re.escape(mark.run_id)}/"}}
        counted = await self._jobs.database.command(
            "count",
            self._jobs.name,
            query={
                "_id": {"$in": ids},
                "contentHash": {"$in": hashes},
                "closedBy": {"$exists": False},
                "createdBy": another_run,
                "changedBy": another_run,
            },
        )
        return bool(counted["n"] == len(ids))

    async def _read(self, jobs: Sequence[JobPosting]) -> dict[str, Document]:
        fields = WHAT_IS_KNOWN
        if any(job.published_at is None for job in jobs):
            fields = WHAT_IS_KNOWN | {"createdAt": True}
        return await self._find([plain(id_of(job)) for job in jobs], fields)

    async def _find(self, ids: list[str], fields: dict[str, bool]) -> dict[str, Document]:
        """By their ids, which begin with their source: one shard has them."""
        found = self._jobs.find({"_id": {"$in": ids}}, fields, batch_size=len(ids) + 1)
        return {document["dedupeKey"]: document for document in await found.to_list()}

    async def _write_words(self, wanted: list[_Wanted]) -> None:
        listed = [(id_of(each.job), each.words) for each in wanted if each.words is not None]
        if listed:
            await self._db.job_words.insert_one(list_of(listed))

    async def _insert(self, new: list[_Wanted], failures: list[Failure]) -> list[JobPosting | None]:
        """Those that were not made: to be judged again, or None for one that is refused."""
        try:
            await self._raw.insert_many([each.document for each in new], ordered=False)
        except BulkWriteError as error:
            if error.details["writeConcernErrors"]:
                raise
            lost: list[JobPosting | None] = []
            for problem in error.details["writeErrors"]:
                job = new[problem["index"]].job
                if problem["code"] == DUPLICATE_KEY:
                    lost.append(job)
                elif problem["code"] in _WILL_NOT_HAVE:
                    failures.append(_refused(job, problem["errmsg"]))
                    lost.append(None)
                else:
                    raise
            return lost
        return []

    async def _change(
        self, changed: list[tuple[_Wanted, Document]], failures: list[Failure]
    ) -> list[JobPosting | None]:
        """As `_insert`. Where one was not as it was read, all are judged again: those that were
        made say so."""
        changes = [
            Change(
                known["_id"],
                {
                    "hash": known["contentHash"],
                    "mark": known.get("changedBy", known["createdBy"]),
                    "closedBy": known.get("closedBy"),
                    "new": wanted.document,
                },
                len(wanted.document.raw),
            )
            for wanted, known in changed
        ]
        try:
            made = await change_each(
                self._jobs, changes, condition=_IS_AS_READ, result=_WITH_ITS_BIRTH
            )
        except OperationFailure as error:
            if error.code not in _WILL_NOT_HAVE:
                raise
            if len(changed) == 1:
                failures.append(_refused(changed[0][0].job, str(error)))
                return [None]
            return [lost for one in changed for lost in await self._change([one], failures)]
        return [] if made == len(changed) else [wanted.job for wanted, _ in changed]

    async def open_keys(self, source_url: str, after: str, limit: int) -> list[str]:
        start = start_of_source(source_url)
        with self._db.use():
            found = self._jobs.find(
                {
                    "_id": {"$gt": start + plain(after), "$lt": start + "\U0010ffff"},
                    "sourceUrl": plain(source_url),
                    "closedBy": None,
                },
                {"_id": False, "dedupeKey": True},
                sort={"_id": 1},
                hint={"_id": 1},
                limit=limit,
                batch_size=limit,
            )
            return [document["dedupeKey"] for document in await found.to_list()]

    async def close(self, run_id: str, keys: Sequence[str]) -> None:
        """To be called within `use`."""
        closed = {"$set": {"closedAt": self._db.wall(), "closedBy": plain(run_id)}}
        for start in range(0, len(keys), CLOSED_AT_ONCE):
            some = [plain(key) for key in keys[start : start + CLOSED_AT_ONCE]]
            await self._jobs.update_many(
                {"dedupeKey": {"$in": some}, "closedBy": None}, closed, hint=_BY_KEY
            )

    async def closed_by(self, run_id: str) -> int:
        """To be called within `use`."""
        return await self._count({"closedBy": plain(run_id)})

    async def find(self, dedupe_key: str) -> StoredPosting | None:
        with self._db.use():
            document = await self._jobs.find_one({"dedupeKey": plain(dedupe_key)})
        return None if document is None else stored_posting(document)

    async def count(self) -> tuple[int, int]:
        """Open and closed, by the indexes: what MongoDB says without counting can be wrong for good
        after a crash."""
        if self._db.now() >= self._counted_until:
            with self._db.use(), pymongo.timeout(COUNT_SECONDS):
                closed, total = await asyncio.gather(
                    self._count({"closedBy": {"$gte": ""}}),
                    self._count({"place": {"$gte": b""}}),
                )
            self._counts = max(0, total - closed), closed
            self._counted_until = self._db.now() + COUNTED_FOR
        return self._counts

    async def _count(self, query: Document) -> int:
        """By an index alone, which `count_documents` would not be."""
        name = self._jobs.name
        answer = await self._jobs.database.command("count", name, query=query)
        return int(answer["n"])


def _wanted(
    job: JobPosting, by: str, now: datetime, known: Document | None, failures: list[Failure]
) -> _Wanted | None:
    """None: it is refused."""
    try:
        words = words_in(job)
        document = new_document(
            job,
            created_at=now if known is None else known.get("createdAt", now),
            updated_at=now,
            created_by=by,
            words_hash=hash_of(words),
        )
        if known is None:
            return _Wanted(job, encoded(document), words)
        document["changedBy"] = by
        is_same = known["wordsHash"] == document["wordsHash"]
        return _Wanted(job, encoded(document), None if is_same else words)
    except (*REFUSALS, DocumentTooLarge) as error:
        failures.append(_refused(job, str(error)))
        return None


def _refused(job: JobPosting, reason: str) -> Failure:
    shown = {"title": plain(job.title[:200]), "jobUrl": plain(job.job_url or "")}
    return Failure(
        reason=f"MongoDB does not take the posting: {reason[:200]}",
        sample=msgspec.json.encode(shown).decode()[:LONGEST_SAMPLE],
    )
