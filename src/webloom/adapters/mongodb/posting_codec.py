"""Postings as documents and back, without a database.

    {_id: of source and key, dedupeKey, contentHash, sourceUrl, title, ...,   as the feed has it
     createdAt, updatedAt, createdBy, changedBy, closedAt, closedBy,          what became of it
     closingBy,                                                               it may be closed soon
     place,                                                                   where it is listed
     wordsOf}                            what others wrote: the words that it is found by, as a hash

What is not known is not there. `changedBy` is not there until it is changed, and what begins with
`closed` only where it is closed. Marks are texts, as a batch reads two hundred of them at a time.
An _id begins with a hash of the source, so that it leads along the keys of one source in order.

Other programs write postings too (postings_adopted.py). Until such a one is adopted it may lack all
that is not in the message, and its dates may be texts: it can still be read.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import bson
import msgspec
from bson.errors import BSONError, InvalidDocument
from bson.objectid import ObjectId
from bson.raw_bson import RawBSONDocument
from pymongo.errors import DocumentTooLarge

from webloom.adapters.mongodb.documents import Document
from webloom.domain.import_run import Known, Mark
from webloom.parsing.foreign_posting import posting_from
from webloom.parsing.foreign_values import moment_of
from webloom.parsing.job_posting import JobPosting
from webloom.ports.postings import StoredPosting

MOST_BYTES = 8_000_000  # of a posting; a statement that changes it holds it within 16 MB
PLACE_BYTES = 16
FIRST_PLACE = bytes(PLACE_BYTES)

BY_OTHERS = Mark("", -1)  # in a run that is not known, and in no batch of ours

REFUSALS = (BSONError, InvalidDocument, OverflowError, UnicodeError, RecursionError)
_MARKS = ("createdBy", "changedBy", "closedBy", "closingBy")
_SEARCHED = ("title", "company", "location")
WHAT_IS_KNOWN = dict.fromkeys(("dedupeKey", "contentHash", "createdAt", *_MARKS, *_SEARCHED), True)

_EPOCH = datetime(1, 1, 1, tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_DATES = (datetime,)


@lru_cache(maxsize=1000)
def start_of_source(source_url: str) -> str:
    """What the ids of its postings begin with; another source's may, too."""
    return hashlib.blake2b(source_url.encode(errors="replace"), digest_size=4).hexdigest() + "."


def mark_text(mark: Mark) -> str:
    return f"{mark.run_id}/{mark.batch_index}"


_BY_OTHERS = mark_text(BY_OTHERS)


@lru_cache(maxsize=10_000)
def mark_of(text: str) -> Mark:
    run_id, _, index = text.rpartition("/")
    return Mark(run_id, int(index))


def milliseconds(moment: datetime) -> int:
    """Since the year 1, as many as are over."""
    return (moment - _EPOCH) // _MILLISECOND


def milliseconds_begun(moment: datetime) -> int:
    return -((_EPOCH - moment) // _MILLISECOND)


def first_place_in(millisecond: int) -> bytes:
    """Postings stand in the listing by the millisecond, and within it by a hash of their key.
    MongoDB compares bytes of one length only."""
    return millisecond.to_bytes(PLACE_BYTES // 2, "big") + bytes(PLACE_BYTES // 2)


def moment_in(place: bytes) -> datetime:
    """The millisecond of a place, or the last that a date can have."""
    millisecond = int.from_bytes(place[: PLACE_BYTES // 2], "big")
    return _EPOCH + min(millisecond, milliseconds(_LAST)) * _MILLISECOND


def place_of(moment: datetime, dedupe_key: str) -> bytes:
    rest = hashlib.blake2b(dedupe_key.encode(), digest_size=PLACE_BYTES // 2).digest()
    return milliseconds(moment).to_bytes(PLACE_BYTES // 2, "big") + rest


def id_of(posting: JobPosting) -> str:
    return start_of_source(posting.source_url) + posting.dedupe_key


def new_document(
    posting: JobPosting,
    *,
    created_at: datetime,
    updated_at: datetime,
    created_by: str,
) -> Document:
    document: Document = msgspec.to_builtins(posting, builtin_types=_DATES)
    document["_id"] = id_of(posting)
    document["createdAt"] = created_at
    document["updatedAt"] = updated_at
    document["createdBy"] = created_by
    document["place"] = place_of(posting.listed_at(created_at), posting.dedupe_key)
    return document


def encoded(document: Document) -> RawBSONDocument:
    """Raises one of REFUSALS, or DocumentTooLarge."""
    data = bson.encode(document)
    if len(data) > MOST_BYTES:
        raise DocumentTooLarge(f"it takes {len(data):,} bytes, and {MOST_BYTES:,} is the limit")
    return RawBSONDocument(data)


def known_of(document: Document) -> Known:
    created_by = document.get("createdBy", _BY_OTHERS)
    return Known(
        document.get("contentHash", ""),
        mark_of(created_by),
        mark_of(document.get("changedBy", created_by)),
        "closedBy" not in document and "closingBy" not in document,
    )


def stored_posting(document: Document) -> StoredPosting | None:
    """None: not a posting."""
    posting = posting_of(document)
    if posting is None:
        return None
    created_by = document.get("createdBy", _BY_OTHERS)
    created_at = born_at(document, _EPOCH)
    return StoredPosting(
        posting=posting,
        created_at=created_at,
        updated_at=moment_of(document.get("updatedAt")) or created_at,
        created_by=mark_of(created_by),
        changed_by=mark_of(document.get("changedBy", created_by)),
        closed_at=document.get("closedAt"),
        closed_by=document.get("closedBy"),
    )


def born_at(document: Document, otherwise: datetime) -> datetime:
    """When a posting was first stored. An _id of the server's says it too."""
    moment = moment_of(document.get("createdAt"))
    if moment is None and isinstance(key := document.get("_id"), ObjectId):
        moment = key.generation_time
    return moment or otherwise


def posting_of(document: Document) -> JobPosting | None:
    if isinstance(salary := document.get("salary"), dict):
        for name in ("min", "max"):
            if isinstance(salary.get(name), int):  # of 64 bits, for which PyMongo has its own type
                salary[name] = int(salary[name])
    try:
        return msgspec.convert(document, JobPosting, builtin_types=_DATES)
    except msgspec.ValidationError:
        return posting_from(document)
