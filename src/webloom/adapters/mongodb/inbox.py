"""Change logs that wait, muted pages, and how many went unread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from pymongo import DESCENDING

from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.index_scan import (
    ScanPlan,
    behind,
    count_index,
    cursor_behind,
    scan_index,
)
from webloom.adapters.mongodb.indexes import (
    CHANGES_LATEST_FIRST,
    CHANGES_OF_WATCH,
    CHANGES_WAITING,
    CHANGES_WAITING_OF_WATCH,
    PAGES_MUTED,
    WAITS,
)
from webloom.adapters.mongodb.page_codec import (
    muting_of,
    muting_part,
    page_update,
    triage_fields,
    triage_of,
    whole_log,
)
from webloom.adapters.mongodb.primitives import Codec, MongoDocuments
from webloom.domain.inbox import (
    InboxState,
    Range,
    first_counted_day,
    muted,
    with_unread,
)
from webloom.domain.listing import Count
from webloom.domain.storage_event import milliseconds_of, moment_of, page_key
from webloom.ports.inbox import MutedPage
from webloom.stores.cursors import page_of
from webloom.stores.inbox import Asked, Listed, Logged, Place, Row, StoredInbox, decide
from webloom.stores.primitives import Now

_PLACE = {"inboxAt": True}
_LOOKED_AT = dict.fromkeys(("timestamp", "inbox"), True)
_COUNTER = "unread"  # the document of `went_unread`


def triage_codec(database: MongoDatabase) -> Codec[Logged]:
    """Of change logs; processes of earlier versions don't know these fields."""
    return Codec(
        database.change_logs,
        decode=lambda document: Logged(int(document["timestamp"]), triage_of(document)),
        encode=lambda log: {} if log.triage is None else triage_fields(log.triage),
        guards=(),
        fields=("timestamp", "inbox", "inboxAt", "inboxDecidedAt"),
    )


class MongoInbox(StoredInbox):
    row_kind = str

    def __init__(self, database: MongoDatabase) -> None:
        self._db = database
        self._logs = MongoDocuments(database, triage_codec(database))
        self._unread = UnreadCounter(database)

    async def _waiting(
        self, chosen: Range, watch_id: str | None, *, limit: int, before: Place | None
    ) -> list[Place]:
        query = page_query(chosen, watch_id, before)
        with self._db.use():
            found = self._db.change_logs.find(**query, projection=_PLACE, limit=limit)
            return [Place(int(each["inboxAt"]), each["_id"]) for each in await found.to_list()]

    async def _count_waiting(self, chosen: Range, watch_id: str | None, *, most: int) -> int:
        logs = self._db.change_logs
        with self._db.use():
            counted = await logs.database.command(
                "count",
                logs.name,
                query=_waiting(chosen, watch_id),
                limit=most + 1,
                hint=dict(_index(watch_id)),
            )
        return int(counted["n"])

    async def _latest(
        self, state: InboxState | None, watch_id: str | None, *, limit: int, cursor: str | None
    ) -> tuple[list[Row], str | None]:
        with self._db.use():
            documents, last = await scan_index(
                self._db.change_logs,
                _plan(state, watch_id),
                bounds=behind("timestamp", cursor),
                order=CHANGES_LATEST_FIRST,
                limit=limit,
                filter_fields=_LOOKED_AT,
                shown=_LOOKED_AT,
            )
        return [each["_id"] for each in documents], cursor_behind("timestamp", last)

    async def _count_latest(
        self, state: InboxState | None, watch_id: str | None, *, most: int
    ) -> Count:
        with self._db.use():
            return await count_index(
                self._db.change_logs,
                _plan(state, watch_id),
                bounds={},
                order=CHANGES_LATEST_FIRST,
                filter_fields=_LOOKED_AT,
                most=most,
            )

    async def _read(self, rows: Sequence[Row]) -> list[Listed]:
        wanted = {"$in": list(rows)}
        with self._db.use():
            found = await self._db.change_logs.find({"_id": wanted}).to_list()
            pages = list({each["page"] for each in found})
            held = self._db.pages.find({"_id": {"$in": pages}, "muted": True}, {"_id": True})
            silent = {each["_id"] for each in await held.to_list()}
        by_key = {each["_id"]: each for each in found if each.get("inbox") is not None}
        return [
            Listed(whole_log(each), each["version"]["previous"], each["page"] in silent)
            for each in (by_key[row] for row in rows if row in by_key)
        ]

    async def _decide(self, keys: Sequence[str], asked: Asked) -> list[bool]:
        return await self._logs.change(_decide_one, [(key, asked) for key in keys])

    async def went_unread(self, *, now: datetime) -> int:
        return await self._unread.since(first_counted_day(now))

    async def mute_page(self, watch_id: str, url: str, *, is_muted: bool, now: datetime) -> bool:
        key = page_key(watch_id, url)
        with self._db.use():
            page = await self._db.pages.find_one({"_id": key}, {"muted": True, "mutedAt": True})
            if page is None:
                return False
            known = muting_of(page)
            new = muted(known, is_muted=is_muted, now=milliseconds_of(now))
            if new is not None and new is not known:
                update = page_update(watch_id, url, {"muting": muting_part(new)}, None)
                await self._db.pages.update_one({"_id": key}, update)
        return True

    async def muted_pages(
        self, *, limit: int, cursor: str | None = None
    ) -> tuple[list[MutedPage], str | None]:
        with self._db.use():
            found = self._db.pages.find(
                {"muted": True} | behind("mutedAt", cursor),
                {"jobId": True, "url": True, "mutedAt": True},
                sort=PAGES_MUTED,
                hint=PAGES_MUTED,
                limit=limit + 1,
            )
            pages, following = page_of(
                await found.to_list(), limit, lambda each: (int(each["mutedAt"]), each["_id"])
            )
        return [
            MutedPage(
                watch_id=each["jobId"], url=each["url"], muted_at=moment_of(int(each["mutedAt"]))
            )
            for each in pages
        ], following


def page_query(chosen: Range, watch_id: str | None, before: Place | None) -> Document:
    wanted = _waiting(chosen, watch_id)
    if before is not None:
        at, row = before
        wanted["inboxAt"]["$lte"] = min(chosen.to, at)
        wanted["$or"] = [{"inboxAt": {"$lt": at}}, {"_id": {"$lt": row}}]
    order = [("inboxAt", DESCENDING), ("_id", DESCENDING)]
    return {"filter": wanted, "sort": order, "hint": _index(watch_id)}


def _waiting(chosen: Range, watch_id: str | None) -> Document:
    times = WAITS["inboxAt"] | {"$gt": chosen.after, "$lte": chosen.to}
    wanted: Document = {"inbox": chosen.state.value, "inboxAt": times}
    return wanted if watch_id is None else wanted | {"jobId": plain(watch_id)}


def _index(watch_id: str | None) -> list[tuple[str, int]]:
    return CHANGES_WAITING if watch_id is None else CHANGES_WAITING_OF_WATCH


def _plan(state: InboxState | None, watch_id: str | None) -> ScanPlan:
    accepts = _accepts(state)
    if watch_id is None:
        return ScanPlan(index=CHANGES_LATEST_FIRST, found={}, accepts=accepts)
    return ScanPlan(index=CHANGES_OF_WATCH, found={"jobId": plain(watch_id)}, accepts=accepts)


def _accepts(state: InboxState | None) -> Callable[[Document], bool]:
    if state is None:
        return lambda document: document.get("inbox") is not None
    return lambda document: document.get("inbox") == state.value


def _decide_one(log: Logged | None, asked: Asked, now: Now) -> tuple[Logged | None, bool]:
    return decide(log, asked)


# How many went unread


@dataclass(frozen=True, kw_only=True, slots=True)
class _Counted:
    days: dict[int, int] = field(default_factory=dict)
    until: datetime | None = None  # what expires by then is counted


@dataclass(frozen=True, kw_only=True, slots=True)
class _More:
    number: int
    after: datetime | None = None  # as it was read; None for what is pruned
    until: datetime | None = None


class UnreadCounter:
    """The database removes expired change logs itself. So those that wait are counted a while
    before they expire, each once: behind the last that was counted, whichever scheduler did it."""

    def __init__(self, database: MongoDatabase) -> None:
        self._db = database
        self._documents = MongoDocuments(
            database,
            Codec(
                database.went_unread,
                decode=lambda document: _Counted(
                    days={int(day): count for day, count in document["days"].items()},
                    until=document["until"],
                ),
                encode=lambda counted: {
                    "days": {str(day): count for day, count in counted.days.items()},
                    "until": counted.until,
                },
                guards=(),
            ),
        )

    async def since(self, day: int) -> int:
        days = (await self._known()).days
        return sum(count for each, count in days.items() if each >= day)

    async def count_expiring(self, ahead: timedelta) -> None:
        """Those that expire within that time."""
        after = (await self._known()).until
        until = self._db.server_time() + ahead
        until = until.replace(microsecond=until.microsecond // 1000 * 1000)
        if after is not None and until <= after:
            return
        expiring = {"$lte": until} | ({} if after is None else {"$gt": after})
        with self._db.use():
            number = await self._db.change_logs.count_documents(WAITS | {"expireAt": expiring})
        await self._add(_More(number=number, after=after, until=until))

    async def add_pruned(self, number: int) -> None:
        await self._add(_More(number=number))

    async def counted_until(self) -> datetime | None:
        return (await self._known()).until

    async def _known(self) -> _Counted:
        return (await self._documents.read([_COUNTER])).get(_COUNTER, _Counted())

    async def _add(self, more: _More) -> None:
        await self._documents.change(_with_more, [(_COUNTER, more)])


def _with_more(counted: _Counted | None, more: _More, now: Now) -> tuple[_Counted, None]:
    counted = counted or _Counted()
    if more.until is not None and counted.until != more.after:
        return counted, None  # another scheduler has counted them
    days = with_unread(counted.days, now.expiry, more.number)
    return _Counted(days=days, until=more.until or counted.until), None
