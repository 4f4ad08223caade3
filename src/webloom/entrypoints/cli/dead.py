"""`webloom dead`: messages that no worker could handle, and what becomes of them."""

from __future__ import annotations

from typing import Annotated

import typer
import uvloop

from webloom.bootstrap.connections import open_services
from webloom.domain.errors import WebloomError
from webloom.domain.inventory import METADATA_QUEUE
from webloom.entrypoints.cli.output import (
    console,
    json_line,
    pipe_may_close,
    plain,
    shortened,
    show_table,
    table,
    visible,
)
from webloom.entrypoints.cli.queue_names import require_queue
from webloom.ports.broker import DeadLetter
from webloom.settings import Settings, load_settings

SHOWN = 50  # to a person who does not say how many
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
        typer.Option(min=1, help=f"At most so many; {SHOWN} by default, with --json all."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object for each dead letter.")
    ] = False,
) -> None:
    """Show the dead letters of a queue, the oldest first."""
    with pipe_may_close():
        uvloop.run(_list_json(queue, limit) if as_json else _list(queue, limit or SHOWN))


@app.command("put-back")
def put_back(ids: Ids = None, every: All = False, queue: Queue = METADATA_QUEUE) -> None:
    """Put dead letters back into their queue, to be handled as if new."""
    _need_choice(ids, every)

    async def run() -> None:
        async with open_services(_settings(queue), must_exist=True) as services:
            letters = services.dead_letters
            chosen = ids or await letters.ids(queue)
            done = _counted(chosen, await letters.put_back(queue, chosen))
            typer.echo(f"{done:,} put back into {visible(queue)}")

    uvloop.run(run())


@app.command("discard")
def discard(
    ids: Ids = None,
    every: All = False,
    queue: Queue = METADATA_QUEUE,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove dead letters for good. Asks first."""
    _need_choice(ids, every)

    async def run() -> None:
        async with open_services(_settings(queue), must_exist=True) as services:
            letters = services.dead_letters
            chosen = ids or await letters.ids(queue)
            if chosen and not yes:
                question = f"Discard {len(chosen):,} dead letters of {visible(queue)} for good?"
                typer.confirm(question, abort=True, err=True)
            done = _counted(chosen, await letters.discard(queue, chosen))
            typer.echo(f"{done:,} discarded")

    uvloop.run(run())


async def _list(queue: str, limit: int) -> None:
    async with open_services(_settings(queue), must_exist=True) as services:
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


async def _list_json(queue: str, limit: int | None) -> None:
    async with open_services(_settings(queue), must_exist=True) as services:
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


def _counted(ids: list[str], missing: list[str]) -> int:
    """How many there were. Raises WebloomError for those that there were not."""
    if missing:
        named = ", ".join(visible(each) for each in missing[:MISSING_SHOWN])
        more = f" and {len(missing) - MISSING_SHOWN} more" if len(missing) > MISSING_SHOWN else ""
        raise WebloomError(
            f"there is no dead letter {named}{more} ({len(ids) - len(missing)} others are done); "
            "`webloom dead list` shows what there is"
        )
    return len(ids)


def _settings(queue: str) -> Settings:
    settings = load_settings()
    require_queue(settings, queue)
    return settings


def _need_choice(ids: list[str] | None, every: bool) -> None:
    if bool(ids) == every:
        raise typer.BadParameter("name the dead letters by their ids, or all of them by --all")


def _text(letter: DeadLetter) -> str:
    return letter.body.decode("utf-8", "backslashreplace")
