from __future__ import annotations

from enum import StrEnum


class Pipeline(StrEnum):
    """What an installation does: each has its own collections and queues."""

    INVENTORY = "inventory"
    IMPORTS = "imports"
    WATCH = "watch"
