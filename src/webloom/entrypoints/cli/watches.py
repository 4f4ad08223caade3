"""`webloom watches`: which watches there are, and what a person decides about them."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
import uvloop

from webloom.application.watch.check_targets import TargetChecks
from webloom.application.watch.manage_watches import all_watches
from webloom.bootstrap.connections import open_services
from webloom.bootstrap.services import Services
from webloom.domain.errors import WatchRefused, WebloomError
from webloom.domain.page import Selection
from webloom.domain.watch import Thresholds, Watch
from webloom.entrypoints.api.watch_schemas import (
    AddWatchBody,
    config_of,
    entry_of,
    job_run,
    shown_entry,
    watch_response,
)
from webloom.entrypoints.cli.feeds_named import is_stored
from webloom.entrypoints.cli.output import (
    SOME_FAILED,
    confirm_removal,
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
)
from webloom.entrypoints.cli.secrets_given import (
    Notify,
    NotifyFile,
    Secret,
    SecretFile,
    targets_and_secret,
)
from webloom.entrypoints.cli.watch import (
    AcceptEvents,
    Below,
    Contains,
    Cron,
    Digest,
    Drop,
    Every,
    Ignore,
    IgnorePattern,
    Json,
    Keep,
    Name,
    Percent,
    Sort,
    Unique,
    Zone,
    decided,
)
from webloom.entrypoints.cli.watches_named import (
    named_watch,
    schedule_of,
    warn_if_idle,
    when,
)
from webloom.parsing.watch_list import read_watch_list
from webloom.settings import load_settings

app = typer.Typer(no_args_is_help=True, help="List, edit, run, pause and remove watches; lists.")


class Part(StrEnum):
    SELECTION = "selection"
    THRESHOLDS = "thresholds"
    TARGETS = "targets"


_FRESH: dict[Part, Any] = {
    Part.SELECTION: Selection(),
    Part.THRESHOLDS: Thresholds(),
    Part.TARGETS: [],
}

Reset = Annotated[
    list[Part] | None,
    typer.Option("--reset", help="Forget all of this first. Repeat it."),
]
Given = Annotated[str, typer.Argument(metavar="WATCH", help="Its id or name.")]
Some = Annotated[list[str], typer.Argument(metavar="WATCH", help="Their ids or names.")]


@app.command("list")
def list_watches(as_json: Json = False) -> None:
    """Show every watch, by name."""
    settings = load_settings()

    async def found() -> list[Watch]:
        async with open_services(settings) as services:
            return [each async for each in all_watches(services.watches)]

    watches = uvloop.run(found()) if is_stored(settings) else []
    with pipe_may_close():
        if as_json:
            for each in watches:
                json_line(watch_response(each))
        elif watches:
            _show(watches)
        else:
            say("there are no watches yet; `webloom watch URL` adds one")


@app.command("edit")
def edit(
    given: Given,
    url: Annotated[
        list[str] | None, typer.Option("--url", metavar="URL", help="Its pages, all of them.")
    ] = None,
    name: Name = None,
    every: Every = None,
    cron: Cron = None,
    time_zone: Zone = None,
    keep: Keep = None,
    drop: Drop = None,
    ignore: Ignore = None,
    ignore_pattern: IgnorePattern = None,
    sort: Sort = None,
    unique: Unique = None,
    text_contains: Contains = None,
    price_below: Below = None,
    price_change: Percent = None,
    notify: Notify = None,
    notify_file: NotifyFile = None,
    digest: Digest = None,
    secret: Secret = None,
    secret_file: SecretFile = None,
    accept_events: AcceptEvents = None,
    reset: Reset = None,
    as_json: Json = False,
) -> None:
    """Change what is named and leave the rest; what can be repeated is replaced as a whole."""
    utf8_argument("--name", name)
    for each in url or ():
        utf8_argument("--url", each)
    targets, signed_by = targets_and_secret(notify, notify_file, secret, secret_file)

    async def change(services: Services, watch: Watch) -> Watch | None:
        fresh = {each.value: _FRESH[each] for each in reset or ()}
        changes = fresh | decided(
            replace(watch, config=replace(watch.config, **fresh)),
            every=every,
            cron=cron,
            time_zone=time_zone,
            keep=keep,
            drop=drop,
            ignore=ignore,
            ignore_pattern=ignore_pattern,
            sort=sort,
            unique=unique,
            text_contains=text_contains,
            price_below=price_below,
            price_change=price_change,
            notify=targets,
            digest=digest,
            secret=signed_by,
            accept_events=accept_events,
        )
        if name is not None:
            changes["name"] = name
        if url is not None:
            changes["urls"] = url
        if not changes:
            raise typer.BadParameter("name what to change, such as --every 30; see --help")
        try:
            return await services.manage_watches.edit(watch.watch_id, **changes)
        except WatchRefused as error:
            raise typer.BadParameter(visible(str(error))) from error

    _for_each([given], change, "changed", as_json)


@app.command("run")
def run_now(given: Some, as_json: Json = False) -> None:
    """Check pages now. A running worker does it; `webloom history URL` shows what it saw."""

    async def run() -> None:
        async with open_services(load_settings(), must_exist=True) as services:
            for watch in [await named_watch(services, each) for each in given]:
                started = await services.start_watch(watch.watch_id, "manual")
                if started is None:
                    raise WebloomError(f"{watch.config.name} was removed meanwhile")
                if as_json:
                    json_line(job_run(started.run))
                else:
                    what = "is being checked" if started.is_new else "was being checked already"
                    say(
                        f"{watch.config.name} {what}, run {started.run.run_id}; "
                        f"`webloom history {watch.config.urls[0]}` shows what is seen"
                    )
            await warn_if_idle(services)

    uvloop.run(run())


@app.command("pause")
def pause(given: Some, as_json: Json = False) -> None:
    """Take watches off the schedule."""
    _for_each(given, _enabled(False), "paused", as_json)


@app.command("resume")
def resume(given: Some, as_json: Json = False) -> None:
    """Put watches on the schedule again."""
    _for_each(given, _enabled(True), "resumed", as_json)


@app.command("remove")
def remove(
    given: Some,
    pages: Annotated[
        bool, typer.Option("--pages", help="Also all that is kept of their pages.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Json = False,
) -> None:
    """Remove watches. What is kept of their pages stays, unless --pages. Asks first."""

    async def drop(services: Services, watch: Watch) -> Watch | None:
        removed = await services.manage_watches.remove(watch.watch_id, with_pages=pages)
        return watch if removed else None

    _for_each(given, drop, "removed", as_json, ask=not yes)


@app.command("import")
def import_list(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="URLs line by line, OPML or JSON; - for stdin.")
    ],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object for each entry.")
    ] = False,
) -> None:
    """Add a watch for each entry of a list. Exits with 3 if some were refused."""
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise WebloomError(f"can't read {visible(file)}: {error.strerror}") from error
    entries = read_watch_list(content)

    async def run() -> int:
        async with open_services(load_settings()) as services:
            checks = services.manage_watches.target_checks()
            return sum([await _refused(services, entry, checks, as_json) for entry in entries])

    refused = uvloop.run(run())
    if not as_json:
        say(f"{counted(len(entries) - refused, 'watch')} added, {refused:,} refused")
    if refused:
        raise typer.Exit(SOME_FAILED)


async def _refused(
    services: Services, entry: dict[str, Any], checks: TargetChecks, as_json: bool
) -> bool:
    """Add a watch; whether it is refused instead."""
    try:
        body = entry_of(entry)
        given = config_of(body)
        urls = [*([body.url] if body.url else []), *given.pop("urls")]
        name = given.pop("name")
        watch, _ = await services.manage_watches.add(urls, name=name, checks=checks, **given)
    except (WatchRefused, msgspec.ValidationError) as error:
        shown, reason = shown_entry(entry), str(error)
        if as_json:
            json_line({"entry": shown, "reason": reason})
        else:
            say(f"{shortened(shown)}: {shortened(reason)}", err=True)
        return True
    if as_json:
        json_line(watch_response(watch))
    return False


@app.command("export")
def export_list() -> None:
    """Print every watch as JSON, for `webloom watches import`. Secrets of targets are in it."""
    settings = load_settings()

    async def run() -> None:
        async with open_services(settings, must_exist=True) as services:
            found = [each async for each in all_watches(services.watches)]
            watches = [each.config for each in found if not each.is_external]
        json_line(
            [
                msgspec.to_builtins(msgspec.convert(each, AddWatchBody, from_attributes=True))
                for each in watches
            ]
        )

    with pipe_may_close():
        uvloop.run(run())


Change = Callable[[Services, Watch], Awaitable[Watch | None]]


def _enabled(enabled: bool) -> Change:
    async def change(services: Services, watch: Watch) -> Watch | None:
        return await services.manage_watches.edit(watch.watch_id, enabled=enabled)

    return change


def _for_each(
    given: list[str], change: Change, done: str, as_json: bool, *, ask: bool = False
) -> None:
    """All of them are found, and asked about, before the first is changed."""

    async def run() -> None:
        async with open_services(load_settings(), must_exist=True) as services:
            watches = [await named_watch(services, each) for each in given]
            for watch in watches if ask else ():
                confirm_removal(visible(watch.config.name))
            for watch in watches:
                changed = await change(services, watch)
                if changed is None:
                    raise WebloomError(f"{watch.config.name} was removed meanwhile")
                if as_json:
                    json_line(watch_response(changed))
                else:
                    say(f"{changed.config.name} ({changed.watch_id}) is {done}")

    uvloop.run(run())


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
            plain(schedule_of(watch)),
            "-" if watch.next_run_at is None else when(watch.next_run_at),
            last,
            f"{watch.metrics.pages_processed:,}",
            f"{watch.metrics.changes:,}",
        )
    show_table(shown, console())
