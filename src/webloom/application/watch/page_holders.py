"""Who has a page already: a watch, or an earlier entry of the same list."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from webloom.domain.page import Selection
from webloom.domain.watch import WatchConfig

_EVERYTHING = Selection()
_Part = bytes | None  # of a page: a selection's digest; None: any part


class PageHolders:
    """An entry without a selection of its own means the page, whatever part of it is watched. One
    with a selection means this part: two watches may compare two parts of a page."""

    def __init__(self, wanted: Iterable[str] | None = None) -> None:
        """Only pages that are wanted are remembered; None: all."""
        self._wanted = None if wanted is None else frozenset(wanted)
        self._names: dict[tuple[str, _Part], str] = {}

    def add(self, config: WatchConfig) -> None:
        urls = [each for each in config.urls if self._wanted is None or each in self._wanted]
        if not urls:
            return
        part = _part(config.selection)
        for url in urls:
            self._names.setdefault((url, None), config.name)
            if part is not None:
                self._names.setdefault((url, part), config.name)

    def holder_of(self, config: WatchConfig) -> str | None:
        """The name of the one that has the first of its pages, if all of them are known."""
        part = _part(config.selection)
        names = [self._names.get((url, part)) for url in config.urls]
        return names[0] if None not in names else None


def _part(selection: Selection) -> _Part:
    return None if selection == _EVERYTHING else sha256(repr(selection).encode()).digest()
