"""What a backend offers to the stores: load a state, decide, save it unless it changed meanwhile.

A store's verb names the keys, the events and a function of the domain that decides:

    decide(state, event, now) -> (new state, answer)      None stands for no such document

The new state decides what is written: None removes the document, an equal state writes nothing, and
of any other only the fields that differ are written. Decisions are pure and never raise. They run
on another thread or several times, always on the state that their result is written over.

SQLite decides inside the transaction of its writer thread. MongoDB reads, decides, and writes on
the condition that the document is as it was read; when another process was faster, it reads and
decides again.

Lost answers: a call that raises StoreUnavailable may have been carried out. `Documents` recognises
its own write when the same process makes the same call again, and repeats its answer. For all other
cases, and for `Pairs`, a decision must give the same answer on a state that it has already changed:
compare ids instead of adding one.

Mixed versions: each MongoDB write leaves an id in `writeId`, which is a part of the condition.
Documents of earlier versions have none, which reads as null. Processes of earlier versions do not
change it. So a codec also names `guards`: the fields that those processes change, compared as they
were read. Both versions can then run side by side.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, overload

from webloom.domain.listing import Count, ListFilter, Order
from webloom.domain.tags import TagCount

State = TypeVar("State")
First = TypeVar("First")
Second = TypeVar("Second")
Event = TypeVar("Event")
Answer = TypeVar("Answer")


class Now(NamedTuple):
    wall: datetime  # the wall clock, in whole milliseconds
    expiry: datetime  # the clock that expired documents are removed by, in whole milliseconds
    timeline: float  # seconds on the clock of leases, which all processes share


@overload
def whole_milliseconds(moment: datetime) -> datetime: ...
@overload
def whole_milliseconds(moment: datetime | None) -> datetime | None: ...
def whole_milliseconds(moment: datetime | None) -> datetime | None:
    """As every backend keeps it."""
    if moment is None:
        return None
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


Decide = Callable[[State | None, Event, Now], tuple[State | None, Answer]]
DecidePair = Callable[
    [First | None, Second | None, Event, Now], tuple[First | None, Second | None, Answer]
]


class Documents(Protocol[State]):
    """The documents of one aggregate, by key. Raises StoreUnavailable."""

    async def read(self, keys: Sequence[str]) -> dict[str, State]:
        """The states that exist, by key."""

    async def change(
        self,
        decide: Decide[State, Event, Answer],
        items: Sequence[tuple[str, Event]],
        *,
        durable: bool = True,
    ) -> list[Answer]:
        """Decide about each (key, event), in order: a later item sees what an earlier one changed.

        Each document is changed atomically. One call is one transaction on SQLite, and one command
        for all updates on MongoDB. Calls made at the same time share it. Without `durable`, a power
        cut may undo the change.
        """


class Call(NamedTuple):
    """Of `change`, with keys as the backend carries them."""

    decide: Decide[Any, Any, Any]
    items: list[tuple[str, Any]]


class BatchedDocuments(ABC, Generic[State]):
    """`Documents` of a backend that serves all calls which wait together."""

    def __init__(self, plain: Callable[[str], str]) -> None:
        self._plain = plain  # a key as the backend carries it

    @abstractmethod
    async def _read(self, keys: Collection[str]) -> dict[str, State]: ...

    @abstractmethod
    async def _submit(self, call: Call, *, durable: bool) -> list[Any]: ...

    async def read(self, keys: Sequence[str]) -> dict[str, State]:
        wanted = {self._plain(key): key for key in keys}
        return {wanted[key]: state for key, state in (await self._read(wanted)).items()}

    async def change(
        self,
        decide: Decide[State, Event, Answer],
        items: Sequence[tuple[str, Event]],
        *,
        durable: bool = True,
    ) -> list[Answer]:
        if not items:
            return []
        call = Call(decide, [(self._plain(key), event) for key, event in items])
        return await self._submit(call, durable=durable)


class Pairs(Protocol[First, Second]):
    """Two documents that change together, such as a watch and its run. Raises StoreUnavailable."""

    async def change(
        self,
        decide: DecidePair[First, Second, Event, Answer],
        key: str,
        event: Event,
        *,
        second: Callable[[First | None], str | None],
    ) -> Answer:
        """Decide about the first document, and the second whose key `second` derives from it.

        SQLite writes both in one transaction. MongoDB writes the first, which is the commit point,
        and then the second. A process can die in between, so `decide` has to accept a pair with
        only the first written, and to return what completes it: repair is another call.
        """


class SortedItems(Protocol[State]):
    """What people configure, as lists: feeds or watches. Raises StoreUnavailable."""

    async def page(
        self, chosen: ListFilter, order: Order, *, limit: int, cursor: str | None
    ) -> tuple[list[State], str | None]:
        """With the cursor of the next page in the same order. Raises BadCursor."""

    async def count(self, chosen: ListFilter, *, most: int) -> Count:
        """How many a filter finds; counting stops behind `most`."""

    async def tags(self) -> list[TagCount]:
        """As `counted_tags` has them."""
