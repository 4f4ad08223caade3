"""`webloom dead`: list dead letters, put them back or discard them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated

import typer

from webloom.domain.errors import WebloomError
from webloom.domain.inventory import METADATA_QUEUE
from webloom.domain.shown import shown_time
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
    from webloom.application.bulk import Finished
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
    queue: Annotated[str | None, typer.Option(help="Of this queue only.")] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help=f"At most this many of each; default {SHOWN}, with --json all."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the dead letters of all queues, the oldest of each first."""
    settings = current_settings()
    if queue is not None:
        require_queue(settings, queue)
    queues = list(settings.broker_urls) if queue is None else [queue]

    async def work(services: Services) -> None:
        if as_json:
            for each in queues:
                await _print_json(services, each, limit)
        else:
            await _print(services, queues, limit or SHOWN)

    run_with_services(work)


@app.command("put-back")
def put_back(ids: Ids = None, every: All = False, queue: Queue = METADATA_QUEUE) -> None:
    """Put dead letters back into their queue, to be handled as if new."""
    from webloom.application.dead_letters import DeadLetterAction

    async def change(letters: DeadLetters, chosen: list[str]) -> Finished:
        return await letters.all(queue, DeadLetterAction.PUT_BACK, chosen)

    done = _change(ids, every, queue, change)
    typer.echo(f"{done:,} put back into {visible(queue)}")


@app.command("discard")
def discard(
    ids: Ids = None, every: All = False, queue: Queue = METADATA_QUEUE, yes: Yes = False
) -> None:
    """Remove dead letters for good. Asks first."""
    from webloom.application.dead_letters import DeadLetterAction

    async def change(letters: DeadLetters, chosen: list[str]) -> Finished:
        if chosen and not yes:
            question = f"Discard {len(chosen):,} dead letters of {visible(queue)} for good?"
            typer.confirm(question, abort=True, err=True)
        return await letters.all(queue, DeadLetterAction.DISCARD, chosen)

    typer.echo(f"{_change(ids, every, queue, change):,} discarded")


def _change(
    ids: list[str] | None,
    every: bool,
    queue: str,
    change: Callable[[DeadLetters, list[str]], Awaitable[Finished]],
) -> int:
    """The number of letters changed. Raises WebloomError if some are not."""
    from webloom.application.bulk import NOT_TRIED
    from webloom.application.dead_letters import NOT_THERE

    if bool(ids) == every:
        raise typer.BadParameter("name the dead letters by their ids, or all of them by --all")
    require_queue(current_settings(), queue)

    async def work(services: Services) -> Finished:
        chosen = ids or await services.dead_letters.ids(queue)
        return await change(services.dead_letters, chosen)

    result = run_with_services(work)
    done = result.total - result.failed
    if result.failed:
        named = ", ".join(visible(each.id) for each in result.failures[:MISSING_SHOWN])
        more = f" and {result.failed - MISSING_SHOWN} more" if result.failed > MISSING_SHOWN else ""
        reasons = {each.reason.removeprefix(NOT_TRIED) for each in result.failures}
        what = "not found" if reasons == {NOT_THERE} else f"not done ({'; '.join(sorted(reasons))})"
        raise WebloomError(
            f"dead letters {what}: {named}{more} ({done} others are "
            "done); `webloom dead list` lists them"
        )
    return done


async def _print(services: Services, queues: list[str], limit: int) -> None:
    shown = table("queue", "id", "buried at", "reason", "body")
    more: list[str] = []
    for queue in queues:
        letters = await services.broker.dead_letters(queue, limit=limit)
        for letter in letters:
            shown.add_row(
                plain(queue),
                plain(letter.id),
                shown_time(letter.buried_at),
                plain(shortened(letter.reason)),
                plain(shortened(_text(letter))),
            )
        if (left := (await services.broker.depth(queue)).dead - len(letters)) > 0 and letters:
            more.append(f"{left:,} more in {visible(queue)}: --limit shows more of them")
    if shown.row_count == 0:
        typer.echo(f"no dead letters in {', '.join(map(visible, queues))}")
        return
    show_table(shown, console())
    for each in more:
        typer.echo(each)


async def _print_json(services: Services, queue: str, limit: int | None) -> None:
    count = 0
    async for letter in services.dead_letters.each(queue):
        json_line(
            {
                "queue": queue,
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
