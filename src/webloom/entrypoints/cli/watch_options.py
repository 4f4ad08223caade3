"""The options that `webloom watch` and `webloom watches edit` share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from decimal import Decimal, InvalidOperation
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer

from webloom.domain.page import Selection
from webloom.domain.schedule import Schedule
from webloom.domain.watch import Target, Thresholds, WatchConfig
from webloom.entrypoints.cli.items import Tags, tags_given
from webloom.entrypoints.cli.output import utf8_argument, visible
from webloom.entrypoints.cli.secrets_given import (
    Notify,
    NotifyFile,
    Secret,
    SecretFile,
    targets_and_secret,
)
from webloom.entrypoints.cli.selection_options import Drop, Ignore, IgnorePattern, Keep

Command = Callable[..., None]


def _amount(given: str) -> Decimal:
    try:
        amount = Decimal(given)
    except InvalidOperation:
        amount = Decimal("NaN")
    if not (amount.is_finite() and amount > 0):
        raise typer.BadParameter(f"got {visible(given)!r}, wants a number above 0, such as 79.90")
    return amount


@dataclass(kw_only=True)
class WatchOptions:
    name: Annotated[str | None, typer.Option("--name", help="The watch's name.")] = None
    every: Annotated[
        float | None, typer.Option("--every", metavar="MINUTES", help="How often to check.")
    ] = None
    cron: Annotated[
        str | None,
        typer.Option("--cron", metavar="LINE", help="When to check, as a cron line of 5 fields."),
    ] = None
    time_zone: Annotated[
        str | None,
        typer.Option("--time-zone", metavar="NAME", help="The time zone of --cron; default UTC."),
    ] = None
    keep: Keep = None
    drop: Drop = None
    ignore: Ignore = None
    ignore_pattern: IgnorePattern = None
    sort: Annotated[
        bool | None, typer.Option("--sort/--no-sort", help="Ignore the order of lines.")
    ] = None
    unique: Annotated[
        bool | None, typer.Option("--unique/--no-unique", help="Ignore repeated lines.")
    ] = None
    text_contains: Annotated[
        list[str] | None,
        typer.Option("--text-contains", metavar="TEXT", help="Notify if new text contains this."),
    ] = None
    price_below: Annotated[
        Decimal | None,
        typer.Option(
            "--price-below", metavar="AMOUNT", parser=_amount, help="Notify below this price."
        ),
    ] = None
    price_change: Annotated[
        Decimal | None,
        typer.Option(
            "--price-change",
            metavar="PERCENT",
            parser=_amount,
            help="Notify when the price changes by this much.",
        ),
    ] = None
    notify: Notify = None
    notify_file: NotifyFile = None
    digest: Annotated[
        float | None,
        typer.Option(
            "--digest", metavar="MINUTES", help="Collect notifications for this long, send one."
        ),
    ] = None
    secret: Secret = None
    secret_file: SecretFile = None
    tag: Tags = None
    accept_events: Annotated[
        bool | None,
        typer.Option(
            "--accept-events/--no-accept-events",
            help="Whether other programs may send events for its pages.",
        ),
    ] = None

    def check(self) -> None:
        """Read the files that are named, and refuse what is not UTF-8. Raises WebloomError."""
        utf8_argument("--name", self.name)
        for name in ("keep", "drop", "ignore", "ignore_pattern", "text_contains"):
            for value in getattr(self, name) or ():
                utf8_argument(f"--{name.replace('_', '-')}", value)
        self.notify, self.secret = targets_and_secret(
            self.notify, self.notify_file, self.secret, self.secret_file
        )

    def changes(self, before: WatchConfig | None = None) -> dict[str, Any]:
        """The fields of WatchConfig that are given. Of selection and thresholds, the rest stays as
        it was."""
        changes = _given(
            name=self.name, accepts_events=self.accept_events, tags=tags_given(self.tag)
        )
        if self.every is not None or self.cron is not None:
            changes["schedule"] = Schedule(
                every_minutes=self.every, cron=self.cron, time_zone=self.time_zone or "UTC"
            )
        elif self.time_zone is not None:
            raise typer.BadParameter("--time-zone is for --cron")
        if selection := _given(
            keep=self.keep,
            drop=self.drop,
            ignore_text=self.ignore,
            ignore_pattern=self.ignore_pattern,
            sort_lines=self.sort,
            unique_lines=self.unique,
        ):
            old = Selection() if before is None else before.selection
            changes["selection"] = replace(old, **selection)
        if thresholds := _given(
            text_contains=self.text_contains,
            price_below=self.price_below,
            price_change_percent=self.price_change,
        ):
            was = Thresholds() if before is None else before.thresholds
            changes["thresholds"] = replace(was, **thresholds)
        if self.notify is not None:
            changes["targets"] = [
                Target(url=url, digest_minutes=self.digest, secret=self.secret)
                for url in self.notify
            ]
        elif self.digest is not None or self.secret is not None:
            raise typer.BadParameter("--digest and --secret are for --notify and --notify-file")
        return changes


def with_watch_options(command: Command) -> Command:
    """Typer sees the fields of the command's parameter `options` as options of their own."""
    hints = get_type_hints(WatchOptions, include_extras=True)
    signature = inspect.signature(command, eval_str=True)
    own = [each for name, each in signature.parameters.items() if name != "options"]
    keyword = inspect.Parameter.KEYWORD_ONLY
    shared = [
        inspect.Parameter(each.name, keyword, default=None, annotation=hints[each.name])
        for each in fields(WatchOptions)
    ]
    parameters = [each.replace(kind=keyword) for each in own] + shared

    @wraps(command)
    def expanded(**given: Any) -> None:
        options = WatchOptions(**{each.name: given.pop(each.name) for each in shared})
        options.check()
        command(options=options, **given)

    expanded.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    expanded.__annotations__ = {each.name: each.annotation for each in parameters}
    return expanded


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}
