"""Backups by the API: downloaded from a running Webloom, and restored into one."""

from __future__ import annotations

import asyncio
import io
import json
import os
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
import zstandard

from contracts.page_samples import event
from e2e.api_client import Api
from e2e.copying import COLLECTIONS, by_url, fill, held, records
from e2e.feed_site import FeedSite, item, rss
from e2e.running import Webloom, environment, finished, running, until, until_some
from e2e.test_dump import reports
from e2e.watched_site import ALLOWED
from fakes.clock import FakeClock
from webloom.application.move.restore import UnfinishedRestore
from webloom.application.move.stream import Header
from webloom.bootstrap.connections import open_services
from webloom.domain.errors import StoreUnavailable
from webloom.entrypoints.api.spooled import through_spool
from webloom.entrypoints.scheduler import run_scheduler
from webloom.ports.dump import WholeRecord
from webloom.settings import load_settings

JOBS = 12_000


@asynccontextmanager
async def serving(role: str, data_dir: Path, **settings: object) -> AsyncIterator[Api]:
    async with running(role, data_dir=data_dir, **settings) as it:
        yield Api(it.client, it.base)


async def backup(api: Api) -> bytes:
    async with api.client.get("/api/backup") as answer:
        assert answer.status == 200
        assert answer.headers["Cache-Control"].startswith("no-store")
        assert answer.headers["Content-Disposition"].startswith("attachment; filename=webloom-20")
        return await answer.read()


async def preview(api: Api, data: bytes) -> dict[str, Any]:
    answer = await api.call("POST", "/api/restore/preview", data=data)
    assert answer.status == 200, answer.text
    return {each.pop("collection"): each for each in answer.body["collections"]}


async def restored(api: Api, data: bytes) -> dict[str, Any]:
    """The result for each collection, all verified."""
    async with api.client.post("/api/restore", data=io.BytesIO(data)) as answer:
        assert answer.status == 200, await answer.text()
        *_, last = [json.loads(line) async for line in answer.content]
    assert (last["verified"], last["error"]) == (True, None), last
    await until(lambda: has_state(api, "none"))  # its lease is given back after the response
    return {each.pop("collection"): each for each in last["collections"]}


async def state(api: Api) -> str:
    return str((await api.call("GET", "/api/restore")).body["state"])


async def test_a_backup_of_a_store_in_use_goes_into_any_other_by_api_and_command(
    tmp_path: Path, mongodb: str
) -> None:
    file = tmp_path / "source.db"
    async with (
        serving("api", tmp_path / "a/data", store=await fill(file, records(3_000))) as source,
        serving("api", tmp_path / "b/data", store=mongodb) as second,
        serving("api", tmp_path / "c/data") as third,
    ):
        hook = {"url": "https://hook.test/secret"}
        watch = {"name": "W", "urls": ["https://a.test/"], "targets": [hook]}
        assert (await source.call("POST", "/api/watches", json=watch)).status == 201
        feed = {"name": "F", "url": "https://feed.test/rss"}
        assert (await source.call("POST", "/api/feeds", json=feed)).status == 201

        has_written = asyncio.Event()

        async def write() -> None:
            for number in range(10_000):
                answer = await source.call(
                    "POST", "/metadata/batch", json=[f"https://{number}.test/"]
                )
                assert answer.status in (202, 503), answer.text  # the queue may be full
                has_written.set()

        writing = asyncio.create_task(write())
        await has_written.wait()
        first = await backup(source)
        assert not writing.done()
        writing.cancel()
        with suppress(asyncio.CancelledError):
            await writing
        known = await preview(second, first)
        assert list(known) == COLLECTIONS
        assert known["metadata"]["items"] >= 3_000
        assert (known["watches"]["items"], known["feeds"]["items"]) == (1, 1)
        data = first
        for target in (second, third):
            found = await restored(target, data)
            for name, each in found.items():
                assert each["equal"] == known[name]["items"], (name, each)
                assert each["fingerprint"] == each["fingerprintHere"], name
                assert each["fingerprint"] == known[name]["fingerprint"], name
            assert await state(target) == "none"
            data = await backup(target)
        await commands_read_and_write_the_same(tmp_path, third, first, known)


async def commands_read_and_write_the_same(
    folder: Path, api: Api, data: bytes, known: dict[str, Any]
) -> None:
    env = environment(folder / "d/data")
    (folder / "of-api.zst").write_bytes(data)
    loaded = await reports("load", str(folder / "of-api.zst"), env=env)
    assert {name: each["target_hash"] for name, each in loaded.items()} == {
        name: each["fingerprint"] for name, each in known.items()
    }
    assert (await finished("dump", str(folder / "of-command.zst"), env=env)).returncode == 0
    found = await restored(api, (folder / "of-command.zst").read_bytes())
    assert {name: each["equal"] for name, each in found.items()} == {
        name: each["items"] for name, each in known.items()
    }


async def test_a_killed_restore_is_repeated_and_no_run_sees_half_of_it(tmp_path: Path) -> None:
    async with FeedSite() as site:
        site.feed = rss(*(item(number) for number in range(JOBS)))
        settings, url = {"allow_addresses": ALLOWED}, site.url("/feed")
        async with serving("up", tmp_path / "a/data", **settings) as source:
            await source.call("POST", "/api/feeds", json={"name": "F", "url": url})
            run = await imported(source, url)
            assert run["newJobs"] == JOBS
            data = await backup(source)
        async with running("up", data_dir=tmp_path / "b/data", **settings) as it:
            await killed_while_it_loads_postings(it, data)
        async with serving("up", tmp_path / "b/data", **settings) as target:
            await until(lambda: has_state(target, "unfinished"))
            assert (await target.call("GET", "/api/jobs?limit=1")).body["data"]
            [trouble] = (await target.call("GET", "/api/troubles")).body["data"]
            assert "has not ended: nothing scheduled starts" in trouble["what"]
            assert (await target.call("GET", "/health")).body["status"] == "degraded"
            site.feed = rss(*(item(number) for number in range(JOBS + 1)))
            run_id = await requested(target, url)
            other = await backup(target)
            answer = await target.call("POST", "/api/restore", data=other)
            assert answer.is_problem(409, "the restore of another backup", "restore that file")
            assert (await run_of(target, run_id))["meta"]["phase"] == "waiting"
            found = await restored(target, data)
            assert found["jobs"]["equal"] == found["jobs"]["items"] == JOBS
            assert await state(target) == "none"
            run = await until_some(lambda: ended(target, run_id))
            assert (run["newJobs"], run["unchangedJobs"]) == (1, JOBS)


async def killed_while_it_loads_postings(it: Webloom, data: bytes) -> None:
    with suppress(aiohttp.ClientError):
        async with it.client.post("/api/restore", data=io.BytesIO(data)) as answer:
            async for line in answer.content:
                progress = json.loads(line)
                if progress.get("collection") == "jobs":
                    assert progress["done"] < progress["items"] == JOBS
                    await it.kill()
    assert not it.alive


async def has_state(api: Api, wanted: str) -> bool:
    return await state(api) == wanted


async def requested(api: Api, url: str) -> str:
    answer = await api.call("POST", "/api/import/run", json={"sourceUrl": url})
    return str(answer.body["runs"][0]["runId"])


async def run_of(api: Api, run_id: str) -> dict[str, Any]:
    return dict((await api.call("GET", f"/api/import-logs/{run_id}")).body)


async def ended(api: Api, run_id: str) -> dict[str, Any] | None:
    run = await run_of(api, run_id)
    return None if run["status"] == "running" else run


async def imported(api: Api, url: str) -> dict[str, Any]:
    run_id = await requested(api, url)
    return await until_some(lambda: ended(api, run_id))


async def test_what_is_no_whole_backup_is_refused_and_nothing_is_stored(tmp_path: Path) -> None:
    file = tmp_path / "source.db"
    async with serving("api", tmp_path / "a/data", store=await fill(file, records(600))) as source:
        data = await backup(source)
    header = Header(format="webloom-dump", version=2, webloom="9.0", id="x", collections=[])
    compress = zstandard.ZstdCompressor().compress
    async with (
        serving("api", tmp_path / "b/data", spool_budget=1 << 20) as target,
        serving("api", tmp_path / "c/data", spool_free_space=1 << 50) as full,
    ):
        for body, status, reason in (
            (b"", 422, "the dump is empty"),
            (b"something else", 422, "it does not begin as a dump does"),
            (data[: len(data) * 9 // 10], 422, "get the whole dump. Nothing is stored."),
            (data[:2000] + bytes(100) + data[2100:], 422, "can't be decompressed"),
            (compress(bytes(100_000_000)), 422, "it has more than 80,000,000 bytes"),
            (compress(b'{"format": "other"}\n'), 422, "not a dump of Webloom"),
            (compress(msgspec.json.encode(header) + b"\n"), 422, "use that version, or a newer"),
            (bytes(2 << 20), 413, "larger than 1048576 bytes"),
        ):
            for path in ("/api/restore/preview", "/api/restore"):
                answer = await target.call("POST", path, data=body)
                assert answer.is_problem(status, reason), path
        answer = await target.call("POST", "/api/restore", data=endless(5 << 20))
        assert answer.is_problem(413, "larger than 1048576 bytes")
        assert await state(target) == "none"
        assert all(
            each["items"] == 0 for each in (await preview(target, await backup(target))).values()
        )
        answer = await full.call("POST", "/api/restore", data=data)
        assert answer.is_problem(507, "The backup does not fit on this machine: the disk of")


async def endless(size: int) -> AsyncIterator[bytes]:
    """Its length is not announced."""
    for _ in range(0, size, 1 << 16):
        yield os.urandom(1 << 16)


async def large_store(file: Path) -> tuple[str, list[WholeRecord]]:
    """Its backup has 20 MB."""
    items = [
        replace(each, metadata=replace(each.metadata, page_source=os.urandom(100_000).hex()))
        for each in records(200)
    ]
    return await fill(file, items), items


async def test_a_client_that_does_not_read_holds_no_snapshot(tmp_path: Path) -> None:
    """The rest of the backup waits in a file without a name, which goes with the client."""
    file = tmp_path / "source.db"
    store, items = await large_store(file)
    async with running("api", data_dir=tmp_path / "data", store=store, queue_limit=1_000_000) as it:
        api = Api(it.client, it.base)
        async with it.client.get("/api/backup") as answer:
            begun = await answer.content.read(1)
            await until(lambda: is_read_by_nobody(api, file), what="the snapshot to be closed")
            assert sum(spooled_sizes(it)) > 10 << 20
            second = await api.call("GET", "/api/backup")
            assert second.is_problem(429, "A backup is being downloaded at the moment")
            whole = begun + await answer.read()
        await until(lambda: not spooled_sizes(it), what="the file to be removed")
        async with it.client.get("/api/backup") as answer:
            assert await answer.content.read(1)
            answer.close()
        await until(lambda: not spooled_sizes(it), what="the file to be removed")
        assert await is_read_by_nobody(api, file)
        assert "a request failed" not in it.log
        async with it.client.get("/api/backup") as answer:
            assert await answer.content.read(1)
            await it.kill()
    assert list((tmp_path / "data/spool").iterdir()) == []
    async with serving("api", tmp_path / "b/data") as target:
        assert (await restored(target, whole))["metadata"]["equal"] >= 200
    assert (await held(tmp_path / "b/data/webloom.db")).items() >= by_url(items).items()


def spooled_sizes(it: Webloom) -> list[int]:
    """Of files without a name in the spool."""
    found = []
    for each in Path(f"/proc/{it.pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            if "spool" in each.readlink().parts:
                found.append(each.stat().st_size)
    return found


async def test_a_backup_that_finds_no_room_is_refused_or_cut_off(tmp_path: Path) -> None:
    store, _ = await large_store(tmp_path / "source.db")
    async with serving("api", tmp_path / "a/data", store=store, spool_free_space=1 << 50) as full:
        answer = await full.call("GET", "/api/backup")
        assert answer.is_problem(507, "does not fit on this machine: the disk of the spool")
    async with running(
        "api", data_dir=tmp_path / "b/data", store=store, spool_budget=12 << 20
    ) as it:
        reason = "The backup does not fit on this machine: the spool takes"
        async with it.client.get("/api/backup") as response:
            if response.status == 507:  # the room was used up before the first byte was sent
                assert reason in await response.text()
                return
            assert response.status == 200
            with pytest.raises(aiohttp.ClientPayloadError):
                await response.read()
        assert reason in it.log


async def test_a_backup_that_nobody_waits_for_is_not_made(tmp_path: Path) -> None:
    """What holds the snapshot is closed when its reader leaves, or it fails."""
    closed = asyncio.Event()

    async def endless(size: int) -> AsyncGenerator[bytes]:
        try:
            for _ in range(0, size, 1 << 16):
                yield os.urandom(1 << 16)
            if size > 4 << 20:
                raise StoreUnavailable("away")
            await asyncio.Event().wait()
        finally:
            closed.set()

    settings = load_settings({"WEBLOOM_DATA_DIR": str(tmp_path)})
    async with through_spool(endless(4 << 20), settings) as pieces:
        assert len(await anext(pieces)) == 1 << 20
        assert not closed.is_set()
    assert closed.is_set()
    closed.clear()
    async with through_spool(endless(5 << 20), settings) as pieces:
        await anext(pieces)
        await closed.wait()
        with pytest.raises(StoreUnavailable):
            await anext(pieces)


async def is_read_by_nobody(api: Api, file: Path) -> bool:
    """Only then can the journal be emptied of what was written since."""
    await api.submitted(f"https://{os.urandom(8).hex()}.test/")
    with closing(sqlite3.connect(file, timeout=1)) as database:
        [is_busy, *_] = database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not is_busy


async def test_what_expires_goes_while_a_restore_is_unfinished(tmp_path: Path) -> None:
    clock = FakeClock()
    settings = load_settings({"WEBLOOM_DATA_DIR": str(tmp_path / "data")})
    async with open_services(settings, clock) as services:
        for number in range(3):
            await services.pages.store_event(event(f"{number}", version=number + 1, ts=number))
        note = msgspec.json.encode(
            UnfinishedRestore(dump_id="x", webloom="1", at=clock.now())
        ).decode()
        await services.whole.note("restore", note)
        clock.advance(8 * 24 * 3600)
        stop = asyncio.Event()
        scheduling = asyncio.create_task(run_scheduler(services, stop))

        async def is_alone() -> bool:
            usage = {each.collection: each.items for each in await services.page_storage.usage()}
            return usage["snapshots"] == 1

        try:
            await until(is_alone, what="superseded versions to be removed")
        finally:
            stop.set()
            await scheduling
        assert await services.restore.is_unfinished()
