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

from collections.abc import Iterable

from webloom.adapters.mongodb.documents import Document, literal
from webloom.adapters.mongodb.indexes import Collection
from webloom.domain.search import words_of
from webloom.parsing.job_posting import JobPosting

MOST_WORDS = 64  # that a posting is found by
LONGEST_WORD = 64
MOST_LISTS = 2000  # read for one search
MOST_IDS = 5000
FIRST_LISTS = 3
LISTS_AT_ONCE = 25

Listed = tuple[str, JobPosting]  # with its id


def list_of(postings: Iterable[Listed]) -> Document:
    ids: list[str] = []
    hits: dict[str, list[int]] = {}
    shared: dict[str, list[int]] = {}  # by a text that many postings have
    for place, (posting_id, posting) in enumerate(postings):
        ids.append(posting_id)
        whose = f"{posting.company or ''} {posting.location or ''}"
        if len(posting.title) + len(whose) <= LONGEST_WORD:  # so that neither limit can be passed
            words = words_of(posting.title)
            shared.setdefault(whose, []).append(place)
        else:
            words = _limited([*words_of(posting.title), *words_of(whose)])
        for word in words:
            places = hits.get(word)
            if places is None:
                hits[word] = [place]
            elif places[-1] != place:
                places.append(place)
    for whose, places in shared.items():
        for word in words_of(whose):
            others = hits.get(word)
            hits[word] = places if others is None else sorted({*others, *places})
    return {"words": list(hits), "hits": list(hits.values()), "ids": ids}


def _limited(words: list[str]) -> list[str]:
    """Not all of a text that is out of proportion."""
    return [word[:LONGEST_WORD] for word in list(dict.fromkeys(words))[:MOST_WORDS]]


def has_words_of(known: Document, posting: JobPosting) -> bool:
    """Whether a posting that is stored is found by the same words."""
    return all(
        known.get(name) == getattr(posting, name) for name in ("title", "company", "location")
    )


async def postings_with(lists: Collection, words: list[str]) -> list[str] | None:
    """Ids of the postings that have one of the words, and of some that had; None: too many. Whether
    they are too many is estimated from the first lists of a word, as each may be long."""
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
            batchSize=FIRST_LISTS,
        ) as cursor:
            read, of_word = 0, 0
            async for document in cursor:
                read += 1
                of_word += len(document["ids"])
                found |= dict.fromkeys(document["ids"])
                if len(found) > MOST_IDS:
                    return None
                if read == FIRST_LISTS:
                    if of_word * counted["n"] > MOST_IDS * read:
                        return None
                    cursor.batch_size(LISTS_AT_ONCE)
    return list(found)
