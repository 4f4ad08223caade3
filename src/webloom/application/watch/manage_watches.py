"""Add, edit, pause and remove watches."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from webloom.application.editing import checking, due_after_edit, tags_after, until_in_time
from webloom.application.watch.check_targets import TargetChecks
from webloom.domain.errors import UrlRefused, WatchRefused
from webloom.domain.names import LONGEST_NAME, refuse_bad_name
from webloom.domain.page import Selection
from webloom.domain.schedule import Schedule
from webloom.domain.tags import checked_tags
from webloom.domain.watch import Target, Thresholds, Watch, WatchConfig, next_run
from webloom.parsing.amounts import LARGEST_AMOUNT
from webloom.parsing.pages.selection import check_selection
from webloom.ports.clock import Clock
from webloom.ports.cron import Cron
from webloom.ports.pages import Pages
from webloom.ports.watches import Watches

LISTED_AT_ONCE = 200
MOST_URLS = 10_000  # of one watch
FEW_URLS = 50  # checked faster than a thread starts
MOST_TARGETS = 20
MOST_PHRASES = 100
LONGEST_PHRASE = 1000
LONGEST_SECRET = 1000
HIDDEN = "…"  # replaces the secret part of a target
SHORTEST_DIGEST, LONGEST_DIGEST = 1.0, 44_640.0  # minutes


async def all_watches(store: Watches) -> AsyncIterator[Watch]:
    """By name and id."""
    cursor: str | None = None
    while True:
        some, cursor = await store.watches(limit=LISTED_AT_ONCE, cursor=cursor)
        for each in some:
            yield each
        if cursor is None:
            return


@dataclass(frozen=True, kw_only=True, slots=True)
class ManageWatches:
    store: Watches
    pages: Pages
    clock: Clock
    cron: Cron
    check: Callable[[str], str]  # a URL as given -> normalised; raises UrlRefused
    check_target: Callable[[str], None]  # raises ValueError
    shown_target: Callable[[str], str]  # without its secret part
    usual_minutes: float

    def target_checks(self) -> TargetChecks:
        """Shared by all watches of a list, so that each target is checked once."""
        return TargetChecks(self.check_target)

    async def add(
        self, urls: list[str], *, watch_id: str | None = None, **given: Any
    ) -> tuple[Watch, bool]:
        """The watch, and whether it is new; an existing id stays unchanged. `given` is as for
        `config`. Raises WatchRefused, StoreUnavailable."""
        return await self.add_config(await self.config(urls, **given), watch_id)

    async def add_config(
        self, config: WatchConfig, watch_id: str | None = None
    ) -> tuple[Watch, bool]:
        """As `add`. The first run is due at once. Raises StoreUnavailable."""
        next_run_at = self.clock.now() if config.enabled else None
        watch_id = watch_id or uuid.uuid4().hex[:16]
        return await self.store.add_watch(watch_id, config, next_run_at=next_run_at)

    async def config(
        self,
        urls: list[str],
        *,
        name: str | None = None,
        checks: TargetChecks | None = None,
        **given: Any,
    ) -> WatchConfig:
        """The checked settings of a new watch.

        `given` are fields of WatchConfig; `checks` are shared by all watches of a list. Raises
        WatchRefused.
        """
        given["targets"] = self._whole(given.get("targets", []), known=[])
        with checking("tags", WatchRefused):
            given["tags"] = checked_tags(given.get("tags", []))
        normal = await self._normal(urls)
        settings = {"schedule": Schedule(every_minutes=self.usual_minutes)} | given
        name = (name or "").strip() or normal[0][:LONGEST_NAME]
        config = WatchConfig(name=name, urls=normal, **settings)
        await self._refuse_bad(config, checks or self.target_checks())
        return config

    @until_in_time
    async def edit(
        self, watch_id: str, *, next_run_at: datetime | None = None, **changes: Any
    ) -> Watch | None:
        """None: there is no such watch. A target with … in its URL stays unchanged and keeps its
        secret. Where the next run moves, `next_run_at` is when it was due before, if that is to be
        restored. Raises WatchRefused, StoreUnavailable."""
        watch = await self.store.find_watch(watch_id)
        if watch is None:
            return None
        if watch.is_external:
            _refuse_checking(watch, changes)
        elif "urls" in changes:
            changes["urls"] = await self._normal(changes["urls"])
        if "name" in changes:
            changes["name"] = changes["name"].strip()
        if "tags" in changes:
            with checking("tags", WatchRefused):
                changes["tags"] = tags_after(changes["tags"], watch.config.tags)
        if "targets" in changes:
            changes["targets"] = self._whole(changes["targets"], known=watch.config.targets)
        config = replace(watch.config, **changes)
        await self._refuse_bad(config, self.target_checks())
        due = partial(next_run, config, next_match=self.cron)
        moved_to = due_after_edit(due, self.clock.now(), before=next_run_at)
        return await self.store.edit_watch(
            watch_id, config, next_run_at=moved_to, instead_of=watch.config
        )

    async def remove(self, watch_id: str, *, with_pages: bool) -> bool:
        """False: there is no such watch. Ends its run. `with_pages` also removes its stored pages,
        even if there is no watch. Raises StoreUnavailable."""
        is_found = await self.store.remove_watch(watch_id)
        if with_pages:
            await self.pages.forget_watch(watch_id)
        return is_found

    def _whole(self, given: list[Target], *, known: list[Target]) -> list[Target]:
        """Targets with the secret parts of known ones filled in. Several that look alike are
        matched in order, and all or none of them must be given that way."""
        hidden: dict[str, list[Target]] = {}
        for target in known:
            hidden.setdefault(self.shown_target(target.url), []).append(target)
        named = Counter(target.url for target in given if HIDDEN in target.url)
        for url, count in named.items():
            if count != len(hidden.get(url, ())):
                raise WatchRefused(
                    f"targets: {url[:100]} is not exactly one of this watch's: give its whole URL"
                )
        return [
            target if target.url not in named else _kept(target, hidden[target.url].pop(0))
            for target in given
        ]

    async def _normal(self, urls: list[str]) -> list[str]:
        if not urls:
            raise WatchRefused("urls: a watch has one URL or more")
        if len(urls) > MOST_URLS:
            raise WatchRefused(f"urls: {len(urls):,} of them; {MOST_URLS:,} is the limit")
        if len(urls) <= FEW_URLS:
            return self._checked(urls)
        return await asyncio.to_thread(self._checked, urls)

    def _checked(self, urls: list[str]) -> list[str]:
        normal: dict[str, None] = {}
        for url in urls:
            try:
                normal[self.check(url)] = None
            except UrlRefused as error:
                raise WatchRefused(f"urls: {url[:200]}: {error}") from error
        return list(normal)

    async def _refuse_bad(self, config: WatchConfig, checks: TargetChecks) -> None:
        if not config.name:
            raise WatchRefused("name: it is empty")
        with checking("name", WatchRefused):
            refuse_bad_name(config.name)
        with checking("schedule", WatchRefused):
            config.schedule.refuse_bad(self.cron)
        if config.selection != Selection():
            await asyncio.to_thread(refuse_bad_selection, config.selection)  # may take a second
        _refuse_thresholds(config.thresholds)
        if len(config.targets) > MOST_TARGETS:
            raise WatchRefused(f"targets: more than {MOST_TARGETS}")
        with checking("targets", WatchRefused):
            await checks.refuse_bad([target.url for target in config.targets])
            for target in config.targets:
                _check_secret(target)
                _check_digest(target)


def _refuse_checking(watch: Watch, changes: dict[str, Any]) -> None:
    """The settings for checking pages can't be changed on an external watch. Unchanged values are
    accepted."""
    others = changes.keys() - {"name", "tags", "targets"}
    if refused := sorted(name for name in others if changes[name] != getattr(watch.config, name)):
        raise WatchRefused(
            f"{refused[0]}: another program checks the pages of this watch; only its name, its "
            "tags and its targets can be changed"
        )


def _kept(given: Target, known: Target) -> Target:
    return replace(given, url=known.url, secret=given.secret or known.secret)


def refuse_bad_selection(selection: Selection) -> None:
    """Raises WatchRefused."""
    parts = {
        "selection.keep": Selection(keep=selection.keep),
        "selection.drop": Selection(drop=selection.drop),
        "selection.ignoreText": Selection(ignore_text=selection.ignore_text),
        "selection.ignorePattern": Selection(ignore_pattern=selection.ignore_pattern),
    }
    for name, part in parts.items():
        entries = (*part.keep, *part.drop, *part.ignore_text, *part.ignore_pattern)
        _refuse_phrases({name: entries})
        with checking(name, WatchRefused):
            check_selection(part)


def _refuse_phrases(phrases: Mapping[str, Sequence[str]]) -> None:
    for name, texts in phrases.items():
        if len(texts) > MOST_PHRASES:
            raise WatchRefused(f"{name}: more than {MOST_PHRASES}")
        if any(not text.strip() or len(text) > LONGEST_PHRASE for text in texts):
            raise WatchRefused(f"{name}: one is empty, or longer than {LONGEST_PHRASE} characters")


def _refuse_thresholds(thresholds: Thresholds) -> None:
    _refuse_phrases({"thresholds.textContains": thresholds.text_contains})
    amounts = {
        "thresholds.priceBelow": thresholds.price_below,
        "thresholds.priceChangePercent": thresholds.price_change_percent,
    }
    for name, amount in amounts.items():
        if amount is None:
            continue
        if not (amount.is_finite() and 0 < amount <= LARGEST_AMOUNT) or amount.adjusted() < -6:
            raise WatchRefused(f"{name}: not an amount above 0, up to {LARGEST_AMOUNT:,}")


def _check_secret(target: Target) -> None:
    if target.secret is not None and not 0 < len(target.secret) <= LONGEST_SECRET:
        raise ValueError(f"a secret is empty, or longer than {LONGEST_SECRET} characters")


def _check_digest(target: Target) -> None:
    minutes = target.digest_minutes
    if minutes is not None and not SHORTEST_DIGEST <= minutes <= LONGEST_DIGEST:
        raise ValueError(
            f"a digest every {minutes:g} minutes; {SHORTEST_DIGEST:g} to {LONGEST_DIGEST:.0f} is "
            "possible"
        )
