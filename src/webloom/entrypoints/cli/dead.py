"""`webloom dead`: list dead letters, put them back or discard them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated

import typer

from webloom.domain.errors import WebloomError
from webloom.domain.inventory import METADATA_QUEUE
from webloom.entrypoints.cli.output import (
    AsJson,
    Yes,
    console,
    json_line,
    plain,
    shortened,
    show_table,
    table,
    visible,
)
from webloom.entrypoints.cli.processes import require_queue
from webloom.entrypoints.cli.running import current_settings, run_with_services
from webloom.ports.broker import DeadLetter

if TYPE_CHECKING:
    from webloom.application.dead_letters import DeadLetters
    from webloom.bootstrap.services import Services

SHOWN = 50  # without --limit
MISSING_SHOWN = 5

app = typer.Typer(
    no_args_is_help=True,
    help="Look at the messages that could not be handled; put them back or discard them.",
)

Queue = Annotated[str, typer.Option(help="The queue whose dead letters are meant.")]
Ids = Annotated[
    list[str] | None, typer.Argument(metavar="ID", help="Which, as `dead list` names them.")
]
All = Annotated[bool, typer.Option("--all", help="Every dead letter that the queue has now.")]


@app.command("list")
def list_letters(
    queue: Queue = METADATA_QUEUE,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help=f"At most this many; default {SHOWN}, with --json all."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the dead letters of a queue, the oldest first."""
    require_queue(current_settings(), queue)

    async def work(services: Services) -> None:
        if as_json:
            await _print_json(services, queue, limit)
        else:
            await _print(services, queue, limit or SHOWN)

    run_with_services(work)


@app.command("put-back")
def put_back(ids: Ids = None, every: All = False, queue: Queue = METADATA_QUEUE) -> None:
    """Put dead letters back into their queue, to be handled as if new."""

    async def change(letters: DeadLetters, chosen: list[str]) -> list[str]:
        return await letters.put_back(queue, chosen)

    done = _change(ids, every, queue, change)
    typer.echo(f"{done:,} put back into {visible(queue)}")


@app.command("discard")
def discard(
    ids: Ids = None, every: All = False, queue: Queue = METADATA_QUEUE, yes: Yes = False
) -> None:
    """Remove dead letters for good. Asks first."""

    async def change(letters: DeadLetters, chosen: list[str]) -> list[str]:
        if chosen and not yes:
            question = f"Discard {len(chosen):,} dead letters of {visible(queue)} for good?"
            typer.confirm(question, abort=True, err=True)
        return await letters.discard(queue, chosen)

    typer.echo(f"{_change(ids, every, queue, change):,} discarded")


def _change(
    ids: list[str] | None,
    every: bool,
    queue: str,
    change: Callable[[DeadLetters, list[str]], Awaitable[list[str]]],  # returns missing ids
) -> int:
    """The number of letters changed. Raises WebloomError if some are missing."""
    if bool(ids) == every:
        raise typer.BadParameter("name the dead letters by their ids, or all of them by --all")
    require_queue(current_settings(), queue)

    async def work(services: Services) -> tuple[list[str], list[str]]:
        chosen = ids or await services.dead_letters.ids(queue)
        return chosen, await change(services.dead_letters, chosen)

    chosen, missing = run_with_services(work)
    if missing:
        named = ", ".join(visible(each) for each in missing[:MISSING_SHOWN])
        more = f" and {len(missing) - MISSING_SHOWN} more" if len(missing) > MISSING_SHOWN else ""
        raise WebloomError(
            f"there is no dead letter {named}{more} ({len(chosen) - len(missing)} others are "
            "done); `webloom dead list` lists them"
        )
    return len(chosen)


async def _print(services: Services, queue: str, limit: int) -> None:
    letters = await services.broker.dead_letters(queue, limit=limit)
    depth = await services.broker.depth(queue)
    if not letters:
        typer.echo(f"{visible(queue)} has no dead letters")
        return
    shown = table("id", "buried at", "reason", "body")
    for letter in letters:
        shown.add_row(
            plain(letter.id),
            f"{letter.buried_at:%Y-%m-%d %H:%M:%S}",
            plain(shortened(letter.reason)),
            plain(shortened(_text(letter))),
        )
    show_table(shown, console())
    if depth.dead > len(letters):
        typer.echo(f"{depth.dead - len(letters):,} more: --limit shows more of them")


async def _print_json(services: Services, queue: str, limit: int | None) -> None:
    count = 0
    async for letter in services.dead_letters.each(queue):
        json_line(
            {
                "id": letter.id,
                "buried_at": letter.buried_at,
                "reason": letter.reason,
                "body": _text(letter),
            }
        )
        count += 1
        if count == limit:
            return


def _text(letter: DeadLetter) -> str:
    return letter.body.decode("utf-8", "backslashreplace")
