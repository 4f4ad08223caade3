"""Which postings have a word.

    {words: [...], hits: [[places in ids], ...], ids: [...]}

An index of the words of every posting, in the order of the listing, would cost an insert more than
all other indexes together, and the more of them there are the more: its entries go anywhere. So the
postings of a few batches that are written at the same time share a list. Each word stands in it
once, with the postings that have it, and new entries of the index stand next to each other.

A list is written before its postings, and never changed: what it says of a posting may be over, and
who uses it looks at the posting. A posting whose words stay the same needs no new one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache

from webloom.adapters.mongodb.documents import Document, literal
from webloom.adapters.mongodb.indexes import Collection
from webloom.adapters.mongodb.words import words_of
from webloom.parsing.job_posting import JobPosting

MOST_WORDS = 64  # that a posting is found by
LONGEST_WORD = 64
MOST_LISTS = 2000  # read for one search
MOST_IDS = 5000
LISTS_AT_ONCE = 25

Listed = tuple[str, list[str]]  # the id of a posting, and its words


def words_in(job: JobPosting) -> list[str]:
    """Each once; not all of a text that is out of proportion."""
    whose = f"{job.company or ''} {job.location or ''}"
    words = list(dict.fromkeys([*words_of(job.title), *_words_again(whose)]))
    if len(job.title) + len(whose) > LONGEST_WORD:  # else neither limit can be passed
        words = [word[:LONGEST_WORD] for word in words[:MOST_WORDS]]
    return words


@lru_cache(maxsize=2000)
def _words_again(text: str) -> list[str]:
    """Of a text that many postings share."""
    return words_of(text)


def hash_of(words: list[str]) -> bytes:
    return hashlib.blake2b(" ".join(words).encode(), digest_size=8).digest()


def list_of(postings: Iterable[Listed]) -> Document:
    ids: list[str] = []
    hits: dict[str, list[int]] = {}
    for place, (posting_id, words) in enumerate(postings):
        ids.append(posting_id)
        for word in words:
            hits.setdefault(word, []).append(place)
    return {"words": list(hits), "hits": list(hits.values()), "ids": ids}


async def postings_with(lists: Collection, words: list[str]) -> list[str] | None:
    """Ids of the postings that have one of the words, and of some that had; None: too many."""
    found: dict[str, None] = {}
    for word in words:
        having = {"words": word}
        counted = await lists.database.command(
            "count", lists.name, query=having, limit=MOST_LISTS + 1
        )
        if counted["n"] > MOST_LISTS:
            return None
        hits = {"$arrayElemAt": ["$hits", {"$indexOfArray": ["$words", literal(word)]}]}
        ids = {"$map": {"input": hits, "in": {"$arrayElemAt": ["$ids", "$$this"]}}}
        async with await lists.aggregate(
            [{"$match": having}, {"$project": {"_id": False, "ids": ids}}],
            batchSize=LISTS_AT_ONCE,
        ) as cursor:
            async for document in cursor:
                found |= dict.fromkeys(document["ids"])
                if len(found) > MOST_IDS:
                    return None
    return list(found)
