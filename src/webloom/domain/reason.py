"""Why people are notified of a change: what changed, from what, to what, and by how much.

Reasons are stored and sent as data. `reason_words` has their sentences.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from webloom.domain.price import Availability, change_percent

MOST_REASONS = 5  # of one change
MOST_PHRASES = 10  # of one reason
LONGEST_PHRASE = 80
# What can be notified: an availability that could not be read is not one that people wait for.
READABLE = (Availability.IN_STOCK, Availability.OUT_OF_STOCK, Availability.PRE_ORDER)


@dataclass(frozen=True, kw_only=True, slots=True)
class PriceReason:
    previous: Decimal | None  # None: there is none to compare with
    current: Decimal
    currency: str | None
    below: Decimal | None = None  # the watch's limit, if the price is below it

    @property
    def change_percent(self) -> Decimal | None:
        return change_percent(self.previous, self.current)


@dataclass(frozen=True, kw_only=True, slots=True)
class AvailabilityReason:
    previous: Availability | None
    current: Availability  # one that is READABLE


@dataclass(frozen=True, kw_only=True, slots=True)
class TextReason:
    phrases: tuple[str, ...]  # that the watch looks for, and that were added; one or more


@dataclass(frozen=True, kw_only=True, slots=True)
class PageReason:
    """Something of the page changed; nothing more is known."""


Reason = PriceReason | AvailabilityReason | TextReason | PageReason
PlainReason = dict[str, Any]  # as JSON; `parsing.reasons` reads and writes it
