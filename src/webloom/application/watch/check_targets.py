"""Checks the notification targets of one request, each once and off the event loop.

Apprise takes half a millisecond for each, and a list of watches may have hundreds of thousands.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

MOST_DIFFERENT = 10_000  # in one list of watches


class TargetChecks:
    def __init__(self, check: Callable[[str], None]) -> None:
        """`check` raises ValueError, whose text holds no secret."""
        self._check = check
        self._problems: dict[str, str | None] = {}  # by address; None: valid
        self._turn = asyncio.Lock()

    async def refuse_bad(self, addresses: Sequence[str]) -> None:
        """Raises ValueError for the first invalid one."""
        async with self._turn:  # so that none is checked twice
            new = list(dict.fromkeys(each for each in addresses if each not in self._problems))
            if len(self._problems) + len(new) > MOST_DIFFERENT:
                raise ValueError(
                    f"more than {MOST_DIFFERENT:,} different addresses in one list: split it"
                )
            if new:
                self._problems |= await asyncio.to_thread(self._checked, new)
        for each in addresses:
            if (problem := self._problems[each]) is not None:
                raise ValueError(problem)

    def _checked(self, addresses: list[str]) -> dict[str, str | None]:
        return {each: self._problem(each) for each in addresses}

    def _problem(self, address: str) -> str | None:
        try:
            self._check(address)
        except ValueError as error:
            return str(error)
        return None
