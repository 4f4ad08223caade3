"""What the stores hold, as plain values."""

from __future__ import annotations

from typing import Any

import msgspec

from contracts.previous.stores import Stores
from webloom.domain.inventory import RecordFilter
from webloom.ports.import_runs import RunFilter
from webloom.ports.page_history import ChangeFilter
from webloom.ports.pages import PageFilter
from webloom.ports.postings import PostingFilter
from webloom.ports.watch_run_listing import RunFilter as WatchRunFilter

MANY = 1000


async def view(stores: Stores) -> dict[str, Any]:
    """By what each thing is, and its id."""
    shown = {
        "records": await _records(stores),
        "feeds": {each.feed_id: each for each in await stores.imports.feeds.all()},
        "import runs": await _import_runs(stores),
        "postings": await _postings(stores),
        "watches": await _watches(stores),
        "watch runs": await _watch_runs(stores),
        "pages": await _pages(stores),
        "change logs": await _change_logs(stores),
        "notices": await _notices(stores),
    }
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(shown))
    return plain


async def _records(stores: Stores) -> dict[str, Any]:
    page = await stores.inventory.page_of_records(RecordFilter(), limit=MANY)
    return {each.url: await stores.inventory.find(each.url) for each in page.records}


async def _import_runs(stores: Stores) -> dict[str, Any]:
    page = await stores.imports.listed_runs.page(RunFilter(), offset=0, limit=MANY)
    assert page.total == len(page.runs)
    return {each.run_id: each for each in page.runs}


async def _postings(stores: Stores) -> dict[str, Any]:
    page = await stores.imports.postings.page(PostingFilter(), limit=MANY)
    assert sum(await stores.imports.postings.count()) == len(page.postings)
    return {each.posting.dedupe_key: each for each in page.postings}


async def _watches(stores: Stores) -> dict[str, Any]:
    found, _ = await stores.watches.watches(limit=MANY)
    return {each.watch_id: each for each in found}


async def _watch_runs(stores: Stores) -> dict[str, Any]:
    found, _ = await stores.watch_runs.runs(WatchRunFilter(), limit=MANY)
    return {each.run_id: each for each in found}


async def _pages(stores: Stores) -> dict[str, Any]:
    """With their versions, contents and prices."""
    listed, _ = await stores.pages.list_pages(PageFilter(), limit=MANY)
    pages = {}
    for each in listed:
        versions = await stores.history.versions(each.watch_id, each.url, limit=MANY)
        prices, _ = await stores.history.prices(each.watch_id, each.url, limit=MANY)
        pages[f"{each.watch_id} {each.url}"] = {
            "page": _as_before(await stores.pages.find_page(each.watch_id, each.url)),
            "versions": {str(version.version): _as_before(version) for version in versions},
            "contents": {
                str(version.version): await stores.history.parsed(
                    each.watch_id, each.url, version.version
                )
                for version in versions
            },
            "prices": {str(price.timestamp): _as_before(price) for price in prices},
        }
    return pages


async def _change_logs(stores: Stores) -> dict[str, Any]:
    found, _ = await stores.history.change_logs(ChangeFilter(), limit=MANY)
    return {f"{each.watch_id} {each.url} {each.current}": _as_before(each) for each in found}


def _as_before(value: Any) -> Any:
    """Also by the name that its watch's id had."""
    return msgspec.to_builtins(value) | {"job_id": value.watch_id}


async def _notices(stores: Stores) -> dict[str, Any]:
    watches, _ = await stores.watches.watches(limit=MANY)
    notices: dict[str, Any] = {}
    for watch in watches:
        found, _ = await stores.notifications.of_watch(watch.watch_id, limit=MANY)
        for each in found:
            known = {"notice_id": each.notification_id}  # as it was called
            notices[each.notification_id] = msgspec.to_builtins(each) | known
    return notices
