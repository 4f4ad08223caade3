"""Feeds and watches that the user names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

from webloom.application.inventory.check_url import check_address
from webloom.domain.errors import UrlRefused, WebloomError
from webloom.domain.feed import Feed
from webloom.domain.watch import Watch
from webloom.entrypoints.cli.output import shortened, utf8_argument, visible

if TYPE_CHECKING:
    from webloom.bootstrap.services import Services
    from webloom.settings import Settings

Item = TypeVar("Item", Feed, Watch)


def item_id(item: Feed | Watch) -> str:
    return item.feed_id if isinstance(item, Feed) else item.watch_id


def is_url(given: str) -> bool:
    return "://" in given


def checked_url(settings: Settings, given: str) -> str:
    """Normalised; without a scheme it is https. Raises UrlRefused, which names the URL."""
    from webloom.bootstrap.network import network_policy

    try:
        return check_address(given, policy=network_policy(settings))
    except UrlRefused as error:
        raise UrlRefused(f"{shortened(given)}: {error}") from error


def is_stored(settings: Settings) -> bool:
    """False: there is no embedded database yet, and opening it would create one."""
    return settings.store_url != settings.embedded_url or settings.database.exists()


def no_feeds(settings: Settings) -> str:
    why = "" if is_stored(settings) else f": {settings.database} does not exist"
    return (
        f"no feeds yet{why}; `webloom feeds add URL` adds a feed, "
        "`webloom import URL` imports one now"
    )


async def find_feed(services: Services, given: str) -> Feed | None:
    """By id, URL or name. Raises WebloomError when several have the name, UrlRefused for a URL that
    is refused."""
    utf8_argument("FEED", given)
    if is_url(given):
        return await services.imports.feeds.at_url(checked_url(services.settings, given))
    if feed := await services.imports.feeds.find(given):
        return feed
    return _only_named(given, await services.imports.feeds.all(), "feeds")


async def named_feed(services: Services, given: str) -> Feed:
    """As find_feed. Raises WebloomError when there is none."""
    return _required(await find_feed(services, given), f"feed {visible(given)}", "feeds")


async def named_watch(services: Services, given: str) -> Watch:
    """By id or name. Raises WebloomError when there is none, or when several have the name."""
    from webloom.application.watch.manage_watches import all_watches

    utf8_argument("WATCH", given)
    found = await services.watches.find_watch(given)
    if found is None:
        watches = [each async for each in all_watches(services.watches)]
        found = _only_named(given, watches, "watches")
    return _required(found, f"watch {visible(given)}", "watches")


def _only_named(given: str, items: Iterable[Item], plural: str) -> Item | None:
    wanted = given.strip().casefold()
    named = [each for each in items if each.config.name.strip().casefold() == wanted]
    if len(named) > 1:
        ids = ", ".join(map(item_id, named))
        raise WebloomError(
            f"{len(named)} {plural} are called {visible(given)}: name one by its id, {ids}"
        )
    return named[0] if named else None


def _required(found: Item | None, shown: str, plural: str) -> Item:
    if found is None:
        raise WebloomError(f"{shown} not found; `webloom {plural} list` shows all {plural}")
    return found
