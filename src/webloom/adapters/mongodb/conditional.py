"""Many documents, each changed in its own way on its own condition, by one statement.

The server takes 0.1 ms to plan an update, which is more than it takes to make it. So the changes of
a batch travel as one list; the update of each document finds its own by the place of the
document's key, and leaves the document as it is where the condition does not hold. All that comes
from outside stands inside a literal and is never read as an expression.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from webloom.adapters.mongodb.documents import Document, literal
from webloom.adapters.mongodb.indexes import Collection

MOST_BYTES = 8_000_000  # of changes in one statement, half of what MongoDB takes


class Change(NamedTuple):
    key: str
    given: Document  # in expressions: $$given
    bytes: int = 0  # about, if that may be many


async def change_each(
    collection: Collection,
    changes: Iterable[Change],
    *,
    condition: Document,
    result: Document,
) -> int:
    """How many were made. Both expressions see `$$given`; the result must differ from what was.

    Of two changes of one document, the second sees what the first has made. What is made when this
    raises is unknown.
    """
    made = 0
    for together in _in_parts(changes):
        keys = [change.key for change in together]
        place = {"$indexOfArray": [literal(keys), "$_id"]}
        given = {"$arrayElemAt": [literal([change.given for change in together]), place]}
        changed = {"$cond": [condition, result, "$$ROOT"]}
        stage: Any = {"$replaceWith": {"$let": {"vars": {"given": given}, "in": changed}}}
        answer = await collection.update_many({"_id": {"$in": keys}}, [stage])
        made += answer.modified_count
    return made


def _in_parts(changes: Iterable[Change]) -> Iterator[list[Change]]:
    part: dict[str, Change] = {}
    size = 0
    for change in changes:
        if part and (change.key in part or size + change.bytes > MOST_BYTES):
            yield list(part.values())
            part, size = {}, 0
        part[change.key] = change
        size += change.bytes
    if part:
        yield list(part.values())
