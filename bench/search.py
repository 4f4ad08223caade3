"""Search, filters, first pages and totals of postings and records, with a hundred times as many.

python -m bench search
python -m bench.search SQLite --large 100000    one store, a smaller size

Both sizes are asked in turns for a page of 50: over HTTP, which returns rows and total and is what
counts; then the stores alone, by their ports, for the rows, and for the total up to 10,000. What a
hundredth of the items have is counted to 100 in one size and to 10,000 in the other.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlencode

import uvloop
from aiohttp import ClientSession

from bench.api import free_port
from bench.processes import PYTHON, running, wait_for_url
from bench.stack import running_server
from bench.table import Row, print_table
from servers.mongod import MongoServer
from webloom.bootstrap.connections import open_services
from webloom.bootstrap.services import Services
from webloom.domain.feed import FeedConfig
from webloom.domain.import_run import Mark
from webloom.domain.import_transitions import NewRun
from webloom.domain.inventory import Metadata, Processing, RecordFilter, Status
from webloom.domain.listing import MOST_COUNTED
from webloom.parsing.job_posting import JobPosting, dedupe_key
from webloom.ports.dump import WholeRecord
from webloom.ports.postings import Batch, PostingFilter
from webloom.settings import load_settings

SMALL, LARGE = 10_000, 1_000_000
LIMIT = 50
ROUNDS = 15
MOST_TIMES = 2.0
SOURCES = 50
BATCH, BATCHES_AT_ONCE = 500, 8
START = datetime(2020, 1, 1, tzinfo=UTC)
STORES = ("SQLite", "MongoDB")

_ROLES = ["engineer", "nurse", "driver", "teacher", "welder", "cook", "analyst", "clerk"]
KINDS = 100  # so that one in a hundred is of each: enough for a page of the smaller size


def posting(number: int) -> JobPosting:
    """Its words are common, in one of a hundred, or its own."""
    source = source_url(number % SOURCES)
    kind, role = number * 7919 % KINDS, _ROLES[number % len(_ROLES)]
    return JobPosting(
        dedupe_key=dedupe_key(source, str(number), None),
        content_hash=f"{number:032x}",
        source_url=source,
        source_name=f"Board {number % SOURCES}",
        title=f"Senior field{kind} {role} ref{number}",
        external_id=str(number),
        job_url=f"https://jobs.example.com/{number}",
        company=f"Company{kind} Ltd",
        location=f"City{kind} Land{number % 30}",
        description="Some work.",
        published_at=START + timedelta(minutes=number),
    )


def source_url(number: int) -> str:
    return f"https://board{number}.example.com/feed.xml"


def record(number: int) -> WholeRecord:
    made = START + timedelta(minutes=number)
    url = f"https://host{number % KINDS}.example.com/category{number % 97}/item-{number}"
    return WholeRecord(
        url=url,
        status=Status.FAILED_PERMANENT if number % 100 == 0 else Status.COMPLETED,
        metadata=Metadata(status_code=200, headers={}, cookies={}, final_url=url),
        processing=Processing(attempt_number=1),
        additional_details=None,
        created_at=made,
        updated_at=made,
        token=1,
        request_id=None,
        background=False,
        waits=False,
    )


async def fill(services: Services, size: int) -> None:
    await _fill_postings(services, size)
    numbers = iter(range(size))
    while some := list(islice(numbers, BATCH * BATCHES_AT_ONCE)):
        await services.whole.put_if_newer("metadata", [record(number) for number in some])


async def _fill_postings(services: Services, size: int) -> None:
    """As an import does, a run for each source; one of fifty sources loses its postings again."""
    imports = services.imports
    for source in range(SOURCES):
        run_id, url = f"run-{source}", source_url(source)
        config = FeedConfig(url=url, name=f"Board {source}")
        await imports.feeds.add(f"feed-{source}", config, next_run_at=None)
        new = NewRun(run_id=run_id, trigger="bench", batch_size=BATCH, concurrency=BATCHES_AT_ONCE)
        await imports.runs.start(f"feed-{source}", new)
        claim = await imports.runs.claim("bench", lease=3600, run_id=run_id)
        assert claim is not None
        batches = (
            Batch(mark=Mark(run_id, index), source_url=url, postings=some)
            for index, some in enumerate(_batches(source, size))
        )
        while some := list(islice(batches, BATCHES_AT_ONCE)):
            await asyncio.gather(*(imports.postings.apply_batch(each) for each in some))
        if source == 0:
            keys = [posting(number).dedupe_key for number in range(0, size, SOURCES)]
            for first in range(0, len(keys), BATCH):
                await imports.postings.close(claim, keys[first : first + BATCH])


def _batches(source: int, size: int) -> Iterator[list[JobPosting]]:
    numbers = iter(range(source, size, SOURCES))
    while some := list(islice(numbers, BATCH)):
        yield [posting(number) for number in some]


@dataclass(frozen=True, kw_only=True)
class Postings:
    chosen: Callable[[int, random.Random], PostingFilter]
    oldest_first: bool = False

    async def rows(self, services: Services, chosen: PostingFilter) -> bool:
        page = await services.imports.postings.page(
            chosen, limit=LIMIT, oldest_first=self.oldest_first
        )
        return page.next_cursor is not None

    async def total(self, services: Services, chosen: PostingFilter) -> None:
        await services.imports.postings.count_chosen(chosen, most=MOST_COUNTED)

    def path(self, chosen: PostingFilter) -> str:
        return _path(
            "/api/jobs",
            limit=str(LIMIT),
            sort="publishedAt" if self.oldest_first else None,
            q=chosen.text,
            source=chosen.source_url,
            company=chosen.company,
            location=chosen.location,
            open=None if chosen.is_open is None else str(chosen.is_open).lower(),
            since=chosen.since,
        )


@dataclass(frozen=True, kw_only=True)
class Records:
    chosen: Callable[[int, random.Random], RecordFilter]
    oldest_first: bool = False

    async def rows(self, services: Services, chosen: RecordFilter) -> bool:
        page = await services.records.page_of_records(
            chosen, limit=LIMIT, oldest_first=self.oldest_first
        )
        return page.next_cursor is not None

    async def total(self, services: Services, chosen: RecordFilter) -> None:
        await services.records.count_chosen(chosen, most=MOST_COUNTED)

    def path(self, chosen: RecordFilter) -> str:
        return _path(
            "/metadata/records",
            limit=str(LIMIT),
            sort="createdAt" if self.oldest_first else None,
            q=chosen.text,
            host=chosen.host,
            status=chosen.status,
            since=chosen.created_from,
        )


def _path(route: str, *, since: datetime | None, **parameters: str | None) -> str:
    given = parameters | {"from": since and since.isoformat()}
    return f"{route}?{urlencode({name: value for name, value in given.items() if value})}"


def _later(size: int) -> datetime:
    return START + timedelta(minutes=size * 3 // 4)


ASKED: dict[str, Postings | Records] = {
    "postings: first page": Postings(chosen=lambda size, _: PostingFilter()),
    "postings: first page, the earliest first": Postings(
        chosen=lambda size, _: PostingFilter(), oldest_first=True
    ),
    "postings: a word of 1 in 8, the earliest first": Postings(
        chosen=lambda size, _: PostingFilter(text="nurse"), oldest_first=True
    ),
    "postings: of a source, the earliest first": Postings(
        chosen=lambda size, chance: PostingFilter(
            source_url=source_url(chance.randrange(1, SOURCES))
        ),
        oldest_first=True,
    ),
    "postings: a word of all": Postings(chosen=lambda size, _: PostingFilter(text="senior")),
    "postings: a word of 1 in 8": Postings(chosen=lambda size, _: PostingFilter(text="nurse")),
    "postings: a word of 1 in 100": Postings(
        chosen=lambda size, chance: PostingFilter(text=f'"field{chance.randrange(KINDS)}"')
    ),
    "postings: a word of one": Postings(
        chosen=lambda size, chance: PostingFilter(text=f'"ref{chance.randrange(size)}"')
    ),
    "postings: the beginning of a word of all": Postings(
        chosen=lambda size, _: PostingFilter(text="se")
    ),
    "postings: the beginning of a word, different in each": Postings(
        chosen=lambda size, _: PostingFilter(text="ref")
    ),
    "postings: the beginning of ten words": Postings(
        chosen=lambda size, chance: PostingFilter(text=f"ref{chance.randrange(size // 10)}")
    ),
    "postings: a common word and one of one": Postings(
        chosen=lambda size, chance: PostingFilter(text=f'senior "ref{chance.randrange(size)}"')
    ),
    "postings: of a source": Postings(
        chosen=lambda size, chance: PostingFilter(
            source_url=source_url(chance.randrange(1, SOURCES))
        )
    ),
    "postings: of a company": Postings(
        chosen=lambda size, chance: PostingFilter(company=f"company{chance.randrange(10, KINDS)}")
    ),
    "postings: in a location": Postings(
        chosen=lambda size, chance: PostingFilter(location=f"city{chance.randrange(10, KINDS)}")
    ),
    "postings: closed": Postings(chosen=lambda size, _: PostingFilter(is_open=False)),
    "postings: open": Postings(chosen=lambda size, _: PostingFilter(is_open=True)),
    "postings: of a quarter of the time": Postings(
        chosen=lambda size, _: PostingFilter(since=_later(size))
    ),
    "records: first page": Records(chosen=lambda size, _: RecordFilter()),
    "records: first page, the oldest first": Records(
        chosen=lambda size, _: RecordFilter(), oldest_first=True
    ),
    "records: a word of all, the oldest first": Records(
        chosen=lambda size, _: RecordFilter(text="example"), oldest_first=True
    ),
    "records: of a host, the oldest first": Records(
        chosen=lambda size, chance: RecordFilter(host=f"host{chance.randrange(KINDS)}.example.com"),
        oldest_first=True,
    ),
    "records: a word of all": Records(chosen=lambda size, _: RecordFilter(text="example")),
    "records: a word of 1 in 97": Records(
        chosen=lambda size, chance: RecordFilter(text=f'"category{chance.randrange(97)}"')
    ),
    "records: a word of one": Records(
        chosen=lambda size, chance: RecordFilter(text=f'"item {chance.randrange(600, size)}"')
    ),
    "records: the beginning of a word of all": Records(
        chosen=lambda size, _: RecordFilter(text="ex")
    ),
    "records: the beginning of a word, different in many": Records(
        chosen=lambda size, _: RecordFilter(text="host")
    ),
    "records: of a host": Records(
        chosen=lambda size, chance: RecordFilter(host=f"host{chance.randrange(KINDS)}.example.com")
    ),
    "records: with a status": Records(
        chosen=lambda size, _: RecordFilter(status=Status.FAILED_PERMANENT)
    ),
    "records: a word and a status": Records(
        chosen=lambda size, _: RecordFilter(text="example", status=Status.FAILED_PERMANENT)
    ),
    "records: of a quarter of the time": Records(
        chosen=lambda size, _: RecordFilter(created_from=_later(size))
    ),
}


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A store, and an API process on it."""

    services: Services
    base: str


async def measure(stores: list[str] | None = None, large: int = LARGE) -> list[Row]:
    rows = []
    for kind in stores or STORES:
        with tempfile.TemporaryDirectory() as folder:
            async with _filled(kind, Path(folder), large) as opened, ClientSession() as client:
                for name in ASKED:
                    rows += await _measure(kind, name, opened, client)
                    for row in rows[-3:]:
                        print(f"{row.measure}: {row.webloom:.2f} {row.ratio:.2f}", file=sys.stderr)
    return rows


@asynccontextmanager
async def _filled(kind: str, folder: Path, large: int) -> AsyncIterator[dict[int, Opened]]:
    """By size, smaller first."""
    async with AsyncExitStack() as stack:
        store = {}
        if kind == "MongoDB":
            mongod = await stack.enter_async_context(running_server(MongoServer(folder / "mongod")))
            store = {"WEBLOOM_STORE": mongod.url}
        opened = {}
        for size in (SMALL, large):
            started = time.monotonic()
            port = free_port()
            env = store | {
                "WEBLOOM_DATA_DIR": str(folder / str(size)),
                "WEBLOOM_MONGODB_DATABASE": f"search{size}",
                "WEBLOOM_DATABASE_LIMIT": "0",
                "WEBLOOM_PORT": str(port),
                "WEBLOOM_LOG_LEVEL": "warning",
            }
            services = await stack.enter_async_context(open_services(load_settings(env)))
            await fill(services, size)
            await stack.enter_async_context(running([PYTHON, "-m", "webloom", "api"], env=env))
            base = f"http://127.0.0.1:{port}"
            await wait_for_url(f"{base}/health/live")
            opened[size] = Opened(services=services, base=base)
            print(f"{kind}: {size:,} in {time.monotonic() - started:.0f} s", file=sys.stderr)
        yield opened


async def _measure(
    kind: str, name: str, opened: dict[int, Opened], client: ClientSession
) -> list[Row]:
    small, large = opened
    took: dict[str, dict[int, list[float]]] = {
        measure: {small: [], large: []} for measure in ("response", "rows alone", "total alone")
    }
    for number in range(ROUNDS + 1):
        for size, each in opened.items():
            times = await _ask(ASKED[name], each, size, random.Random(number), client)
            if number:  # the first only warms up
                for measure, seconds in zip(took, times, strict=True):
                    took[measure][size].append(seconds * 1000)
    return [
        Row(
            measure=f"{name}, {measure}, {large:,}, {kind}",
            unit="ms",
            webloom=median(each[large]),
            peer=f"of {small:,}",
            peer_value=median(each[small]),
            must=MOST_TIMES if measure == "response" else None,
            lower_is_better=True,
        )
        for measure, each in took.items()
    ]


async def _ask(
    asked: Any, opened: Opened, size: int, chance: random.Random, client: ClientSession
) -> tuple[float, float, float]:
    chosen = asked.chosen(size, chance)
    started = time.perf_counter()
    async with client.get(opened.base + asked.path(chosen)) as response:
        await response.read()
        if response.status != 200:
            raise RuntimeError(f"{response.status} for {response.url}")
    answered = time.perf_counter()
    is_more = await asked.rows(opened.services, chosen)
    found = time.perf_counter()
    if is_more:
        await asked.total(opened.services, chosen)
    return answered - started, found - answered, time.perf_counter() - found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.search")
    parser.add_argument("stores", nargs="*", default=list(STORES), help=", ".join(STORES))
    parser.add_argument("--large", type=int, default=LARGE, help="instead of a million")
    given = parser.parse_args()
    if unknown := set(given.stores) - set(STORES):
        parser.error(f"no store is called {', '.join(unknown)}; there are {', '.join(STORES)}")
    sys.exit(0 if print_table(uvloop.run(measure(given.stores, given.large))) else 1)


if __name__ == "__main__":
    main()
