"""The demo: all of Webloom at work on a made-up site, without a network."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections import Counter
from dataclasses import dataclass
from urllib.parse import quote

from webloom.application.imports.run_import import run_ends
from webloom.application.inventory.fetch_url import log as fetch_log
from webloom.application.inventory.submit_url import NoRoom
from webloom.bootstrap.services import Services
from webloom.domain.inventory import Status
from webloom.entrypoints.cli.output import console, discard_stdout
from webloom.entrypoints.cli.processes import KEEP_KEY, WITH_KEY
from webloom.entrypoints.log_lines import quieten
from webloom.entrypoints.processes import ALL_ROLES, run_processes
from webloom.settings import Settings, load_settings
from webloom_demo.feeds import demo_feeds
from webloom_demo.imports import show_imports
from webloom_demo.report import DemoReport, ShownRecord
from webloom_demo.shop import shop_pages
from webloom_demo.site import Site, demo_pages, serve
from webloom_demo.watches import WATCH_ID, show_watches

# The usual one, so that a second demo refreshes the records of the first; else any that is free.
SITE_PORTS = (8089, 0)
POLL_SECONDS = 0.2

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


async def demo(once: bool, port: int | None, as_json: bool) -> None:
    given = load_settings()
    # Some pages of the site are there to fail, or to be refused.
    quieten(given, run_ends.name, fetch_log.name, "webloom.adapters.refusal_log")
    taken = port or given.port  # by the API
    feeds, sale = (feed.page for feed in demo_feeds()), (each.page for each in shop_pages())
    pages = [*demo_pages(), *feeds, *sale]
    async with serve(pages, ports=[each for each in SITE_PORTS if each != taken]) as site:
        settings = _settings(given, site, port)
        show = _Show(site=site, given=given, once=once, report=_report(as_json))
        await run_processes(settings, ALL_ROLES, on_ready=show)


def _report(as_json: bool) -> DemoReport:
    if as_json:
        from webloom_demo.json_report import JsonReport

        return JsonReport()
    from webloom_demo.text_report import TextReport

    return TextReport(to=console())


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
    """Called once everything is up: submits pages, follows them, reports, and says what to try."""

    site: Site
    given: Settings
    once: bool
    report: DemoReport

    @property
    def urls(self) -> list[str]:
        """Of the pages; the feeds are read by imports only, the sale by its watch."""
        return [f"http://{self.site.address}{page.path}" for page in demo_pages()]

    async def __call__(self, services: Services, stop: asyncio.Event) -> None:
        try:
            await self._show(services, stop)
        except BrokenPipeError:  # the reader has closed the pipe
            discard_stdout()
            stop.set()

    async def _show(self, services: Services, stop: asyncio.Event) -> None:
        self.report.site(f"http://{self.site.address}", len(self.urls))
        await _submit(services, self.urls)
        if not await self._watch(services, stop):
            return
        await self._sum_up(services)
        if not await show_imports(services, self.site.address, self.report, stop):
            return
        if not await show_watches(services, self.site.address, self.report, stop):
            return
        if self.once:
            stop.set()
            return
        self._go_on(services.settings)

    async def _watch(self, services: Services, stop: asyncio.Event) -> bool:
        """Until every page has its final state. False: it was stopped before."""
        urls = self.urls
        with self.report.progress() as update:
            while not stop.is_set():
                states = await services.store.states(urls)
                counts = Counter(state.status for state in states if state is not None)
                update(counts)
                if sum(counts[status] for status in Status if status.is_final) == len(states):
                    return True
                await asyncio.sleep(POLL_SECONDS)
        return False

    async def _sum_up(self, services: Services) -> None:
        base = f"http://{self.site.address}"
        found = [
            (path, about, await services.store.find(base + path, most=0))
            for path, about in INTERESTING.items()
        ]
        self.report.records(
            base,
            [
                ShownRecord(path, about, record)
                for path, about, record in found
                if record is not None
            ],
        )

    def _go_on(self, settings: Settings) -> None:
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        api = f"http://{host}:{settings.port}"
        key = f" {WITH_KEY}" if settings.api_key_hashes else ""
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
        commands = [
            *([KEEP_KEY] if settings.api_key_hashes else []),
            f"curl{key} {shlex.quote(f'{api}/metadata?url={page}&source=false')}",
            f"curl{key} {shlex.quote(f'{api}/metadata/records?status=FAILED_PERMANENT')}",
            f"curl{key} {shlex.quote(f'{api}/api/import-logs?limit=5')}",
            f"curl{key} -N {shlex.quote(f'{api}/api/import-logs/stream')}",
            f"curl{key} {shlex.quote(f'{api}/api/jobs?q=weaver&limit=3')}",
            f"curl{key} {shlex.quote(f'{api}/health')}",
            f"{where} {program} export --format csv",
            f"{where} {program} feeds list",
            f"{gate} {program} feed http://{self.site.address}{demo_feeds()[0].path} --limit 3",
            f"{where} {program} watches list",
            f"{where} {program} history {coat}",
            f"{where} {program} storage",
            f"{gate} {program} inspect {loom}",
            f"{gate} {program} diff {news} {news}",
            f"curl{key} {shlex.quote(f'{api}/api/watch/pages/changes?limit=3')}",
            f"curl{key} {shlex.quote(f'{api}/api/watch/pages/prices?{of_coat}&format=csv')}",
            f"curl{key} {shlex.quote(f'{api}/api/watch/feed.atom')}",
        ]
        self.report.goes_on(api, commands)


async def _submit(services: Services, urls: list[str]) -> None:
    waiting = urls
    while waiting:
        results = await services.submit_url.many(waiting)
        waiting = [result.url for result in results if isinstance(result, NoRoom)]
        if waiting:
            await asyncio.sleep(POLL_SECONDS)
