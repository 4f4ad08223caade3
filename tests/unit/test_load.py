"""A load that is cut off at the worst moments, whose target a test spoils, or that reads no dump.

Real SQLite files; whatever fails does so because a subclass of the adapter says so.
"""

from __future__ import annotations

import asyncio
import io
import json
import shutil
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import zstandard

from fakes.clock import NOON, FakeClock
from webloom import cancellation
from webloom.adapters.cron import next_match
from webloom.adapters.sqlite.database import Database, open_database
from webloom.adapters.sqlite.dump import SqliteDump
from webloom.adapters.sqlite.dump_pages import Expiry, page_tables
from webloom.adapters.sqlite.dump_tables import TABLES
from webloom.application.move import stream
from webloom.application.move.dump import dump
from webloom.application.move.load import AT_ONCE, Batches, Load, Verdict, ahead, read, scanned
from webloom.application.move.stream import DumpReader, DumpWriter
from webloom.domain.errors import DumpRefused, StoreUnavailable
from webloom.domain.inventory import Metadata, Processing, Status
from webloom.domain.retention import Retention
from webloom.ports.dump import WholeRecord
from webloom.stores import whole

BATCH = 4  # instead of the usual number


class Store(SqliteDump):
    """Counts what is put, and fails once where a test wants it."""

    def __init__(self, database: Database) -> None:
        pages = page_tables(lambda: Expiry.at(database.wall_ms(), Retention()))
        super().__init__(database, TABLES | pages)
        self.put_sizes: list[int] = []
        self.fail_put: int | None = None  # at which call
        self.spoil: Callable[[list[Any]], list[Any]] = list  # what is found afterwards

    async def put_if_newer(self, collection: str, items: Sequence[Any]) -> list[Any]:
        self.put_sizes.append(len(items))
        if len(self.put_sizes) == self.fail_put:
            raise StoreUnavailable("the target is gone")
        return self.spoil(await super().put_if_newer(collection, items))

    async def put(self, *records: WholeRecord) -> None:
        """As others do."""
        await SqliteDump.put_if_newer(self, "metadata", records)

    async def everything(self) -> dict[str, WholeRecord]:
        async with self.snapshot() as snapshot:
            lists = [lines async for lines in snapshot.scan("metadata")]
        return {line.item.url: line.item for lines in lists for line in lines}


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (whole, stream):
        monkeypatch.setattr(module, "MOST_TOGETHER", BATCH)


OpenStore = Callable[[str], Awaitable[Store]]


@pytest.fixture
async def open_store(
    empty_file: Path, tmp_path: Path, clock: FakeClock
) -> AsyncIterator[OpenStore]:
    async with AsyncExitStack() as stack:

        async def opened(name: str) -> Store:
            path = tmp_path / f"{name}.db"
            shutil.copy(empty_file, path)
            return Store(await stack.enter_async_context(open_database(path, clock)))

        yield opened


@pytest.fixture
async def source(open_store: OpenStore) -> Store:
    return await open_store("source")


@pytest.fixture
async def target(open_store: OpenStore) -> Store:
    return await open_store("target")


def url(number: int) -> str:
    return f"http://site.example/{number}"


def record(number: int, text: str = "text", *, age: int = 0) -> WholeRecord:
    """Of a greater age is newer."""
    return WholeRecord(
        url=url(number),
        status=Status.COMPLETED,
        metadata=Metadata(
            status_code=200, headers={}, cookies={}, page_source=text, final_url=url(number)
        ),
        processing=Processing(attempt_number=1, last_attempt_at=NOON, last_request_id="r"),
        additional_details=None,
        created_at=NOON,
        updated_at=NOON + timedelta(seconds=age),
        token=1,
        request_id=None,
        background=False,
        waits=False,
    )


def records(count: int) -> list[WholeRecord]:
    return [record(number) for number in range(count)]


def by_url(kept: Iterable[WholeRecord]) -> dict[str, WholeRecord]:
    return {each.url: each for each in kept}


async def loaded(target: Store, opened: Callable[[], Batches], name: str = "s") -> Verdict:
    """Of the records; nothing is left to be remembered."""
    reported: dict[str, int] = {}

    def progress(collection: str, items: int) -> None:
        reported[collection] = reported.get(collection, 0) + items

    load = Load(target=target, name=name, now=NOON, progress=progress)
    verdict = (await load.run(opened, resume=True))["metadata"]
    assert reported.get("metadata", 0) == verdict.items
    assert await target.noted(name) is None
    return verdict


async def copied(source: Store, target: Store, name: str = "s") -> Verdict:
    async with source.snapshot() as snapshot:
        return await loaded(target, lambda: scanned(snapshot), name)


async def dumped(source: Store) -> bytes:
    file = io.BytesIO()
    async with source.snapshot() as snapshot:
        await dump(snapshot, DumpWriter(file, "1.2.3", "id"), lambda name, items: None)
    return file.getvalue()


def from_dump(data: bytes) -> Batches:
    return read(DumpReader(io.BytesIO(data), next_match))


def counts(verdict: Verdict) -> tuple[int, int, int, int, int]:
    return verdict.items, verdict.equal, verdict.newer, verdict.missing, verdict.different


SIZES = [
    (0, "nothing"),
    (1, "one item"),
    (BATCH, "a whole batch"),
    (BATCH + 1, "a batch and one"),
    (BATCH * 6 + 3, "batches and a rest"),
]


@pytest.mark.parametrize("size", [size for size, _ in SIZES], ids=[why for _, why in SIZES])
async def test_everything_arrives_and_what_has_changed_does_the_next_time(
    source: Store, target: Store, size: int
) -> None:
    await source.put(*records(size))
    for _ in range(2):
        verdict = await copied(source, target)
        assert (verdict.holds, counts(verdict)) == (True, (size, size, 0, 0, 0))
        assert verdict.source_hash == verdict.target_hash
        assert await target.everything() == by_url(records(size))
    changed = [record(number, "changed", age=1) for number in range(size)] + [record(1000)]
    await source.put(*changed)
    assert (await copied(source, target)).holds
    assert await target.everything() == by_url(changed)


@pytest.mark.parametrize("call", range(1, 9))
@pytest.mark.parametrize("through_file", [False, True], ids=["copy", "load"])
async def test_a_load_that_was_cut_off_goes_on_where_it_was(
    source: Store, target: Store, call: int, through_file: bool
) -> None:
    await source.put(*records(BATCH * 8))
    data = await dumped(source)
    target.fail_put = call
    async with source.snapshot() as snapshot:

        def opened() -> Batches:
            return from_dump(data) if through_file else scanned(snapshot)

        with pytest.raises(StoreUnavailable, match="is gone"):
            await loaded(target, opened)
        begun = len(target.put_sizes)
        verdict = await loaded(target, opened)
    assert (verdict.holds, counts(verdict)) == (True, (BATCH * 8, BATCH * 8, 0, 0, 0))
    assert verdict.source_hash == verdict.target_hash
    assert await target.everything() == by_url(records(BATCH * 8))
    # Only what was on its way is put twice.
    assert len(target.put_sizes) - begun <= 8 - max(0, call - 1 - AT_ONCE)


async def interrupted(source: Store, target: Store) -> None:
    await source.put(*records(BATCH * 8))
    target.fail_put = 5
    with pytest.raises(StoreUnavailable):
        await copied(source, target)
    assert await target.noted("s")


async def test_what_changed_while_a_copy_was_interrupted_arrives(
    source: Store, target: Store
) -> None:
    await interrupted(source, target)
    await source.put(record(3, "changed", age=1))
    verdict = await copied(source, target)
    assert (verdict.holds, counts(verdict)) == (True, (BATCH * 8, BATCH * 8, 0, 0, 0))
    assert await target.everything() == await source.everything()


async def test_each_source_has_a_note_of_its_own(
    source: Store, target: Store, open_store: OpenStore
) -> None:
    await interrupted(source, target)
    newer = await open_store("other")
    await newer.put(record(0, "of the other", age=1))
    verdict = await copied(newer, target, "other")
    assert (verdict.holds, verdict.items) == (True, 1)
    assert await target.noted("s")
    verdict = await copied(source, target)
    assert verdict.holds
    assert await target.everything() == await source.everything() | await newer.everything()


async def test_what_comes_to_the_source_meanwhile_is_not_in_its_snapshot(
    source: Store, target: Store
) -> None:
    await source.put(*records(3))
    async with source.snapshot() as snapshot:
        await source.put(record(1000), record(1, "changed", age=1))
        verdict = await loaded(target, lambda: scanned(snapshot))
    assert (verdict.holds, counts(verdict)) == (True, (3, 3, 0, 0, 0))
    assert await target.everything() == by_url(records(3))


DAMAGE: list[tuple[str, Callable[[list[Any]], list[Any]], tuple[int, int]]] = [
    ("a record is lost", lambda found: [None, *found[1:]], (1, 0)),
    (
        "a record is changed",
        lambda found: [replace(found[0], request_id="other", updated_at=NOON), *found[1:]],
        (0, 1),
    ),
]


@pytest.mark.parametrize(
    ("damage", "figures"), [row[1:] for row in DAMAGE], ids=[row[0] for row in DAMAGE]
)
async def test_damage_in_the_target_is_seen_and_named(
    source: Store,
    target: Store,
    damage: Callable[[list[Any]], list[Any]],
    figures: tuple[int, int],
) -> None:
    await source.put(*records(BATCH * 7))
    target.spoil = damage
    verdict = await copied(source, target)
    assert not verdict.holds
    assert (verdict.missing, verdict.different) == (figures[0] * 7, figures[1] * 7)
    assert verdict.samples == [url(number * BATCH) for number in range(5)]  # no more
    assert verdict.source_hash != verdict.target_hash


async def test_what_is_newer_in_the_target_is_counted_and_left(
    source: Store, target: Store
) -> None:
    newer = [record(2, "newer", age=1), record(2000)]
    await source.put(*records(5))
    await target.put(*newer)
    verdict = await copied(source, target)
    assert (verdict.holds, counts(verdict)) == (True, (5, 4, 1, 0, 0))
    assert await target.everything() == by_url([*records(5), *newer])


# Dumps that are none


def plain(data: bytes) -> list[bytes]:
    with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)) as reader:
        return reader.read().splitlines(keepends=True)


def packed(lines: Iterable[bytes]) -> bytes:
    return zstandard.compress(b"".join(lines))


async def refused(target: Store, data: bytes) -> str:
    with pytest.raises(DumpRefused) as error:
        await loaded(target, lambda: from_dump(data))
    return str(error.value)


async def test_a_truncated_dump_is_refused_and_the_whole_one_goes_on_from_there(
    source: Store, target: Store
) -> None:
    await source.put(*records(BATCH * 3))
    data = await dumped(source)
    lines = plain(data)
    assert "truncated" in await refused(target, packed(lines[:-1]))
    assert len(await target.everything()) == BATCH * 3  # what was there is loaded
    assert "truncated" in await refused(target, data[: len(data) // 2])
    assert "truncated" in await refused(target, packed([*lines[:-1], lines[-1][:20]]))
    puts = len(target.put_sizes)
    assert (await loaded(target, lambda: from_dump(data))).holds
    assert len(target.put_sizes) == puts


async def test_a_dump_that_lacks_or_changes_a_line_is_refused(source: Store, target: Store) -> None:
    await source.put(*records(3))
    lines = plain(await dumped(source))
    for spoiled in (
        [*lines[:2], *lines[3:]],
        [*lines[:2], lines[1], *lines[2:]],
        [line.replace(b'"token":1', b'"token":2') for line in lines],
    ):
        message = await refused(target, packed(spoiled))
        assert message.startswith("the dump is damaged: metadata has ")
        assert "fingerprint" in message


def line(collection: str = "metadata", **changes: Any) -> bytes:
    item = json.loads(whole.line_of(record(1)).raw) | changes
    return json.dumps({"collection": collection, "item": item}).encode() + b"\n"


def version(**changes: Any) -> bytes:
    item = {"key": "0" * 32, "job_id": "j", "url": "u", "number": 1, "place": [1, 0, "h"]}
    item |= {"content": {}, "expires_at": None}
    return json.dumps({"collection": "snapshots", "item": item | changes}).encode() + b"\n"


HOSTILE = [
    (b"{}\n", "line 2: it is of no collection"),
    (b"not json\n", "line 2: JSON is malformed"),
    (b"\xff\n", "line 2: "),
    (b'{"collection": "elsewhere", "item": {}}\n', "line 2: it is of no collection"),
    (b'{"collection": "metadata", "item": {}}\n', "line 2, of metadata: Object missing"),
    (line(token="many"), "line 2, of metadata: Expected `int`"),
    (line(token=1 << 63), "line 2, of metadata: a number has more than 64 bits"),
    (line(created_at="2026-01-01T00:00:00"), "line 2, of metadata: a date has no time zone"),
    (line(additional_details=json.loads("[" * 80 + "]" * 80)), "nested more than"),
    (line(additional_details={"a": [0] * 1_000_001}), "values"),
    (line() + line(token=[]), "line 3, of metadata: Expected `int`"),
    (version(key="../../etc"), "line 2, of snapshots: Expected `str` matching regex"),
    (version(number=-1), "line 2, of snapshots: Expected `int` >= 1"),
    (version(place=[1 << 62, 0, "h"]), "line 2, of snapshots: its place is out of range"),
    (b'{"collection": "metadata", "item": "' + b"x" * 3_000 + b'"}\n', "has more than 2,000 bytes"),
    (b"x" * 5_000_000, "has more than 2,000 bytes"),
]


@pytest.mark.parametrize(("lines", "says"), HOSTILE, ids=range(len(HOSTILE)))
async def test_a_hostile_line_is_refused_by_its_number(
    source: Store, target: Store, monkeypatch: pytest.MonkeyPatch, lines: bytes, says: str
) -> None:
    [header, end] = plain(await dumped(source))
    if "bytes" in says:
        monkeypatch.setattr(stream, "LONGEST_LINE", 2_000)
        monkeypatch.setattr(stream, "_READ", 1_000)
    assert says in await refused(target, packed([header, lines, end]))


async def test_a_dump_that_is_too_much_larger_unpacked_is_not_read_to_its_end(
    source: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    [header, _] = plain(await dumped(source))
    bomb = packed([header, line() * 2_000])

    def reason() -> str:
        with pytest.raises(DumpRefused) as refusal:
            for _ in DumpReader(io.BytesIO(bomb), next_match).batches():
                pass
        return str(refusal.value)

    assert "truncated" in reason()
    monkeypatch.setattr(stream, "_READ", 10_000)
    monkeypatch.setattr(stream, "LARGEST_RATIO", 100)
    assert "truncated" in reason()
    monkeypatch.setattr(stream, "UNPACKED_ALWAYS", 100_000)
    assert "more than 100 times as large as it is packed" in reason()


async def test_a_long_line_is_in_memory_twice_at_most(source: Store) -> None:
    size = 20_000_000
    await source.put(record(1, "x" * size))
    data = await dumped(source)
    tracemalloc.start()
    try:
        for _ in DumpReader(io.BytesIO(data), next_match).batches():
            pass
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size < most < 2.5 * size


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "the dump is empty, or truncated"),
        (b"text\n" * 100, "can't be decompressed"),
        (packed([b"[]\n"]), "this is not a dump of Webloom"),
        (packed([b'{"format": "other", "version": 1, "webloom": "1", "id": "i", '
                 b'"collections": []}\n']), "this is not a dump of Webloom"),
        (packed([b'{"format": "webloom-dump", "version": 9, "webloom": "9.9", "id": "i", '
                 b'"collections": []}\n']), "made by Webloom 9.9 in a format that"),
    ],
    ids=range(5),
)  # fmt: skip
def test_another_file_is_refused(data: bytes, says: str) -> None:
    with pytest.raises(DumpRefused, match=says):
        DumpReader(io.BytesIO(data), next_match)


async def test_an_item_that_the_store_can_not_hold_is_named_by_its_line(
    source: Store, target: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await source.put(*records(3))
    data = await dumped(source)
    put = target.put_if_newer

    async def refuse(collection: str, items: Sequence[Any]) -> list[Any]:
        if any(item.url == url(1) for item in items):
            raise ValueError("no")
        return await put(collection, items)

    monkeypatch.setattr(target, "put_if_newer", refuse)
    assert await refused(target, data) == f"line 3, metadata, {url(1)}: it can't be stored: no"
    assert await target.everything() == by_url([record(0)])


def test_any_difference_changes_the_fingerprint() -> None:
    one = record(1)
    others = [
        replace(one, token=5),
        replace(one, status=Status.FAILED_PERMANENT),
        replace(one, additional_details={"a": 1}),
        replace(one, request_id="other"),
        replace(one, waits=True),
        replace(one, metadata=replace(one.metadata, page_source="texu")),
    ]
    hashes = {stream.hash_of(whole.line_of(each).raw) for each in [one, *others]}
    assert len(hashes) == 7


async def test_a_reader_that_drops_a_cancellation_is_cancelled_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cancellation, "AGAIN_SECONDS", 0.01)
    reading, dropped = asyncio.Event(), asyncio.Event()

    async def numbers() -> AsyncIterator[int]:
        yield 1
        reading.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            dropped.set()
        await asyncio.Event().wait()

    async with asyncio.timeout(10), aclosing(ahead(numbers())) as found:
        assert await anext(found) == 1
        await reading.wait()
    assert dropped.is_set()
