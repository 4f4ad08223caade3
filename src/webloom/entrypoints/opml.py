"""OPML: what importing a document would do, and all feeds as a document."""

from __future__ import annotations

import asyncio
from collections import Counter

from webloom.application.entry_state import EntryState
from webloom.application.imports.import_outlines import JudgedOutline
from webloom.bootstrap.services import Services
from webloom.entrypoints.api.import_schemas import ListedFeed, OpmlPreview
from webloom.parsing.opml import Outline, read_feeds_and_count_pages, write_opml

MOST_LISTED = 500  # feeds of each state; all are counted


async def preview_outlines(
    services: Services, content: bytes, *, most_listed: int = MOST_LISTED
) -> OpmlPreview:
    """Nothing is stored. Raises FeedUnreadable, StoreUnavailable."""
    outlines, pages = await asyncio.to_thread(read_feeds_and_count_pages, content)
    counts: Counter[EntryState] = Counter()
    listed: list[ListedFeed] = []
    async for each in services.import_outlines.judge(outlines):
        counts[each.state] += 1
        if counts[each.state] <= most_listed:
            listed.append(_listed(each))
    return OpmlPreview(
        total=len(outlines),
        pages=pages,
        entries=listed,
        **{state.value: counts[state] for state in EntryState},
    )


async def exported_feeds(services: Services) -> tuple[bytes, int]:
    """The document, and the number of feeds. Raises StoreUnavailable."""
    outlines = [
        Outline(each.config.fetch_url, each.config.name, tuple(each.config.tags))
        for each in await services.imports.feeds.all()
    ]
    now = services.clock.now()
    return write_opml(outlines, title="Webloom's feeds", created=now), len(outlines)


def _listed(judged: JudgedOutline) -> ListedFeed:
    outline = judged.outline
    return ListedFeed(
        url=outline.url[:2000],
        name=outline.name[:200],
        tags=list(outline.tags),
        state=judged.state,
        reason=judged.reason,
    )
