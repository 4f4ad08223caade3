"""`webloom feeds`: add, list, edit, pause and remove feeds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from webloom.domain.feed import AUTO, Feed, FeedConfig
from webloom.domain.schedule import LONGEST_MINUTES, SHORTEST_MINUTES
from webloom.entrypoints.cli import feeds_opml
from webloom.entrypoints.cli.feed import FORMAT_HELP, Maps, check_config, pair
from webloom.entrypoints.cli.items import (
    OneTag,
    Tags,
    change_each,
    enable_each,
    last_run,
    print_items,
    tags_given,
    wrong_options,
)
from webloom.entrypoints.cli.named import checked_url, is_stored, named_feed, no_feeds
from webloom.entrypoints.cli.output import (
    NARROW,
    AsJson,
    Yes,
    console,
    json_line,
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

if TYPE_CHECKING:
    from webloom.bootstrap.services import Services
    from webloom.entrypoints.api.import_schemas import FeedResponse

app = typer.Typer(no_args_is_help=True, help="Add, list, edit, pause and remove feeds; OPML.")

FeedArgument = Annotated[str, typer.Argument(metavar="FEED", help="Its id, URL or name.")]
Feeds = Annotated[list[str], typer.Argument(metavar="FEED", help="Their ids, URLs or names.")]


def _minutes(given: str) -> float:
    with suppress(ValueError):
        minutes = float(given)
        if minutes == 0 or SHORTEST_MINUTES <= minutes <= LONGEST_MINUTES:
            return minutes
    raise typer.BadParameter(
        f"got {visible(given)!r}, wants minutes, {SHORTEST_MINUTES:g} to {LONGEST_MINUTES:.0f}, "
        "or 0 for IMPORT_INTERVAL_MINUTES"
    )


Every = Annotated[
    float | None,
    typer.Option(
        "--every",
        metavar="MINUTES",
        parser=_minutes,
        help="How often it is imported; 0: IMPORT_INTERVAL_MINUTES.",
    ),
]
OptionalName = Annotated[str | None, typer.Option("--name", help="What it is called.")]
OptionalFormat = Annotated[str | None, typer.Option("--format", metavar="NAME", help=FORMAT_HELP)]
CloseMissing = Annotated[
    bool | None,
    typer.Option(
        "--close-missing/--keep-missing",
        help="The feed lists every open posting, so that those which vanish are closed.",
    ),
]


@app.command("list")
def list_feeds(tag: OneTag = None, as_json: AsJson = False) -> None:
    """Show every feed, by name."""

    async def found(services: Services) -> list[Feed]:
        return await services.imports.feeds.all()

    settings = current_settings()
    feeds = run_with_services(found) if is_stored(settings) else []
    feeds.sort(key=lambda feed: feed.config.name.casefold())
    show = partial(_show, usual_minutes=settings.import_interval_minutes)
    print_items(feeds, tag, _response if as_json else None, show=show, if_none=no_feeds(settings))


@app.command("add")
def add(
    url: Annotated[
        str, typer.Argument(metavar="URL", help="Where the feed is; https:// may be missing.")
    ],
    name: OptionalName = None,
    form: OptionalFormat = None,
    every: Every = None,
    paused: Annotated[
        bool, typer.Option("--paused", help="Without a schedule: imported on demand only.")
    ] = False,
    maps: Maps = None,
    close_missing: CloseMissing = None,
    tag: Tags = None,
    as_json: AsJson = False,
) -> None:
    """Add a feed. The scheduler imports it from then on; `webloom import` does so now.

    One that is there already stays as it is. Exits with 1 then if options were given.
    """
    settings, called = current_settings(), _name(name)
    config: dict[str, Any] = {
        "format": form or AUTO,
        "interval_minutes": every or None,
        "enabled": not paused,
        "mapping": dict(map(pair, maps or [])),
        "close_missing": bool(close_missing),
        "tags": tags_given(tag) or [],
    }
    normal = checked_url(settings, url)
    check_config(FeedConfig(url=normal, name=called or normal, **config))

    async def work(services: Services) -> bool:
        feed, is_new = await services.manage_feeds.add(normal, called, **config)
        if as_json:
            json_line(_response(feed))
        elif is_new:
            say(
                f"{_called(feed)} is added, {_schedule(feed, services, 'first')}; "
                f"`webloom import {feed.feed_id}` imports it now"
            )
        if not is_new:
            say(
                f"{_called(feed)} is there already and stays as it is; "
                f"`webloom feeds edit {feed.feed_id}` changes it",
                err=True,
            )
        return is_new

    options = (name, form, every, close_missing, tag)
    has_options = paused or any(each is not None for each in options)
    if not run_with_services(work, must_exist=False) and (has_options or maps):
        raise typer.Exit(1)


@app.command("edit")
def edit(
    given: FeedArgument,
    url: Annotated[
        str | None,
        typer.Option("--url", metavar="URL", help="Where it is now; it stays the same feed."),
    ] = None,
    name: OptionalName = None,
    form: OptionalFormat = None,
    every: Every = None,
    maps: Maps = None,
    close_missing: CloseMissing = None,
    tag: Tags = None,
    as_json: AsJson = False,
) -> None:
    """Change what is named and leave the rest. --map FIELD= takes the field out of the mapping.

    With --url a feed that has moved keeps its id, its runs and its postings. The next import reads
    the whole feed, whether it has changed or not.
    """
    moved_to = None if url is None else checked_url(current_settings(), url)
    named = {
        "url": moved_to,
        "name": _name(name),
        "format": form,
        "close_missing": close_missing,
        "tags": tags_given(tag),
    }
    changes: dict[str, Any] = {key: value for key, value in named.items() if value is not None}
    if every is not None:
        changes["interval_minutes"] = every or None
    if not changes and not maps:
        raise typer.BadParameter(
            "name what to change: --url, --name, --format, --every, --map, --tag, ..."
        )

    async def change(services: Services, feed: Feed) -> Feed | None:
        if maps:
            mapping = feed.config.mapping | dict(map(pair, maps))
            changes["mapping"] = {field: path for field, path in mapping.items() if path}
        with wrong_options():
            return await services.manage_feeds.edit(feed.feed_id, **changes)

    change_each([given], named_feed, change, _report("changed", as_json))


@app.command("pause")
def pause(given: Feeds, as_json: AsJson = False) -> None:
    """Take feeds off the schedule. They are imported on demand only."""
    enable_each(given, named_feed, _edit, _report("paused", as_json), enabled=False)


@app.command("resume")
def resume(given: Feeds, as_json: AsJson = False) -> None:
    """Put feeds on the schedule again."""
    enable_each(given, named_feed, _edit, _report("resumed", as_json), enabled=True)


@app.command("remove")
def remove(given: Feeds, yes: Yes = False, as_json: AsJson = False) -> None:
    """Remove feeds. Their postings and the history of their runs stay. Asks first."""

    async def drop(services: Services, feed: Feed) -> Feed | None:
        return feed if await services.manage_feeds.remove(feed.feed_id) else None

    ask = None if yes else lambda feed: f"{feed.config.name}, {feed.config.fetch_url}"
    change_each(given, named_feed, drop, _report("removed", as_json), ask=ask)


app.command("import-opml")(feeds_opml.import_opml)
app.command("export-opml")(feeds_opml.export_opml)


def _edit(services: Services) -> Callable[..., Awaitable[Feed | None]]:
    return services.manage_feeds.edit


def _report(done: str, as_json: bool) -> Callable[[Services, Feed], None]:
    def report(services: Services, feed: Feed) -> None:
        if as_json:
            json_line(_response(feed))
            return
        schedule = "" if done == "removed" else f", {_schedule(feed, services)}"
        say(f"{_called(feed)} is {done}{schedule}")

    return report


def _response(feed: Feed) -> FeedResponse:
    from webloom.entrypoints.api.import_schemas import feed_response

    return feed_response(feed)


def _name(given: str | None) -> str | None:
    utf8_argument("--name", given)
    if given is not None and not given.split():
        raise typer.BadParameter("--name is empty")
    return given and " ".join(given.split())


def _show(feeds: list[Feed], usual_minutes: float) -> None:
    to = console()
    if to.width < NARROW:
        for feed in feeds:
            for line in _lines(feed, usual_minutes):
                to.print(plain(line), soft_wrap=True)
        return
    shown = table("id", "name", "url", "schedule", "next run", "last run", "failures")
    for number in (0, 3, 4, 5):
        shown.columns[number].no_wrap = True
    for feed in feeds:
        name, url = feed.config.name, feed.config.fetch_url
        shown.add_row(
            feed.feed_id,
            "" if name == url else plain(name),
            plain(url),
            _interval(feed, usual_minutes),
            when(feed.next_run_at),
            last_run(feed) or "-",
            plain(_failures(feed) or "-"),
        )
    show_table(shown, to)


def _lines(feed: Feed, usual_minutes: float) -> Iterator[str]:
    """The same where a table has no room."""
    name, url = feed.config.name, feed.config.fetch_url
    indent = " " * (len(feed.feed_id) + 2)
    yield f"{feed.feed_id}  {name}"
    if name != url:
        yield f"{indent}{url}"
    schedule = _interval(feed, usual_minutes)
    if feed.next_run_at is not None:
        schedule = f"{schedule}, next at {when(feed.next_run_at)}"
    yield f"{indent}{schedule}; {last_run(feed) or 'no run yet'}"
    if failures := _failures(feed):
        yield f"{indent}failed {failures}"


def _failures(feed: Feed) -> str | None:
    if not feed.failures:
        return None
    return f"{feed.failures:,} in a row: {shortened(feed.last_error or 'without a reason')}"


def _schedule(feed: Feed, services: Services, which: str = "next") -> str:
    if feed.next_run_at is None:
        return "without a schedule"
    interval = _interval(feed, services.settings.import_interval_minutes)
    return f"imported {interval}, {which} at {when(feed.next_run_at)}"


def _interval(feed: Feed, usual_minutes: float) -> str:
    if not feed.config.enabled:
        return "paused"
    return f"every {feed.config.interval_minutes or usual_minutes:g} min"


def _called(feed: Feed) -> str:
    name, url = feed.config.name, feed.config.fetch_url
    return f"{url} ({feed.feed_id})" if name == url else f"{name} ({feed.feed_id}, {url})"
