"""Which targets may be sent to at the same time, so that those that hang keep none waiting."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Lane:
    """What the messages to a target share with others."""

    name: str  # how they are sent
    limit: int  # targets of the lane that are sent to at the same time
    destination: str  # targets that hang together: a server, or a service


@dataclass(frozen=True, kw_only=True, slots=True)
class Sending:
    lane: Lane
    has_failed: bool  # its last attempt


def may_start(new: Sending, running: Collection[Sending]) -> bool:
    """One destination has half of its lane at most, and so have all targets that failed lately
    together: the other half is left for those that answer."""
    lane = [each for each in running if each.lane.name == new.lane.name]
    half = max(1, new.lane.limit // 2)
    if len(lane) >= new.lane.limit:
        return False
    if sum(each.lane.destination == new.lane.destination for each in lane) >= half:
        return False
    return not new.has_failed or sum(each.has_failed for each in lane) < half
