"""A copy that is cut off at the worst moments, or whose target a test spoils."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from fakes.clock import NOON, FakeClock
from webloom.adapters.sqlite.archive import SqliteInventoryArchive
from webloom.adapters.sqlite.database import Database, open_database
from webloom.adapters.sqlite.inventory_store import SqliteInventoryStore
from webloom.application.move import copy_collection
from webloom.application.move.copy_collection import AT_ONCE, CopyCollection, Verdict
from webloom.domain.errors import StoreUnavailable
from webloom.domain.inventory import Metadata, Processing, Status
from webloom.ports.archive import Fingerprint, Slice, StoredRecord

BATCH = 4  # instead of the usual number


class Archive(SqliteInventoryArchive):
    """Counts what it is asked for, and fails once where a test wants it."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.written: list[int] = []  # sizes of batches
        self.reads = 0
        self.fail_read: int | None = None  # at which call
        self.fail_write: int | None = None

    async def read(self, position: str | None, limit: int) -> Slice[StoredRecord]:
        self.reads += 1
        if self.reads == self.fail_read:
            raise StoreUnavailable("the source is gone")
        return await super().read(position, limit)

    async def write(self, items: Sequence[StoredRecord]) -> Fingerprint:
        self.written.append(len(items))
        if len(self.written) == self.fail_write:
            raise StoreUnavailable("the target is gone")
        return await super().write(items)

    async def put(self, *records: StoredRecord) -> None:
        """As others do."""
        await SqliteInventoryArchive.write(self, records)

    async def lose(self, *urls: str) -> None:
        for url in urls:
            assert await SqliteInventoryStore(self._db).forget(url)

    async def everything(self) -> dict[str, StoredRecord]:
        part = await SqliteInventoryArchive.read(self, None, 1000)
        assert part.position is None
        return {each.url: each for each in part.items}


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copy_collection, "BATCH", BATCH)


OpenArchive = Callable[[str], Awaitable[Archive]]


@pytest.fixture
async def open_archive(
    empty_file: Path, tmp_path: Path, clock: FakeClock
) -> AsyncIterator[OpenArchive]:
    async with AsyncExitStack() as stack:

        async def opened(name: str) -> Archive:
            path = tmp_path / f"{name}.db"
            shutil.copy(empty_file, path)
            return Archive(await stack.enter_async_context(open_database(path, clock)))

        yield opened


@pytest.fixture
async def source(open_archive: OpenArchive) -> Archive:
    return await open_archive("source")


@pytest.fixture
async def target(open_archive: OpenArchive) -> Archive:
    return await open_archive("target")


def url(number: int) -> str:
    return f"http://site.example/{number}"


def record(number: int, text: str = "text", *, age: int = 0) -> StoredRecord:
    """Of a greater age is newer."""
    return StoredRecord(
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


def records(count: int) -> list[StoredRecord]:
    return [record(number) for number in range(count)]


def by_url(kept: Iterable[StoredRecord]) -> dict[str, StoredRecord]:
    return {each.url: each for each in kept}


def copying(source: Archive, target: Archive, name: str = "s") -> CopyCollection[StoredRecord]:
    return CopyCollection(source=source, target=target, source_name=name, key=lambda item: item.url)


async def copied(source: Archive, target: Archive) -> Verdict:
    """Copied and verified; nothing is left to be remembered."""
    told: list[int] = []
    collection = copying(source, target)
    done = await collection.copy(told.append)
    assert sum(told) == await source.count()
    assert await target.copied_until("s") is None
    return await collection.verify(done, lambda _: None)


def lines(verdict: Verdict) -> tuple[int, int, int, int, int]:
    return verdict.items, verdict.equal, verdict.newer, verdict.missing, verdict.different


SIZES = [
    (0, "nothing"),
    (1, "one item"),
    (BATCH - 1, "less than a batch"),
    (BATCH, "a whole batch"),
    (BATCH + 1, "a batch and one"),
    (BATCH * 6, "whole batches"),
    (BATCH * 6 + 3, "batches and a rest"),
]
each_size = pytest.mark.parametrize(
    "size", [size for size, _ in SIZES], ids=[why for _, why in SIZES]
)


@each_size
async def test_everything_arrives_and_nothing_is_left_to_go_on_from(
    source: Archive, target: Archive, size: int
) -> None:
    await source.put(*records(size))
    for _ in range(2):
        verdict = await copied(source, target)
        assert verdict.holds
        assert lines(verdict) == (size, size, 0, 0, 0)
        assert verdict.source_hash == verdict.target_hash
        assert await target.everything() == by_url(records(size))


@each_size
async def test_what_has_changed_in_the_source_is_carried_by_the_next_copy(
    source: Archive, target: Archive, size: int
) -> None:
    await source.put(*records(size))
    await copied(source, target)
    changed = [record(number, "changed", age=1) for number in range(size)] + [record(1000)]
    await source.put(*changed)
    assert (await copied(source, target)).holds
    assert await target.everything() == by_url(changed)


@pytest.mark.parametrize("failing", ["read", "write"])
@pytest.mark.parametrize("call", range(1, 9))
async def test_a_copy_that_was_cut_off_goes_on_where_it_was(
    source: Archive, target: Archive, failing: str, call: int
) -> None:
    await source.put(*records(BATCH * 8))
    if failing == "read":
        source.fail_read = call
    else:
        target.fail_write = call
    with pytest.raises(StoreUnavailable, match="is gone"):
        await copying(source, target).copy(lambda _: None)
    begun = len(target.written)
    verdict = await copied(source, target)
    assert verdict.holds
    assert lines(verdict) == (BATCH * 8, BATCH * 8, 0, 0, 0)
    assert await target.everything() == by_url(records(BATCH * 8))
    # Only what was on its way is written twice.
    assert len(target.written) <= 8 + AT_ONCE
    assert len(target.written) - begun <= 8 - max(0, call - 1 - AT_ONCE)


async def interrupted(source: Archive, target: Archive) -> None:
    await source.put(*records(BATCH * 8))
    target.fail_write = 5
    with pytest.raises(StoreUnavailable):
        await copying(source, target).copy(lambda _: None)
    assert await target.copied_until("s")


async def test_what_changed_while_a_copy_was_interrupted_is_not_taken_for_copied(
    source: Archive, target: Archive
) -> None:
    await interrupted(source, target)
    await source.put(record(3, "changed", age=1))
    verdict = await copied(source, target)
    assert not verdict.holds
    assert lines(verdict) == (BATCH * 8, BATCH * 8 - 1, 0, 0, 1)
    assert verdict.samples == [url(3)]
    assert (await copied(source, target)).holds
    assert await target.everything() == await source.everything()


async def test_each_source_has_a_position_of_its_own(
    source: Archive, target: Archive, open_archive: OpenArchive
) -> None:
    await interrupted(source, target)
    newer = await open_archive("other")
    await newer.put(record(0, "of the other", age=1))
    other = copying(newer, target, "other")
    verdict = await other.verify(await other.copy(lambda _: None), lambda _: None)
    assert (verdict.holds, verdict.items) == (True, 1)
    assert await target.copied_until("s")
    assert await target.copied_until("other") is None
    verdict = await copied(source, target)
    assert verdict.holds
    assert lines(verdict) == (BATCH * 8, BATCH * 8 - 1, 1, 0, 0)


async def test_what_came_to_the_source_after_it_was_read_is_missing(
    source: Archive, target: Archive
) -> None:
    await source.put(*records(3))
    collection = copying(source, target)
    done = await collection.copy(lambda _: None)
    await source.put(record(1000))
    verdict = await collection.verify(done, lambda _: None)
    assert not verdict.holds
    assert (verdict.missing, verdict.samples) == (1, [url(1000)])


async def lose_one(target: Archive) -> None:
    await target.lose(url(1))


async def change_one(target: Archive) -> None:
    await target.put(record(1, "!"))


async def exchange_one(target: Archive) -> None:
    await target.lose(url(1))
    await target.put(record(1000))


DAMAGE = [
    ("a record is lost", lose_one, (1, 0)),
    ("a record is changed", change_one, (0, 1)),
    ("one is exchanged for another", exchange_one, (1, 0)),
]


@pytest.mark.parametrize(
    ("damage", "figures"), [row[1:] for row in DAMAGE], ids=[row[0] for row in DAMAGE]
)
@pytest.mark.parametrize("before", [[], [record(2000)]], ids=["empty", "in use"])
async def test_damage_in_the_target_is_seen_and_named(
    source: Archive,
    target: Archive,
    damage: Callable[[Archive], Awaitable[None]],
    figures: tuple[int, int],
    before: list[StoredRecord],
) -> None:
    await source.put(*records(5))
    await target.put(*before)
    collection = copying(source, target)
    done = await collection.copy(lambda _: None)
    await damage(target)
    verdict = await collection.verify(done, lambda _: None)
    assert not verdict.holds
    assert (verdict.missing, verdict.different) == figures
    assert verdict.samples == [url(1)]
    assert verdict.source_hash != verdict.target_hash


async def test_what_is_newer_in_the_target_is_counted_and_left(
    source: Archive, target: Archive
) -> None:
    newer = [record(2, "newer", age=1), record(2000)]
    await source.put(*records(5))
    await target.put(*newer)
    verdict = await copied(source, target)
    assert verdict.holds
    assert lines(verdict) == (5, 4, 1, 0, 0)
    assert await target.everything() == by_url([*records(5), *newer])


async def test_no_more_than_a_few_examples_are_named(source: Archive, target: Archive) -> None:
    await source.put(*records(BATCH * 2))
    collection = copying(source, target)
    done = await collection.copy(lambda _: None)
    await target.lose(*await target.everything())
    verdict = await collection.verify(done, lambda _: None)
    assert (verdict.missing, len(verdict.samples)) == (BATCH * 2, 5)


async def test_a_source_that_fails_during_the_verification_is_told(
    source: Archive, target: Archive
) -> None:
    await source.put(*records(BATCH * 6))
    await target.put(record(2000))
    collection = copying(source, target)
    done = await collection.copy(lambda _: None)
    source.fail_read = source.reads + 3
    with pytest.raises(StoreUnavailable, match="the source is gone"):
        await collection.verify(done, lambda _: None)
