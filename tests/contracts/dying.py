"""Processes that are killed between two of their writes."""

from __future__ import annotations

from typing import Any


class Killed(BaseException):
    pass


class Dying:
    """The store of a process that is killed as soon as the verb has done its work."""

    def __init__(self, store: Any, verb: str) -> None:
        self._store = store
        self._verb = verb

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._store, name)
        if name != self._verb:
            return call

        async def killed(*values: Any, **options: Any) -> None:
            await call(*values, **options)
            raise Killed

        return killed
