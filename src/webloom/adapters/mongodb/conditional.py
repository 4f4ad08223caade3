"""Many documents, each changed in its own way on its own condition, by one statement.

Planning an update takes the server 0.1 ms, which is more than carrying it out. So the changes of a
batch are sent as one list. Each document finds its change by the position of its key, and stays as
it is if the condition does not hold. Everything that comes from outside is inside a literal and is
never read as an expression.
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
    """Returns how many were written. Both expressions see `$$given`; the result must differ from
    the document as it was.

    Of two changes of one document, the second sees the result of the first. If this raises, it is
    unknown which were written.
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
