"""`webloom history URL`: the versions, changes and prices of a page; `webloom storage`."""

from __future__ import annotations

from typing import Annotated

import typer
import uvloop

from webloom.application.watch.manage_watches import all_watches
from webloom.bootstrap.connections import open_services
from webloom.bootstrap.services import Services
from webloom.domain.errors import UrlRefused, WebloomError
from webloom.domain.storage_event import moment_of
from webloom.entrypoints.api.watch_page_schemas import (
    change_response,
    page_response,
    price_response,
    storage_response,
    version_response,
)
from webloom.entrypoints.cli.output import (
    amount,
    console,
    json_line,
    pipe_may_close,
    plain,
    say,
    shortened,
    show_table,
    table,
    utf8_argument,
    visible,
)
from webloom.entrypoints.cli.price_curve import price_curve
from webloom.parsing.web_url import normalise
from webloom.ports.page_history import ChangeFilter
from webloom.ports.page_storage import Usage
from webloom.ports.pages import PageFilter, StoredPage
from webloom.ports.room import DatabaseSize
from webloom.settings import load_settings

SHOWN = 20


def history(
    url: Annotated[str, typer.Argument(metavar="URL", help="A watched page.")],
    watch: Annotated[
        str | None, typer.Option("--watch", metavar="ID", help="Of that watch only.")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=200, help="Of each kind, the latest.")
    ] = SHOWN,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object for each item.")
    ] = False,
) -> None:
    """Show what was seen on a page: its versions, what changed, and what the price did."""
    utf8_argument("URL", url)

    async def run() -> None:
        async with open_services(load_settings(), must_exist=True) as services:
            pages = await _pages(services, url, watch)
            if not pages:
                raise WebloomError(await _why_nothing(services, url))
            for page in pages:
                await (_tell_json if as_json else _tell)(services, page, limit)

    with pipe_may_close():
        uvloop.run(run())


def storage(
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove what has expired or is over the budget.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show what watched pages take, by collection, what pruning would free, and what the whole
    database takes."""

    async def run() -> None:
        settings = load_settings()
        async with open_services(settings, must_exist=True) as services:
            if prune:
                removed = await services.prune_pages()
                say(f"{removed:,} items removed", err=True)
            usage = await services.page_storage.usage()
            is_full = await services.page_storage.is_full()
            size = await services.sizes.size()
        if as_json:
            json_line(
                storage_response(usage, size, budget=settings.storage_budget, is_full=is_full)
            )
        else:
            _show_usage(usage, settings.storage_budget, is_full=is_full)
            _show_size(size)

    with pipe_may_close():
        uvloop.run(run())


async def _pages(services: Services, url: str, watch: str | None) -> list[StoredPage]:
    """Several watches may have it; and another program may have spelt it in its own way."""
    spellings = [url]
    try:
        spellings.append(normalise(url))
    except UrlRefused as error:
        raise WebloomError(f"{visible(shortened(url))}: {error}") from error
    for spelling in dict.fromkeys(spellings):
        found, _ = await services.pages.list_pages(
            PageFilter(job_id=watch, url=spelling), limit=SHOWN
        )
        if found:
            return found
    return []


async def _why_nothing(services: Services, url: str) -> str:
    shown = visible(shortened(url))
    normal = normalise(url)
    async for watch in all_watches(services.watches):
        if normal in watch.config.urls:
            return f"{shown} is watched, and was not checked yet; `webloom up` does that"
    return f"nothing is known of {shown}; `webloom watch` watches a page"


async def _tell_json(services: Services, page: StoredPage, limit: int) -> None:
    job_id, url = page.job_id, page.url
    json_line({"page": page_response(page)})
    for version in await services.page_history.versions(job_id, url, limit=limit):
        json_line({"version": version_response(version)})
    changes, _ = await services.page_history.change_logs(
        ChangeFilter(job_id=job_id, url=url), limit=limit
    )
    for change in changes:
        json_line({"change": change_response(change)})
    prices, _ = await services.page_history.prices(job_id, url, limit=limit)
    for price in prices:
        json_line({"price": price_response(price)})


async def _tell(services: Services, page: StoredPage, limit: int) -> None:
    to = console()
    to.print(plain(f"{page.title or 'without a title'}  {page.url}"), soft_wrap=True)
    kind = (page.classification or {}).get("type", "unknown")
    checked = "never" if page.last_checked is None else f"{page.last_checked:%Y-%m-%d %H:%M:%S} UTC"
    to.print(plain(f"watch {page.job_id}, {kind}, last checked {checked}"), soft_wrap=True)
    if page.last_error:
        to.print(plain(f"the last check failed: {page.last_error}"), soft_wrap=True)
    changes, _ = await services.page_history.change_logs(
        ChangeFilter(job_id=page.job_id, url=page.url), limit=limit
    )
    reasons = {each.current: "; ".join(each.alerts) or _summary(each.changes) for each in changes}
    shown = table("version", "seen", "bytes", "what changed")
    for version in await services.page_history.versions(page.job_id, page.url, limit=limit):
        shown.add_row(
            str(version.version),
            _moment(version.created_at),
            f"{version.bytes:,}",
            plain(reasons.get(version.version, "")),
        )
    to.print()
    show_table(shown, to)
    await _tell_prices(services, page, limit)
    to.print()


async def _tell_prices(services: Services, page: StoredPage, limit: int) -> None:
    summary = await services.page_history.price_summary(page.job_id, page.url)
    if summary is None:
        return
    to = console()
    found, _ = await services.page_history.prices(page.job_id, page.url, limit=limit)
    unit = f" {summary.currency}" if summary.currency else ""
    to.print()
    curve = price_curve([each.price for each in reversed(found)])
    to.print(
        plain(
            f"price {amount(summary.last.price)}{unit}  {curve}  "
            f"lowest {amount(summary.minimum)}, median {amount(summary.median)}, "
            f"highest {amount(summary.maximum)} of {summary.records:,}"
        ),
        soft_wrap=True,
    )
    shown = table("seen", "price", "change")
    for record in found:
        percent = "" if record.change_percent is None else f"{record.change_percent:+f} %"
        cost = f"{amount(record.price)} {record.currency or ''}".rstrip()
        shown.add_row(_moment(record.timestamp), plain(cost), percent)
    show_table(shown, to)


def _summary(changes: object) -> str:
    if not isinstance(changes, dict):
        return ""
    told = []
    text = changes.get("text")
    if isinstance(text, dict):
        told.append(f"+{text.get('linesAdded', 0)} -{text.get('linesRemoved', 0)} lines")
    elif changes.get("textChanged"):
        told.append("text")
    told += [name for name in ("title", "price", "availability") if changes.get(name)]
    return ", ".join(told)


def _moment(ts: int) -> str:
    return f"{moment_of(ts):%Y-%m-%d %H:%M:%S} UTC"


def _show_usage(usage: list[Usage], budget: int, *, is_full: bool) -> None:
    shown = table("collection", "items", "size", "superseded", "pruning frees")
    for each in usage:
        shown.add_row(
            each.collection,
            f"{each.items:,}",
            _size(each.bytes),
            f"{each.superseded_items:,}",
            _size(each.superseded_bytes),
        )
    to = console()
    show_table(shown, to)
    used = sum(each.bytes for each in usage)
    to.print()
    to.print(f"{_size(used)} of {_size(budget)} used, {100 * used / budget:.1f} %")
    if is_full:
        to.print("Full: raise WEBLOOM_STORAGE_BUDGET, or remove watches with their pages.")


def _show_size(size: DatabaseSize) -> None:
    to = console()
    if size.collections:
        shown = table("whole database", "size", "")
        for each in size.collections:
            shown.add_row(plain(each.name), _size(each.bytes), "" if each.is_ours else "not ours")
        to.print()
        show_table(shown, to)
    to.print()
    if size.limit is None:
        to.print(f"{_size(size.bytes)} in all; there is no limit (WEBLOOM_DATABASE_LIMIT)")
    else:
        share = 100 * size.bytes / size.limit
        to.print(f"{_size(size.bytes)} of {_size(size.limit)} in all, {share:.1f} %")
    if size.full is not None:
        to.print(plain(f"Full: {size.full}."), soft_wrap=True)


def _size(count: int) -> str:
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.2f} GB"
