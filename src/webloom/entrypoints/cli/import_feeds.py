"""`webloom import`: import feeds now, in this process, from the fetch to the last batch.

which feeds -> start a run of each -> claim it -> RunImport, beside slots that store its batches
                                 `-> another process has it: follow, and take over if it dies
"""

from __future__ import annotations

import asyncio
import itertools
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated

import typer

from webloom.application.retrying import retry_until_available
from webloom.domain.errors import WebloomError
from webloom.domain.feed import Feed
from webloom.domain.import_run import ImportRun, RunStatus
from webloom.domain.politeness import slots_of_one_host
from webloom.entrypoints.cli.import_feeds_report import Report
from webloom.entrypoints.cli.named import checked_url, find_feed, is_stored, is_url, no_feeds
from webloom.entrypoints.cli.output import (
    INTERRUPTED,
    SOME_FAILED,
    AsJson,
    console,
    discard_stdout,
    json_line,
    pipe_may_close,
    visible,
)
from webloom.entrypoints.cli.running import current_settings, run
from webloom.parsing.web_url import host_of

if TYPE_CHECKING:
    from webloom.application.imports.run_import import RunImport
    from webloom.bootstrap.services import Services
    from webloom.ports.import_runs import Claim
    from webloom.settings import Settings

AT_ONCE = 4  # feeds
FOLLOW_SECONDS = 0.5


def import_feeds(
    feeds: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FEED",
            help="URLs, names or ids; default: every feed that is not paused. "
            "An unknown URL is added, without a schedule.",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every feed, paused ones too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Import feeds now: fetch, read and store them. No other process is needed.

    A feed that another process is importing is followed instead. Exits with 0 when every run was
    completed, with 3 when records of one failed, with 1 when a run failed or a feed was removed
    meanwhile, and with 130 when it is interrupted: the runs are given back then, and the next
    import continues with them.
    """
    if feeds and every:
        raise typer.BadParameter("name the feeds, or all of them by --all")
    from webloom.application.imports.run_import import run_ends
    from webloom.entrypoints.log_lines import quieten

    settings = current_settings()
    quieten(settings, run_ends.name)
    report = Report(console=console(err=True))
    try:
        run(_import(settings, feeds or [], every, as_json, report))
    except KeyboardInterrupt:
        if report.ended and not as_json:
            with pipe_may_close():
                report.summary(console())
        report.interrupted()
        raise typer.Exit(INTERRUPTED) from None
    ended = list(report.ended.values())
    if not as_json:
        with pipe_may_close():
            report.summary(console())
    if report.left_out or any(run.status is RunStatus.FAILED for run in ended):
        raise typer.Exit(1)
    if any(run.status is RunStatus.PARTIAL for run in ended):
        raise typer.Exit(SOME_FAILED)


async def _import(
    settings: Settings, given: list[str], every: bool, as_json: bool, report: Report
) -> None:
    for url in filter(is_url, given):
        checked_url(settings, url)
    if not is_stored(settings) and not any(map(is_url, given)):
        which = f"unknown feed {visible(given[0])}: " if given else ""
        raise WebloomError(f"{which}{no_feeds(settings)}")
    from webloom.bootstrap.connections import open_services
    from webloom.bootstrap.network import spool_room
    from webloom.bootstrap.use_cases import open_run_import
    from webloom.entrypoints.heartbeat import beating, first_beat

    async with open_services(settings) as services:
        chosen = await _chosen(services, given, every, report)
        beat = first_beat(services, "import")
        room = spool_room(services.settings)
        async with (
            beating(services, beat, lambda beat: replace(beat, imports_wait=room.full)),
            open_run_import(services, room) as run_import,
        ):
            importer = _Importer(
                services=services, run_import=run_import, owner=beat.process_id, report=report
            )
            with report.progress():
                await importer.run(chosen, as_json)


async def _chosen(services: Services, given: list[str], every: bool, report: Report) -> list[Feed]:
    """Each once. Raises WebloomError before anything is added or started."""
    if not given:
        feeds = await services.imports.feeds.all()
        if not feeds:
            raise WebloomError(no_feeds(services.settings))
        chosen = [each for each in feeds if every or each.config.enabled]
        if not chosen:
            raise WebloomError("every feed is paused: name one to import it, or --all")
        return chosen
    found = [await find_feed(services, each) for each in given]
    for name, feed in zip(given, found, strict=True):
        if feed is None and not is_url(name):
            raise WebloomError(
                f"unknown feed {visible(name)}: `webloom feeds list` shows all feeds; a URL "
                "begins with http:// or https://"
            )
    by_id = {}
    for name, feed in zip(given, found, strict=True):
        if feed is None:
            feed, is_new = await services.manage_feeds.add(name, enabled=False)
            if is_new:
                report.say(
                    f"{feed.config.url} is now a feed, without a schedule: "
                    f"`webloom feeds resume {feed.feed_id}` gives it one"
                )
        by_id[feed.feed_id] = feed
    return list(by_id.values())


@dataclass(kw_only=True)
class _Importer:
    services: Services
    run_import: RunImport
    owner: str
    report: Report
    _claims: itertools.count[int] = field(default_factory=itertools.count)  # an owner has one

    async def run(self, feeds: list[Feed], as_json: bool) -> None:
        """With slots of our own for the batches. Interrupted, the runs are given back first, and
        then what is in the slots is finished."""
        from webloom.entrypoints.worker import serve_batches

        stop = asyncio.Event()
        serving = asyncio.create_task(serve_batches(self.services, stop))
        importing = asyncio.create_task(self._import_all(feeds, as_json))
        try:
            await asyncio.wait({serving, importing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            importing.cancel()
            await asyncio.wait({importing})
            stop.set()
            await asyncio.wait({serving})
        serving.result()
        importing.result()

    async def _import_all(self, feeds: list[Feed], as_json: bool) -> None:
        """A few at a time; one that waits for its host takes no place."""
        room = asyncio.Semaphore(AT_ONCE)
        hosts: defaultdict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(slots_of_one_host(AT_ONCE))
        )

        async def one(feed: Feed) -> None:
            async with hosts[host_of(feed.config.fetch_url)], room:
                run = await self._import(feed)
            if run is None:
                self.report.leave_out(feed)
                return
            self.report.finish(run)
            if as_json:
                _print_json(run)

        async with asyncio.TaskGroup() as group:
            for feed in feeds:
                group.create_task(one(feed))

    async def _import(self, feed: Feed) -> ImportRun | None:
        """The run at its end, whichever process does it. None: the feed or the run is gone."""
        owner, lease = f"{self.owner}.{next(self._claims)}", self.services.settings.lease
        started = await retry_until_available(
            lambda: self.services.start_import(feed.feed_id, "cli", owner=owner, lease=lease)
        )
        if started is None:
            return None
        run, is_left = started.run, not started.is_new
        self.report.begin(run)
        while run.status is RunStatus.RUNNING:
            claim = await self._claim(run, owner)
            if claim is None:
                self.report.follow(run, lease=lease)
                self.report.change(run)
                is_left = True
            else:
                self.report.carry_out(run, is_left=is_left)
                self.report.change(run)
                if (ended := await self.run_import(claim, self.report.change)) is not None:
                    return ended
            await asyncio.sleep(FOLLOW_SECONDS)
            found = await self._now(run)
            if found is None:
                self.report.lose(run)
                return None
            run = found
        return run

    async def _claim(self, run: ImportRun, owner: str) -> Claim | None:
        return await retry_until_available(lambda: self.run_import.claim(owner, run_id=run.run_id))

    async def _now(self, run: ImportRun) -> ImportRun | None:
        return await retry_until_available(
            lambda: self.services.imports.listed_runs.find(run.run_id)
        )


def _print_json(run: ImportRun) -> None:
    from webloom.entrypoints.api.import_schemas import import_log_detail

    try:
        json_line(import_log_detail(run))
    except BrokenPipeError:  # the reader is gone; the imports continue
        discard_stdout()
