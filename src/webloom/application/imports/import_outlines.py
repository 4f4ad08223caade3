"""Feeds from the outlines of an OPML document.

outlines -> settings of feeds, or why not -> which are known -> store the new ones
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from webloom.application.entry_state import EntryState
from webloom.application.imports.manage_feeds import ManageFeeds
from webloom.domain.errors import FeedRefused, UrlRefused
from webloom.domain.feed import Feed, FeedConfig
from webloom.domain.names import LONGEST_NAME, is_control
from webloom.parsing.opml import Outline

AT_ONCE = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedOutline:
    outline: Outline
    state: EntryState
    reason: str | None = None  # why it is refused; the name of the feed that has its URL
    feed: Feed | None = None  # what it is now, if it was to be stored


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportOutlines:
    manage: ManageFeeds

    async def __call__(self, outlines: Sequence[Outline]) -> AsyncIterator[JudgedOutline]:
        """New feeds are due at once; the scheduler starts some at a time. An existing feed stays as
        it is. Raises StoreUnavailable."""
        for some in _batches(outlines):
            for each in await asyncio.gather(*(self._stored(each) for each in some)):
                yield each

    async def judge(self, outlines: Sequence[Outline]) -> AsyncIterator[JudgedOutline]:
        """Nothing is stored. Raises StoreUnavailable."""
        earlier: dict[str, str] = {}
        for some in _batches(outlines):
            for each, config in await asyncio.gather(*(self._judged(each) for each in some)):
                if config is None or each.state is EntryState.KNOWN:
                    yield each
                elif name := earlier.get(config.url):
                    yield JudgedOutline(
                        outline=each.outline, state=EntryState.REPEATED, reason=name
                    )
                else:
                    earlier[config.url] = config.name
                    yield each

    async def _stored(self, outline: Outline) -> JudgedOutline:
        try:
            feed, is_new = await self.manage.add(
                *_settings(outline), at_once=True, tags=list(outline.tags)
            )
        except (UrlRefused, FeedRefused) as error:
            return _refused(outline, error)
        state = EntryState.NEW if is_new else EntryState.KNOWN
        return JudgedOutline(outline=outline, state=state, feed=feed)

    async def _judged(self, outline: Outline) -> tuple[JudgedOutline, FeedConfig | None]:
        try:
            config = self.manage.config(*_settings(outline), tags=list(outline.tags))
        except (UrlRefused, FeedRefused) as error:
            return _refused(outline, error), None
        if (feed := await self.manage.known(config)) is not None:
            name = feed.config.name
            known = JudgedOutline(outline=outline, state=EntryState.KNOWN, reason=name)
            return known, config
        return JudgedOutline(outline=outline, state=EntryState.NEW), config


def _batches(outlines: Sequence[Outline]) -> list[Sequence[Outline]]:
    return [outlines[start : start + AT_ONCE] for start in range(0, len(outlines), AT_ONCE)]


def _settings(outline: Outline) -> tuple[str, str]:
    """URL and name."""
    name = "".join(each for each in outline.name if not is_control(each))
    return outline.url, name[:LONGEST_NAME]


def _refused(outline: Outline, error: Exception) -> JudgedOutline:
    return JudgedOutline(outline=outline, state=EntryState.REFUSED, reason=str(error))
