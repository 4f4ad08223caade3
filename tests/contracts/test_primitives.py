"""The contract of `Documents` and `Pairs`, which all stores are made of."""

from __future__ import annotations

import asyncio

import pytest

from contracts.adapters import Processes
from contracts.primitives import Primitives
from webloom.domain.lease import Lease
from webloom.stores.primitives import Now

Opened = Processes[Primitives]


def add(state: Lease | None, amount: int, now: Now) -> tuple[Lease, int]:
    """Counts in the token."""
    state = state or Lease("", 0, 0.0)
    total = state.token + amount
    return state._replace(token=total), total


def put(state: Lease | None, new: Lease | None, now: Now) -> tuple[Lease | None, Lease | None]:
    """Answers what there was."""
    return new, state


def leave(state: Lease | None, event: None, now: Now) -> tuple[Lease | None, Lease | None]:
    return state, state


def move(
    giver: Lease | None, taker: Lease | None, amount: int, now: Now
) -> tuple[Lease | None, Lease | None, str]:
    """A transfer that completes what is half done: the giver's `owner` names what is on its way,
    the taker's what has arrived."""
    if giver is None:
        return None, taker, "no giver"
    taker = taker or Lease("", 0, 0.0)
    parcel = giver.owner or f"parcel {giver.token}"
    if not giver.owner:
        giver = giver._replace(token=giver.token - amount, owner=parcel)
    if taker.owner != parcel:
        taker = taker._replace(token=taker.token + amount, owner=parcel)
    return giver, taker, parcel


async def test_a_document_is_made_changed_and_removed(primitives: Opened) -> None:
    async with primitives.open() as one, primitives.open() as two:
        first, second = Lease("a", 1, 2.5), Lease("b\ud800", 7, 0.0)
        assert await one.documents.change(put, [("x", first)]) == [None]
        assert await two.documents.read(["x", "y"]) == {"x": first}
        assert await two.documents.change(put, [("x", second)]) == [first]
        changed = (await one.documents.read(["x"]))["x"]
        assert (changed.token, changed.until) == (7, 0.0)
        assert await one.documents.change(put, [("x", None)]) == [changed]
        assert await two.documents.read(["x"]) == {}
        assert await two.documents.change(put, [("x", None)]) == [None]
        assert await two.documents.change(put, []) == []
        assert await two.documents.read([]) == {}


async def test_keys_that_no_database_can_carry_are_replaced_alike(primitives: Opened) -> None:
    odd = "a\0b\ud800c"
    async with primitives.open() as one:
        assert await one.documents.change(add, [(odd, 2)]) == [2]
        assert await one.documents.change(add, [(odd, 2)]) == [4]
        assert [each.token for each in (await one.documents.read([odd])).values()] == [4]


async def test_later_items_of_a_call_see_what_earlier_ones_changed(primitives: Opened) -> None:
    async with primitives.open() as one:
        items = [("x", 1), ("y", 10), ("x", 2), ("y", 20), ("x", 3)]
        assert await one.documents.change(add, items) == [1, 10, 3, 30, 6]
        assert await one.documents.change(add, items, durable=False) == [7, 40, 9, 60, 12]


async def test_of_a_decision_only_what_differs_is_written(primitives: Opened) -> None:
    async with primitives.open() as one:
        await one.documents.change(put, [("x", Lease("a", 1, 0.0)), ("y", Lease("b", 1, 0.0))])
        states = await one.documents.change(leave, [("x", None), ("z", None), ("y", None)])
        assert states == [Lease("a", 1, 0.0), None, Lease("b", 1, 0.0)]
        assert set(await one.documents.read(["x", "y", "z"])) == {"x", "y"}


async def test_nothing_is_lost_of_what_many_change_at_once(primitives: Opened) -> None:
    async with primitives.open() as one, primitives.open() as two:
        answers = await asyncio.gather(
            *(
                store.documents.change(add, [("x", 1), (f"{number % 5}", 1)], durable=number > 9)
                for number in range(20)
                for store in (one, two)
            )
        )
        assert sorted(total for total, _ in answers) == list(range(1, 41))
        found = await two.documents.read(["x", *(f"{number}" for number in range(5))])
        assert sorted(each.token for each in found.values()) == [8, 8, 8, 8, 8, 40]


async def test_decisions_are_given_the_time(primitives: Opened) -> None:
    def reported(state: Lease | None, event: None, now: Now) -> tuple[None, Now]:
        return None, now

    async with primitives.open() as one:
        [before] = await one.documents.change(reported, [("x", None)])
        await primitives.pass_time(1.5)
        [after] = await one.documents.change(reported, [("x", None)])
        assert (after.wall - before.wall).total_seconds() == 1.5
        assert after.timeline - before.timeline == pytest.approx(1.5)
        assert after.expiry.microsecond % 1000 == 0


async def test_two_documents_change_together(primitives: Opened) -> None:
    async with primitives.open() as one, primitives.open() as two:
        await one.documents.change(put, [("x", Lease("", 10, 0.0))])
        for store in (one, two, one):  # the same again changes nothing
            parcel = await store.pairs.change(move, "x", 4, second=lambda giver: "y")
            assert parcel == "parcel 10"
            found = await two.documents.read(["x", "y"])
            assert {key: each.token for key, each in found.items()} == {"x": 6, "y": 4}
        assert await one.pairs.change(move, "z", 1, second=lambda giver: None) == "no giver"
        assert await one.documents.read(["z"]) == {}


async def test_a_pair_of_which_only_the_first_is_written_is_completed(primitives: Opened) -> None:
    async with primitives.open() as one:
        await one.documents.change(put, [("x", Lease("parcel 10", 6, 0.0))])
        parcel = await one.pairs.change(
            move, "x", 4, second=lambda giver: "y" if giver and giver.owner else None
        )
        assert parcel == "parcel 10"
        assert (await one.documents.read(["y"]))["y"].token == 4


async def test_of_many_who_change_a_pair_one_does(primitives: Opened) -> None:
    async with primitives.open() as one, primitives.open() as two:
        await one.documents.change(put, [("x", Lease("", 10, 0.0)), ("y", Lease("", 0, 0.0))])
        parcels = await asyncio.gather(
            *(
                store.pairs.change(move, "x", 4, second=lambda giver: "y")
                for _ in range(10)
                for store in (one, two)
            )
        )
        assert set(parcels) == {"parcel 10"}
        found = await two.documents.read(["x", "y"])
        assert {key: each.token for key, each in found.items()} == {"x": 6, "y": 4}
