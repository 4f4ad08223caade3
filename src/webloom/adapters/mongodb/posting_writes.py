"""Postings, a batch at a time.

    read what is there -> judge -> list the words of what will be written -> insert what is new,
    change what differs -> judge again what somebody else was quicker with, or another program has
    stored before

Where a batch of a run found nothing, the next one is not looked for either: what is there all the
same is refused by its key, and read then.

A batch may be applied twice at the same time, by processes that die in between: each posting says
which batch has made or changed it, so that whoever comes later counts the same.

All is written by a majority and to the journal. A weaker promise would not be quicker, as several
batches are on their way at once and share the flush; and a server that dies after it has the
postings and before it has the ledger's row would forget them and be told the row.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from itertools import chain
from typing import NamedTuple

import msgspec
from bson.raw_bson import DEFAULT_RAW_BSON_OPTIONS, RawBSONDocument
from pymongo.errors import BulkWriteError, DocumentTooLarge, OperationFailure

from webloom.adapters.mongodb.adopted_postings import AdoptedPostings
from webloom.adapters.mongodb.batching import Batcher
from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.conditional import Change, change_each
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.errors import DUPLICATE_KEY
from webloom.adapters.mongodb.import_ledger import MongoRunLedger
from webloom.adapters.mongodb.open_postings import count_by_index
from webloom.adapters.mongodb.posting_documents import (
    REFUSALS,
    WHAT_IS_KNOWN,
    born_at,
    encoded,
    id_of,
    known_of,
    mark_text,
    new_document,
    start_of_source,
    stored_posting,
)
from webloom.adapters.mongodb.posting_words import Listed, has_words_of, list_of
from webloom.domain.import_run import LONGEST_SAMPLE, Failure, Mark, Verdict, judge, judge_known
from webloom.parsing.job_posting import JobPosting
from webloom.ports.postings import StoredPosting

MOST_RUNS = 1000  # that are remembered as new
BATCHES_IN_A_LIST = 4  # of words
BATCHES_IN_AN_INSERT = 8  # so that a slow server answers in time
BATCHES_WAITING = 2  # for a second insert to set out: the server should never wait for one
_MADE_BEFORE = (Verdict.WAS_NEW, Verdict.WAS_UPDATED)

# What a server answers that will not have a document, whoever asks and whenever.
_WILL_NOT_HAVE = (2, 9, 22, 52, 57, 121, 171, 10334, 17280, 17419, 17420)

_IS_AS_READ = {
    "$and": [
        {"$eq": [{"$ifNull": ["$contentHash", None]}, "$$given.hash"]},
        {"$eq": [{"$ifNull": ["$changedBy", "$createdBy", None]}, "$$given.mark"]},
        {"$eq": [{"$ifNull": ["$closedBy", None]}, "$$given.closedBy"]},
    ]
}
_WITH_ITS_BIRTH = {
    "$mergeObjects": [
        "$$given.new",
        {"_id": "$_id", "createdBy": "$createdBy"},
    ]
}


class _Wanted(NamedTuple):
    """A posting to be written."""

    job: JobPosting
    document: RawBSONDocument
    has_other_words: bool = True  # than those that it is found by already


class _Problem(NamedTuple):
    """Why a posting was not inserted."""

    place: int  # among those of its batch
    code: int
    reason: str


class _Asked(NamedTuple):
    """Postings that are said to be known."""

    ids: list[str]
    hashes: list[str]  # of their contents
    run_id: str


class PostingWrites:
    def __init__(self, database: MongoDatabase, ledger: MongoRunLedger) -> None:
        self._db = database
        self._ledger = ledger
        self._jobs = database.jobs
        self._raw = database.jobs.with_options(codec_options=DEFAULT_RAW_BSON_OPTIONS)
        self._reading: Batcher[list[str], dict[str, Document]] = database.batcher(self._find_all)
        self._comparing: Batcher[_Asked, bool] = database.batcher(self._are_unchanged)
        self._looking: Batcher[str, bool] = database.batcher(self._are_running)
        self._listing: Batcher[list[Listed], None] = database.batcher(self._list_words)
        self._inserting: Batcher[list[RawBSONDocument], list[_Problem]] = database.batcher(
            self._insert_all, most=BATCHES_IN_AN_INSERT, enough=BATCHES_WAITING
        )
        self._changing: Batcher[list[Change], bool | None] = database.batcher(self._change_all)
        self._adopted = AdoptedPostings(database)
        self._new_runs: set[str] = set()  # of which the last batch found nothing stored

    async def apply(
        self, jobs: Sequence[JobPosting], mark: Mark
    ) -> tuple[dict[Verdict, int], list[Failure]]:
        verdicts = dict.fromkeys(Verdict, 0)
        failures: list[Failure] = []
        by = plain(mark_text(mark))
        taken: set[str] = set()  # keys that an insert has met
        are_adopted = False
        while jobs:
            now = self._db.wall()
            found = await self._read_unless_new(jobs, mark.run_id)
            if not are_adopted and (unseen := taken - found.keys()):
                await self._adopted.adopt_keys(list(unseen))
                are_adopted = True
                self._new_runs.discard(mark.run_id)
                continue
            is_over: bool | None = None
            new: list[_Wanted] = []
            changed: list[tuple[_Wanted, Document]] = []
            for job in jobs:
                document = found.get(job.dedupe_key)
                if document is None:
                    if job.dedupe_key in taken:
                        failures.append(_refused(job, "another source has a posting with its key"))
                    elif (wanted := _wanted(job, by, now, failures)) is not None:
                        new.append(wanted)
                    continue
                verdict = judge(known_of(document), job.content_hash, mark)
                if verdict is Verdict.UPDATE:
                    # It may have been read after a later run has stored it: that stands.
                    if is_over is None:
                        is_over = not await self._looking.ask(plain(mark.run_id))
                    wanted = None if is_over else _wanted(job, by, now, failures, document)
                    if wanted is None:
                        continue
                    changed.append((wanted, document))
                verdicts[verdict] += 1
            verdicts[Verdict.INSERT] += len(new)
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
            if jobs:
                self._new_runs.discard(mark.run_id)
                taken |= {job.dedupe_key for job in jobs}
        return verdicts, failures

    async def _are_running(self, runs: list[str]) -> list[bool]:
        with self._db.use():
            running = await self._ledger.running(runs)
        return [run_id in running for run_id in runs]

    async def made_by(self, jobs: Sequence[JobPosting], mark: Mark) -> dict[Verdict, int]:
        """Those that the batch has made or changed before."""
        found = await self._reading.ask([plain(id_of(job)) for job in jobs])
        verdicts = Counter(
            judge(known_of(document), job.content_hash, mark)
            for job in jobs
            if (document := found.get(job.dedupe_key)) is not None
        )
        return {each: verdicts[each] for each in _MADE_BEFORE if verdicts[each]}

    async def judge_known(
        self, source_url: str, known: Sequence[tuple[str, str]], mark: Mark
    ) -> dict[Verdict, int] | None:
        if not known:
            return {}
        self._new_runs.discard(mark.run_id)
        start = start_of_source(source_url)
        ids = [start + key for key, _ in known]
        if await self._comparing.ask(_Asked(ids, [each for _, each in known], mark.run_id)):
            return {Verdict.UNCHANGED: len(known)}
        found = await self._reading.ask(ids)
        stored = {key: known_of(document) for key, document in found.items()}
        return judge_known(((stored.get(key), each) for key, each in known), mark)

    async def _are_unchanged(self, asked: list[_Asked]) -> list[bool]:
        """The usual answer, without reading them: a content hash covers what the key is made of,
        so that one of them is of one of the keys, and the server may just count. Where one posting
        is not as it was, nothing is said of all that were asked for with it."""
        answers = {}
        for run_id in {each.run_id for each in asked}:
            of_run = [each for each in asked if each.run_id == run_id]
            ids = [one for each in of_run for one in each.ids]
            another_run = {"$not": {"$regex": f"^{re.escape(run_id)}/"}}
            query = {
                "_id": {"$in": ids},
                "contentHash": {"$in": [one for each in of_run for one in each.hashes]},
                "closedBy": {"$exists": False},
                "closingBy": {"$exists": False},
                "createdBy": another_run,
                "changedBy": another_run,
            }
            with self._db.use():
                answers[run_id] = await count_by_index(self._jobs, query) == len(ids)
        return [answers[each.run_id] for each in asked]

    async def _read_unless_new(
        self, jobs: Sequence[JobPosting], run_id: str
    ) -> dict[str, Document]:
        if run_id in self._new_runs:
            return {}
        found = await self._reading.ask([plain(id_of(job)) for job in jobs])
        if not any(job.dedupe_key in found for job in jobs):
            if len(self._new_runs) >= MOST_RUNS:
                self._new_runs.clear()
            self._new_runs.add(run_id)
        return found

    async def _find_all(self, asked: list[list[str]]) -> list[dict[str, Document]]:
        """By their ids, which begin with their source: one shard has those of a batch. Everybody
        is told what all have asked for."""
        ids = [each for some in asked for each in some]
        with self._db.use():
            found = self._jobs.find({"_id": {"$in": ids}}, WHAT_IS_KNOWN, batch_size=len(ids) + 1)
            by_key = {document["dedupeKey"]: document for document in await found.to_list()}
        return [by_key] * len(asked)

    async def _write_words(self, wanted: list[_Wanted]) -> None:
        listed = [(id_of(each.job), each.job) for each in wanted if each.has_other_words]
        if listed:
            await self._listing.ask(listed)

    async def _list_words(self, asked: list[list[Listed]]) -> list[None]:
        with self._db.use():
            for start in range(0, len(asked), BATCHES_IN_A_LIST):
                some = asked[start : start + BATCHES_IN_A_LIST]
                await self._db.job_words.insert_one(list_of(chain.from_iterable(some)))
        return [None] * len(asked)

    async def _insert(self, new: list[_Wanted], failures: list[Failure]) -> list[JobPosting | None]:
        """Those that were not made: to be judged again, or None for one that is refused."""
        lost: list[JobPosting | None] = []
        for problem in await self._inserting.ask([each.document for each in new]):
            job = new[problem.place].job
            if problem.code == DUPLICATE_KEY:
                lost.append(job)
            else:
                failures.append(_refused(job, problem.reason))
                lost.append(None)
        return lost

    async def _insert_all(self, asked: list[list[RawBSONDocument]]) -> list[list[_Problem]]:
        problems: list[list[_Problem]] = [[] for _ in asked]
        with self._db.use():
            try:
                await self._raw.insert_many(chain.from_iterable(asked), ordered=False)
            except BulkWriteError as error:
                if error.details["writeConcernErrors"]:
                    raise
                whose = [
                    (some, place)
                    for some, each in zip(problems, asked, strict=True)
                    for place in range(len(each))
                ]
                for problem in error.details["writeErrors"]:
                    if problem["code"] not in (DUPLICATE_KEY, *_WILL_NOT_HAVE):
                        raise
                    some, place = whose[problem["index"]]
                    some.append(_Problem(place, problem["code"], problem["errmsg"]))
        return problems

    async def _change(
        self, changed: list[tuple[_Wanted, Document]], failures: list[Failure]
    ) -> list[JobPosting | None]:
        """As `_insert`. Where one was not as it was read, all are judged again: those that were
        made say so."""
        changes = [
            Change(
                known["_id"],
                {
                    "hash": known.get("contentHash"),
                    "mark": known.get("changedBy", known.get("createdBy")),
                    "closedBy": known.get("closedBy"),
                    "new": wanted.document,
                },
                len(wanted.document.raw),
            )
            for wanted, known in changed
        ]
        are_made = await self._changing.ask(changes)
        if are_made is None:
            alone = zip(changed, changes, strict=True)
            return [
                job
                for (wanted, _), change in alone
                for job in await self._change_alone(wanted.job, change, failures)
            ]
        return [] if are_made else [wanted.job for wanted, _ in changed]

    async def _change_all(self, asked: list[list[Change]]) -> list[bool | None]:
        """Whether all are made; None: the server will not have one of them."""
        changes = [each for some in asked for each in some]
        with self._db.use():
            try:
                are_made = await self._make(changes) == len(changes)
            except OperationFailure as error:
                if error.code not in _WILL_NOT_HAVE:
                    raise
                return [None] * len(asked)
        return [are_made] * len(asked)

    async def _change_alone(
        self, job: JobPosting, change: Change, failures: list[Failure]
    ) -> list[JobPosting | None]:
        with self._db.use():
            try:
                return [] if await self._make([change]) else [job]
            except OperationFailure as error:
                if error.code not in _WILL_NOT_HAVE:
                    raise
                failures.append(_refused(job, str(error)))
                return [None]

    async def _make(self, changes: list[Change]) -> int:
        return await change_each(self._jobs, changes, condition=_IS_AS_READ, result=_WITH_ITS_BIRTH)

    async def find(self, dedupe_key: str) -> StoredPosting | None:
        with self._db.use():
            document = await self._jobs.find_one({"dedupeKey": plain(dedupe_key)})
        return None if document is None else stored_posting(document)


def _wanted(
    job: JobPosting, by: str, now: datetime, failures: list[Failure], known: Document | None = None
) -> _Wanted | None:
    """None: it is refused."""
    try:
        if known is None:
            document = new_document(job, created_at=now, updated_at=now, created_by=by)
            return _Wanted(job, encoded(document))
        born = born_at(known, now)
        document = new_document(job, created_at=born, updated_at=now, created_by=by)
        document["changedBy"] = by
        return _Wanted(job, encoded(document), not has_words_of(known, job))
    except (*REFUSALS, DocumentTooLarge) as error:
        failures.append(_refused(job, str(error)))
        return None


def _refused(job: JobPosting, reason: str) -> Failure:
    shown = {"title": plain(job.title[:200]), "jobUrl": plain(job.job_url or "")}
    return Failure(
        reason=f"MongoDB does not take the posting: {reason[:200]}",
        sample=msgspec.json.encode(shown).decode()[:LONGEST_SAMPLE],
    )
