from __future__ import annotations

from typing import Protocol


class Locks(Protocol):
    """Named leases, so that one of many schedulers acts. Raises StoreUnavailable."""

    async def acquire(self, name: str, owner: str, seconds: float) -> int | None:
        """Take the lease, or extend it if `owner` has it already.

        Returns the fencing token. It stays the same while an owner renews in time, and grows when
        the owner changes or the lease had expired. None: another owner holds it.
        """

    async def is_held(self, name: str) -> bool:
        """Whether anybody has the lease."""

    async def release(self, name: str, owner: str) -> None:
        """Release the lease; without effect unless `owner` has it."""
