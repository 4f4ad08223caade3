from __future__ import annotations

from typing import Literal, Protocol

Changing = Literal["inventory", "watch"]  # pipelines


class Revisions(Protocol):
    """Detects changes in a pipeline's data.

    Raises StoreUnavailable.
    """

    async def revision(self, pipeline: Changing) -> str:
        """Differs after every change that a reader of that pipeline can see, whichever process made
        it. It may also differ without such a change. Cheap enough to call several times a
        second."""
