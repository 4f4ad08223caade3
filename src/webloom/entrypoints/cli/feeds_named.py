"""Which feed a person means: by its id, its URL or its name."""

from __future__ import annotations

from webloom.bootstrap import Services
from webloom.domain.errors import WebloomError
from webloom.domain.feed import Feed
from webloom.entrypoints.cli.output import utf8_argument, visible


def is_url(given: str) -> bool:
    return "://" in given


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
        return await services.imports.feed_of(services.manage_feeds.check(given))
    if feed := await services.imports.find_feed(given):
        return feed
    wanted = given.strip().casefold()
    found = [
        each
        for each in await services.imports.feeds()
        if each.config.name.strip().casefold() == wanted
    ]
    if len(found) > 1:
        ids = ", ".join(each.feed_id for each in found)
        raise WebloomError(
            f"{len(found)} feeds are called {visible(given)}: name one by its id, {ids}"
        )
    return found[0] if found else None
