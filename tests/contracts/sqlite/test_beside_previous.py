"""A process of the previous version works with the same file, before, beside or after this one."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contracts.list_samples import LISTS, Listed
from contracts.page_samples import JOB, TS, URL, event, parsed
from contracts.sqlite_backend import stores_in
from contracts.watch_samples import REASONS, notification
from fakes.clock import FakeClock
from webloom.adapters.sqlite.database import Database, open_database
from webloom.bootstrap.stores import Stores
from webloom.deltas import compressed, restored
from webloom.domain.reason_words import sentences
from webloom.parsing.storage_event import canonical
from webloom.ports.dump import WholeLog, WholeVersion
from webloom.ports.inbox import InboxFilter
from webloom.ports.page_history import ChangeFilter


@pytest.fixture
async def database(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Database]:
    async with open_database(tmp_path / "webloom.db", clock) as opened:
        yield opened


@pytest.fixture
def stores(database: Database) -> Stores:
    return stores_in(database)


def rows(folder: Path, query: str, *values: object) -> list[Any]:
    with closing(sqlite3.connect(folder / "webloom.db")) as connection, connection:
        return connection.execute(query, values).fetchall()


def whole_version(number: int) -> WholeVersion:
    made = event(f"text {number}", ts=TS + number)
    return WholeVersion(
        key=made.snapshot_key,
        watch_id=made.watch_id,
        url=made.url,
        number=number,
        place=made.place,
        content=dict(made.parsed or {}),
        expires_at=None,
    )


def digests(folder: Path) -> dict[int, bytes]:
    """By the number of the version. The previous version gives content to one without."""
    found = rows(folder, "SELECT number, digest FROM snapshots WHERE content_rank IS NOT NULL")
    return dict(found)


def expected(*texts: str) -> dict[int, bytes]:
    """As the previous version computes them."""
    return {
        number: hashlib.blake2b(canonical(parsed(text)), digest_size=16).digest()
        for number, text in enumerate(texts, 1)
    }


async def test_each_content_has_the_digest_that_earlier_versions_look_for(
    tmp_path: Path, stores: Stores
) -> None:
    for number in (1, 3, 2):
        await stores.pages.store_event(event(f"text {number}", ts=TS + number))
    assert digests(tmp_path) == expected("text 1", "text 2", "text 3")


async def test_each_content_from_a_dump_has_it_too(tmp_path: Path, stores: Stores) -> None:
    await stores.whole.put_if_newer("snapshots", [whole_version(each) for each in (3, 1, 2)])
    assert digests(tmp_path) == expected("text 1", "text 2", "text 3")


async def test_a_version_whose_content_has_expired_is_not_filled_again(
    tmp_path: Path, clock: FakeClock, stores: Stores
) -> None:
    gone = whole_version(7)
    log = WholeLog(
        key=gone.key,
        watch_id=gone.watch_id,
        url=gone.url,
        number=7,
        place=gone.place,
        run_id=None,
        changes={"textChanged": True},
        alerts=[],
        expires_at=clock.now(),
    )
    await stores.whole.put_if_newer("change_logs", [log])
    assert digests(tmp_path) == {7: b""}


async def test_a_delta_that_was_made_beforehand_fits_the_content_that_is_there(
    tmp_path: Path, database: Database, stores: Stores
) -> None:
    """An earlier version may give a version other content between the two."""
    await stores.pages.store_event(event("text 1", ts=TS + 1))
    pages: Any = stores.pages
    made, write = [], database.write

    async def overtaken(operation: Any, item: Any) -> Any:
        made.append(item)
        rows(tmp_path, "UPDATE snapshots SET digest = x'00'")
        return await write(operation, item)

    database.write = overtaken  # type: ignore[method-assign]
    await pages.store_event(event("text 2", ts=TS + 2))
    [draft] = made
    assert draft.content.superseded.digest == expected("text 1")[1]
    assert await stores.page_history.parsed(JOB, URL, 1) == parsed("text 1")


@pytest.mark.parametrize("length", [1, 2])
async def test_versions_that_are_deltas_against_each_other_are_an_error(
    tmp_path: Path, stores: Stores, length: int
) -> None:
    """And no endless loop, which would keep the file locked."""
    for number in (1, 2):
        await stores.pages.store_event(event(f"text {number}", ts=TS + 2 * number))
    [(newest,)] = rows(tmp_path, "SELECT id FROM snapshots WHERE number = 2")
    [(base,)] = rows(tmp_path, "SELECT id FROM snapshots WHERE number = ?", 3 - length)
    rows(tmp_path, "UPDATE snapshots SET base = ? WHERE id = ?", base, newest)
    with pytest.raises(ValueError, match="delta against itself"):
        await stores.page_history.parsed(JOB, URL, 2)
    with pytest.raises(ValueError, match="delta against itself"):
        await stores.pages.store_event(event("text 3", ts=TS + 3))
    rows(tmp_path, "UPDATE snapshots SET base = NULL WHERE id = ?", newest)  # it is not locked


# Why people are notified


async def test_a_change_has_sentences_for_it_and_its_own_have_no_reasons(
    tmp_path: Path, stores: Stores
) -> None:
    worded = sentences(REASONS)
    made = event("text 2", version=2, is_change=True, reasons=REASONS, alerts=worded)
    await stores.pages.store_event(made)
    [(body,)] = rows(tmp_path, "SELECT body FROM change_logs")
    content = json.loads(restored(body))
    assert content["alerts"] == worded
    del content["reasons"]
    rows(tmp_path, "UPDATE change_logs SET body = ?", compressed(canonical(content)))
    [log], _ = await stores.page_history.change_logs(ChangeFilter(), limit=9)
    assert (log.reasons, log.sentences) == ([], worded)


async def test_a_notification_that_it_adds_has_lines_only(tmp_path: Path, stores: Stores) -> None:
    await stores.notifications.add([notification("new")])
    names = "watch_id, target_url, run_id, due_at, lines, attempts, given_up, batch"
    rows(
        tmp_path,
        f"INSERT INTO notices (notice_id, {names}) SELECT 'notice old', {names} FROM notices",
    )
    found, _ = await stores.notifications.of_watch("id of shop", limit=9)
    by_id = {each.notification_id: each for each in found}
    assert by_id["notice new"].changes
    assert by_id["notice old"] == replace(
        by_id["notice new"], notification_id="notice old", changes=[]
    )


# The inbox


async def test_a_change_that_it_stores_is_not_in_the_inbox_and_one_that_it_corrects_stays(
    tmp_path: Path, clock: FakeClock, stores: Stores
) -> None:
    """It writes the columns that it knows."""
    await stores.pages.store_event(event("text 1", ts=TS + 1, is_change=True))
    await stores.pages.store_event(event("text 2", ts=TS + 2, is_change=True))
    columns = "snapshot, page, job_id, ts, rank, run_id, body, expire_at, batch, untold, is_keyed"
    [(one, *values), (two, *_)] = rows(tmp_path, f"SELECT {columns} FROM change_logs")
    rows(tmp_path, "DELETE FROM change_logs WHERE snapshot = ?", one)
    for snapshot in (one, two):
        rows(
            tmp_path,
            f"INSERT INTO change_logs ({columns}) VALUES ({', '.join('?' * 11)}) "
            "ON CONFLICT (snapshot) DO UPDATE SET ts = excluded.ts, rank = excluded.rank",
            *(snapshot, *values),
        )
    entries, _ = await stores.inbox.entries(InboxFilter(), now=clock.now(), limit=9)
    assert [each.change.changes["to"] for each in entries] == ["text 2"]
    assert [each.change.timestamp for each in entries] == [TS + 1]


# What lists are searched by


def rename(folder: Path, listed: Listed, item_id: str, name: str) -> None:
    rows(
        folder,
        f"UPDATE {listed.name} SET config = json_set(config, '$.name', ?), name = ?, "
        f"updated_at = updated_at + 1000 WHERE {listed.sqlite_key} = ?",
        name,
        name,
        item_id,
    )


def copy(folder: Path, listed: Listed, item_id: str, new_id: str) -> None:
    """With the columns that the previous version writes."""
    names = ("created_at", "updated_at", "last_fetch", "failures")
    columns = {name: name for name in names}
    if listed.name == "watches":
        del columns["last_fetch"]
    else:
        columns |= {"url": "url || '?copy'", "revision": "0"}
    columns |= {"name": "'copied'", "config": "json_set(config, '$.name', 'copied')"}
    columns[listed.sqlite_key] = f"'{new_id}'"
    rows(
        folder,
        f"INSERT INTO {listed.name} ({', '.join(columns)}) "
        f"SELECT {', '.join(columns.values())} FROM {listed.name} WHERE {listed.sqlite_key} = ?",
        item_id,
    )


@pytest.mark.parametrize("listed", LISTS, ids=lambda each: each.name)
async def test_what_it_edits_and_adds_is_found_by_its_words(
    tmp_path: Path, stores: Stores, listed: Listed
) -> None:
    await listed.add(stores, "one", name="alpha", tags=["red"])
    rename(tmp_path, listed, "one", "beta")
    copy(tmp_path, listed, "one", "two")
    assert await stores.list_upkeep.make_searchable() == 2
    assert await listed.found(stores, "alpha") == []
    assert await listed.found(stores, "beta red") == ["one"]
    assert await listed.found(stores, "copied") == ["two"]
    assert await stores.list_upkeep.make_searchable() == 0


@pytest.mark.parametrize("listed", LISTS, ids=lambda each: each.name)
async def test_an_edit_that_leaves_the_words_alone_writes_them_too(
    tmp_path: Path, clock: FakeClock, stores: Stores, listed: Listed
) -> None:
    await listed.add(stores, "one", name="alpha")
    rename(tmp_path, listed, "one", "beta")
    clock.advance(60)
    await listed.edit(stores, "one", enabled=False)
    assert await listed.found(stores, "alpha") == []
    assert await listed.found(stores, "beta") == ["one"]
    assert await stores.list_upkeep.make_searchable() == 0


@pytest.mark.parametrize("listed", LISTS, ids=lambda each: each.name)
async def test_what_it_leaves_is_found_once_the_file_is_open(
    tmp_path: Path, clock: FakeClock, listed: Listed
) -> None:
    """All but what can't be read, which must not keep a process from starting."""
    file = tmp_path / "webloom.db"
    async with open_database(file, clock) as database:
        for item_id in ("one", "two"):
            await listed.add(stores_in(database), item_id, name="alpha")
        rename(tmp_path, listed, "one", "beta")
        broken = f"UPDATE {listed.name} SET config = json_set(config, '$.tags', 5, '$.name', 7)"
        rows(tmp_path, f"{broken}, updated_at = 0 WHERE {listed.sqlite_key} = 'two'")
    async with open_database(file, clock) as database:
        assert await listed.found(stores_in(database), "beta") == ["one"]
        assert await listed.found(stores_in(database), "alpha") == []
