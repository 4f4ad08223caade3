"""Postings, a batch at a time.

    read what is there -> judge -> list the words of what will be written -> insert what is new,
    change what differs -> judge again what another process was faster with, or another program has
    stored before

Where a batch of a run found nothing, the next one is not looked for either: what is there all the
same is refused by its key, and read then.

A batch may be applied twice at the same time, by processes that die in between: each posting says
which batch has made or changed it, so that a later one counts the same.

All is written by a majority and to the journal. A weaker promise would not be quicker, as several
batches are on their way at once and share the flush; and a server that dies after it has the
postings and before it has the ledger's row would lose the postings and then get the row.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from itertools import chain
from typing import NamedTuple

from bson.raw_bson import DEFAULT_RAW_BSON_OPTIONS, RawBSONDocument
from pymongo.errors import DocumentTooLarge, OperationFailure

from webloom.adapters.mongodb.adopted_postings import AdoptedPostings
from webloom.adapters.mongodb.batching import Batcher
from webloom.adapters.mongodb.conditional import Change, change_each
from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.errors import DUPLICATE_KEY
from webloom.adapters.mongodb.import_ledger import MongoRunLedger
from webloom.adapters.mongodb.insertion import Problem, insert_each
from webloom.adapters.mongodb.open_postings import count_by_index
from webloom.adapters.mongodb.posting_codec import (
    REFUSALS,
    WHAT_IS_KNOWN,
    born_at,
    encoded,
    id_of,
    known_of,
    mark_text,
    new_document,
    start_of_source,
)
from webloom.adapters.mongodb.posting_words import Listed, has_words_of, list_of
from webloom.domain.import_run import Failure, Mark, Verdict, judge, judge_known
from webloom.parsing.job_posting import JobPosting
from webloom.stores.postings import refused

MOST_RUNS = 1000  # that are remembered as new
BATCHES_IN_A_LIST = 4  # of words
BATCHES_IN_AN_INSERT = 8  # so that a slow server answers in time
BATCHES_WAITING = 2  # for a second insert to set out: the server should never wait for one
_MADE_BEFORE = (Verdict.WAS_NEW, Verdict.WAS_UPDATED)

# Errors that say that the server will never accept a document.
_NEVER_ACCEPTED = (2, 9, 22, 52, 57, 121, 171, 10334, 17280, 17419, 17420)

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

    posting: JobPosting
    document: RawBSONDocument
    has_other_words: bool = True  # than those that it is found by already


class _Comparison(NamedTuple):
    """Postings that are said to be known."""

    ids: list[str]
    hashes: list[str]  # of their contents
    run_id: str


class PostingWrites:
    def __init__(self, database: MongoDatabase, ledger: MongoRunLedger) -> None:
        self._db = database
        self._ledger = ledger
        self._postings = database.jobs
        self._raw = database.jobs.with_options(codec_options=DEFAULT_RAW_BSON_OPTIONS)
        self._reading: Batcher[list[str], dict[str, Document]] = database.batcher(self._find_all)
        self._comparing: Batcher[_Comparison, bool] = database.batcher(self._are_unchanged)
        self._looking: Batcher[str, bool] = database.batcher(self._are_running)
        self._listing: Batcher[list[Listed], None] = database.batcher(self._list_words)
        self._inserting: Batcher[list[RawBSONDocument], list[Problem]] = database.batcher(
            self._insert_all, most=BATCHES_IN_AN_INSERT, enough=BATCHES_WAITING
        )
        self._changing: Batcher[list[Change], bool | OperationFailure] = database.batcher(
            self._change_all
        )
        self._adopted = AdoptedPostings(database)
        self._new_runs: set[str] = set()  # whose last batch found nothing stored

    async def apply(
        self, postings: Sequence[JobPosting], mark: Mark
    ) -> tuple[dict[Verdict, int], list[Failure]]:
        verdicts = dict.fromkeys(Verdict, 0)
        failures: list[Failure] = []
        by = plain(mark_text(mark))
        taken: set[str] = set()  # keys that an insert has met
        are_adopted = False
        while postings:
            now = self._db.wall()
            found = await self._read_unless_new(postings, mark.run_id)
            if not are_adopted and (unseen := taken - found.keys()):
                await self._adopted.adopt_keys(list(unseen))
                are_adopted = True
                self._new_runs.discard(mark.run_id)
                continue
            is_over: bool | None = None
            new: list[_Wanted] = []
            changed: list[tuple[_Wanted, Document]] = []
            for posting in postings:
                document = found.get(posting.dedupe_key)
                if document is None:
                    if posting.dedupe_key in taken:
                        failures.append(refused(posting, "another source has one with its key"))
                    elif (wanted := _wanted(posting, by, now, failures)) is not None:
                        new.append(wanted)
                    continue
                verdict = judge(known_of(document), posting.content_hash, mark)
                if verdict is Verdict.UPDATE:
                    # It may have been read after a later run has stored it: that stands.
                    if is_over is None:
                        is_over = not await self._looking.ask(plain(mark.run_id))
                    wanted = None if is_over else _wanted(posting, by, now, failures, document)
                    if wanted is None:
                        continue
                    changed.append((wanted, document))
                verdicts[verdict] += 1
            verdicts[Verdict.INSERT] += len(new)
            await self._write_words([*new, *(wanted for wanted, _ in changed)])
            lost = await self._insert(new, failures) if new else []
            verdicts[Verdict.INSERT] -= len(lost)
            overtaken = await self._change(changed, failures) if changed else []
            verdicts[Verdict.UPDATE] -= len(overtaken)
            postings = [each for each in (*lost, *overtaken) if each is not None]
            if postings:
                self._new_runs.discard(mark.run_id)
                taken |= {each.dedupe_key for each in postings}
        return verdicts, failures

    async def _are_running(self, runs: list[str]) -> list[bool]:
        with self._db.use():
            running = await self._ledger.running(runs)
        return [run_id in running for run_id in runs]

    async def made_by(self, postings: Sequence[JobPosting], mark: Mark) -> dict[Verdict, int]:
        """Those that the batch has made or changed before."""
        found = await self._reading.ask([plain(id_of(each)) for each in postings])
        verdicts = Counter(
            judge(known_of(document), each.content_hash, mark)
            for each in postings
            if (document := found.get(each.dedupe_key)) is not None
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
        if await self._comparing.ask(_Comparison(ids, [each for _, each in known], mark.run_id)):
            return {Verdict.UNCHANGED: len(known)}
        found = await self._reading.ask(ids)
        stored = {key: known_of(document) for key, document in found.items()}
        return judge_known(((stored.get(key), each) for key, each in known), mark)

    async def _are_unchanged(self, asked: list[_Comparison]) -> list[bool]:
        """The usual answer, without reading them: a content hash covers what the key is made of,
        so that one of them is of one of the keys, and the server may just count. Where one posting
        is not as it was, all that were asked for with it have to be read."""
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
                answers[run_id] = await count_by_index(self._postings, query) == len(ids)
        return [answers[each.run_id] for each in asked]

    async def _read_unless_new(
        self, postings: Sequence[JobPosting], run_id: str
    ) -> dict[str, Document]:
        if run_id in self._new_runs:
            return {}
        found = await self._reading.ask([plain(id_of(each)) for each in postings])
        if not any(each.dedupe_key in found for each in postings):
            if len(self._new_runs) >= MOST_RUNS:
                self._new_runs.clear()
            self._new_runs.add(run_id)
        return found

    async def _find_all(self, asked: list[list[str]]) -> list[dict[str, Document]]:
        """By their ids, which begin with their source: one shard has those of a batch. Each
        call gets what all have asked for."""
        ids = [each for some in asked for each in some]
        with self._db.use():
            found = self._postings.find(
                {"_id": {"$in": ids}}, WHAT_IS_KNOWN, batch_size=len(ids) + 1
            )
            by_key = {document["dedupeKey"]: document for document in await found.to_list()}
        return [by_key] * len(asked)

    async def _write_words(self, wanted: list[_Wanted]) -> None:
        listed = [(id_of(each.posting), each.posting) for each in wanted if each.has_other_words]
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
            posting = new[problem.place].posting
            if problem.code == DUPLICATE_KEY:
                lost.append(posting)
            else:
                failures.append(refused(posting, problem.reason))
                lost.append(None)
        return lost

    async def _insert_all(self, asked: list[list[RawBSONDocument]]) -> list[list[Problem]]:
        problems: list[list[Problem]] = [[] for _ in asked]
        with self._db.use():
            found = await insert_each(self._raw, chain.from_iterable(asked), *_NEVER_ACCEPTED)
        if found:
            whose = [
                (some, place)
                for some, each in zip(problems, asked, strict=True)
                for place in range(len(each))
            ]
            for problem in found:
                some, place = whose[problem.place]
                some.append(problem._replace(place=place))
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
        made = await self._changing.ask(changes)
        if not isinstance(made, OperationFailure):
            return [] if made else [wanted.posting for wanted, _ in changed]
        if len(changed) > 1:
            return [lost for each in changed for lost in await self._change([each], failures)]
        failures.append(refused(changed[0][0].posting, str(made)))
        return [None]

    async def _change_all(self, asked: list[list[Change]]) -> list[bool | OperationFailure]:
        """Whether all are made, or why the server does not accept one of them."""
        changes = [each for some in asked for each in some]
        with self._db.use():
            try:
                made = await change_each(
                    self._postings, changes, condition=_IS_AS_READ, result=_WITH_ITS_BIRTH
                )
            except OperationFailure as error:
                if error.code not in _NEVER_ACCEPTED:
                    raise
                if len(asked) == 1:
                    return [error]
                return [(await self._change_all([some]))[0] for some in asked]
        return [made == len(changes)] * len(asked)


def _wanted(
    posting: JobPosting,
    by: str,
    now: datetime,
    failures: list[Failure],
    known: Document | None = None,
) -> _Wanted | None:
    """None: it is refused."""
    born = now if known is None else born_at(known, now)
    try:
        document = new_document(posting, created_at=born, updated_at=now, created_by=by)
        if known is None:
            return _Wanted(posting, encoded(document))
        document["changedBy"] = by
        return _Wanted(posting, encoded(document), not has_words_of(known, posting))
    except (*REFUSALS, DocumentTooLarge) as error:
        failures.append(refused(posting, str(error)))
        return None
