"""`webloom history URL`: the versions, changes and prices of a page; `webloom storage`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from webloom.domain.errors import UrlRefused, WebloomError
from webloom.domain.page import PageType
from webloom.domain.shown import shown_price, shown_time
from webloom.domain.spool import shown_bytes
from webloom.domain.storage_event import moment_of
from webloom.entrypoints.cli.output import (
    AsJson,
    console,
    json_line,
    plain,
    say,
    shortened,
    show_table,
    table,
    utf8_argument,
    visible,
)
from webloom.entrypoints.cli.price_curve import price_curve
from webloom.entrypoints.cli.running import run_with_services
from webloom.parsing.web_url import normalise
from webloom.ports.page_history import ChangeFilter, ChangeLog
from webloom.ports.page_storage import Usage
from webloom.ports.pages import PageFilter, StoredPage
from webloom.ports.room import DatabaseSize

if TYPE_CHECKING:
    from webloom.bootstrap.services import Services

SHOWN = 20


def history(
    url: Annotated[str, typer.Argument(metavar="URL", help="A watched page.")],
    watch: Annotated[
        str | None, typer.Option("--watch", metavar="ID", help="Of that watch only.")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=200, help="Of each kind, the latest.")
    ] = SHOWN,
    as_json: AsJson = False,
) -> None:
    """Show what was seen on a page: its versions, what changed, and what the price did."""
    utf8_argument("URL", url)

    async def work(services: Services) -> None:
        pages = await _pages(services, url, watch)
        if not pages:
            raise WebloomError(await _why_nothing(services, url))
        for page in pages:
            await (_print_json if as_json else _print)(services, page, limit)

    run_with_services(work)


def storage(
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove what has expired or is over the budget.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what watched pages take, by collection, what pruning would free, and what the whole
    database takes."""

    async def work(services: Services) -> None:
        from webloom.entrypoints.api.watch_page_schemas import storage_response

        if prune:
            removed = await services.prune_pages()
            say(f"{removed:,} items removed", err=True)
        usage = await services.page_storage.usage()
        is_full = await services.page_storage.is_full()
        size = await services.sizes.size()
        budget = services.settings.storage_budget
        if as_json:
            json_line(storage_response(usage, size, budget=budget, is_full=is_full))
        else:
            _show_usage(usage, budget, is_full=is_full)
            _show_size(size)

    run_with_services(work)


async def _pages(services: Services, url: str, watch: str | None) -> list[StoredPage]:
    """Several watches may have the page; other programs may not have normalised its URL."""
    spellings = [url]
    try:
        spellings.append(normalise(url))
    except UrlRefused as error:
        raise WebloomError(f"{visible(shortened(url))}: {error}") from error
    for spelling in dict.fromkeys(spellings):
        found, _ = await services.pages.list_pages(
            PageFilter(watch_id=watch, url=spelling), limit=SHOWN
        )
        if found:
            return found
    return []


async def _why_nothing(services: Services, url: str) -> str:
    from webloom.application.watch.manage_watches import all_watches

    shown = visible(shortened(url))
    normal = normalise(url)
    async for watch in all_watches(services.watches):
        if normal in watch.config.urls:
            return f"{shown} is watched, and was not checked yet; `webloom up` does that"
    return f"nothing is known about {shown}; `webloom watch` watches a page"


async def _print_json(services: Services, page: StoredPage, limit: int) -> None:
    from webloom.entrypoints.api import watch_page_schemas as schemas

    watch_id, url = page.watch_id, page.url
    json_line({"page": schemas.page_response(page)})
    for version in await services.page_history.versions(watch_id, url, limit=limit):
        json_line({"version": schemas.version_response(version)})
    changes, _ = await services.page_history.change_logs(
        ChangeFilter(watch_id=watch_id, url=url), limit=limit
    )
    for change in changes:
        json_line({"change": schemas.change_response(change)})
    prices, _ = await services.page_history.prices(watch_id, url, limit=limit)
    for price in prices:
        json_line({"price": schemas.price_response(price)})


async def _print(services: Services, page: StoredPage, limit: int) -> None:
    to = console()
    to.print(plain(f"{page.title or 'without a title'}  {page.url}"), soft_wrap=True)
    kind, reason = _kind(page)
    checked = "never" if page.last_checked is None else shown_time(page.last_checked)
    to.print(plain(f"watch {page.watch_id}, {kind}, last checked {checked}"), soft_wrap=True)
    if reason:
        to.print(plain(shortened(reason)), soft_wrap=True)
    if page.last_error:
        to.print(plain(f"the last check failed: {page.last_error}"), soft_wrap=True)
    changes, _ = await services.page_history.change_logs(
        ChangeFilter(watch_id=page.watch_id, url=page.url), limit=limit
    )
    reasons = {each.current: what_changed(each) for each in changes}
    shown = table("version", "seen", "bytes", "what changed")
    for version in await services.page_history.versions(page.watch_id, page.url, limit=limit):
        shown.add_row(
            str(version.version),
            _moment(version.created_at),
            f"{version.bytes:,}",
            plain(reasons.get(version.version, "")),
        )
    to.print()
    show_table(shown, to)
    await _print_prices(services, page, limit)
    to.print()


def _kind(page: StoredPage) -> tuple[str, str | None]:
    """With the reason, if the page could not be classified."""
    seen = page.classification or {}
    match seen:
        case {"type": PageType.OTHER, "confidence": 0, "reasons": [str(reason), *_]}:
            return PageType.OTHER, reason
    return seen.get("type", "unknown"), None


async def _print_prices(services: Services, page: StoredPage, limit: int) -> None:
    summary = await services.page_history.price_summary(
        page.watch_id, page.url, now=services.clock.now()
    )
    if summary is None:
        return
    to = console()
    found, _ = await services.page_history.prices(page.watch_id, page.url, limit=limit)
    shown_amount = partial(shown_price, currency=summary.currency)
    to.print()
    curve = price_curve([each.price for each in reversed(found)])
    to.print(
        plain(
            f"price {shown_amount(summary.last.price)}  {curve}  "
            f"lowest {shown_amount(summary.minimum)} "
            f"({shown_amount(summary.recent_minimum.price)} in the last 90 days), "
            f"median {shown_amount(summary.median)}, "
            f"highest {shown_amount(summary.maximum)} of {summary.records:,}"
        ),
        soft_wrap=True,
    )
    shown = table("seen", "price", "change")
    for record in found:
        percent = "" if record.change_percent is None else f"{record.change_percent:+f} %"
        cost = shown_price(record.price, record.currency)
        shown.add_row(_moment(record.timestamp), plain(cost), percent)
    show_table(shown, to)


def what_changed(change: ChangeLog) -> str:
    return "; ".join(change.sentences) or _summary(change.changes)


def _summary(changes: object) -> str:
    if not isinstance(changes, dict):
        return ""
    parts = []
    text = changes.get("text")
    if isinstance(text, dict):
        parts.append(f"+{text.get('linesAdded', 0)} -{text.get('linesRemoved', 0)} lines")
    elif changes.get("textChanged"):
        parts.append("text")
    parts += [name for name in ("title", "price", "availability") if changes.get(name)]
    return ", ".join(parts)


def _moment(ts: int) -> str:
    return shown_time(moment_of(ts))


def _show_usage(usage: list[Usage], budget: int, *, is_full: bool) -> None:
    shown = table("collection", "items", "size", "superseded", "pruning frees")
    for each in usage:
        shown.add_row(
            each.collection,
            f"{each.items:,}",
            shown_bytes(each.bytes),
            f"{each.superseded_items:,}",
            shown_bytes(each.superseded_bytes),
        )
    to = console()
    show_table(shown, to)
    used = sum(each.bytes for each in usage)
    to.print()
    to.print(f"{shown_bytes(used)} of {shown_bytes(budget)} used, {100 * used / budget:.1f} %")
    if is_full:
        to.print("Full: raise WEBLOOM_STORAGE_BUDGET, or remove watches with their pages.")


def _show_size(size: DatabaseSize) -> None:
    to = console()
    if size.collections:
        shown = table("whole database", "size", "")
        for each in size.collections:
            shown.add_row(
                plain(each.name), shown_bytes(each.bytes), "" if each.is_ours else "not ours"
            )
        to.print()
        show_table(shown, to)
    to.print()
    if size.limit is None:
        to.print(f"{shown_bytes(size.bytes)} in all; no limit is set (WEBLOOM_DATABASE_LIMIT)")
    else:
        share = 100 * size.bytes / size.limit
        to.print(f"{shown_bytes(size.bytes)} of {shown_bytes(size.limit)} in all, {share:.1f} %")
    if size.full is not None:
        to.print(plain(f"Full: {size.full}."), soft_wrap=True)
