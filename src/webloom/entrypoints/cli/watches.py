"""`webloom watch` and `webloom watches`: watch pages; list, edit, run, pause and remove watches."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from webloom.domain.errors import WebloomError
from webloom.domain.page import CHECK_QUEUE, Selection
from webloom.domain.watch import Thresholds, Watch
from webloom.entrypoints.cli import watches_import
from webloom.entrypoints.cli.items import (
    OneTag,
    change_each,
    enable_each,
    last_run,
    print_items,
    wrong_options,
)
from webloom.entrypoints.cli.named import is_stored, named_watch
from webloom.entrypoints.cli.output import (
    AsJson,
    Yes,
    console,
    counted,
    json_line,
    plain,
    say,
    show_table,
    table,
    utf8_argument,
    when,
)
from webloom.entrypoints.cli.running import current_settings, run_with_services
from webloom.entrypoints.cli.watch_options import WatchOptions, with_watch_options

if TYPE_CHECKING:
    from webloom.bootstrap.services import Services
    from webloom.entrypoints.api.watch_schemas import WatchResponse

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
    urls: Annotated[
        list[str],
        typer.Argument(metavar="URL", help="The pages; one watch. https:// may be missing."),
    ],
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
        with wrong_options():
            added, _ = await services.manage_watches.add(urls, **changes)
        if as_json:
            json_line(_response(added))
        else:
            pages = counted(len(added.config.urls), "page")
            first = "" if added.next_run_at is None else f", first at {when(added.next_run_at)}"
            say(f"{added.config.name} ({added.watch_id}): {pages}, {_schedule(added)}{first}")
        await _warn_if_idle(services)

    run_with_services(work, must_exist=False)


@app.command("list")
def list_watches(tag: OneTag = None, as_json: AsJson = False) -> None:
    """Show every watch, by name."""
    found = run_with_services(_all) if is_stored(current_settings()) else []
    print_items(
        found,
        tag,
        _response if as_json else None,
        show=_show,
        if_none="no watches yet; `webloom watch URL` adds one",
    )


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
        with wrong_options():
            return await services.manage_watches.edit(watch.watch_id, **changes)

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
    enable_each(given, named_watch, _edit, _report("paused", as_json), enabled=False)


@app.command("resume")
def resume(given: Some, as_json: AsJson = False) -> None:
    """Put watches on the schedule again."""
    enable_each(given, named_watch, _edit, _report("resumed", as_json), enabled=True)


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


app.command("import")(watches_import.import_list)


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


def _edit(services: Services) -> Callable[..., Awaitable[Watch | None]]:
    return services.manage_watches.edit


def _report(done: str, as_json: bool) -> Callable[[Services, Watch], None]:
    def report(_: Services, watch: Watch) -> None:
        if as_json:
            json_line(_response(watch))
        else:
            say(f"{watch.config.name} ({watch.watch_id}) is {done}")

    return report


def _response(watch: Watch) -> WatchResponse:
    from webloom.entrypoints.api.watch_schemas import watch_response

    return watch_response(watch)


def _name(watch: Watch) -> str:
    return watch.config.name


def _show(watches: list[Watch]) -> None:
    shown = table("id", "name", "pages", "schedule", "next run", "last run", "checks", "changes")
    for watch in watches:
        shown.add_row(
            watch.watch_id,
            plain(watch.config.name),
            "-" if watch.is_external else f"{len(watch.config.urls):,}",
            plain(_schedule(watch)),
            when(watch.next_run_at),
            last_run(watch) or "-",
            f"{watch.metrics.pages_processed:,}",
            f"{watch.metrics.changes:,}",
        )
    show_table(shown, console())


def _schedule(watch: Watch) -> str:
    if watch.is_external:
        return "external"
    return watch.config.schedule.words if watch.config.enabled else "paused"


async def _warn_if_idle(services: Services) -> None:
    """Warn when no scheduler or no worker is running."""
    from webloom.application.overview.facts import unserved
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
