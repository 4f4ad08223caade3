"""How many targets are sent to concurrently, so that slow ones don't delay the others."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Lane:
    """The limits that a target shares with others.

    One destination gets at most half of its lane, and so do all targets that failed lately: the
    other half is left for those that answer.
    """

    name: str  # how messages are sent
    limit: int  # targets of the lane that are sent to concurrently
    destination: str  # a server or service, whose targets are slow together

    @property
    def half(self) -> int:
        return max(1, self.limit // 2)
