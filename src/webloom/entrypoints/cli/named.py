"""Feeds and watches that the user names, and commands that change several of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from webloom.application.inventory.check_url import check_url
from webloom.domain.errors import UrlRefused, WebloomError
from webloom.domain.feed import Feed
from webloom.domain.watch import Watch
from webloom.entrypoints.cli.output import confirm_removal, shortened, utf8_argument, visible
from webloom.entrypoints.cli.running import run_with_services

if TYPE_CHECKING:
    from webloom.bootstrap.services import Services
    from webloom.settings import Settings

Item = TypeVar("Item", Feed, Watch)


def is_url(given: str) -> bool:
    return "://" in given


def checked_url(settings: Settings, given: str) -> str:
    """Normalised. Raises UrlRefused, which names the URL."""
    from webloom.bootstrap.network import network_policy

    try:
        return check_url(given, policy=network_policy(settings))
    except UrlRefused as error:
        raise UrlRefused(f"{shortened(given)}: {error}") from error


def is_stored(settings: Settings) -> bool:
    """False: there is no embedded database yet, and opening it would create one."""
    return settings.store_url != settings.embedded_url or settings.database.exists()


def no_feeds(settings: Settings) -> str:
    why = "" if is_stored(settings) else f": {settings.database} does not exist"
    return (
        f"there are no feeds yet{why}; `webloom feeds add URL` adds a feed, "
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
        ids = ", ".join(each.feed_id if isinstance(each, Feed) else each.watch_id for each in named)
        raise WebloomError(
            f"{len(named)} {plural} are called {visible(given)}: name one by its id, {ids}"
        )
    return named[0] if named else None


def _required(found: Item | None, shown: str, plural: str) -> Item:
    if found is None:
        raise WebloomError(f"there is no {shown}; `webloom {plural} list` shows all {plural}")
    return found


def change_each(
    given: list[str],
    find: Callable[[Services, str], Awaitable[Item]],
    change: Callable[[Services, Item], Awaitable[Item | None]],
    report: Callable[[Services, Item], None],
    *,
    ask: Callable[[Item], str] | None = None,  # names what is about to be removed
) -> None:
    """Find all of them, ask about each, then change one after the other."""

    async def work(services: Services) -> None:
        found = [await find(services, each) for each in given]
        for each in found if ask else ():
            confirm_removal(visible(ask(each)))  # type: ignore[misc]  # not None here
        for each in found:
            changed = await change(services, each)
            if changed is None:
                raise WebloomError(f"{each.config.name} was removed meanwhile")
            report(services, changed)

    run_with_services(work)
