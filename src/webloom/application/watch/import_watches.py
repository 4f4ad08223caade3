"""Watches from a list.

entries -> settings of watches, or why not -> which of their pages are known -> store the new ones

Each entry is judged alone, so that one that is wrong does not affect the others. The list may be
long: entries are made one batch after the other, off the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from webloom.application.entry_state import EntryState
from webloom.application.watch.manage_watches import MOST_TARGETS, ManageWatches, all_watches
from webloom.application.watch.page_holders import PageHolders
from webloom.domain.errors import UrlRefused, WatchRefused
from webloom.domain.page import Selection
from webloom.domain.watch import Target, Watch, WatchConfig
from webloom.parsing.list_entry import Note
from webloom.parsing.pages.selection import check_selection

AT_ONCE = 100
MOST_REFUSALS = 100  # that are listed; all are counted

Settings = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """An entry that may become a watch."""

    label: str  # the name or URL that a person recognises it by
    settings: Settings  # as ManageWatches.config takes them
    refused: str | None = None
    notes: list[Note] = field(default_factory=list)
    is_foreign: bool = False  # what Webloom can't use of it is left out, with a note


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    label: str
    state: EntryState
    config: WatchConfig | None  # None: it is refused
    reason: str | None = None  # why it is refused; the name of the watch or entry that has its page
    notes: list[Note] = field(default_factory=list)


@dataclass(kw_only=True, slots=True)
class Imported:
    """What has come of a list so far."""

    total: int
    done: int = 0
    added: int = 0
    known: int = 0  # left out, because their pages are known
    refused: int = 0
    refusals: list[Judged] = field(default_factory=list)  # the first ones

    def add(self, outcome: Watch | Judged) -> None:
        self.done += 1
        if isinstance(outcome, Watch):
            self.added += 1
        elif outcome.config is not None:
            self.known += 1
        else:
            self.refused += 1
            if len(self.refusals) < MOST_REFUSALS:
                self.refusals.append(outcome)


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportWatches:
    manage: ManageWatches

    async def judge(
        self, candidates: Iterable[Candidate], *, find_known: bool = True
    ) -> AsyncIterator[list[Judged]]:
        """Batches of the entries, in their order. `candidates` is iterated over twice if known
        pages are to be found. Nothing is stored. Raises StoreUnavailable, and what `candidates`
        raises."""
        judge = _Judge(self.manage)
        if find_known:
            await judge.find_known(candidates)
        waiting = iter(candidates)
        while some := await asyncio.to_thread(lambda: list(islice(waiting, AT_ONCE))):
            judged = await asyncio.gather(*(judge.alone(each) for each in some))
            yield [judge.beside_others(each) for each in judged]

    async def __call__(
        self, candidates: Iterable[Candidate], so_far: Imported, *, skip_known: bool
    ) -> AsyncIterator[list[Watch | Judged]]:
        """What came of the entries of each batch: the new watch, or why there is none. `so_far`
        counts them. Raises as `judge` does, and StorageFull."""
        async for batch in self.judge(candidates, find_known=skip_known):
            outcomes = await asyncio.gather(*(self._stored(each, skip_known) for each in batch))
            for outcome in outcomes:
                so_far.add(outcome)
            yield outcomes

    async def _stored(self, judged: Judged, skip_known: bool) -> Watch | Judged:
        if judged.config is None or (skip_known and judged.state is not EntryState.NEW):
            return judged
        watch, _ = await self.manage.add_config(judged.config)
        return watch


class _Judge:
    """Of one list."""

    def __init__(self, manage: ManageWatches) -> None:
        self._manage = manage
        self._targets = manage.target_checks()
        self._problems: dict[str, str | None] = {}  # by a selection of one part
        self._watched: PageHolders | None = None
        self._earlier = PageHolders()

    async def find_known(self, candidates: Iterable[Candidate]) -> None:
        wanted = await asyncio.to_thread(self._pages_of, candidates)
        self._watched = PageHolders(wanted)
        async for watch in all_watches(self._manage.store):
            self._watched.add(watch.config)

    def _pages_of(self, candidates: Iterable[Candidate]) -> set[str]:
        found: set[str] = set()
        for each in candidates:
            for url in each.settings.get("urls", ()):
                with suppress(UrlRefused):
                    found.add(self._manage.check(url))
        return found

    async def alone(self, candidate: Candidate) -> Judged:
        refused, notes = candidate.refused, list(candidate.notes)
        config = None
        if refused is None:
            settings = candidate.settings
            if candidate.is_foreign:
                settings = await self._fitted(settings, notes)
            try:
                config = await self._manage.config(checks=self._targets, **settings)
            except WatchRefused as error:
                refused = str(error)
        state = EntryState.NEW if config else EntryState.REFUSED
        return Judged(
            label=candidate.label, state=state, config=config, reason=refused, notes=notes
        )

    def beside_others(self, judged: Judged) -> Judged:
        if judged.config is None or self._watched is None:
            return judged
        if name := self._watched.holder_of(judged.config):
            return replace(judged, state=EntryState.KNOWN, reason=name)
        if name := self._earlier.holder_of(judged.config):
            return replace(judged, state=EntryState.REPEATED, reason=name)
        self._earlier.add(judged.config)
        return judged

    async def _fitted(self, settings: Settings, notes: list[Note]) -> Settings:
        """Without the targets and the parts of the selection that Webloom refuses."""
        targets: list[Target] = []
        for each in settings.get("targets", []):
            try:
                if len(targets) == MOST_TARGETS:
                    raise ValueError(f"there are more than {MOST_TARGETS}")
                await self._targets.refuse_bad([each.url])
            except ValueError as error:
                shown = self._manage.shown_target(each.url)
                notes.append(Note("Notification targets", f"{shown}: {error}"))
            else:
                targets.append(each)
        selection = settings.get("selection", Selection())
        selection = await asyncio.to_thread(self._fitting, selection, notes)
        return settings | {"targets": targets, "selection": selection}

    def _fitting(self, selection: Selection, notes: list[Note]) -> Selection:
        def kept(values: list[str], alone: Callable[[list[str]], Selection]) -> list[str]:
            problems = [(each, self._problem(alone([each]))) for each in values]
            notes.extend(Note("Filters", problem[:300]) for _, problem in problems if problem)
            return [each for each, problem in problems if problem is None]

        return replace(
            selection,
            keep=kept(selection.keep, lambda one: Selection(keep=one)),
            drop=kept(selection.drop, lambda one: Selection(drop=one)),
            ignore_text=kept(selection.ignore_text, lambda one: Selection(ignore_text=one)),
            ignore_pattern=kept(
                selection.ignore_pattern, lambda one: Selection(ignore_pattern=one)
            ),
        )

    def _problem(self, selection: Selection) -> str | None:
        key = repr(selection)
        if key not in self._problems:
            try:
                check_selection(selection)
                self._problems[key] = None
            except ValueError as error:
                self._problems[key] = str(error)
        return self._problems[key]
