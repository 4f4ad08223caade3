"""`webloom feeds`: which feeds there are, and what a person decides about them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Annotated, Any

import typer
import uvloop

from webloom.bootstrap import Services, open_services
from webloom.domain.errors import WebloomError
from webloom.domain.feed import AUTO, Feed
from webloom.entrypoints.api.import_schemas import feed_answer
from webloom.entrypoints.cli import feeds_opml
from webloom.entrypoints.cli.feed import Maps, pair
from webloom.entrypoints.cli.feeds_named import named_feed
from webloom.entrypoints.cli.output import (
    console,
    json_line,
    pipe_may_close,
    plain,
    say,
    shortened,
    table,
    utf8_argument,
    visible,
)
from webloom.settings import load_settings

app = typer.Typer(no_args_is_help=True, help="Add, list, edit, pause and remove feeds; OPML.")
app.command("import-opml")(feeds_opml.import_opml)
app.command("export-opml")(feeds_opml.export_opml)

FeedArgument = Annotated[str, typer.Argument(metavar="FEED", help="Its id, URL or name.")]
Feeds = Annotated[list[str], typer.Argument(metavar="FEED...", help="Their ids, URLs or names.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for each feed.")]
Every = Annotated[
    float | None,
    typer.Option(
        "--every", metavar="MINUTES", help="How often it is imported; 0: IMPORT_INTERVAL_MINUTES."
    ),
]
OptionalName = Annotated[str | None, typer.Option("--name", help="What it is called.")]
OptionalFormat = Annotated[
    str | None, typer.Option("--format", help="The feed's format; auto recognises it.")
]
CloseMissing = Annotated[
    bool | None,
    typer.Option(
        "--close-missing/--keep-missing",
        help="The feed lists every open posting, so that those which vanish are closed.",
    ),
]


@app.command("list")
def list_feeds(as_json: Json = False) -> None:
    """Show every feed, by name."""

    async def run() -> None:
        async with open_services(load_settings(), must_exist=True) as services:
            feeds = await services.imports.feeds()
            usual = services.settings.import_interval_minutes
        if as_json:
            for feed in feeds:
                json_line(feed_answer(feed))
        elif feeds:
            _show(feeds, usual)
        else:
            typer.echo("there are no feeds yet; `webloom feeds add URL` adds one")

    with pipe_may_close():
        uvloop.run(run())


@app.command("add")
def add(
    url: Annotated[str, typer.Argument(help="Where the feed is; http:// or https://.")],
    name: OptionalName = None,
    form: OptionalFormat = None,
    every: Every = None,
    paused: Annotated[
        bool, typer.Option("--paused", help="Without a schedule: imported on demand only.")
    ] = False,
    maps: Maps = None,
    close_missing: CloseMissing = None,
    as_json: Json = False,
) -> None:
    """Add a feed. The scheduler imports it from then on; `webloom import` does so now."""

    async def run() -> None:
        async with open_services(load_settings()) as services:
            feed, is_new = await services.manage_feeds.add(
                url,
                _name(name),
                format=form or AUTO,
                interval_minutes=every or None,
                enabled=not paused,
                mapping=dict(map(pair, maps or [])),
                close_missing=bool(close_missing),
            )
            if as_json:
                json_line(feed_answer(feed))
            elif is_new:
                say(f"{_called(feed)} is added, {_schedule(feed, services)}")
            if not is_new:
                say(
                    f"{_called(feed)} is there already and stays as it is; "
                    f"`webloom feeds edit {feed.feed_id}` changes it",
                    err=True,
                )

    uvloop.run(run())


@app.command("edit")
def edit(
    given: FeedArgument,
    name: OptionalName = None,
    form: OptionalFormat = None,
    every: Every = None,
    maps: Maps = None,
    close_missing: CloseMissing = None,
    as_json: Json = False,
) -> None:
    """Change what is named and leave the rest. --map FIELD= takes the field out of the mapping.

    The next import reads the feed anew, changed or not.
    """
    named = {"name": _name(name), "format": form, "close_missing": close_missing}
    changes: dict[str, Any] = {key: value for key, value in named.items() if value is not None}
    if every is not None:
        changes["interval_minutes"] = every or None
    if not changes and not maps:
        raise typer.BadParameter("name what to change: --name, --format, --every, --map, ...")

    async def change(services: Services, feed: Feed) -> Feed | None:
        if maps:
            mapping = feed.config.mapping | dict(map(pair, maps))
            changes["mapping"] = {field: path for field, path in mapping.items() if path}
        return await services.manage_feeds.edit(feed.feed_id, **changes)

    _for_each([given], change, "changed", as_json)


@app.command("pause")
def pause(given: Feeds, as_json: Json = False) -> None:
    """Take feeds off the schedule. They are imported on demand only."""
    _for_each(given, _enabled(False), "paused", as_json)


@app.command("resume")
def resume(given: Feeds, as_json: Json = False) -> None:
    """Put feeds on the schedule again."""
    _for_each(given, _enabled(True), "resumed", as_json)


@app.command("remove")
def remove(
    given: Feeds,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Json = False,
) -> None:
    """Remove feeds. Their postings and the history of their runs stay. Asks first."""

    async def drop(services: Services, feed: Feed) -> Feed | None:
        if not yes:
            question = f"Remove {visible(feed.config.name)}, {visible(feed.config.url)}?"
            typer.confirm(question, abort=True, err=True)
        return feed if await services.imports.remove_feed(feed.feed_id) else None

    _for_each(given, drop, "removed", as_json)


Change = Callable[[Services, Feed], Awaitable[Feed | None]]


def _enabled(enabled: bool) -> Change:
    async def change(services: Services, feed: Feed) -> Feed | None:
        return await services.manage_feeds.edit(feed.feed_id, enabled=enabled)

    return change


def _for_each(given: list[str], change: Change, done: str, as_json: bool) -> None:
    """All of them are found before the first is changed."""

    async def run() -> None:
        async with open_services(load_settings(), must_exist=True) as services:
            for feed in [await named_feed(services, each) for each in given]:
                changed = await change(services, feed)
                if changed is None:
                    raise WebloomError(f"{_called(feed)} was removed meanwhile")
                if as_json:
                    json_line(feed_answer(changed))
                    continue
                schedule = "" if done == "removed" else f", {_schedule(changed, services)}"
                say(f"{_called(changed)} is {done}{schedule}")

    uvloop.run(run())


def _name(given: str | None) -> str | None:
    utf8_argument("--name", given)
    if given is not None and not given.split():
        raise typer.BadParameter("--name is empty")
    return given and " ".join(given.split())


def _show(feeds: list[Feed], usual_minutes: float) -> None:
    shown = table("id", "name", "url", "schedule", "next run", "last run", "failures")
    for feed in feeds:
        failed = f"{feed.failures:,} in a row: {shortened(feed.last_error or '')}"
        shown.add_row(
            feed.feed_id,
            plain(feed.config.name),
            plain(feed.config.url),
            _interval(feed, usual_minutes),
            _when(feed.next_run_at),
            "running" if feed.active_run_id else f"{feed.last_status or '-'}",
            plain(failed) if feed.failures else "-",
        )
    console().print(shown)


def _schedule(feed: Feed, services: Services) -> str:
    if feed.next_run_at is None:
        return "without a schedule"
    interval = _interval(feed, services.settings.import_interval_minutes)
    return f"imported {interval}, next at {_when(feed.next_run_at)}"


def _interval(feed: Feed, usual_minutes: float) -> str:
    if not feed.config.enabled:
        return "paused"
    return f"every {feed.config.interval_minutes or usual_minutes:g} min"


def _when(moment: datetime | None) -> str:
    return "-" if moment is None else f"{moment:%Y-%m-%d %H:%M} UTC"


def _called(feed: Feed) -> str:
    name, url = feed.config.name, feed.config.url
    return f"{url} ({feed.feed_id})" if name == url else f"{name} ({feed.feed_id}, {url})"
