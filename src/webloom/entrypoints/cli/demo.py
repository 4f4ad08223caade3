"""`webloom demo`: the whole of Webloom at work on a made-up site, without a network."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import quote

import typer
import uvloop
from rich.console import Console
from rich.live import Live

from webloom.application.inventory.submit_url import NoRoom
from webloom.bootstrap import Services
from webloom.domain.inventory import Record, Status
from webloom.entrypoints.cli.demo_imports import show_imports
from webloom.entrypoints.cli.demo_watches import WATCH_ID, show_watches
from webloom.entrypoints.cli.logs import quieten
from webloom.entrypoints.cli.output import console, plain, show_table, table
from webloom.entrypoints.demo_feeds import demo_feeds
from webloom.entrypoints.demo_shop import shop_pages
from webloom.entrypoints.demo_site import Site, demo_pages, serve
from webloom.entrypoints.processes import ALL_ROLES, run_processes
from webloom.settings import Settings, load_settings

# The usual one, so that a second demo refreshes the records of the first; else any that is free.
SITE_PORTS = (8089, 0)
POLL_SECONDS = 0.2

Update = Callable[[Counter[Status]], None]

INTERESTING = {
    "/cloth/indigo-linen": "a plain page",
    "/shop": "one redirect",
    "/old/catalogue": "three redirects",
    "/basket": "sets cookies",
    "/history": "Latin-1",
    "/sizes": "compressed",
    "/swatch.png": "an image: no source is kept",
    "/ledger": "1.2 million characters: cut, and noted",
    "/slow": "takes 1.5 s",
    "/long-lunch": "503 twice, then 200",
    "/till": "always 500",
    "/cloth/sold-out": "410",
    "/carousel": "redirects in a circle",
    "/back-door": "redirects into a private network",
}


def demo(
    once: Annotated[
        bool, typer.Option("--once", help="End when all was shown, and do not go on.")
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="Where the API listens, instead of WEBLOOM_PORT."),
    ] = None,
) -> None:
    """See Webloom at work in a minute: a made-up site on this machine, its pages fetched, its job
    feeds imported and its moving prices watched.

    Needs no network. Its database is in the folder demo of the data folder; yours is not touched.
    """
    uvloop.run(_demo(once, port))


async def _demo(once: bool, port: int | None) -> None:
    given = load_settings()
    quieten(given)
    taken = port or given.port  # by the API
    feeds, sale = (feed.page for feed in demo_feeds()), (each.page for each in shop_pages())
    pages = [*demo_pages(), *feeds, *sale]
    async with serve(pages, ports=[each for each in SITE_PORTS if each != taken]) as site:
        settings = _settings(given, site, port)
        show = _Show(site=site, given=given, once=once, to=console())
        await run_processes(settings, ALL_ROLES, on_ready=show)


def _settings(given: Settings, site: Site, port: int | None) -> Settings:
    folder = given.data_dir / "demo"
    own = f"sqlite:///{folder / 'webloom.db'}"  # never what is in use
    return load_settings(
        data_dir=str(folder),
        store=own,
        broker=own,
        broker_metadata_queue=own,
        broker_import_feed=own,
        broker_storage_agent=own,
        allow_addresses=",".join((*given.allow_addresses, site.address)),
        retry_delay="1",
        port=str(port or given.port),
    )


@dataclass(frozen=True, kw_only=True)
class _Show:
    """Runs once everything is up: submit, watch, sum up, and say what to try."""

    site: Site
    given: Settings
    once: bool
    to: Console

    @property
    def urls(self) -> list[str]:
        """Of the pages; the feeds are read by imports only, the sale by its watch."""
        return [f"http://{self.site.address}{page.path}" for page in demo_pages()]

    async def __call__(self, services: Services, stop: asyncio.Event) -> None:
        self.to.print(
            f"Loom & Weft, a made-up site with {len(self.urls)} pages, is at "
            f"http://{self.site.address}/\n",
            soft_wrap=True,
        )
        await _submit(services, self.urls)
        if not await self._watch(services, stop):
            return
        await self._sum_up(services)
        if not await show_imports(services, self.site.address, self.to, stop):
            return
        if not await show_watches(services, self.site.address, self.to, stop):
            return
        if self.once:
            stop.set()
            return
        self._say_what_to_try(services.settings)

    async def _watch(self, services: Services, stop: asyncio.Event) -> bool:
        """Until every page has its final state. False: it was stopped before."""
        tell = _in_a_table if self.to.is_terminal else _in_lines
        urls = self.urls
        with tell(self.to) as update:
            while not stop.is_set():
                states = await services.store.states(urls)
                counts = Counter(state.status for state in states if state is not None)
                update(counts)
                if sum(counts[status] for status in Status if status.is_final) == len(states):
                    return True
                await asyncio.sleep(POLL_SECONDS)
        return False

    async def _sum_up(self, services: Services) -> None:
        shown = table("page", "what it is", "status", "code", "attempts", "outcome")
        base = f"http://{self.site.address}"
        for path, about in INTERESTING.items():
            record = await services.store.find(base + path, with_source=False)
            if record is not None:
                shown.add_row(path, about, *_outcome(record, base))
        self.to.print()
        show_table(shown, self.to)
        self.to.print()

    def _say_what_to_try(self, settings: Settings) -> None:
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        api = f"http://{host}:{settings.port}"
        key = ' -H "Authorization: Bearer $KEY"' if settings.api_key_hashes else ""
        page = quote(f"http://{self.site.address}/long-lunch", safe="")
        if self.given.store is None:
            where = f"WEBLOOM_DATA_DIR={shlex.quote(str(settings.data_dir))}"
        else:
            where = f"WEBLOOM_STORE={shlex.quote(f'sqlite:///{settings.database}')}"
        program = "webloom" if sys.argv[0].endswith(".py") else shlex.quote(sys.argv[0])
        coat, loom, news = (
            f"http://{self.site.address}/sale/{name}" for name in ("coat", "loom", "news")
        )
        gate = f"WEBLOOM_ALLOW_ADDRESSES={self.site.address}"
        of_coat = f"jobId={WATCH_ID}&url={quote(coat, safe='')}"
        lines = [
            f"Look at it in a browser: {api}/",
            "",
            "What to try, in another terminal:",
            "",
            f"  curl{key} {shlex.quote(f'{api}/metadata?url={page}&source=false')}",
            f"  curl{key} {shlex.quote(f'{api}/metadata/records?status=FAILED_PERMANENT')}",
            f"  curl{key} {shlex.quote(f'{api}/api/import-logs?limit=5')}",
            f"  curl{key} -N {shlex.quote(f'{api}/api/import-logs/stream')}",
            f"  curl{key} {shlex.quote(f'{api}/api/jobs?q=weaver&limit=3')}",
            f"  curl{key} {shlex.quote(f'{api}/health')}",
            f"  {where} {program} export --format csv",
            f"  {where} {program} feeds list",
            f"  {gate} {program} feed http://{self.site.address}{demo_feeds()[0].path} --limit 3",
            f"  {where} {program} watches list",
            f"  {where} {program} history {coat}",
            f"  {where} {program} storage",
            f"  {gate} {program} inspect {loom}",
            f"  {gate} {program} diff {news} {news}",
            f"  curl{key} {shlex.quote(f'{api}/api/watch/pages/changes?limit=3')}",
            f"  curl{key} {shlex.quote(f'{api}/api/watch/pages/prices?{of_coat}&format=csv')}",
            f"  curl{key} {shlex.quote(f'{api}/api/watch/feed.atom')}",
            "",
            "Ctrl-C ends the demo.",
        ]
        for line in lines:
            self.to.print(plain(line), soft_wrap=True)


async def _submit(services: Services, urls: list[str]) -> None:
    waiting = urls
    while waiting:
        answers = await services.submit_url.many(waiting)
        waiting = [answer.url for answer in answers if isinstance(answer, NoRoom)]
        if waiting:
            await asyncio.sleep(POLL_SECONDS)


@contextmanager
def _in_a_table(to: Console) -> Iterator[Update]:
    """One that changes in its place."""
    with Live(console=to, auto_refresh=False) as live:

        def update(counts: Counter[Status]) -> None:
            shown = table("status", "pages")
            for status in Status:
                shown.add_row(status.value, str(counts[status]))
            live.update(shown, refresh=True)

        yield update


@contextmanager
def _in_lines(to: Console) -> Iterator[Update]:
    """A new one when something has changed."""
    said = ""

    def update(counts: Counter[Status]) -> None:
        nonlocal said
        words = ", ".join(f"{counts[status]} {status}" for status in Status if counts[status])
        if words != said:
            said = words
            to.print(words, soft_wrap=True)

    yield update


def _outcome(record: Record, base: str) -> tuple[str, str, str, str]:
    metadata, processing = record.metadata, record.processing
    details = record.additional_details or {}
    if processing.error_message:
        outcome = processing.error_message
    elif metadata.final_url != record.url:
        outcome = f"at {(metadata.final_url or '').removeprefix(base)}"
    elif "source_truncated_at" in details:
        outcome = f"{details['source_truncated_at']:,} characters kept"
    else:
        outcome = f"{details.get('content_length', 0):,} bytes"
    return (
        record.status.value,
        str(metadata.status_code or "-"),
        str(processing.attempt_number),
        plain(outcome),
    )
