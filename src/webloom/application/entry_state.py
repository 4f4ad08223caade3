"""What importing a list of feeds or of watches does with each of its entries."""

from __future__ import annotations

from enum import StrEnum


class EntryState(StrEnum):
    NEW = "new"
    KNOWN = "known"  # its URL is a feed already; its pages are watched already
    REPEATED = "repeated"  # its URL or pages come earlier in the list
    REFUSED = "refused"
