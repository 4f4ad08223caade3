"""A Webloom with 10,000 watches and 200 feeds, and more of everything else than fits on a screen.

It is filled as a dump is loaded, in seconds, before its processes start.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from e2e.running import Webloom, environment, running_for_module
from webloom.bootstrap.connections import open_services, open_whole
from webloom.domain.feed import Feed, FeedConfig
from webloom.domain.import_run import IMPORT_QUEUE, Counts, ImportRun, Mark, Phase, Reading
from webloom.domain.import_run import RunStatus as ImportStatus
from webloom.domain.inventory import Metadata, Processing, Status
from webloom.domain.page_check import Validators
from webloom.domain.schedule import Schedule
from webloom.domain.storage_event import EventPrice, Place
from webloom.domain.watch import (
    Metrics,
    Outcome,
    PageFailure,
    RunStatus,
    Tally,
    Watch,
    WatchConfig,
    WatchRun,
)
from webloom.parsing.job_posting import JobPosting, dedupe_key
from webloom.ports.broker import Message
from webloom.ports.dump import PagePart, PagePrice, WholePage, WholeRecord, WholeRun
from webloom.ports.postings import StoredPosting
from webloom.settings import load_settings

WATCHES: Final = 10_000
FEEDS: Final = 200
FAILING_FEEDS: Final = 12
OTHERS: Final = 250  # runs, postings, records, pages: three pages of each
LETTERS: Final = ("warp", "weft", "shuttle")
WRITTEN_AT_ONCE = 2000
ENGINES, LAMPS = "Engines", "Lamps"
TAGS = ("garden", "kitchen", "on sale")

START = datetime(2026, 3, 1, tzinfo=UTC)
DUE = datetime(2100, 1, 1, tzinfo=UTC)  # never while a test runs
LONG = "Donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunterbeamtengesellschaft" * 2
FORMULA = '=HYPERLINK("https://evil.test/")'  # one posting, run, page and record has it
WITH_FORMULA: Final = 25
RUN_OFTEN: Final = "watch-00007"
REASON = f"The server answered 503, and then closed the connection of {LONG}"


@contextmanager
def furnished(folder: Path, command: str = "up", **settings: object) -> Iterator[Webloom]:
    """It may fetch from every site of the tests."""
    data = folder / "data"
    if "PYTEST_XDIST_WORKER" in os.environ:
        shutil.copytree(_filled_once(folder.parents[1]), data)
    else:
        _fill_aside(data)
    with running_for_module(command, data_dir=data, allow_addresses="127.0.0.1", **settings) as it:
        yield it


def _filled_once(shared: Path) -> Path:
    """The data that the first worker to come makes for all of them."""
    made = shared / "furnished"
    with (shared / "furnished.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            _fill_aside(shared / "unfinished")
            (shared / "unfinished").rename(made)
    return made


def _fill_aside(data: Path) -> None:
    """Playwright's loop occupies the thread of the tests."""
    thread = threading.Thread(target=lambda: asyncio.run(_fill(data)))
    thread.start()
    thread.join()


async def _fill(data: Path) -> None:
    settings = load_settings(environment(data))
    items: dict[str, Sequence[Any]] = {
        "watches": [watch(number) for number in range(WATCHES)],
        "job_runs": [
            *(failed_run(number) for number in range(WATCHES) if is_failing(number)),
            *map(run_of_one, range(OTHERS)),
        ],
        "feeds": [feed(number) for number in range(FEEDS)],
        "import_logs": [run(number) for number in range(OTHERS)],
        "jobs": [posting(number) for number in range(OTHERS)],
        "metadata": [record(number) for number in range(OTHERS)],
        "pages": [page(number) for number in range(OTHERS)],
    }
    async with open_whole(settings.store_url, settings) as whole:
        for name, each in items.items():
            for first in range(0, len(each), WRITTEN_AT_ONCE):
                await whole.put_if_newer(name, each[first : first + WRITTEN_AT_ONCE])
    async with open_services(settings) as services:
        for name in LETTERS:
            letter = Message(id=f"letter {name}", body=f"no batch, but {name}: {LONG}".encode())
            await services.broker.publish(IMPORT_QUEUE, letter)
        async with services.broker.deliveries(IMPORT_QUEUE, len(LETTERS)) as deliveries:
            for _ in LETTERS:
                await (await anext(deliveries)).dead_letter(REASON)


def watch_id(number: int) -> str:
    return f"watch-{number:05}"


def name_of(number: int) -> str:
    """One of a hundred is a lamp; one has a long name."""
    if number == 7:
        return f"Engine 00007 {LONG}"
    return f"Lamp {number:05}" if number % 100 == 0 else f"Engine {number:05}"


def url_of(number: int) -> str:
    return f"https://shop{number % 500}.test/some/long/way/to/a/thing-{number:05}.html?of={LONG}"


def watch(number: int) -> Watch:
    """One of ten is paused."""
    made = START + timedelta(minutes=number)
    is_enabled, has_failed = number % 10 != 3, is_failing(number)
    return Watch(
        watch_id=watch_id(number),
        config=WatchConfig(
            name=name_of(number),
            urls=[url_of(number)],
            schedule=Schedule(every_minutes=float(5 + number % 7)),
            enabled=is_enabled,
            tags=[TAGS[number % len(TAGS)]] if number % 5 == 0 else [],
        ),
        created_at=made,
        updated_at=made,
        next_run_at=DUE + timedelta(seconds=number) if is_enabled else None,
        last_run_at=made + timedelta(hours=1),
        last_run_id=f"check-{number:05}",
        last_status=RunStatus.FAILED if has_failed else RunStatus.COMPLETED,
        failures=number // 1000 + 1 if has_failed else 0,
        metrics=Metrics(pages_processed=987_000 + number, changes=123_000 + number),
    )


def is_failing(number: int) -> bool:
    return number % 100 == 50


def failed_run(number: int) -> WholeRun:
    made = START + timedelta(minutes=number)
    return WholeRun(
        run=WatchRun(
            run_id=f"check-{number:05}",
            watch_id=watch_id(number),
            status=RunStatus.FAILED,
            trigger="schedule",
            started_at=made,
            updated_at=made,
            finished_at=made,
            pages_total=1,
            tally=Tally(processed=1, failed=1),
            failures=[PageFailure(url=url_of(number), reason=f"{REASON} {number}")],
        ),
        expires_at=DUE,
    )


def run_of_one(number: int) -> WholeRun:
    """The runs of RUN_OFTEN; one of 25 has failed."""
    made, has_failed = START + timedelta(hours=number), number % 25 == 0
    return WholeRun(
        run=WatchRun(
            run_id=f"again-{number:04}",
            watch_id=RUN_OFTEN,
            status=RunStatus.FAILED if has_failed else RunStatus.COMPLETED,
            trigger=FORMULA if number == WITH_FORMULA else "schedule",
            started_at=made,
            updated_at=made,
            finished_at=made + timedelta(seconds=number),
            pages_total=1,
            tally=Tally(processed=1, failed=int(has_failed), changes=123_456),
            failures=[PageFailure(url=url_of(7), reason=REASON)] if has_failed else [],
        ),
        expires_at=DUE,
    )


def feed_url(number: int) -> str:
    return f"https://jobs{number}.test/feed.xml?of={LONG}"


def feed(number: int) -> Feed:
    made = START + timedelta(minutes=number)
    is_failing = number < FAILING_FEEDS
    return Feed(
        feed_id=f"feed-{number:03}",
        config=FeedConfig(
            url=feed_url(number),
            name=f"Feed {number:03} {LONG}" if number == 5 else f"Feed {number:03}",
            tags=["boards"] if number % 4 == 0 else [],
        ),
        created_at=made,
        updated_at=made,
        next_run_at=DUE,
        last_run_id=f"run-{number:04}",
        last_status=ImportStatus.FAILED if is_failing else ImportStatus.COMPLETED,
        last_error=REASON if is_failing else None,
        last_run_at=made,
        failures=2 if is_failing else 0,
    )


def run(number: int) -> ImportRun:
    begun = START + timedelta(minutes=number)
    is_failing = number <= FAILING_FEEDS  # the last one's feed was imported completely since
    return ImportRun(
        run_id=f"run-{number:04}",
        feed_id=f"feed-{number % FEEDS:03}",
        source_url=feed_url(number % FEEDS),
        source_name=FORMULA if number == WITH_FORMULA else f"Feed {number % FEEDS:03}",
        status=ImportStatus.FAILED if is_failing else ImportStatus.COMPLETED,
        error=REASON if is_failing else None,
        trigger="schedule",
        started_at=begun,
        updated_at=begun,
        finished_at=begun,
        duration_ms=1234,
        batch_size=200,
        concurrency=4,
        reading=Reading(
            phase=Phase.FINISHED, fetched=1_234_567, published=6173, all_published=True
        ),
        counts=Counts(new=234_567, unchanged=1_000_000),
        processed_batches=6173,
    )


def _title_of(number: int) -> str:
    if number == WITH_FORMULA:
        return FORMULA
    return f"Weaver {LONG}" if number % 50 == 0 else f"Weaver {number}"


def posting(number: int) -> StoredPosting:
    made, source = START + timedelta(minutes=number), feed_url(number % FEEDS)
    mark = Mark(f"run-{number:04}", 0)
    return StoredPosting(
        posting=JobPosting(
            dedupe_key=dedupe_key(source, str(number), None),
            content_hash="0" * 32,
            source_url=source,
            source_name=f"Feed {number % FEEDS:03}",
            title=_title_of(number),
            external_id=str(number),
            job_url=f"https://jobs.test/{number}",
            company=f"Mill {number % 20}",
            location="Köln, Germany",
            categories=["Textiles", "Crafts"],
            description="<p>Weaves.</p>",
            published_at=made,
        ),
        created_at=made,
        updated_at=made,
        created_by=mark,
        changed_by=mark,
    )


def _error_of(number: int) -> str:
    return FORMULA if number == WITH_FORMULA else REASON


def record(number: int) -> WholeRecord:
    made = START + timedelta(minutes=number)
    has_failed = number % 25 == 0
    return WholeRecord(
        url=f"https://host{number}.test/{LONG}/{number}",
        status=Status.FAILED_PERMANENT if has_failed else Status.COMPLETED,
        metadata=Metadata(
            status_code=404 if has_failed else 200,
            headers={"content-type": "text/html", "etag": f'"{LONG}"'},
            cookies={"taste": "oatmeal"},
            page_source="<!doctype html><title>A page</title><p>Some text",
            final_url=f"https://host{number}.test/{LONG}/{number}",
        ),
        processing=Processing(
            attempt_number=1,
            error_message=_error_of(number) if has_failed else None,
            last_attempt_at=made,
        ),
        additional_details={"http_version": "1.1"},
        created_at=made,
        updated_at=made,
        token=1,
        request_id=None,
        background=False,
        waits=False,
    )


def page(number: int) -> WholePage:
    at = int((START + timedelta(minutes=number)).timestamp() * 1000)
    has_failed = number % 25 == 0
    place = Place(ts=at, claimed=1, snapshot_hash=f"{number:064}")
    price = EventPrice(current=Decimal(f"{number}.99"), currency="EUR")
    return WholePage(
        watch_id=watch_id(number),
        url=url_of(number),
        last_updated=at,
        classification=PagePart(place=place, value={"type": "product", "confidence": 0.9}),
        price=PagePrice(place=place, price=price),
        availability=PagePart(place=place, value="in_stock"),
        checked_at=at,
        outcome=Outcome.FAILED if has_failed else Outcome.UNCHANGED,
        error=_error_of(number) if has_failed else None,
        validated_at=None,
        validators=Validators(),
    )
