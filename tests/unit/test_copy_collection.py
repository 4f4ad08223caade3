"""A copy that is cut off at the worst moments, over archives that a test can spoil."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from webloom.application.move.copy_collection import AT_ONCE, BATCH, CopyCollection, Verdict
from webloom.domain.errors import StoreUnavailable
from webloom.ports.archive import Archive, Fingerprint, Slice


@dataclass(frozen=True, kw_only=True, slots=True)
class Thing:
    key: str
    text: str = "text"
    age: int = 0


@dataclass(kw_only=True)
class FakeArchive:
    things: dict[str, Thing] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    written: list[int] = field(default_factory=list)  # sizes of batches
    reads: int = 0
    fail_read: int | None = None  # at which call
    fail_write: int | None = None

    async def count(self) -> int:
        return len(self.things)

    async def read(self, position: str | None, limit: int) -> Slice[Thing]:
        self.reads += 1
        if self.reads == self.fail_read:
            raise StoreUnavailable("the source is gone")
        keys = [key for key in sorted(self.things) if position is None or key > position]
        return Slice(
            items=[self.things[key] for key in keys[:limit]],
            position=keys[limit - 1] if len(keys) >= limit else None,
        )

    async def same_as(self, items: Sequence[Thing]) -> list[Thing | None]:
        return [self.things.get(item.key) for item in items]

    async def write(self, items: Sequence[Thing]) -> Fingerprint:
        self.written.append(len(items))
        if len(self.written) == self.fail_write:
            raise StoreUnavailable("the target is gone")
        for item in items:
            here = self.things.get(item.key)
            if here is None or not self.is_newer(here, item):
                self.things[item.key] = item
        return _fingerprint(items)

    async def fingerprint(self, progress: Callable[[int], None]) -> Fingerprint:
        progress(len(self.things))
        return _fingerprint(list(self.things.values()))

    def is_newer(self, one: Thing, other: Thing) -> bool:
        return one.age > other.age

    async def copied_until(self, source: str) -> str | None:
        return self.notes.get(source)

    async def note_copied(self, source: str, position: str | None) -> None:
        if position is None:
            self.notes.pop(source, None)
        else:
            self.notes[source] = position


def _fingerprint(items: Sequence[Thing]) -> Fingerprint:
    return Fingerprint(items=len(items), hash=sum(hash(item) for item in items) % (1 << 128))


def things(count: int) -> dict[str, Thing]:
    return {f"{n:06}": Thing(key=f"{n:06}") for n in range(count)}


def copying(
    source: Archive[Thing], target: Archive[Thing], name: str = "s"
) -> CopyCollection[Thing]:
    return CopyCollection(source=source, target=target, source_name=name, key=lambda item: item.key)


async def copied(source: FakeArchive, target: FakeArchive) -> Verdict:
    """Copied and verified; nothing is left to be remembered."""
    told: list[int] = []
    collection = copying(source, target)
    done = await collection.copy(told.append)
    assert sum(told) == len(source.things)
    assert target.notes == {}
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
    (BATCH * 6 + 7, "batches and a rest"),
]


@pytest.mark.parametrize("size", [size for size, _ in SIZES], ids=[why for _, why in SIZES])
async def test_everything_arrives_and_nothing_is_left_to_go_on_from(size: int) -> None:
    source, target = FakeArchive(things=things(size)), FakeArchive()
    for _ in range(2):
        verdict = await copied(source, target)
        assert verdict.holds
        assert lines(verdict) == (size, size, 0, 0, 0)
        assert verdict.source_hash == verdict.target_hash
        assert target.things == source.things


@pytest.mark.parametrize("size", [size for size, _ in SIZES], ids=[why for _, why in SIZES])
async def test_what_has_changed_in_the_source_is_carried_by_the_next_copy(size: int) -> None:
    source, target = FakeArchive(things=things(size)), FakeArchive()
    await copied(source, target)
    source.things = {
        key: replace(thing, text="changed", age=1) for key, thing in source.things.items()
    } | {"1": Thing(key="1")}
    assert (await copied(source, target)).holds
    assert target.things == source.things


@pytest.mark.parametrize("failing", ["read", "write"])
@pytest.mark.parametrize("call", range(1, 9))
async def test_a_copy_that_was_cut_off_goes_on_where_it_was(failing: str, call: int) -> None:
    source, target = FakeArchive(things=things(BATCH * 8)), FakeArchive()
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
    assert target.things == source.things
    # Only what was on its way is written twice.
    assert len(target.written) <= 8 + AT_ONCE
    assert len(target.written) - begun <= 8 - max(0, call - 1 - AT_ONCE)


async def interrupted(source: FakeArchive, target: FakeArchive) -> None:
    target.fail_write = 5
    with pytest.raises(StoreUnavailable):
        await copying(source, target).copy(lambda _: None)
    assert target.notes


async def test_what_changed_while_a_copy_was_interrupted_is_not_taken_for_copied() -> None:
    source, target = FakeArchive(things=things(BATCH * 8)), FakeArchive()
    await interrupted(source, target)
    source.things["000003"] = Thing(key="000003", text="changed", age=1)
    verdict = await copied(source, target)
    assert not verdict.holds
    assert lines(verdict) == (BATCH * 8, BATCH * 8 - 1, 0, 0, 1)
    assert verdict.samples == ["000003"]
    assert (await copied(source, target)).holds
    assert target.things == source.things


async def test_each_source_has_a_position_of_its_own() -> None:
    source, target = FakeArchive(things=things(BATCH * 8)), FakeArchive()
    await interrupted(source, target)
    newer = FakeArchive(things={"000000": Thing(key="000000", text="of the other", age=1)})
    other = copying(newer, target, "other")
    verdict = await other.verify(await other.copy(lambda _: None), lambda _: None)
    assert (verdict.holds, verdict.items) == (True, 1)
    assert list(target.notes) == ["s"]
    verdict = await copied(source, target)
    assert verdict.holds
    assert lines(verdict) == (BATCH * 8, BATCH * 8 - 1, 1, 0, 0)


async def test_what_came_to_the_source_after_it_was_read_is_missing() -> None:
    source, target = FakeArchive(things=things(3)), FakeArchive()
    collection = copying(source, target)
    done = await collection.copy(lambda _: None)
    source.things["late"] = Thing(key="late")
    verdict = await collection.verify(done, lambda _: None)
    assert not verdict.holds
    assert (verdict.missing, verdict.samples) == (1, ["late"])


DAMAGE: list[tuple[str, Callable[[dict[str, Thing]], object], tuple[int, int]]] = [
    ("a record is lost", lambda kept: kept.pop("000001"), (1, 0)),
    (
        "a record is changed",
        lambda kept: kept.update({"000001": Thing(key="000001", text="!")}),
        (0, 1),
    ),
    (
        "one is exchanged for another",
        lambda kept: (kept.pop("000001"), kept.update({"x": Thing(key="x")})),
        (1, 0),
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("damage", "figures"), [(row[1], row[2]) for row in DAMAGE], ids=[row[0] for row in DAMAGE]
)
@pytest.mark.parametrize("before", [{}, {"other": Thing(key="other")}], ids=["empty", "in use"])
async def test_damage_in_the_target_is_seen_and_named(
    damage: Callable[[dict[str, Thing]], object],
    figures: tuple[int, int],
    before: dict[str, Thing],
) -> None:
    source, target = FakeArchive(things=things(5)), FakeArchive(things=dict(before))
    collection = copying(source, target)
    done = await collection.copy(lambda _: None)
    damage(target.things)
    verdict = await collection.verify(done, lambda _: None)
    assert not verdict.holds
    assert (verdict.missing, verdict.different) == figures
    assert verdict.samples == ["000001"]
    assert verdict.source_hash != verdict.target_hash


async def test_what_is_newer_in_the_target_is_counted_and_left() -> None:
    newer = Thing(key="000002", text="newer", age=1)
    source = FakeArchive(things=things(5))
    target = FakeArchive(things={"000002": newer, "other": Thing(key="other")})
    verdict = await copied(source, target)
    assert verdict.holds
    assert lines(verdict) == (5, 4, 1, 0, 0)
    assert target.things == source.things | {"000002": newer, "other": Thing(key="other")}


async def test_no_more_than_a_few_examples_are_named() -> None:
    source, target = FakeArchive(things=things(BATCH * 2)), FakeArchive()
    collection = copying(source, target)
    done = await collection.copy(lambda _: None)
    target.things.clear()
    verdict = await collection.verify(done, lambda _: None)
    assert (verdict.missing, len(verdict.samples)) == (BATCH * 2, 5)


async def test_a_source_that_fails_during_the_verification_is_told() -> None:
    source, target = (
        FakeArchive(things=things(BATCH * 6)),
        FakeArchive(things={"x": Thing(key="x")}),
    )
    collection = copying(source, target)
    done = await collection.copy(lambda _: None)
    source.fail_read = source.reads + 3
    with pytest.raises(StoreUnavailable, match="the source is gone"):
        await collection.verify(done, lambda _: None)
