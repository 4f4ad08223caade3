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
    bytes: int = 0  # in the file; 0 if the response is not kept
    is_cut: bool = False  # these are the beginning of the body; the rest was not wanted
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
        connected to. A response with any status, 4xx and 5xx included, is returned. If the body is
        too large, only its beginning is read: `details` then has `body_truncated_at`, the number
        of bytes, and neither length nor hash.

        Raises FetchFailed for everything else: refused by the gate, a timeout, a response that is
        broken; NotConnected, one of them, if there is no connection. Raises ResourcesExhausted
        when this machine has run out of what a fetch needs: that says nothing about the URL.
        """


class Downloader(Protocol):
    """As Fetcher, for bodies that are too large for memory."""

    async def download(self, url: str, into: Path, *, known: LastFetch) -> Downloaded:
        """GET through the gate, and write the body to a file as it arrives, transfer encodings
        undone. `known` makes the request conditional; a 304 is a response like any other.

        Raises FetchFailed as Fetcher does, and for a body that is too large: a part of a feed or
        of a page must not be taken for the whole. The file is then useless. Raises
        ResourcesExhausted as Fetcher does.
        """
