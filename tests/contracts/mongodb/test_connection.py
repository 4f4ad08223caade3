"""Opening MongoDB: what is refused, with which words, and what is waited for."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pymongo
import pytest
from pymongo.errors import ServerSelectionTimeoutError

from contracts.inventory_samples import URL, complete, found, note, request
from contracts.mongodb_backend import NAMES
from contracts.waiting import until
from fakes.clock import FakeClock
from servers.mongod import MongoServer
from webloom.adapters.mongodb import database as mongodb_database
from webloom.adapters.mongodb.database import CollectionNames, MongoDatabase, open_mongodb
from webloom.adapters.mongodb.inventory_store import MongoInventoryStore
from webloom.adapters.system_clock import SystemClock
from webloom.domain.backoff import RECONNECT
from webloom.domain.errors import BackendRefused, StoreUnavailable

SECRET = "s3cr3t"


@pytest.fixture
def name(mongod: MongoServer) -> Iterator[str]:
    """Of a database that was never used."""
    chosen = f"test-{uuid.uuid4().hex[:12]}"
    yield chosen
    with pymongo.MongoClient[dict[str, Any]](mongod.url) as direct:
        direct.drop_database(chosen)


async def refusal(url: str, database: str = "refused") -> str:
    with pytest.raises(BackendRefused) as caught:
        async with open_mongodb(url, SystemClock(), database=database, names=NAMES):
            pass
    return str(caught.value)


BAD_URLS = [
    (f"mongodb://user:{SECRET}@host:port/", "not understand", "a port that is none"),
    (f"mongodb://user:{SECRET}@host:99999999/", "not understand", "a port that is too high"),
    (f"mongodb://user:{SECRET}/1@host/", "not understand", "a slash in the password"),
    (f"mongodb://user:1?{SECRET}@host/", "not understand", "a question mark in the password"),
    (f"mongodb://user:1:{SECRET}@host/", "not understand", "a colon in the password"),
    (f"mongodb://user:%zz{SECRET}@host/", "not understand", "a broken escape in the password"),
    ("mongodb://host/a b", "not understand", "no name for a database"),
    ("mongodb:///", "not understand", "no host"),
    (f"mongodb://host/?unheard={SECRET}", "unheard", "an unknown option"),
    (f"mongodb://host/?tls={SECRET}", "option", "a value that an option does not take"),
    (f"mongodb://host/?authMechanism={SECRET}", "option", "an unknown mechanism"),
]


@pytest.mark.parametrize(("url", "says", "reason"), BAD_URLS, ids=[row[2] for row in BAD_URLS])
async def test_an_address_that_can_not_be_meant_is_refused_without_quoting_secrets(
    url: str, says: str, reason: str
) -> None:
    text = await refusal(url)
    assert says in text
    assert SECRET not in text


async def test_the_address_names_the_database_and_the_settings_name_the_collections(
    mongod: MongoServer, name: str
) -> None:
    url = mongod.url.replace("/?", f"/{name}?")
    names = CollectionNames(metadata="m", locks="l", heartbeats="h")
    async with open_mongodb(url, SystemClock(), database="unused", names=names) as database:
        await complete(MongoInventoryStore(database))
        assert database.connection().address == url.partition("?")[0]
    with pymongo.MongoClient[dict[str, Any]](mongod.url) as direct:
        assert direct[name]["m"].count_documents({}) == 1
        assert set(direct[name].list_collection_names()) == {
            "m", "m_forgotten", "l", "h", "copies",
            "feeds", "jobs", "jobs_words", "import_logs", "import_logs_batches",
            "pages", "snapshots", "price_history", "change_logs", "job_runs",
            "watches", "watch_ledger", "notices", "worker_logs",
        }  # fmt: skip
        assert "unused" not in direct.list_database_names()


def _keys(collection: Any) -> dict[str, Any]:
    return {key: index for key, index in collection.index_information().items() if key != "_id_"}


@pytest.mark.usefixtures("patient")
async def test_indexes_are_made_once_however_many_open_the_database(
    mongod: MongoServer, name: str
) -> None:
    async def use(number: int) -> None:
        async with open_mongodb(mongod.url, SystemClock(), database=name, names=NAMES) as database:
            assert database.connection().state == "READY", database.connection()
            await note(MongoInventoryStore(database), request(url=f"{URL}/{number}"))

    await use(0)  # alone: of two that make one collection at once, some builds of mongod die
    await asyncio.gather(*(use(number) for number in range(1, 8)))
    with pymongo.MongoClient[dict[str, Any]](mongod.url) as direct:
        records = _keys(direct[name]["metadata"])
        assert records["url_1"]["unique"]
        assert any(each["key"][0] == ("created_at", -1) for each in records.values())
        assert len(records) == 6
        assert _keys(direct[name]["metadata_forgotten"])["at_1"]["expireAfterSeconds"] == 3600
        assert _keys(direct[name]["heartbeats"])["seen_at_1"]["expireAfterSeconds"] == 86400
        assert direct[name]["metadata"].count_documents({}) == 8
        await use(9)
        assert _keys(direct[name]["metadata"]) == records


async def test_an_index_that_is_in_the_way_is_named(mongod: MongoServer, name: str) -> None:
    with pymongo.MongoClient[dict[str, Any]](mongod.url) as direct:
        direct[name]["metadata"].create_index("url")
    text = await refusal(mongod.url, name)
    assert "url_1" in text
    assert f"{name}.metadata" in text
    assert "drop that index" in text


async def test_documents_that_prevent_an_index_are_reported(mongod: MongoServer, name: str) -> None:
    with pymongo.MongoClient[dict[str, Any]](mongod.url) as direct:
        direct[name]["metadata"].insert_many([{"url": URL}, {"url": URL}])
    text = await refusal(mongod.url, name)
    assert f"{name}.metadata has several documents with the same url" in text


async def test_a_server_that_is_too_old_is_refused(
    mongod: MongoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A really old one does not run here; a future need takes its place."""
    monkeypatch.setattr(mongodb_database, "OLDEST_SERVER", 1000)
    text = await refusal(mongod.url)
    assert str(mongod.port) in text
    assert "version 7" in text
    assert "upgrade" in text


async def test_only_good_credentials_connect_and_no_password_is_shown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Wrong ones are refused, none at all too, right ones serve; the password is never shown."""
    caplog.set_level(logging.DEBUG, "webloom")
    server = MongoServer(tmp_path / "auth", "--auth")
    with server.running():
        with pymongo.MongoClient[dict[str, Any]](server.url) as direct:
            direct["admin"].command("createUser", "me", pwd=SECRET, roles=["root"])
            direct.close()
        with pymongo.MongoClient[dict[str, Any]](
            server.url, username="me", password=SECRET
        ) as direct:
            direct["admin"].command(
                "createUser", "reader", pwd=SECRET, roles=[{"role": "read", "db": "webloom"}]
            )

        def url(credentials: str) -> str:
            options = "?authSource=admin" if credentials else ""
            return f"mongodb://{credentials}127.0.0.1:{server.port}/{options}"

        for credentials, says in (
            (f"me:{SECRET}wrong@", "refuses the user name or the password"),
            (f"stranger:{SECRET}@", "refuses the user name or the password"),
            (f"reader:{SECRET}@", "does not allow"),
            ("", "does not allow"),
        ):
            text = await refusal(url(credentials))
            assert says in text
            assert str(server.port) in text
            assert SECRET not in text
        async with open_mongodb(
            url(f"me:{SECRET}@"), SystemClock(), database="webloom", names=NAMES
        ) as database:
            await complete(MongoInventoryStore(database))
            assert SECRET not in str(database.connection())
            server.kill()
            with pytest.raises(StoreUnavailable) as caught:
                await found(MongoInventoryStore(database))
            assert SECRET not in str(caught.value)
            assert SECRET not in str(database.connection())
    assert SECRET not in caplog.text


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mongodb_database, "RECONNECT", replace(RECONNECT, cap=1.0))


async def is_ready(database: MongoDatabase) -> bool:
    return database.connection().state == "READY"


async def test_a_server_that_is_not_there_is_waited_for(tmp_path: Path, impatient: None) -> None:
    server = MongoServer(tmp_path)
    async with open_mongodb(server.url, SystemClock(), database="webloom", names=NAMES) as database:
        store = MongoInventoryStore(database)
        connection = database.connection()
        assert (connection.kind, connection.state) == ("mongodb", "DISCONNECTED")
        assert str(server.port) in connection.address
        assert f"{server.port}: [Errno 111]" in (connection.detail or "")
        with pytest.raises(StoreUnavailable, match=str(server.port)):
            await store.find(URL)
        with server.running():
            await until(lambda: is_ready(database))
            assert database.connection().detail is None
            await complete(store)
            assert "url_1" in await database.records.index_information()


async def test_what_a_server_that_comes_later_refuses_is_said_by_every_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, impatient: None
) -> None:
    known = mongodb_database.OLDEST_SERVER
    monkeypatch.setattr(mongodb_database, "OLDEST_SERVER", 1000)
    server = MongoServer(tmp_path)
    async with open_mongodb(server.url, SystemClock(), database="webloom", names=NAMES) as database:

        async def is_refused() -> bool:
            return "upgrade" in (database.connection().detail or "")

        with server.running():
            await until(is_refused)
            with pytest.raises(BackendRefused, match="upgrade"):
                await MongoInventoryStore(database).find(URL)
            monkeypatch.setattr(mongodb_database, "OLDEST_SERVER", known)  # it is fixed meanwhile
            await until(lambda: is_ready(database))
            assert await MongoInventoryStore(database).find(URL) is None


async def test_leases_are_measured_by_the_servers_clock(
    mongod: MongoServer, name: str, clock: FakeClock
) -> None:
    """Two machines, whose own clocks have nothing in common."""
    other = FakeClock(steady=77.0)
    other.jump_wall(-86400)
    real = SystemClock()
    async with (
        open_mongodb(mongod.url, clock, database=name, names=NAMES) as one,
        open_mongodb(mongod.url, other, database=name, names=NAMES) as two,
    ):
        now = real.now().timestamp()
        assert one.now() == pytest.approx(now, abs=30)
        assert two.now() == pytest.approx(now, abs=30)
        before = one.now()
        clock.jump_wall(3600)
        await one.connect()
        assert one.now() == pytest.approx(before, abs=30)
        clock.advance(5)
        assert one.now() == pytest.approx(before + 5, abs=30)
        await one.connect()  # the server says that these five seconds have not passed
        assert one.now() == pytest.approx(two.now(), abs=30)


async def test_a_closed_database_says_so(mongod: MongoServer, name: str) -> None:
    async with open_mongodb(mongod.url, SystemClock(), database=name, names=NAMES) as database:
        store = MongoInventoryStore(database)
    with pytest.raises(StoreUnavailable):
        await store.find(URL)
    with pytest.raises(StoreUnavailable):
        await store.count_by_status()


async def test_calls_that_are_cancelled_repeatedly_leave_the_driver_usable() -> None:
    """On Python 3.11 they gave up each other's lock: others failed, and closing never ended."""

    async def given_up(database: MongoDatabase, after: float) -> BaseException | None:
        call = asyncio.create_task(database.records.find_one())
        await asyncio.sleep(after)
        for _ in range(2):
            call.cancel()
            await asyncio.sleep(0)
        await asyncio.wait([call])
        return None if call.cancelled() else call.exception()

    async with (
        asyncio.timeout(30),
        open_mongodb("mongodb://127.0.0.1:9", SystemClock(), database="none", names=NAMES) as away,
    ):
        ends = await asyncio.gather(*(given_up(away, number / 400) for number in range(400)))
        assert {type(end) for end in ends} <= {type(None), ServerSelectionTimeoutError}
