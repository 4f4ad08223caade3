"""`webloom watch URL…`: watch pages."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

import typer
import uvloop

from webloom.bootstrap.connections import open_services
from webloom.domain.errors import WatchRefused
from webloom.domain.page import Selection
from webloom.domain.schedule import Schedule
from webloom.domain.watch import Target, Thresholds, Watch
from webloom.entrypoints.api.watch_schemas import watch_response
from webloom.entrypoints.cli.output import counted, json_line, say, utf8_argument, visible
from webloom.entrypoints.cli.secrets_given import (
    Notify,
    NotifyFile,
    Secret,
    SecretFile,
    targets_and_secret,
)
from webloom.entrypoints.cli.watches_named import schedule_of, warn_if_idle, when
from webloom.settings import load_settings


def _amount(given: str) -> Decimal:
    try:
        amount = Decimal(given)
    except InvalidOperation:
        amount = Decimal("NaN")
    if not (amount.is_finite() and amount > 0):
        raise typer.BadParameter(f"got {visible(given)!r}, wants a number above 0, such as 79.90")
    return amount


Name = Annotated[str | None, typer.Option("--name", help="What the watch is called.")]
Every = Annotated[
    float | None, typer.Option("--every", metavar="MINUTES", help="How often it is checked.")
]
Cron = Annotated[
    str | None, typer.Option("--cron", metavar="LINE", help="When, instead: five fields.")
]
Zone = Annotated[
    str | None, typer.Option("--time-zone", metavar="NAME", help="Of --cron; UTC otherwise.")
]
Keep = Annotated[
    list[str] | None,
    typer.Option("--keep", metavar="SELECTOR", help="CSS or XPath of what counts. Repeat it."),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="SELECTOR", help="CSS or XPath of what does not."),
]
Ignore = Annotated[
    list[str] | None, typer.Option("--ignore", metavar="TEXT", help="Lines that contain it.")
]
IgnorePattern = Annotated[
    list[str] | None,
    typer.Option("--ignore-pattern", metavar="REGEX", help="Lines that it finds (RE2)."),
]
Sort = Annotated[bool | None, typer.Option("--sort/--no-sort", help="The order does not count.")]
Unique = Annotated[bool | None, typer.Option("--unique/--no-unique", help="Each line once.")]
Contains = Annotated[
    list[str] | None,
    typer.Option("--text-contains", metavar="TEXT", help="Tell when new text contains it."),
]
Below = Annotated[
    Decimal | None,
    typer.Option("--price-below", metavar="AMOUNT", parser=_amount, help="Tell when it is."),
]
Percent = Annotated[
    Decimal | None,
    typer.Option(
        "--price-change", metavar="PERCENT", parser=_amount, help="Tell when it moves by so much."
    ),
]
Digest = Annotated[
    float | None,
    typer.Option("--digest", metavar="MINUTES", help="Collect what is told for so long."),
]
AcceptEvents = Annotated[
    bool | None,
    typer.Option(
        "--accept-events/--no-accept-events",
        help="Whether other programs may send events for its pages.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for each watch.")]


def watch(
    urls: Annotated[list[str], typer.Argument(metavar="URL", help="The pages; one watch.")],
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
    as_json: Json = False,
) -> None:
    """Watch pages: keep versions, changes and prices, and notify.

    They are checked at once by a running scheduler and worker (`webloom up`), then on the schedule.
    `webloom history URL` shows what was seen, `webloom watches` manages watches.
    """
    for url in urls:
        utf8_argument("URL", url)
    utf8_argument("--name", name)
    targets, signed_by = targets_and_secret(notify, notify_file, secret, secret_file)
    changes = decided(
        None,
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

    async def run() -> None:
        async with open_services(load_settings()) as services:
            try:
                added, _ = await services.manage_watches.add(urls, name=name, **changes)
            except WatchRefused as error:
                raise typer.BadParameter(visible(str(error))) from error
            if as_json:
                json_line(watch_response(added))
            else:
                _tell(added)
            await warn_if_idle(services)

    uvloop.run(run())


def _tell(added: Watch) -> None:
    pages = counted(len(added.config.urls), "page")
    first = "" if added.next_run_at is None else f", first at {when(added.next_run_at)}"
    say(f"{added.config.name} ({added.watch_id}): {pages}, {schedule_of(added)}{first}")


def decided(
    watch: Watch | None,
    *,
    every: float | None,
    cron: str | None,
    time_zone: str | None,
    keep: list[str] | None,
    drop: list[str] | None,
    ignore: list[str] | None,
    ignore_pattern: list[str] | None,
    sort: bool | None,
    unique: bool | None,
    text_contains: list[str] | None,
    price_below: Decimal | None,
    price_change: Decimal | None,
    notify: list[str] | None,
    digest: float | None,
    secret: str | None,
    accept_events: bool | None,
) -> dict[str, Any]:
    """The fields of WatchConfig that the options name, on top of those that the watch has."""
    texts = {
        "--keep": keep,
        "--drop": drop,
        "--ignore": ignore,
        "--ignore-pattern": ignore_pattern,
        "--text-contains": text_contains,
    }
    for option, values in texts.items():
        for value in values or ():
            utf8_argument(option, value)
    changes: dict[str, Any] = {}
    if accept_events is not None:
        changes["accepts_events"] = accept_events
    if every is not None or cron is not None:
        changes["schedule"] = Schedule(every_minutes=every, cron=cron, time_zone=time_zone or "UTC")
    elif time_zone is not None:
        raise typer.BadParameter("--time-zone is for --cron")
    selection: dict[str, Any] = {
        "keep": keep,
        "drop": drop,
        "ignore_text": ignore,
        "ignore_pattern": ignore_pattern,
        "sort_lines": sort,
        "unique_lines": unique,
    }
    before = Selection() if watch is None else watch.config.selection
    if named := {key: value for key, value in selection.items() if value is not None}:
        changes["selection"] = replace(before, **named)
    thresholds: dict[str, Any] = {
        "text_contains": text_contains,
        "price_below": price_below,
        "price_change_percent": price_change,
    }
    was = Thresholds() if watch is None else watch.config.thresholds
    if named := {key: value for key, value in thresholds.items() if value is not None}:
        changes["thresholds"] = replace(was, **named)
    if notify is not None:
        changes["targets"] = [
            Target(url=url, digest_minutes=digest, secret=secret) for url in notify
        ]
    elif digest is not None or secret is not None:
        raise typer.BadParameter("--digest and --secret are for --notify and --notify-file")
    return changes
