from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from webloom.domain.feed import LastFetch
from webloom.domain.inventory import Received


@dataclass(frozen=True, kw_only=True, slots=True)
class Downloaded:
    status_code: int
    final_url: str
    bytes: int = 0  # in the file; of a 2xx answer, unless others are wanted too
    sha256: str | None = None  # of the file
    etag: str | None = None
    last_modified: str | None = None
    content_type: str | None = None
    retry_after: float | None = None  # seconds


class Fetcher(Protocol):
    """The only way out of the process."""

    async def fetch(self, url: str) -> Received:
        """GET a normalised URL through the gate, following redirects.

        Size, time, headers and redirects are bounded; every hop is checked at the address that is
        connected to. A response with any status, 4xx and 5xx included, is returned. Of a body that
        is too large only the beginning is read: `details` then has `body_truncated_at`, the number
        of bytes, and neither length nor hash.

        Raises FetchFailed for everything else: refused by the gate, no connection, a timeout, a
        response that is broken. Raises ResourcesExhausted when this machine has run out of what a
        fetch needs: that says nothing about the URL.
        """


class Downloader(Protocol):
    """As Fetcher, for bodies that are too large to be held in memory."""

    async def download(self, url: str, into: Path, *, known: LastFetch) -> Downloaded:
        """GET through the gate, and write the body to a file as it comes, transfer encodings
        undone. `known` makes the request conditional; a 304 is an answer as any other.

        Raises FetchFailed as Fetcher does, and for a body that is too large: a part of a feed or
        of a page must not be taken for the whole. What is in the file then is of no use. Raises
        ResourcesExhausted as Fetcher does.
        """
