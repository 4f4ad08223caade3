"""`webloom copy` as a user runs it: real processes, a real mongod, files."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pymongo
import pytest

from contracts.adapters import Watching, watching_of
from contracts.import_samples import MAY, import_all, posting
from contracts.page_samples import state_of
from contracts.sqlite_backend import stores_in
from contracts.watch_samples import begin, check, end, event, notification, price
from e2e.copying import (
    COLLECTIONS,
    Documents,
    by_url,
    fill,
    held,
    open_whole,
    records,
    start,
    url_of,
)
from e2e.running import finished
from webloom.adapters.sqlite.database import open_database
from webloom.adapters.sqlite.imports import sqlite_imports
from webloom.adapters.system_clock import SystemClock
from webloom.domain.feed import Feed
from webloom.domain.inventory import Status
from webloom.ports.import_runs import RunFilter, RunPage
from webloom.ports.imports import Imports
from webloom.ports.postings import PostingFilter, StoredPosting


@asynccontextmanager
async def documents_of(address: str) -> AsyncIterator[pymongo.database.Database[dict[str, Any]]]:
    with Documents(address) as client:
        yield client.get_default_database()


async def copied(source: str, target: str, env: dict[str, str], code: int = 0) -> dict[str, Any]:
    """What --json tells of the inventory, with the exit code that is expected."""
    ended = await finished("copy", "--from", source, "--to", target, "--json", env=env)
    assert ended.returncode == code, ended.stderr
    assert "Traceback" not in ended.stderr
    reports = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [each["collection"] for each in reports] == COLLECTIONS
    report: dict[str, Any] = reports[0]
    assert report["verified"] is (code == 0)
    assert all(each["verified"] for each in reports[1:])
    return report


async def test_everything_goes_to_mongodb_and_back(
    tmp_path: Path, env: dict[str, str], mongodb: str
) -> None:
    items = records(3001)
    source = await fill(tmp_path / "source.db", items)
    there = await finished("copy", "--from", source, "--to", mongodb, env=env)
    assert there.returncode == 0, there.stderr
    first, of_source, of_target, *others = there.stdout.splitlines()
    assert first == "metadata: 3,001 items, 3,001 equal in the target"
    assert of_source.startswith("  hash of the source  ")
    assert of_target.startswith("  hash of the target  ")
    reported = [line for line in others if not line.startswith(" ")]
    assert reported == [f"{name}: 0 items, 0 equal in the target" for name in COLLECTIONS[1:]]
    hashes = {line.split()[-1] for line in (of_source, of_target)}
    assert len(hashes) == 1
    assert all(len(each) == 32 and int(each, 16) for each in hashes)
    async with documents_of(mongodb) as database:
        assert database["metadata"].count_documents({}) == 3001
        assert database["metadata"].count_documents({"status": "COMPLETED"}) == 2573
        assert database["copies"].count_documents({}) == 0

    back = await copied(mongodb, f"sqlite:///{tmp_path / 'back.db'}", env)
    assert (back["items"], back["equal"]) == (3001, 3001)
    assert back["source_hash"] == back["target_hash"]
    assert (back["missing"], back["different"], back["newer_in_target"]) == (0, 0, 0)
    assert back["samples"] == []
    assert await held(tmp_path / "back.db") == by_url(items)
    assert await held(tmp_path / "source.db") == by_url(items)


async def test_an_empty_store_is_copied(tmp_path: Path, env: dict[str, str], mongodb: str) -> None:
    source = await fill(tmp_path / "source.db", [])
    assert (await copied(source, mongodb, env))["items"] == 0
    assert (await copied(mongodb, f"sqlite:///{tmp_path / 'b.db'}", env))["items"] == 0


async def test_a_file_is_copied_to_a_file_with_addresses_read_from_files(
    tmp_path: Path, env: dict[str, str]
) -> None:
    """1,000 is a whole number of batches."""
    items = records(1000)
    (tmp_path / "from").write_text(await fill(tmp_path / "source.db", items) + "\n")
    (tmp_path / "to").write_text(f"sqlite:///{tmp_path / 'new' / 'target.db'}")
    for number in range(2):
        report = await copied(f"@{tmp_path / 'from'}", f"@{tmp_path / 'to'}", env)
        assert (report["items"], report["equal"]) == (1000, 1000)
        assert await held(tmp_path / "new" / "target.db") == by_url(items)
        items[number] = replace(
            items[number],
            status=Status.FAILED_PERMANENT,
            updated_at=items[number].updated_at + timedelta(days=1),
        )
        await fill(tmp_path / "source.db", [items[number]])
    await copied(f"@{tmp_path / 'from'}", f"@{tmp_path / 'to'}", env)
    assert await held(tmp_path / "new" / "target.db") == by_url(items)


async def test_relative_files_of_two_folders_are_two_sources(
    tmp_path: Path, env: dict[str, str]
) -> None:
    """What the target has noted of one says nothing of the other."""
    home = Path(env["HOME"])
    await fill(home / "source.db", records(600))
    target = tmp_path / "target.db"
    await fill(target, [])
    async with open_whole(target) as store:
        await store.note("copy sqlite:///source.db", "not a note")
    assert (await copied("sqlite:///source.db", f"sqlite:///{target}", env))["equal"] == 600


async def test_a_target_keeps_what_it_held_before(
    tmp_path: Path, env: dict[str, str], mongodb: str
) -> None:
    before = await fill(tmp_path / "before.db", records(700, first=10_000))
    await copied(before, mongodb, env)
    source = await fill(tmp_path / "source.db", records(1300))
    report = await copied(source, mongodb, env)
    assert (report["items"], report["equal"]) == (1300, 1300)
    async with documents_of(mongodb) as database:
        assert database["metadata"].count_documents({}) == 2000
    back = await copied(mongodb, f"sqlite:///{tmp_path / 'back.db'}", env)
    assert back["items"] == 2000
    both = records(1300) + records(700, first=10_000)
    assert await held(tmp_path / "back.db") == by_url(both)


async def test_what_has_gone_on_in_the_target_stays_when_copied_again(
    tmp_path: Path, env: dict[str, str], mongodb: str
) -> None:
    source = await fill(tmp_path / "source.db", records(800))
    await copied(source, mongodb, env)
    later = [
        replace(
            item,
            status=Status.FAILED_PERMANENT,
            updated_at=item.updated_at + timedelta(days=1),
            token=item.token + 1,
            request_id=None,
        )
        for item in records(30)
    ]
    await copied(await fill(tmp_path / "later.db", later), mongodb, env)
    ended = await finished("copy", "--from", source, "--to", mongodb, env=env)
    assert ended.returncode == 0, ended.stderr
    assert "metadata: 800 items, 770 equal in the target" in ended.stdout
    assert "30 are newer in the target and were left as they are" in ended.stdout
    await copied(mongodb, f"sqlite:///{tmp_path / 'back.db'}", env)
    assert await held(tmp_path / "back.db") == by_url(records(800)) | by_url(later)


SPOILED: list[tuple[str, str, dict[str, int]]] = [
    (
        "changed",
        "UPDATE records SET final_url = 'http://other.example/' WHERE id = new.id",
        {"missing": 0, "different": 1},
    ),
    ("lost", "DELETE FROM records WHERE id = new.id", {"missing": 1, "different": 0}),
]


@pytest.mark.parametrize(
    ("damage", "figures"), [row[1:] for row in SPOILED], ids=[row[0] for row in SPOILED]
)
async def test_a_record_that_arrives_damaged_is_named(
    tmp_path: Path, env: dict[str, str], damage: str, figures: dict[str, int]
) -> None:
    source = await fill(tmp_path / "source.db", records(1200))
    target = await fill(tmp_path / "target.db", records(10, first=5000))
    with closing(sqlite3.connect(tmp_path / "target.db")) as connection:
        connection.execute(
            f"CREATE TRIGGER spoil AFTER INSERT ON records WHEN new.url = '{url_of(777)}' "
            f"BEGIN {damage}; END"
        )
        connection.commit()
    ended = await finished("copy", "--from", source, "--to", target, env=env)
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert "metadata: 1,200 items, 1,199 equal in the target" in ended.stdout
    [(what, _)] = [each for each in figures.items() if each[1]]
    assert f"  1 are {what} in the target\n    {url_of(777)}\n" in ended.stdout
    assert "webloom: the copy is incomplete" in ended.stderr
    with closing(sqlite3.connect(tmp_path / "target.db")) as connection:
        connection.execute("DROP TRIGGER spoil")
    report = await copied(source, target, env)  # which repairs it
    assert (report["items"], report["equal"]) == (1200, 1200)


@asynccontextmanager
async def paused_midway(
    source: str, target: str, env: dict[str, str], position: Callable[[], object]
) -> AsyncIterator[subprocess.Popen[str]]:
    """A copy that has noted a first position and stands still until the block ends."""
    process = start("copy", "--from", source, "--to", target, "--json", env=env, slowly=True)
    try:
        deadline = time.monotonic() + 60
        while not position():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            await asyncio.sleep(0.002)
        process.send_signal(signal.SIGSTOP)
        assert position(), "it was too quick to be stopped"
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


async def test_a_copy_is_of_one_moment_and_the_next_brings_what_has_changed(
    tmp_path: Path, env: dict[str, str], mongodb: str
) -> None:
    source = await fill(tmp_path / "source.db", records(3_000))
    async with documents_of(mongodb) as database:

        def position() -> object:
            return database["copies"].find_one()

        async with paused_midway(source, mongodb, env, position) as process:
            with closing(sqlite3.connect(tmp_path / "source.db")) as connection:
                connection.execute(
                    "UPDATE records SET status_code = 404, updated_at = updated_at + 9 "
                    "WHERE url IN (?, ?)",
                    (url_of(1), url_of(2_999)),
                )
                connection.commit()
            process.send_signal(signal.SIGCONT)
            out, err = await asyncio.to_thread(process.communicate, timeout=60)
        assert process.returncode == 0, err
        report = json.loads(out.splitlines()[0])
        assert (report["items"], report["equal"]) == (3_000, 3_000)
        assert database["metadata"].count_documents({"metadata.status_code": 404}) == 0
        assert (await copied(source, mongodb, env))["equal"] == 3_000
        assert database["metadata"].count_documents({"metadata.status_code": 404}) == 2


async def test_a_terminal_sees_the_progress(tmp_path: Path, env: dict[str, str]) -> None:
    source = await fill(tmp_path / "source.db", records(1500))
    mine, theirs = os.openpty()
    process = start(
        *("copy", "--from", source, "--to", f"sqlite:///{tmp_path / 'target.db'}"),
        env=env | {"TERM": "xterm", "COLUMNS": "120"},
        stderr=theirs,
    )
    os.close(theirs)

    def read() -> str:
        seen = b""
        while True:
            try:
                part = os.read(mine, 4096)
            except OSError:  # the other end is closed
                part = b""
            if not part:
                return seen.decode()
            seen += part

    try:
        seen = await asyncio.wait_for(asyncio.to_thread(read), 60)
        assert process.wait(60) == 0
        assert process.stdout is not None
        assert process.stdout.read().startswith("metadata: 1,500 items")
    finally:
        process.kill()
        process.communicate()
        os.close(mine)
    assert "copy metadata" in seen
    assert "1500/1500" in seen


async def copied_there_and_back(
    first: Path, mongodb: str, back: Path, env: dict[str, str]
) -> AsyncIterator[dict[str, int]]:
    """What is equal in each collection after each copy; the last has nothing to do."""
    for source, target in (
        (f"sqlite:///{first}", mongodb),
        (mongodb, f"sqlite:///{back}"),
        (mongodb, f"sqlite:///{back}"),
    ):
        ended = await finished("copy", "--from", source, "--to", target, "--json", env=env)
        assert ended.returncode == 0, ended.stderr
        reports = {each["collection"]: each for each in map(json.loads, ended.stdout.splitlines())}
        yield {name: each["equal"] for name, each in reports.items() if each["equal"]}


async def test_feeds_runs_and_postings_go_there_and_back(
    tmp_path: Path, env: dict[str, str], mongodb: str
) -> None:
    first, back = tmp_path / "first.db", tmp_path / "back.db"
    async with open_database(first, SystemClock()) as file:
        store = sqlite_imports(file, durable_batches=False)
        await import_all(store, [posting(f"p{number}") for number in range(700)])
        await import_all(store, [posting("p1", "changed", published_at=MAY), posting("new")])
        before = await everything(store)
    async for found in copied_there_and_back(first, mongodb, back, env):
        assert found == {"feeds": 1, "import_logs": 2, "jobs": 701}
    async with open_database(back, SystemClock()) as file:
        assert await everything(sqlite_imports(file, durable_batches=False)) == before


async def test_watches_and_their_pages_go_there_and_back(
    tmp_path: Path, env: dict[str, str], mongodb: str
) -> None:
    first, back = tmp_path / "first.db", tmp_path / "back.db"
    async with open_watching(first) as store:
        run = await begin(store)
        await check(store, run, "a", "it failed")
        for number in range(700):
            changed = event("b", text=f"text {number}", at=MAY + timedelta(seconds=number))
            await store.pages.store_event(replace(changed, is_change=True, price=price(number)))
        await end(store, run)
        await store.notifications.add([notification("one")])
        before = await state_of(store), await store.watches.watches(limit=9)
    async for found in copied_there_and_back(first, mongodb, back, env):
        assert found == {
            "watches": 1,
            "job_runs": 2,  # one of events
            "snapshots": 700,
            "price_history": 700,
            "pages": 2,
            "change_logs": 700,
            "notices": 1,
        }
    async with open_watching(back) as store:
        assert (await state_of(store), await store.watches.watches(limit=9)) == before


@asynccontextmanager
async def open_watching(file: Path) -> AsyncIterator[Watching]:
    async with open_database(file, SystemClock()) as database:
        yield watching_of(stores_in(database))


async def everything(store: Imports) -> tuple[list[Feed], RunPage, list[StoredPosting]]:
    postings, cursor = [], None
    while True:
        page = await store.postings.page(PostingFilter(), limit=200, cursor=cursor)
        postings += page.postings
        cursor = page.next_cursor
        if cursor is None:
            break
    postings.sort(key=lambda each: each.posting.dedupe_key)
    return (
        await store.feeds.all(),
        await store.listed_runs.page(RunFilter(), offset=0, limit=9),
        postings,
    )
