"""Pages of postings, the latest published first.

As with records, a page is read along one index, from behind the last posting of the page before;
what the index does not know of a filter is looked at posting by posting, MOST_SCANNED at most.
Those of one source stand in its index in two stretches, with a date and without, which are merged.
Words that few postings have lead to these; a word that many have is soon met on the way.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

from pymongo import ASCENDING

from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.index_scan import Index, ScanPlan, scan_index
from webloom.adapters.mongodb.indexes import (
    CLOSED,
    CLOSED_POSTINGS,
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
from webloom.adapters.mongodb.words import Phrase, words_with_prefix
from webloom.ports.postings import PostingFilter, PostingPage
from webloom.stores.cursors import cursor_of, values_of

MOST_SCANNED = 2000  # postings looked at for one page
_PLACE = struct.Struct(">qq")
_LOOKED_AT = dict.fromkeys(("title", "company", "location", "sourceUrl", "closedBy", "place"), True)


@dataclass(frozen=True, slots=True)
class _Term:
    """A phrase, and the fields that may contain it."""

    phrase: Phrase
    fields: tuple[str, ...]

    def is_in(self, document: Document) -> bool:
        texts = (document.get(name) for name in self.fields)
        return any(isinstance(text, str) and self.phrase.is_in(text) for text in texts)


async def postings_page(
    db: MongoDatabase, chosen: PostingFilter, limit: int, cursor: str | None
) -> PostingPage:
    start = None if cursor is None else _PLACE.pack(*values_of(cursor, int, int))
    places = _places(chosen, start)
    with db.use():
        plan = await _plan(db.job_words, chosen, places)
        if plan is None:
            return PostingPage(postings=[])
        documents, last = await scan_index(
            db.jobs,
            plan,
            bounds={"place": places},
            order=POSTINGS_BY_SOURCE if plan.index is POSTINGS_BY_SOURCE else LATEST_FIRST,
            limit=limit,
            most_scanned=MOST_SCANNED,
            filter_fields=_LOOKED_AT,
            shown=None,
        )
    found = [stored_posting(document) for document in documents]
    return PostingPage(
        postings=[each for each in found if each is not None],
        next_cursor=None if last is None else cursor_of(*_PLACE.unpack(last["place"])),
    )


async def _plan(lists: Collection, chosen: PostingFilter, places: Document) -> ScanPlan | None:
    """None: nothing can be found."""
    terms = _terms(chosen)
    if any(not each.phrase.words for each in terms):
        return None
    source_url = None if chosen.source_url is None else plain(chosen.source_url)

    def accepts(document: Document) -> bool:
        return (
            chosen.is_open in (None, "closedBy" not in document)
            and source_url in (None, document["sourceUrl"])
            and all(each.is_in(document) for each in terms)
        )

    def along(index: Index, found: Document, *, is_all: bool = False) -> ScanPlan:
        return ScanPlan(index=index, found=found, accepts=None if is_all else accepts)

    if terms and (ids := await _ids(lists, terms)) is not None:
        return along([("_id", ASCENDING)], {"_id": {"$in": ids}})
    if chosen.is_open is False:
        return along(CLOSED_POSTINGS, CLOSED, is_all=source_url is None and not terms)
    if source_url is not None:
        is_all = chosen.is_open is None and not terms
        dated = {"sourceUrl": source_url, "publishedAt": _dates(places)}
        undated = {"sourceUrl": source_url, "publishedAt": None}
        return replace(along(POSTINGS_BY_SOURCE, dated, is_all=is_all), second_range=undated)
    return along(LATEST_FIRST, {}, is_all=chosen.is_open is None and not terms)


def _terms(chosen: PostingFilter) -> list[_Term]:
    asked = (
        (chosen.text, ("title", "company", "location")),
        (chosen.company, ("company",)),
        (chosen.location, ("location",)),
    )
    return [_Term(Phrase.parse(plain(text)), fields) for text, fields in asked if text is not None]


async def _ids(lists: Collection, terms: list[_Term]) -> list[str] | None:
    """Of postings among which all are that are asked for; None: they would be too many."""
    whole = [word for each in terms for word in each.phrase.whole_words]
    words: list[str] | None = [max(whole, key=len)[:LONGEST_WORD]] if whole else None
    if words is None:
        longest = max((each.phrase.words[0] for each in terms), key=len)
        words = await words_with_prefix(lists, WORD, longest[:LONGEST_WORD])
    return None if words is None else await postings_with(lists, words)


def _places(chosen: PostingFilter, start: bytes | None) -> Document:
    places: Document = {"$gte": FIRST_PLACE}  # one that another program has added has none yet
    if chosen.since is not None:
        places["$gte"] = first_place_in(milliseconds_begun(chosen.since))
    if chosen.until is not None:
        places["$lt"] = first_place_in(milliseconds(chosen.until) + 1)
    if start is not None:
        places["$lt"] = min(start, places.get("$lt", start))
    return places


def _dates(places: Document) -> Document:
    """Of postings in these places that have one."""
    dates = {"$gte": moment_in(places["$gte"])}
    if "$lt" in places:
        dates["$lte"] = moment_in(places["$lt"])
    return dates
