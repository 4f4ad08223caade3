"""Keep the changes of a page from waiting in the inbox, or let them wait again."""

from __future__ import annotations

from dataclasses import dataclass

from webloom.domain.errors import UrlRefused
from webloom.parsing.web_url import normalise
from webloom.ports.clock import Clock
from webloom.ports.inbox import Inbox


@dataclass(frozen=True, kw_only=True, slots=True)
class MutePage:
    inbox: Inbox
    clock: Clock

    async def __call__(self, watch_id: str, url: str, *, is_muted: bool) -> str | None:
        """The URL of the page: as given if there is such a page, else normalised. None: there is
        no such page. Raises StoreUnavailable."""
        for spelt in _spellings(url):
            now = self.clock.now()
            if await self.inbox.mute_page(watch_id, spelt, is_muted=is_muted, now=now):
                return spelt
        return None


def _spellings(url: str) -> list[str]:
    try:
        return [*dict.fromkeys((url, normalise(url)))]
    except UrlRefused:
        return [url]
