"""Pages of postings, the latest published first or the earliest.

As with records, a page is read along one index, from behind the last posting of the page before;
what the index does not know of a filter is looked at posting by posting, MOST_SCANNED at most.
Those of one source stand in its index in two stretches, with a date and without, which are merged.
A word that many postings have is soon met on the way. If it is not, the lists of words lead to the
few that have it.
"""

from __future__ import annotations

import asyncio
import struct
from dataclasses import dataclass, replace

from pymongo import ASCENDING

from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.index_scan import (
    Fields,
    Index,
    ScanPlan,
    count_index,
    counted_by_scan,
    scan_index,
)
from webloom.adapters.mongodb.indexes import (
    BY_CLOSING,
    CLOSED_POSTINGS,
    IS_CLOSED,
    LATEST_FIRST,
    POSTINGS_BY_SOURCE,
    WORD,
    Collection,
)
from webloom.adapters.mongodb.posting_codec import (
    FIRST_PLACE,
    first_place_in,
    milliseconds,
    milliseconds_begun,
    moment_in,
    stored_posting,
)
from webloom.adapters.mongodb.posting_words import LONGEST_WORD, postings_with
from webloom.adapters.mongodb.words import words_with_prefix
from webloom.domain.listing import MOST_SCANNED, Count
from webloom.domain.search import NOTHING, Term, driving_words, is_found, terms_of
from webloom.ports.postings import PostingFilter, PostingPage
from webloom.stores.cursors import cursor_of, values_of

FEW = 2  # times the postings of a page, among which a word that many have fills it
_PLACE = struct.Struct(">qq")
_BY_ID: Index = [("_id", ASCENDING)]
_UNPLACED: Document = {"place": None}  # added by another program, and not adopted yet


@dataclass(frozen=True, slots=True)
class _Asked:
    """Terms, and the fields that may contain them."""

    terms: list[Term]
    fields: tuple[str, ...]

    def is_in(self, document: Document) -> bool:
        texts = (document.get(name) for name in self.fields)
        return is_found([each for each in texts if isinstance(each, str)], self.terms)


class MongoPostingSearch:
    """The lists of the port `Postings`."""

    def __init__(self, database: MongoDatabase) -> None:
        self._db = database

    async def page(
        self,
        chosen: PostingFilter,
        *,
        limit: int,
        cursor: str | None = None,
        oldest_first: bool = False,
        most_counted: int | None = None,
    ) -> PostingPage:
        read = self._read(chosen, limit, cursor, oldest_first=oldest_first)
        if most_counted is None or _unbounded_plan(chosen).accepts is not None:
            return await read
        count = self.count_chosen(chosen, most=most_counted)  # sent first, as it takes longer
        total, page = await asyncio.gather(count, read)
        return replace(page, total=total)

    async def _read(
        self, chosen: PostingFilter, limit: int, cursor: str | None, *, oldest_first: bool
    ) -> PostingPage:
        places = _places(chosen)
        if cursor is not None:
            start = _PLACE.pack(*values_of(cursor, int, int, oldest_first=oldest_first))
            if oldest_first:
                places["$gt"] = start
            else:
                places["$lt"] = min(start, places.get("$lt", start))
        asked = _asked(chosen)
        terms = [term for each in asked for term in each.terms]
        if NOTHING in terms:
            return PostingPage(postings=[])
        plan = _plan(chosen, asked, places)

        async def scan(
            plan: ScanPlan, most: int = MOST_SCANNED
        ) -> tuple[list[Document], Document | None]:
            return await scan_index(
                self._db.jobs,
                plan,
                bounds={"place": places},
                order=_order(plan),
                oldest_first=oldest_first,
                limit=limit,
                most_scanned=most,
                filter_fields=_filter_fields(chosen, asked),
                shown=None,
            )

        with self._db.use():
            documents, last = await scan(plan, FEW * (limit + 1) if terms else MOST_SCANNED)
            if terms and last is not None and len(documents) < limit:
                if (ids := await _ids(self._db.job_words, terms)) is not None:
                    plan = replace(
                        plan, index=_BY_ID, found={"_id": {"$in": ids}}, second_range=None
                    )
                documents, last = await scan(plan)
        is_seen = plan.accepts is not None and plan.index is not _BY_ID
        is_first = cursor is None and not oldest_first
        found = [stored_posting(document) for document in documents]
        return PostingPage(
            postings=[each for each in found if each is not None],
            next_cursor=None
            if last is None
            else cursor_of(*_PLACE.unpack(last["place"]), oldest_first=oldest_first),
            total=counted_by_scan(documents, last, limit) if is_seen and is_first else None,
        )

    async def count_chosen(self, chosen: PostingFilter, *, most: int) -> Count:
        """The server takes a third of the time where one field of an index decides. So if no time
        is asked for and every posting has its place, places are left out."""
        asked, plan = _asked(chosen), _unbounded_plan(chosen)
        if any(NOTHING in each.terms for each in asked):
            return Count(0)

        async def count(plan: ScanPlan, bounds: Document) -> Count:
            return await count_index(
                self._db.jobs,
                plan,
                bounds=bounds,
                order=_order(plan),
                filter_fields=_filter_fields(chosen, asked),
                most=most,
            )

        is_of_any_time = chosen.since is None and chosen.until is None
        with self._db.use():
            if plan.found and plan.accepts is None and is_of_any_time:
                quick = replace(plan, index=BY_CLOSING) if plan.index is CLOSED_POSTINGS else plan
                counted, without_place = await asyncio.gather(
                    count(quick, {}),
                    self._db.jobs.find_one(_UNPLACED, {"_id": True}, hint=LATEST_FIRST),
                )
                if without_place is None:
                    return counted
            return await count(plan, {"place": _places(chosen)})


def _unbounded_plan(chosen: PostingFilter) -> ScanPlan:
    """For all pages."""
    return _plan(chosen, _asked(chosen), _places(chosen))


def _order(plan: ScanPlan) -> Index:
    return POSTINGS_BY_SOURCE if plan.index is POSTINGS_BY_SOURCE else LATEST_FIRST


def _plan(chosen: PostingFilter, asked: list[_Asked], places: Document) -> ScanPlan:
    source_url = None if chosen.source_url is None else plain(chosen.source_url)

    def accepts(document: Document) -> bool:
        return (
            chosen.is_open in (None, "closedBy" not in document)
            and (source_url is None or document["sourceUrl"] == source_url)
            and all(each.is_in(document) for each in asked)
        )

    def along(index: Index, found: Document, *, is_all: bool) -> ScanPlan:
        is_all = is_all and not asked
        return ScanPlan(index=index, found=found, accepts=None if is_all else accepts)

    if chosen.is_open is False:
        return along(CLOSED_POSTINGS, IS_CLOSED, is_all=source_url is None)
    if source_url is not None:
        dated = {"sourceUrl": source_url, "publishedAt": _dates(places)}
        undated = {"sourceUrl": source_url, "publishedAt": None}
        is_all = chosen.is_open is None
        return replace(along(POSTINGS_BY_SOURCE, dated, is_all=is_all), second_range=undated)
    return along(LATEST_FIRST, {}, is_all=chosen.is_open is None)


def _filter_fields(chosen: PostingFilter, asked: list[_Asked]) -> Fields:
    """What is looked at of each posting: the less, the sooner it is decoded."""
    names = {"place"}.union(*(each.fields for each in asked))
    if chosen.source_url is not None:
        names.add("sourceUrl")
    if chosen.is_open is not None:
        names.add("closedBy")
    return dict.fromkeys(sorted(names), True)


def _asked(chosen: PostingFilter) -> list[_Asked]:
    texts = (
        (chosen.text, ("title", "company", "location")),
        (chosen.company, ("company",)),
        (chosen.location, ("location",)),
    )
    found = [_Asked(terms_of(plain(text or "")), fields) for text, fields in texts]
    return [each for each in found if each.terms]


async def _ids(lists: Collection, terms: list[Term]) -> list[str] | None:
    """Of postings among which all are that are asked for; None: they would be too many."""
    word, is_beginning = driving_words(terms)
    words: list[str] | None = [word[:LONGEST_WORD]]
    if is_beginning:
        words = await words_with_prefix(lists, WORD, word[:LONGEST_WORD])
    return None if words is None else await postings_with(lists, words)


def _places(chosen: PostingFilter) -> Document:
    places: Document = {"$gte": FIRST_PLACE}  # one that another program has added has none yet
    if chosen.since is not None:
        places["$gte"] = first_place_in(milliseconds_begun(chosen.since))
    if chosen.until is not None:
        places["$lt"] = first_place_in(milliseconds(chosen.until) + 1)
    return places


def _dates(places: Document) -> Document:
    """Of postings in these places that have one."""
    dates = {"$gte": moment_in(max(places["$gte"], places.get("$gt", FIRST_PLACE)))}
    if "$lt" in places:
        dates["$lte"] = moment_in(places["$lt"])
    return dates
