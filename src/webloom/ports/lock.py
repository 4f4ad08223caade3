from __future__ import annotations

from typing import Protocol


class Lock(Protocol):
    """Named leases, so that one of many schedulers acts.

    Raises StoreUnavailable when the lock can't be reached.
    """

    async def acquire(self, name: str, owner: str, seconds: float) -> int | None:
        """Take the lease, or lengthen it when `owner` has it already.

        Returns the fencing token: it stays the same while one owner keeps the lease and grows with
        every change of owner. None: somebody else holds it.
        """

    async def release(self, name: str, owner: str) -> None:
        """Give the lease up. Releasing what one does not hold changes nothing."""
