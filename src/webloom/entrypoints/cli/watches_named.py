"""Which watch a person means, and how one is told."""

from __future__ import annotations

from datetime import UTC, datetime

from webloom.application.overview.liveness import unserved
from webloom.application.watch.manage_watches import all_watches
from webloom.bootstrap.services import Services
from webloom.domain.errors import WebloomError
from webloom.domain.page import CHECK_QUEUE
from webloom.domain.watch import Watch
from webloom.entrypoints.cli.output import say, utf8_argument, visible
from webloom.ports.heartbeats import ALIVE_SECONDS


async def named_watch(services: Services, given: str) -> Watch:
    """By its id or its name. Raises WebloomError when there is none, or when two have the name."""
    utf8_argument("WATCH", given)
    if found := await services.watches.find_watch(given):
        return found
    wanted = given.strip().casefold()
    named = [
        each
        async for each in all_watches(services.watches)
        if each.config.name.strip().casefold() == wanted
    ]
    if not named:
        raise WebloomError(
            f"there is no watch {visible(given)}; `webloom watches list` shows those that there are"
        )
    if len(named) > 1:
        ids = ", ".join(each.watch_id for each in named)
        raise WebloomError(
            f"{len(named)} watches are called {visible(given)}: name one by its id, {ids}"
        )
    return named[0]


def schedule_of(watch: Watch) -> str:
    schedule = watch.config.schedule
    if watch.is_external:
        return "external"
    if not watch.config.enabled:
        return "paused"
    if schedule.cron is not None:
        return f"{schedule.cron} {schedule.time_zone}"
    return f"every {schedule.every_minutes:g} min"


def when(moment: datetime) -> str:
    """The date only of another day."""
    form = "%H:%M UTC" if moment.date() == datetime.now(UTC).date() else "%Y-%m-%d %H:%M UTC"
    return moment.strftime(form)


async def warn_if_idle(services: Services) -> None:
    """Say so where nobody is there to check pages."""
    seen = [each.heartbeat for each in await services.heartbeats.seen(ALIVE_SECONDS)]
    present = {
        "scheduler": any(beat.role == "scheduler" for beat in seen),
        "worker": not unserved([CHECK_QUEUE, services.settings.input_queue], seen),
    }
    if missing := [role for role, is_there in present.items() if not is_there]:
        say(
            f"no {' and no '.join(missing)} is running, so nothing is checked yet: "
            "start `webloom up`",
            err=True,
        )
