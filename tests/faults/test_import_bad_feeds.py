"""Feeds that are not what they should be: each ends with a clear status, the others unaffected."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import pytest

from bombs import bomb
from faults.conftest import MakeFleet
from faults.feed_site import FeedSite, Served
from faults.processes import eventually_async
from faults.stack import Say
from webloom.bootstrap.connections import open_services
from webloom.bootstrap.services import Services
from webloom.domain.import_run import ImportRun, RunStatus
from webloom.settings import load_settings

MAX_FEED = 100 << 20
HEAD = '<?xml version="1.0"?><rss version="2.0"><channel><title>Feed</title>'
TAIL = "</channel></rss>"


def item(number: int, *, guid: object = None, more: str = "") -> str:
    return (
        f"<item><guid>{number if guid is None else guid}</guid><title>Job {number}</title>"
        f"<link>https://jobs.example/{number}</link>{more}</item>\n"
    )


def rss(items: Iterator[str] | list[str]) -> str:
    return HEAD + "".join(items) + TAIL


def jobs(count: int) -> list[str]:
    return [item(number) for number in range(count)]


def endless() -> Iterator[bytes]:
    yield HEAD.encode()
    while True:
        yield "".join(jobs(5000)).encode()


BOMB = bomb("gzip", 1024, head=HEAD.encode(), filler=b" ")
LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">'
    '<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]><rss><channel>'
    + item(1, more="<description>&c;</description>")
    + TAIL
)
OUTSIDE = LAUGHS.replace('"ha"', 'SYSTEM "file:///etc/passwd"')


@dataclass(frozen=True, kw_only=True)
class Case:
    path: str
    served: Served
    status: RunStatus
    says: str | None = None  # in the run's error
    new: int = 0
    duplicate: int = 0
    failed: int = 0


def made_cases() -> list[Case]:
    """Made for the test only: they are large."""
    return [
        Case(path="/empty", served=Served.of(b""), status=RunStatus.FAILED, says="empty"),
        Case(path="/no-jobs", served=Served.of(rss([])), status=RunStatus.COMPLETED),
        Case(
            path="/html",
            served=Served.of("<!doctype html><html><title>Log in</title><p>Who are you?</html>"),
            status=RunStatus.FAILED,
            says="HTML",
        ),
        Case(
            path="/truncated",
            served=Served.of(rss(jobs(1000)).partition("b 937")[0]),
            status=RunStatus.PARTIAL,
            says="breaks off",
            new=937,
            failed=1,
        ),
        Case(path="/gone", served=Served.of("gone", 410), status=RunStatus.FAILED, says="410"),
        Case(path="/down", served=Served.of("down", 503), status=RunStatus.FAILED, says="503"),
        Case(path="/laughs", served=Served.of(LAUGHS), status=RunStatus.FAILED, says="entities"),
        Case(path="/outside", served=Served.of(OUTSIDE), status=RunStatus.FAILED, says="entities"),
        Case(
            path="/bomb",
            served=Served.of(BOMB, Content_Encoding="gzip"),
            status=RunStatus.FAILED,
            says="larger than",
        ),
        Case(path="/bomb.gz", served=Served.of(BOMB), status=RunStatus.FAILED, says="larger than"),
        Case(
            path="/declared",
            served=Served.of(b"<rss>", Content_Length=str(10 << 30)),
            status=RunStatus.FAILED,
            says="larger than",
        ),
        Case(
            path="/endless",
            served=Served(body=endless),
            status=RunStatus.FAILED,
            says="larger than",
        ),
        Case(
            path="/whale",
            served=Served.of(
                rss(
                    [
                        item(1),
                        item(2, more=f"<description>{'x' * (50 << 20)}</description>"),
                        item(3),
                    ]
                )
            ),
            status=RunStatus.PARTIAL,
            new=2,
            failed=1,
        ),
        Case(
            path="/one-guid",
            served=Served.of(rss(item(number, guid="same") for number in range(200_000))),
            status=RunStatus.COMPLETED,
            new=1,
            duplicate=199_999,
        ),
        Case(
            path="/far-future",
            served=Served.of(
                rss(
                    [
                        item(n, more="<pubDate>Tue, 03 Mar 99999 10:00:00 GMT</pubDate>")
                        for n in (1, 2)
                    ]
                )
            ),
            status=RunStatus.COMPLETED,
            new=2,
        ),
        Case(
            path="/packed.xml.gz",
            served=Served.of(gzip.compress(rss(jobs(300)).encode())),
            status=RunStatus.COMPLETED,
            new=300,
        ),
        Case(
            path="/repaired",
            served=Served.of(rss([item(1), item(2, more="<company>R&D\x01</company>"), item(3)])),
            status=RunStatus.COMPLETED,
            new=3,
        ),
        Case(
            path="/healthy", served=Served.of(rss(jobs(5000))), status=RunStatus.COMPLETED, new=5000
        ),
    ]


@pytest.fixture
async def feed_site() -> AsyncIterator[FeedSite]:
    async with FeedSite() as running:
        yield running


async def ended(services: Services, run_id: str) -> ImportRun:
    async def look() -> ImportRun | None:
        run = await services.imports.listed_runs.find(run_id)
        return run if run is not None and run.status is not RunStatus.RUNNING else None

    run = await eventually_async(look, what=f"{run_id} ends")
    assert run is not None
    return run


async def test_each_bad_feed_ends_with_a_clear_status_and_affects_no_other(
    feed_site: FeedSite, fleets: MakeFleet, say: Say
) -> None:
    cases = made_cases()
    feed_site.feeds = {case.path: case.served for case in cases}
    fleet = fleets(feed_site, max_feed=MAX_FEED, retry_delay=0)
    await fleet.start("up")
    async with open_services(load_settings(fleet.settings)) as services:
        for case in cases:
            await services.manage_feeds.add(feed_site.url(case.path), case.path)
        started = await services.start_import.all_enabled()
        assert len(started) == len(cases)
        runs = {}
        for feed, each in started:
            runs[feed.config.name] = await ended(services, each.run.run_id)
        feeds = {feed.config.name: feed for feed in await services.imports.feeds.all()}
    fleet.check()
    wrong = []
    for case in cases:
        run = runs[case.path]
        say(f"{case.path}: {run.status}, {run.counts}, {run.error}")
        counts = (run.counts.new, run.counts.duplicate, run.counts.failed)
        if (run.status, *counts) != (case.status, case.new, case.duplicate, case.failed):
            wrong.append((case.path, run.status, run.counts, run.error))
        if (case.says or "") not in (run.error or "") or (run.error and not case.says):
            wrong.append((case.path, run.status, run.counts, run.error))
        assert run.counts.total == run.reading.fetched
        feed = feeds[case.path]
        assert (feed.active_run_id, feed.last_status) == (None, run.status)
        assert (feed.failures == 1) == (run.status is RunStatus.FAILED)
        assert feed.next_run_at is not None, "no feed is given up"
    assert not wrong
    assert sum(runs["/repaired"].reading.repairs.values()) == 2


async def test_what_has_not_changed_is_not_read_again(
    feed_site: FeedSite, fleets: MakeFleet
) -> None:
    body = rss(jobs(500))
    feed_site.feeds = {
        "/tagged": Served.of(body, ETag='"one"'),
        "/plain": Served.of(body),
    }
    fleet = fleets(feed_site)
    await fleet.start("up")
    async with open_services(load_settings(fleet.settings)) as services:
        for path in feed_site.feeds:
            await services.manage_feeds.add(feed_site.url(path), path)
        for expected in (500, 0):
            for feed, started in await services.start_import.all_enabled():
                run = await ended(services, started.run.run_id)
                assert (run.status, run.counts.new) == (RunStatus.COMPLETED, expected)
                assert run.reading.is_unmodified == (expected == 0), feed.config.name
        retried = await services.start_import(feed.feed_id, "retry", retry_of=run.run_id)
        assert retried is not None
        forced = await ended(services, retried.run.run_id)
        assert (forced.counts.unchanged, forced.reading.is_unmodified) == (500, False)
    assert feed_site.requested == {
        "/tagged": 2 + (feed.config.name == "/tagged"),
        "/plain": 3 - (feed.config.name == "/tagged"),
    }
    fleet.check()
