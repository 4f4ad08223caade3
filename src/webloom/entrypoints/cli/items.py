"""Commands for feeds and for watches: list them, pause, resume and change several."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from webloom.domain.errors import FeedRefused, WatchRefused, WebloomError
from webloom.domain.feed import Feed
from webloom.domain.tags import checked_tags, tag_key
from webloom.domain.watch import Watch
from webloom.entrypoints.cli.named import Item, item_id
from webloom.entrypoints.cli.output import (
    confirm_removal,
    json_line,
    pipe_may_close,
    say,
    utf8_argument,
    visible,
    when,
)
from webloom.entrypoints.cli.running import run_with_services

if TYPE_CHECKING:
    from webloom.bootstrap.services import Services

Tags = Annotated[
    list[str] | None,
    typer.Option("--tag", metavar="TAG", help="A tag; repeatable. Once empty: no tags."),
]
OneTag = Annotated[
    str | None, typer.Option("--tag", metavar="TAG", help="Only those with this tag.")
]


@contextmanager
def wrong_options() -> Iterator[None]:
    """Refused settings came from options, so the exit code is 2."""
    try:
        yield
    except (FeedRefused, WatchRefused) as error:
        raise typer.BadParameter(visible(str(error))) from error


def change_each(
    given: list[str],
    find: Callable[[Services, str], Awaitable[Item]],
    change: Callable[[Services, Item], Awaitable[Item | None]],
    report: Callable[[Services, Item], None],
    *,
    ask: Callable[[Item], str] | None = None,  # names what is about to be removed
) -> None:
    """Find all of them, ask about each, then change one after the other."""

    async def work(services: Services) -> None:
        found = [await find(services, each) for each in given]
        for each in found if ask else ():
            confirm_removal(visible(ask(each)))  # type: ignore[misc]  # not None here
        for each in found:
            changed = await change(services, each)
            if changed is None:
                raise WebloomError(f"{each.config.name} was removed meanwhile")
            report(services, changed)

    run_with_services(work)


def enable_each(
    given: list[str],
    find: Callable[[Services, str], Awaitable[Item]],
    edit: Callable[[Services], Callable[..., Awaitable[Item | None]]],
    report: Callable[[Services, Item], None],
    *,
    enabled: bool,
) -> None:
    """Pause or resume them, as `change_each`. `edit` is the use case."""

    async def change(services: Services, item: Item) -> Item | None:
        return await edit(services)(item_id(item), enabled=enabled)

    change_each(given, find, change, report)


def print_items(
    items: Iterable[Item],
    tag: str | None,
    as_json: Callable[[Item], object] | None,
    *,
    show: Callable[[list[Item]], None],  # for a person, if it is not `as_json`
    if_none: str,
) -> None:
    """Those with the tag."""
    chosen = [each for each in items if _has_tag(each.config.tags, tag)]
    with pipe_may_close():
        if as_json is not None:
            for each in chosen:
                json_line(as_json(each))
        elif chosen:
            show(chosen)
        else:
            say(if_none)


def last_run(item: Feed | Watch) -> str | None:
    if item.active_run_id:
        return "running"
    if item.last_status is None:
        return None
    return f"{item.last_status} {when(item.last_run_at)}" if item.last_run_at else item.last_status


def _has_tag(tags: list[str], wanted: str | None) -> bool:
    return wanted is None or tag_key(wanted) in map(tag_key, tags)


def tags_given(given: list[str] | None) -> list[str] | None:
    """All tags; an empty one takes them away. Raises BadParameter."""
    if given is None:
        return None
    for each in given:
        utf8_argument("--tag", each)
    try:
        return checked_tags([each for each in given if each.strip()])
    except ValueError as error:
        raise typer.BadParameter(visible(f"--tag: {error}")) from error
