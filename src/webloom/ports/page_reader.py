from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import msgspec

from webloom.diffs.pages import PageDiff
from webloom.domain.page import Selection
from webloom.parsing.pages.page import PageReading, ParsedPage


@dataclass(frozen=True, kw_only=True, slots=True)
class PageOrder:
    path: Path  # a file with the body, as it was served
    url: str  # where it was served, after redirects
    status_code: int = 200
    content_type: str | None = None
    selection: Selection = field(default_factory=Selection)
    previous: ParsedPage | None = None  # what to compare it with


class PageRead(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    reading: PageReading
    diff: PageDiff | None  # None: there was nothing to compare with


class PageReader(Protocol):
    """Reads pages in processes of their own, bounded in time and memory; never on the event loop.

    To be opened by `async with`; leaving it ends the processes.
    """

    async def read(self, order: PageOrder) -> PageRead:
        """Raises PageUnreadable if it is not a page, or needs more time or memory than is
        allowed. Pages that are read at the same time are not affected."""
