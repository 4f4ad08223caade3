from __future__ import annotations

from typing import Protocol

from webloom.domain.inventory import Received


class Fetcher(Protocol):
    """The only way out of the process."""

    async def fetch(self, url: str) -> Received:
        """GET a normalised URL through the gate, following redirects.

        Size, time, headers and redirects are bounded; every hop is checked at the address that is
        connected to. A response with any status, 4xx and 5xx included, is returned.

        Raises FetchFailed for everything else: refused by the gate, no connection, a timeout, a
        response that is broken or too large.
        """
