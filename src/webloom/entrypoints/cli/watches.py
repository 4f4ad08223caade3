"""`webloom watch` and `webloom watches`: watch pages; list, edit, run, pause and remove watches."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from webloom.domain.errors import WatchRefused, WebloomError
from webloom.domain.page import CHECK_QUEUE, Selection
from webloom.domain.watch import Thresholds, Watch
from webloom.entrypoints.cli.files import read_file
from webloom.entrypoints.cli.named import change_each, is_stored, named_watch
from webloom.entrypoints.cli.output import (
    SOME_FAILED,
    AsJson,
    Yes,
    console,
    counted,
    json_line,
    pipe_may_close,
    plain,
    say,
    shortened,
    show_table,
    table,
    utf8_argument,
    visible,
    when,
)
from webloom.entrypoints.cli.running import current_settings, run_with_services
from webloom.entrypoints.cli.watch_options import WatchOptions, with_watch_options

if TYPE_CHECKING:
    from webloom.application.watch.check_targets import TargetChecks
    from webloom.bootstrap.services import Services

app = typer.Typer(no_args_is_help=True, help="List, edit, run, pause and remove watches; lists.")


class Part(StrEnum):
    SELECTION = "selection"
    THRESHOLDS = "thresholds"
    TARGETS = "targets"


_DEFAULTS: dict[Part, Any] = {
    Part.SELECTION: Selection(),
    Part.THRESHOLDS: Thresholds(),
    Part.TARGETS: [],
}

Given = Annotated[str, typer.Argument(metavar="WATCH", help="Its id or name.")]
Some = Annotated[list[str], typer.Argument(metavar="WATCH", help="Their ids or names.")]


@with_watch_options
def watch(
    urls: Annotated[list[str], typer.Argument(metavar="URL", help="The pages; one watch.")],
    options: WatchOptions,
    as_json: AsJson = False,
) -> None:
    """Watch pages: keep versions, changes and prices, and notify.

    They are checked at once by a running scheduler and worker (`webloom up`), then on the schedule.
    `webloom history URL` shows what was seen, `webloom watches` manages watches.
    """
    for url in urls:
        utf8_argument("URL", url)
    changes = options.changes()

    async def work(services: Services) -> None:
        try:
            added, _ = await services.manage_watches.add(urls, **changes)
        except WatchRefused as error:
            raise typer.BadParameter(visible(str(error))) from error
        if as_json:
            _print_json(added)
        else:
            pages = counted(len(added.config.urls), "page")
            first = "" if added.next_run_at is None else f", first at {when(added.next_run_at)}"
            say(f"{added.config.name} ({added.watch_id}): {pages}, {_schedule(added)}{first}")
        await _warn_if_idle(services)

    run_with_services(work, must_exist=False)


@app.command("list")
def list_watches(as_json: AsJson = False) -> None:
    """Show every watch, by name."""
    watches = run_with_services(_all) if is_stored(current_settings()) else []
    with pipe_may_close():
        if as_json:
            for each in watches:
                _print_json(each)
        elif watches:
            _show(watches)
        else:
            say("there are no watches yet; `webloom watch URL` adds one")


@app.command("edit")
@with_watch_options
def edit(
    given: Given,
    options: WatchOptions,
    url: Annotated[
        list[str] | None, typer.Option("--url", metavar="URL", help="Its pages, all of them.")
    ] = None,
    reset: Annotated[
        list[Part] | None,
        typer.Option("--reset", help="Set all of this back to its defaults first. Repeatable."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Change what is named and leave the rest; what can be repeated is replaced as a whole."""
    for each in url or ():
        utf8_argument("--url", each)

    async def change(services: Services, watch: Watch) -> Watch | None:
        defaults = {each.value: _DEFAULTS[each] for each in reset or ()}
        changes = defaults | options.changes(replace(watch.config, **defaults))
        if url is not None:
            changes["urls"] = url
        if not changes:
            raise typer.BadParameter("name what to change, such as --every 30; see --help")
        try:
            return await services.manage_watches.edit(watch.watch_id, **changes)
        except WatchRefused as error:
            raise typer.BadParameter(visible(str(error))) from error

    change_each([given], named_watch, change, _report("changed", as_json))


@app.command("run")
def run_now(given: Some, as_json: AsJson = False) -> None:
    """Check pages now. A running worker does it; `webloom history URL` shows what it saw."""

    async def work(services: Services) -> None:
        for watch in [await named_watch(services, each) for each in given]:
            started = await services.start_watch(watch.watch_id, "manual")
            if started is None:
                raise WebloomError(f"{watch.config.name} was removed meanwhile")
            if as_json:
                from webloom.entrypoints.api.watch_schemas import job_run

                json_line(job_run(started.run))
                continue
            state = "is being checked" if started.is_new else "was being checked already"
            say(
                f"{watch.config.name} {state}, run {started.run.run_id}; "
                f"`webloom history {watch.config.urls[0]}` shows what is seen"
            )
        await _warn_if_idle(services)

    run_with_services(work)


@app.command("pause")
def pause(given: Some, as_json: AsJson = False) -> None:
    """Take watches off the schedule."""
    change_each(given, named_watch, _enabled(False), _report("paused", as_json))


@app.command("resume")
def resume(given: Some, as_json: AsJson = False) -> None:
    """Put watches on the schedule again."""
    change_each(given, named_watch, _enabled(True), _report("resumed", as_json))


@app.command("remove")
def remove(
    given: Some,
    pages: Annotated[
        bool, typer.Option("--pages", help="Also all that is kept of their pages.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Remove watches. What is kept of their pages stays, unless --pages. Asks first."""

    async def drop(services: Services, watch: Watch) -> Watch | None:
        removed = await services.manage_watches.remove(watch.watch_id, with_pages=pages)
        return watch if removed else None

    ask = None if yes else _name
    change_each(given, named_watch, drop, _report("removed", as_json), ask=ask)


@app.command("import")
def import_list(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="URLs line by line, OPML or JSON; - for stdin.")
    ],
    as_json: AsJson = False,
) -> None:
    """Add a watch for each entry of a list. Exits with 3 if some were refused."""
    from webloom.parsing.watch_list import read_watch_list

    entries = read_watch_list(read_file(file))

    async def work(services: Services) -> int:
        checks = services.manage_watches.target_checks()
        return sum([await _refused(services, entry, checks, as_json) for entry in entries])

    refused = run_with_services(work, must_exist=False)
    if not as_json:
        say(f"{counted(len(entries) - refused, 'watch')} added, {refused:,} refused")
    if refused:
        raise typer.Exit(SOME_FAILED)


async def _refused(
    services: Services, entry: dict[str, Any], checks: TargetChecks, as_json: bool
) -> bool:
    """Add a watch. True if it was refused."""
    from webloom.entrypoints.watch_entries import add_entry

    outcome = await add_entry(services.manage_watches, entry, checks)
    if isinstance(outcome, Watch):
        if as_json:
            _print_json(outcome)
        return False
    if as_json:
        json_line(outcome)
    else:
        say(f"{shortened(outcome.entry)}: {shortened(outcome.reason)}", err=True)
    return True


@app.command("export")
def export_list() -> None:
    """Print every watch as JSON, for `webloom watches import`. Secrets of targets are in it."""

    async def work(services: Services) -> None:
        from webloom.entrypoints.watch_entries import exported

        json_line([exported(each) for each in await _all(services) if not each.is_external])

    run_with_services(work)


async def _all(services: Services) -> list[Watch]:
    from webloom.application.watch.manage_watches import all_watches

    return [each async for each in all_watches(services.watches)]


def _enabled(enabled: bool) -> Callable[[Services, Watch], Awaitable[Watch | None]]:
    async def change(services: Services, watch: Watch) -> Watch | None:
        return await services.manage_watches.edit(watch.watch_id, enabled=enabled)

    return change


def _report(done: str, as_json: bool) -> Callable[[Services, Watch], None]:
    def report(_: Services, watch: Watch) -> None:
        if as_json:
            _print_json(watch)
        else:
            say(f"{watch.config.name} ({watch.watch_id}) is {done}")

    return report


def _print_json(watch: Watch) -> None:
    from webloom.entrypoints.api.watch_schemas import watch_response

    json_line(watch_response(watch))


def _name(watch: Watch) -> str:
    return watch.config.name


def _show(watches: list[Watch]) -> None:
    shown = table("id", "name", "pages", "schedule", "next run", "last run", "checks", "changes")
    for watch in watches:
        last = "-"
        if watch.active_run_id:
            last = "running"
        elif watch.last_status is not None and watch.last_run_at is not None:
            last = f"{watch.last_status} {when(watch.last_run_at)}"
        shown.add_row(
            watch.watch_id,
            plain(watch.config.name),
            "-" if watch.is_external else f"{len(watch.config.urls):,}",
            plain(_schedule(watch)),
            when(watch.next_run_at),
            last,
            f"{watch.metrics.pages_processed:,}",
            f"{watch.metrics.changes:,}",
        )
    show_table(shown, console())


def _schedule(watch: Watch) -> str:
    schedule = watch.config.schedule
    if watch.is_external:
        return "external"
    if not watch.config.enabled:
        return "paused"
    if schedule.cron is not None:
        return f"{schedule.cron} {schedule.time_zone}"
    return f"every {schedule.every_minutes:g} min"


async def _warn_if_idle(services: Services) -> None:
    """Warn when no scheduler or no worker is running."""
    from webloom.application.overview.liveness import unserved
    from webloom.ports.heartbeats import ALIVE_SECONDS

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
