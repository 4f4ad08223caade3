from __future__ import annotations

from typing import Literal, Protocol

Changing = Literal["inventory", "watch"]  # pipelines


class Revisions(Protocol):
    """Whether a pipeline's data moves.

    Raises StoreUnavailable.
    """

    async def revision(self, pipeline: Changing) -> str:
        """Another one after every change that a reader of that pipeline can see, whichever process
        made it; it may be another one without such a change. Cheap: made to be asked for several
        times a second."""
