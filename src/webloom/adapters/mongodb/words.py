"""Words of an index that begin alike."""

from __future__ import annotations

from typing import Any

from bson.max_key import MaxKey

from webloom.adapters.mongodb.documents import Document
from webloom.adapters.mongodb.indexes import Collection

MOST_WORDS = 50  # with one prefix, that an index can be asked for at once
_LAST_LETTER = "\U0010ffff"


async def words_with_prefix(
    collection: Collection, index: list[tuple[str, int]], prefix: str
) -> list[str] | None:
    """Hop along an index that begins with `words`; None when there are too many."""
    rest: list[tuple[str, Any]] = [(name, MaxKey()) for name, _ in index[1:]]
    words: list[str] = []
    start, end = prefix, prefix + _LAST_LETTER
    while len(words) <= MOST_WORDS:
        keys = collection.find(hint=index, return_key=True, limit=1)
        keys = keys.min([("words", start), *rest]).max([("words", end), *rest])
        found: list[Document] = await keys.to_list()
        if not found:
            return words
        words.append(found[0]["words"])
        start = words[-1] + "\0"
    return None
