"""Which feed a person means: by its id, its URL or its name; and what to do without any."""

from __future__ import annotations

from webloom.application.inventory.check_url import check_url
from webloom.bootstrap.network import network_policy
from webloom.bootstrap.services import Services
from webloom.domain.errors import UrlRefused, WebloomError
from webloom.domain.feed import Feed
from webloom.entrypoints.cli.output import shortened, utf8_argument, visible
from webloom.settings import Settings


def is_url(given: str) -> bool:
    return "://" in given


def checked_url(settings: Settings, given: str) -> str:
    """Normalised. Needs no store. Raises UrlRefused, which names the URL."""
    try:
        return check_url(given, policy=network_policy(settings))
    except UrlRefused as error:
        raise UrlRefused(f"{shortened(given)}: {error}") from error


def is_stored(settings: Settings) -> bool:
    """False: there is no embedded database yet, which opening it would make."""
    return settings.store_url != settings.embedded_url or settings.database.exists()


def no_feeds(settings: Settings) -> str:
    why = "" if is_stored(settings) else f": {settings.database} does not exist"
    return (
        f"there are no feeds yet{why}; `webloom feeds add URL` adds a feed, "
        "`webloom import URL` imports one now"
    )


async def named_feed(services: Services, given: str) -> Feed:
    """Raises WebloomError when there is none, or when two have the name."""
    feed = await find_feed(services, given)
    if feed is None:
        raise WebloomError(
            f"there is no feed {visible(given)}; `webloom feeds list` shows those that there are"
        )
    return feed


async def find_feed(services: Services, given: str) -> Feed | None:
    """Raises WebloomError when two have the name, UrlRefused for a URL that can't be a feed's."""
    utf8_argument("FEED", given)
    if is_url(given):
        return await services.imports.feeds.at_url(checked_url(services.settings, given))
    if feed := await services.imports.feeds.find(given):
        return feed
    wanted = given.strip().casefold()
    found = [
        each
        for each in await services.imports.feeds.all()
        if each.config.name.strip().casefold() == wanted
    ]
    if len(found) > 1:
        ids = ", ".join(each.feed_id for each in found)
        raise WebloomError(
            f"{len(found)} feeds are called {visible(given)}: name one by its id, {ids}"
        )
    return found[0] if found else None
