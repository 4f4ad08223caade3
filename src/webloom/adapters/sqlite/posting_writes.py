"""Batches of postings, each inside a transaction that it may share with others.

    encode -> what is there -> judge -> insert, update -> the ledger's row -> (words, for all)

The rows of a batch travel into SQLite in one piece: their keys one after the other, their bodies
likewise, and the rest as JSON that says where each body lies.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from webloom.adapters.sqlite import posting_keys
from webloom.adapters.sqlite.batches import as_json, change, given, plain, select_all
from webloom.adapters.sqlite.import_ledger import find_row, write_row
from webloom.adapters.sqlite.import_run_codec import RUNS, number_of
from webloom.adapters.sqlite.posting_codec import (
    Words,
    add_words,
    first_place,
    words_of,
)
from webloom.adapters.sqlite.posting_keys import KEY_BYTES, key_bytes
from webloom.adapters.sqlite.values import milliseconds
from webloom.domain.import_run import (
    Counts,
    Failure,
    Known,
    Mark,
    Verdict,
    judge,
    judge_known,
)
from webloom.domain.import_transitions import is_held
from webloom.parsing.job_posting import JobPosting
from webloom.ports.import_runs import Claim
from webloom.ports.postings import Batch
from webloom.stores.postings import ledger_row, refused

_KNOWN = "content_hash, created_run, created_batch, changed_run, changed_batch, closed_run IS NULL"

_NEW = given("number", "source", "hash", "time", "start", "length")

_encode = msgspec.json.Encoder().encode


class _Given(NamedTuple):
    """A posting of a batch."""

    posting: JobPosting
    key: bytes
    body: bytes
    time: int | None  # when it was published

    def listed_at(self, created_at: int) -> int:
        """As `JobPosting` has it, in milliseconds."""
        return created_at if self.time is None else self.time


@dataclass(kw_only=True, slots=True)
class Apply:
    batch: Batch
    given: list[_Given] = field(default_factory=list)
    refused: list[Failure] = field(default_factory=list)


class _Old(NamedTuple):
    """What is stored under the key of a posting."""

    id: int
    time: int
    created_at: int
    known: Known


class _Change(NamedTuple):
    new: _Given
    source: int
    old: _Old

    @property
    def time(self) -> int:
        return self.new.listed_at(self.old.created_at)


def encode(items: list[Apply]) -> None:
    for item in items:
        item.given.clear()
        item.refused.clear()
        for posting in item.batch.postings:
            key = key_bytes(posting.dedupe_key)
            if key is None:
                item.refused.append(refused(posting, "its dedupeKey is not a SHA-1 in hexadecimal"))
                continue
            try:
                body = _encode(posting)
            except (ValueError, TypeError, OverflowError) as error:
                item.refused.append(refused(posting, str(error)))
            else:
                time = milliseconds(posting.published_at)
                item.given.append(_Given(posting, key, body, time))


class Writing:
    """The batches of one transaction. What its postings are found by is written at its end, in
    the order of their places, as the index of words wants it."""

    def __init__(self, connection: sqlite3.Connection, wall: int) -> None:
        self._connection = connection
        self._wall = wall
        self._running: dict[str, int | None] = {}  # numbers of runs; None: none that is running
        self._sources: dict[str, int] = {}
        self._words: list[tuple[str | None, Words]] = []  # to be added, or with a command

    def apply(self, item: Apply) -> Counts | None:
        mark = item.batch.mark
        run = self._number(mark.run_id)
        if run is None:
            return None
        if (known := find_row(self._connection, run, mark)) is not None:
            return known
        numbered = Mark(str(run), mark.batch_index)
        as_before = self._judge_known(item.batch, numbered)
        if as_before is None:
            return None
        verdicts = self._store(item.given, numbered)
        counts, failures = ledger_row(item.batch, item.refused, as_before, verdicts)
        write_row(self._connection, run, mark, counts, failures)
        return counts

    def fail(self, mark: Mark, failures: Sequence[Failure], failed: int) -> None:
        run = self._number(mark.run_id)
        if run is not None and find_row(self._connection, run, mark) is None:
            write_row(self._connection, run, mark, Counts(failed=failed), failures)

    def close(self, claim: Claim, keys: Sequence[str]) -> None:
        run_id = plain(claim.run.run_id)
        held = RUNS.load(self._connection, [run_id]).get(run_id)
        found = [key for each in keys if (key := key_bytes(each)) is not None]
        if held is None or not is_held(held.state, claim.token) or not found:
            return
        source = posting_keys.source_of(self._connection, held.state.run.source_url)
        sources, columns = [source] * len(found), "id, time, closed_run"
        rows = posting_keys.find(self._connection, sources, found, columns)
        change(
            self._connection,
            given("number", "place")
            + """
            UPDATE postings SET closed_at = :wall, closed_run = :run, closed_place = given.place
            FROM given WHERE id = given.number
            """,
            [(row[1], first_place(row[2]) | row[1]) for row in rows if row[3] is None],
            wall=self._wall,
            run=number_of(self._connection, run_id),
        )

    def finish(self) -> None:
        if self._words:
            posting_keys.settle(self._connection)
            add_words(self._connection, self._words)

    def source(self, url: str) -> int:
        """The number that stands for it, from now on."""
        number = self._sources.get(url)
        if number is None:
            self._connection.execute("INSERT OR IGNORE INTO sources (url) VALUES (?)", (url,))
            [number] = self._connection.execute(
                "SELECT id FROM sources WHERE url = ?", (url,)
            ).fetchone()
            self._sources[url] = number
        return number

    def _number(self, run_id: str) -> int | None:
        if run_id not in self._running:
            row = self._connection.execute(
                """
                SELECT run FROM import_runs JOIN run_names ON run = id
                WHERE run_id = ? AND status = 'running'
                """,
                (plain(run_id),),
            ).fetchone()
            self._running[run_id] = row and row[0]
        return self._running[run_id]

    def _judge_known(self, batch: Batch, mark: Mark) -> dict[Verdict, int] | None:
        """`mark` has the number of its run."""
        if not batch.known:
            return {}
        source = posting_keys.source_of(self._connection, batch.source_url)
        keys = [bytes.fromhex(key) for key, _ in batch.known]
        rows = posting_keys.find(self._connection, [source] * len(keys), keys, _KNOWN)
        found = {place: _known(columns) for place, *columns in rows}
        hashes = enumerate(content_hash for _, content_hash in batch.known)
        return judge_known(((found.get(place), each) for place, each in hashes), mark)

    def _store(self, batch: list[_Given], mark: Mark) -> dict[Verdict, int]:
        """`mark` has the number of its run."""
        sources = [self.source(new.posting.source_url) for new in batch]
        stored = self._find(batch, sources)
        verdicts: dict[Verdict, int] = {}
        added: list[tuple[_Given, int]] = []
        changed: list[_Change] = []
        for place, (new, source) in enumerate(zip(batch, sources, strict=True)):
            old = stored.get(place)
            verdict = judge(old and old.known, new.posting.content_hash, mark)
            verdicts[verdict] = verdicts.get(verdict, 0) + 1
            if old is None:
                added.append((new, source))
            elif verdict is Verdict.UPDATE:
                changed.append(_Change(new, source, old))
        if added:
            self._insert(added, mark)
        if changed:
            self._update(changed, mark)
        return verdicts

    def _find(self, batch: list[_Given], sources: list[int]) -> dict[int, _Old]:
        """What is stored, by the place of the posting in the batch."""
        keys = [new.key for new in batch]
        columns = f"id, time, created_at, {_KNOWN}"
        rows = posting_keys.find(self._connection, sources, keys, columns)
        return {row[0]: _Old(row[1], row[2], row[3], _known(row[4:])) for row in rows}

    def _insert(self, added: list[tuple[_Given, int]], mark: Mark) -> None:
        [first] = self._connection.execute(
            "SELECT coalesce(max(id), 0) + 1 FROM posting_bodies"
        ).fetchone()
        bodies = _Bodies()
        rows = []
        for number, (new, source) in enumerate(added, first):
            time = new.listed_at(self._wall)
            rows.append((number, source, new.posting.content_hash, time, *bodies.add(new.body)))
            self._words.append((None, words_of(first_place(time) | number, new.posting, source)))
        values = self._values(rows, bodies, mark)
        values |= {"keys": b"".join([new.key for new, _ in added]), "first": first}
        self._connection.execute(
            _NEW
            + """
            INSERT INTO posting_bodies (id, body)
            SELECT number, CAST(substr(:bodies, start, length) AS TEXT) FROM given
            """,
            values,
        )
        self._connection.execute(
            _NEW
            + f"""
            INSERT INTO postings (id, source, key, content_hash, time, created_run,
                created_batch, changed_run, changed_batch, created_at, updated_at)
            SELECT number, source, substr(:keys, {KEY_BYTES} * (number - :first) + 1, {KEY_BYTES}),
                   hash, time, :run, :batch, :run, :batch, :wall, :wall
            FROM given
            """,
            values,
        )
        posting_keys.add(
            self._connection,
            ((source, new.key, number) for number, (new, source) in enumerate(added, first)),
        )

    def _update(self, changes: list[_Change], mark: Mark) -> None:
        self._rewrite_words(changes)
        bodies = _Bodies()
        rows = [
            (each.old.id, each.new.posting.content_hash, each.time, *bodies.add(each.new.body))
            for each in changes
        ]
        values = self._values(rows, bodies, mark)
        self._connection.execute(
            given("number", "hash", "new_time")
            + """
            UPDATE postings SET content_hash = given.hash, time = given.new_time,
                changed_run = :run, changed_batch = :batch, updated_at = :wall,
                closed_at = NULL, closed_run = NULL, closed_place = NULL
            FROM given WHERE id = given.number
            """,
            values,
        )
        self._connection.execute(
            given("number", "hash", "new_time", "start", "length")
            + """
            UPDATE posting_bodies
            SET body = CAST(substr(:bodies, given.start, given.length) AS TEXT)
            FROM given WHERE id = given.number
            """,
            values,
        )

    def _values(self, rows: list[Any], bodies: _Bodies, mark: Mark) -> dict[str, Any]:
        return {
            "rows": as_json(rows),
            "bodies": bodies.joined(),
            "run": int(mark.run_id),
            "batch": mark.batch_index,
            "wall": self._wall,
        }

    def _rewrite_words(self, changes: list[_Change]) -> None:
        """The index has no copy of what it holds: to remove a posting takes its words."""
        fields = ", ".join(f"json_extract(body, '$.{name}')" for name in Words._fields[1:4])
        rows = select_all(
            self._connection,
            f"id, {fields}",
            "posting_bodies WHERE id IN (SELECT value FROM json_each(:ids))",
            ids=as_json([each.old.id for each in changes]),
        )
        texts = {number: texts for number, *texts in rows}
        for each in changes:
            number = each.old.id
            title, company, location = texts[number]
            place = first_place(each.old.time) | number
            before = Words(place, title, company, location, each.source)
            after = words_of(first_place(each.time) | number, each.new.posting, each.source)
            if before != after:
                self._words += [("delete", before), (None, after)]


class _Bodies:
    """Put one after the other."""

    def __init__(self) -> None:
        self._bodies: list[bytes] = []
        self._length = 0

    def add(self, body: bytes) -> tuple[int, int]:
        """Where it begins, counted from 1, and its length."""
        start, length = self._length + 1, len(body)
        self._bodies.append(body)
        self._length += length
        return start, length

    def joined(self) -> bytes:
        return b"".join(self._bodies)


def _known(columns: list[Any]) -> Known:
    content_hash, created_run, created_batch, changed_run, changed_batch, is_open = columns
    return Known(
        content_hash,
        Mark(str(created_run), created_batch),
        Mark(str(changed_run), changed_batch),
        bool(is_open),
    )
