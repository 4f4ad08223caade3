"""Watches that are added as the API describes them, one by one or as the entries of a list."""

from __future__ import annotations

from typing import Any

import msgspec

from webloom.application.watch.check_targets import TargetChecks
from webloom.application.watch.manage_watches import ManageWatches
from webloom.domain.errors import WatchRefused
from webloom.domain.watch import Watch
from webloom.entrypoints.api.watch_schemas import READ_ONLY, AddWatchBody, ListRefusal, config_of


async def add_watch(
    manage: ManageWatches, body: AddWatchBody, checks: TargetChecks | None = None
) -> Watch:
    """Raises WatchRefused."""
    given = config_of(body)
    urls = given.pop("urls")
    if body.url is not None:
        urls = [body.url, *urls]
    watch, _ = await manage.add(urls, checks=checks, **given)
    return watch


async def add_entry(
    manage: ManageWatches, entry: dict[str, Any], checks: TargetChecks
) -> Watch | ListRefusal:
    """Read-only fields of an exported watch are ignored."""
    given = {name: value for name, value in entry.items() if name not in READ_ONLY}
    try:
        return await add_watch(manage, msgspec.convert(given, AddWatchBody), checks)
    except (WatchRefused, msgspec.ValidationError) as error:
        return ListRefusal(entry=_shown(entry), reason=str(error))


def exported(watch: Watch) -> dict[str, Any]:
    """The entry of a list that adds the watch again, secrets included."""
    body = msgspec.convert(watch.config, AddWatchBody, from_attributes=True)
    return msgspec.to_builtins(body)  # type: ignore[no-any-return]  # a struct becomes a dict


def _shown(entry: dict[str, Any]) -> str:
    """The name or URL that a user recognises the entry by."""
    urls = entry.get("urls")
    first = urls[0] if isinstance(urls, list) and urls else None
    return str(entry.get("name") or entry.get("url") or first)[:200]
