"""Rows of `postings` as values, and their places in the listing.

A place is a number: the second in which a posting was published, and then the posting's own id,
which tells those of one second apart. Of moments before 1970 and after 2105 it knows the day.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from webloom.adapters.sqlite import posting_keys
from webloom.adapters.sqlite.batches import as_json, given
from webloom.adapters.sqlite.posting_keys import key_bytes
from webloom.adapters.sqlite.values import instant
from webloom.domain.import_run import Mark
from webloom.parsing.job_posting import JobPosting
from webloom.ports.postings import StoredPosting

ID_BITS = 31
ID_MASK = (1 << ID_BITS) - 1
_DAY = 86_400
_LATE = (1 << 32) - (1 << 22)  # a second in 2105

ANY_SOURCE = "any"  # a word that every posting is found by
STORED = "posting_bodies.body, created_at, updated_at, made.run_id, created_batch, " \
    "changed.run_id, changed_batch, closed_at, closing.run_id"  # fmt: skip
FROM_STORED = """
    postings JOIN posting_bodies ON posting_bodies.id = postings.id
    JOIN run_names AS made ON made.id = created_run
    JOIN run_names AS changed ON changed.id = changed_run
    LEFT JOIN run_names AS closing ON closing.id = closed_run
"""

_decode = msgspec.json.Decoder(JobPosting).decode


def first_place(time: int) -> int:
    """Of those that were published in the second of `time`, which is in milliseconds."""
    second = time // 1000
    if second < 0:
        second //= _DAY
    elif second >= _LATE:
        second = _LATE + (second - _LATE) // _DAY
    return second << ID_BITS


def last_place(time: int) -> int:
    return first_place(time) | ID_MASK


class Words(NamedTuple):
    """What a posting is found by."""

    place: int
    title: str
    company: str | None
    location: str | None
    source: int


def words_of(place: int, posting: JobPosting, source: int) -> Words:
    return Words(place, posting.title, posting.company, posting.location, source)


def add_words(connection: sqlite3.Connection, rows: list[tuple[str | None, Words]]) -> None:
    """Each is to be added, or taken out again by the command `delete`."""
    rows.sort(key=lambda row: row[1].place)  # as the index likes it; it keeps the order otherwise
    words = (f"json_extract(words, '$[{number}]')" for number in range(4))
    connection.execute(
        given("command", "words")
        + f"""
        INSERT INTO posting_words (posting_words, rowid, title, company, location, source)
        SELECT command, {", ".join(words)}, '{ANY_SOURCE} s' || json_extract(words, '$[4]')
        FROM given
        """,
        {"rows": as_json(rows)},
    )


def stored_of(row: Sequence[Any]) -> StoredPosting:
    body, created_at, updated_at, made, made_batch, changed, changed_batch, closed_at, closing = row
    return StoredPosting(
        posting=_decode(body),
        created_at=instant(created_at),
        updated_at=instant(updated_at),
        created_by=Mark(made, made_batch),
        changed_by=Mark(changed, changed_batch),
        closed_at=instant(closed_at),
        closed_by=closing,
    )


def find(connection: sqlite3.Connection, dedupe_key: str) -> StoredPosting | None:
    key = key_bytes(dedupe_key)
    if key is None:
        return None
    sources = [number for (number,) in connection.execute("SELECT id FROM sources")]
    found = posting_keys.find(connection, sources, [key] * len(sources), "id")
    if not found:
        return None
    [row] = connection.execute(
        f"SELECT {STORED} FROM {FROM_STORED} WHERE postings.id = ?", (found[0][1],)
    )
    return stored_of(row)
