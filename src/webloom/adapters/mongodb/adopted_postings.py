"""Postings that another program has written into the collection, brought into Webloom's own form.

A worker of another program upserts by `dedupeKey`. What it adds has an _id of the server's, no
place in the listing and no words; what it changes may have a text for a date, and other words than
those that it is found by. Both are made right when a run that such a worker took part in ends:

    added     list its words -> insert it under its _id of ours, with a temporary key
              -> delete the original, if it is as it was read -> give it its key and its place
    changed   list its words, if others -> set what differs, if it is as it was read

A process may die between any two of these. A posting with a temporary key has no place
either: it is found as one that was added, and finished or dropped. All fields that are not ours
stay.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from pymongo import DeleteOne, UpdateOne
from pymongo.errors import BulkWriteError

from webloom.adapters.mongodb.conditional import Change, change_each
from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.indexes import LATEST_FIRST, POSTINGS_BY_SOURCE
from webloom.adapters.mongodb.insertion import insert_each, problems_of
from webloom.adapters.mongodb.posting_codec import (
    BY_OTHERS,
    born_at,
    id_of,
    mark_text,
    place_of,
    start_of_source,
)
from webloom.adapters.mongodb.posting_words import list_of
from webloom.domain.import_run import Mark
from webloom.parsing.foreign_posting import posting_from
from webloom.parsing.foreign_values import moment_of
from webloom.parsing.job_posting import JobPosting
from webloom.ports.import_runs import Claim
from webloom.stores.primitives import whole_milliseconds

AT_ONCE = 500
MOST_TRIES = 5
CLOCKS_APART = timedelta(hours=1)  # how far another program's clock may be behind ours
MOVING = "moving/"  # what a temporary key begins with
LEFT_AFTER = timedelta(minutes=1)  # by a process that has died
LISTED = {"place": {"$gte": b""}}
TEXT_FOR_A_DATE = {"publishedAt": {"$type": "string"}}

_IS_AS_READ = {"$eq": [{"$ifNull": ["$updatedAt", None]}, "$$given.updatedAt"]}
_WITH_FIELDS = {"$mergeObjects": ["$$ROOT", "$$given.fields"]}


class _Adopted(NamedTuple):
    """A posting of another program's, and what its document is to have."""

    document: Document
    posting: JobPosting
    fields: Document

    @property
    def key(self) -> str:
        return plain(id_of(self.posting))


Adopt = Callable[[list[_Adopted]], Awaitable[int]]


class AdoptedPostings:
    def __init__(self, database: MongoDatabase) -> None:
        self._db = database
        self._postings = database.jobs

    async def adopt(self, claim: Claim, *, is_shared: bool) -> int:
        run = claim.run
        mark = Mark(run.run_id, BY_OTHERS.batch_index)
        url = plain(run.source_url)
        with self._db.use():
            added = {"place": None, "sourceUrl": url}
            adopted = await self._until_none(added, LATEST_FIRST, mark, self._add)
            if is_shared:
                return adopted + await self._adopt_changed(url, run.started_at, mark)
            texts = LISTED | {"sourceUrl": url} | TEXT_FOR_A_DATE
            return adopted + await self._until_none(texts, POSTINGS_BY_SOURCE, mark, self._change)

    async def adopt_keys(self, keys: Sequence[str]) -> int:
        """Those that were added by others. It is not known in which run."""
        with self._db.use():
            wanted = {"dedupeKey": {"$in": [plain(key) for key in keys]}, "place": None}
            found = await self._postings.find(wanted).to_list()
            return await self._add(self._in_form(found, BY_OTHERS))

    async def _until_none(
        self, query: Document, hint: list[tuple[str, int]], mark: Mark, adopt: Adopt
    ) -> int:
        """What is adopted is no longer found by the query."""
        adopted = 0
        for _ in range(MOST_TRIES):
            missed = 0
            async with self._postings.find(query, hint=hint, batch_size=AT_ONCE) as found:
                while documents := await found.to_list(AT_ONCE):
                    await self._finish_left([each for each in documents if _is_moving(each)])
                    forms = self._in_form(
                        [each for each in documents if not _is_moving(each)], mark
                    )
                    made = await adopt(forms) if forms else 0
                    adopted += made
                    missed += len(forms) - made
            if not missed:
                break
        return adopted

    async def _adopt_changed(self, url: str, since: datetime, mark: Mark) -> int:
        """Those of a source, in the order of their ids, that were changed in the run."""
        start = start_of_source(url)
        adopted, after, tries = 0, start, 0
        changed = {"updatedAt": {"$gte": since - CLOCKS_APART}}
        odd = {"updatedAt": {"$not": {"$type": "date"}}}
        while True:
            ids = {"$gt": after, "$lt": start + "\U0010ffff"}
            wanted = LISTED | {"_id": ids, "sourceUrl": url, "$or": [changed, odd, TEXT_FOR_A_DATE]}
            query = self._postings.find(wanted, sort={"_id": 1}, hint={"_id": 1}, limit=AT_ONCE)
            found = await query.to_list()
            if not found:
                return adopted
            forms = [form for form in self._in_form(found, mark, since) if _differs(form)]
            made = await self._change(forms) if forms else 0
            adopted += made
            tries += 1
            if made == len(forms) or tries == MOST_TRIES:
                after, tries = found[-1]["_id"], 0

    def _in_form(
        self, documents: Sequence[Document], mark: Mark, since: datetime | None = None
    ) -> list[_Adopted]:
        now = self._db.wall()
        forms = []
        for document in documents:
            posting = posting_from(document)
            if posting is not None:
                fields = _fields(document, posting, mark, now=now, since=since)
                forms.append(_Adopted(document, posting, fields))
        return forms

    async def _write_words(self, forms: list[_Adopted]) -> None:
        listed = [
            (form.key, form.posting)
            for form in forms
            if form.document.get("wordsOf") != form.fields["wordsOf"]
        ]
        if listed:
            await self._db.job_words.insert_one(list_of(listed))

    async def _change(self, forms: list[_Adopted]) -> int:
        """How many are made: not those that were changed meanwhile."""
        await self._write_words(forms)
        back = [form.key for form in forms if _is_back(form)]
        if back:
            gone = {"closedAt": "", "closedBy": "", "closingBy": ""}
            await self._postings.update_many({"_id": {"$in": back}}, {"$unset": gone})
        changes = [
            Change(
                form.key,
                {"updatedAt": form.document.get("updatedAt"), "fields": form.fields},
                len(form.posting.title) + 1000,
            )
            for form in forms
        ]
        return await change_each(
            self._postings, changes, condition=_IS_AS_READ, result=_WITH_FIELDS
        )

    async def _add(self, forms: list[_Adopted]) -> int:
        """One that was replaced has its _id of ours already."""
        here = [form for form in forms if form.document["_id"] == form.key]
        made = await self._change(here) if here else 0
        moving = [form for form in forms if form.document["_id"] != form.key]
        return made + (await self._move(moving) if moving else 0)

    async def _move(self, forms: list[_Adopted]) -> int:
        await self._write_words(forms)
        start = f"{MOVING}{uuid.uuid4().hex}/"
        ours = await self._insert_copies(forms, start)
        if not ours:
            return 0
        await self._postings.bulk_write([_delete_as_read(form) for form in ours], ordered=False)
        originals = [form.document["_id"] for form in ours]
        there = await self._postings.find({"_id": {"$in": originals}}, {"_id": True}).to_list()
        changed = {each["_id"] for each in there}
        dropped = [form.key for form in ours if form.document["_id"] in changed]
        if dropped:
            await self._drop(dropped, start)
        return await self._name(
            [
                (form.key, start + form.posting.dedupe_key, form.fields["place"])
                for form in ours
                if form.document["_id"] not in changed
            ]
        )

    async def _insert_copies(self, forms: list[_Adopted], start: str) -> list[_Adopted]:
        """Those that no other process is moving."""
        now = self._db.server_time()
        copies = []
        for form in forms:
            moved = {"_id": form.key, "dedupeKey": plain(start + form.posting.dedupe_key)}
            copy = form.document | form.fields | moved | {"movingSince": now}
            del copy["place"]
            copies.append(copy)
        lost = {each.place for each in await insert_each(self._postings, copies)}
        return [form for place, form in enumerate(forms) if place not in lost]

    async def _drop(self, ids: list[str], start: str) -> None:
        key = {"$gte": start, "$lt": start + "\U0010ffff"}
        await self._postings.delete_many({"_id": {"$in": ids}, "dedupeKey": key})

    async def _name(self, moved: list[tuple[str, str, bytes]]) -> int:
        """Give them their keys. If the same posting was added meanwhile, that one stays,
        and is found as any that was added."""
        if not moved:
            return 0
        updates = [
            UpdateOne(
                {"_id": key, "dedupeKey": alias},
                {
                    "$set": {"dedupeKey": alias.split("/", 2)[2], "place": place},
                    "$unset": {"movingSince": ""},
                },
            )
            for key, alias, place in moved
        ]
        try:
            return (await self._postings.bulk_write(updates, ordered=False)).modified_count
        except BulkWriteError as error:
            lost = [moved[each.place] for each in problems_of(error)]
            await self._postings.delete_many(
                {"_id": {"$in": [key for key, _, _ in lost]}, "movingSince": {"$exists": True}}
            )
            return len(moved) - len(lost)

    async def _finish_left(self, documents: list[Document]) -> None:
        """What a process that died has left half moved; others may still be at the rest."""
        before = self._db.server_time() - LEFT_AFTER
        left = [each for each in documents if each["movingSince"] < before]
        if not left:
            return
        keys = {each["_id"]: each["dedupeKey"].split("/", 2)[2] for each in left}
        wanted = {"dedupeKey": {"$in": list(keys.values())}}
        found = await self._postings.find(wanted, {"_id": False, "dedupeKey": True}).to_list()
        there = {each["dedupeKey"] for each in found}
        originals = [each["_id"] for each in left if keys[each["_id"]] in there]
        await self._postings.delete_many(
            {"_id": {"$in": originals}, "movingSince": {"$lt": before}}
        )
        await self._name(
            [
                (each["_id"], each["dedupeKey"], _place(each, key))
                for each in left
                if (key := keys[each["_id"]]) not in there
            ]
        )


def _fields(
    document: Document,
    posting: JobPosting,
    mark: Mark,
    *,
    now: datetime,
    since: datetime | None,
) -> Document:
    """What differs, or may, from what another program would write."""
    by = plain(mark_text(mark))
    created = born_at(document, now)
    updated = moment_of(document.get("updatedAt")) or created
    fields: Document = {
        "contentHash": posting.content_hash,
        "sourceName": plain(posting.source_name),
        "createdAt": created,
        "updatedAt": updated,
        "createdBy": document.get("createdBy", by),
        "place": place_of(posting.listed_at(created), posting.dedupe_key),
        "wordsOf": _words_hash(posting),
    }
    for name, moment in (("publishedAt", posting.published_at), ("expiresAt", posting.expires_at)):
        if name in document:
            fields[name] = moment and whole_milliseconds(moment)
    if since is not None and updated >= since and fields["createdBy"] != by:
        fields["changedBy"] = by
    return fields


def _words_hash(posting: JobPosting) -> str:
    """Of the words that a posting is found by."""
    texts = "\0".join((posting.title, posting.company or "", posting.location or ""))
    return hashlib.blake2b(texts.encode(errors="replace"), digest_size=8).hexdigest()


def _differs(form: _Adopted) -> bool:
    return _is_back(form) or any(
        form.document.get(name) != value for name, value in form.fields.items()
    )


def _is_back(form: _Adopted) -> bool:
    """It was closed, and has been changed since."""
    closed: datetime | None = form.document.get("closedAt")
    return closed is not None and form.fields["updatedAt"] > closed


def _is_moving(document: Document) -> bool:
    return "movingSince" in document


def _place(document: Document, key: str) -> bytes:
    return place_of(document.get("publishedAt") or document["createdAt"], key)


def _delete_as_read(form: _Adopted) -> DeleteOne:
    """A date, or whatever it is, that is not there equals None."""
    document = form.document
    names = ("updatedAt", "contentHash", "title")
    return DeleteOne({"_id": document["_id"]} | {name: document.get(name) for name in names})
