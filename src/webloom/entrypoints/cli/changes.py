"""`webloom changes`: list what is in the inbox, and mark it as done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from webloom.domain.errors import WebloomError
from webloom.domain.inbox import Decision, InboxState
from webloom.domain.storage_event import moment_of
from webloom.entrypoints.cli.history import what_changed
from webloom.entrypoints.cli.output import AsJson, counted, say, show_rows, visible, when
from webloom.entrypoints.cli.running import run_with_services
from webloom.ports.inbox import InboxEntry, InboxFilter

if TYPE_CHECKING:
    from webloom.bootstrap.services import Services

SHOWN = 50
READ_AT_ONCE = 200
MISSING_SHOWN = 5
COLUMNS = ("id", "changed at", "watch", "page", "what changed", "state")

app = typer.Typer(
    no_args_is_help=True, help="Look at the changes of all watches; mark them as done."
)

OfWatch = Annotated[
    str | None, typer.Option("--watch", metavar="ID", help="Of that watch only.")
]  # fmt: skip


@app.command("list")
def list_changes(
    state: Annotated[
        InboxState, typer.Option(help="Only those in this state.")
    ] = InboxState.UNREAD,
    watch: OfWatch = None,
    limit: Annotated[int, typer.Option(min=1, help="At most this many.")] = SHOWN,
    as_json: AsJson = False,
) -> None:
    """Show the changes in the inbox, the latest first."""

    async def work(services: Services) -> tuple[list[InboxEntry], dict[str, str]]:
        entries = await _entries(services, InboxFilter(state=state, watch_id=watch), limit)
        names = await services.watches.names({each.change.watch_id for each in entries})
        return entries, names

    entries, names = run_with_services(work)
    if as_json:
        from webloom.entrypoints.api.inbox_schemas import entry_response

        responses = [entry_response(each, _name(each, names)) for each in entries]
        show_rows(responses, COLUMNS, lambda each: (), as_json=True)
    elif entries:
        show_rows(entries, COLUMNS, lambda each: _row(each, names), as_json=False)
    else:
        say(f"nothing is {state}")


@app.command("done")
def mark_done(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID", help="Which, as `changes list` names them.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every unread change.")] = False,
    watch: OfWatch = None,
) -> None:
    """Mark changes as done."""
    if bool(ids) == every:
        raise typer.BadParameter("name the changes by their ids, or all of them by --all")
    if ids and watch:
        raise typer.BadParameter("--watch goes with --all")

    async def work(services: Services) -> tuple[int, list[str]]:
        chosen = ids or [
            each.entry_id
            for each in await _entries(
                services, InboxFilter(state=InboxState.UNREAD, watch_id=watch), None
            )
        ]
        missing: list[str] = []
        for first in range(0, len(chosen), READ_AT_ONCE):
            some = chosen[first : first + READ_AT_ONCE]
            missing += await services.decide_entries(some, Decision(state=InboxState.DONE))
        return len({*chosen}) - len({*missing}), missing

    done, missing = run_with_services(work)
    say(f"{counted(done, 'change')} marked as done")
    if missing and not every:  # what disappears meanwhile is done, too
        named = ", ".join(map(visible, missing[:MISSING_SHOWN]))
        more = f" and {len(missing) - MISSING_SHOWN} more" if len(missing) > MISSING_SHOWN else ""
        raise WebloomError(f"changes not found: {named}{more}; `webloom changes list` lists them")


async def _entries(services: Services, chosen: InboxFilter, limit: int | None) -> list[InboxEntry]:
    """Of all pages of the list, or the first so many."""
    now = services.clock.now()
    found: list[InboxEntry] = []
    cursor: str | None = None
    while limit is None or len(found) < limit:
        most = READ_AT_ONCE if limit is None else min(READ_AT_ONCE, limit - len(found))
        some, cursor = await services.inbox.entries(chosen, now=now, limit=most, cursor=cursor)
        found += some
        if cursor is None:
            break
    return found


def _name(entry: InboxEntry, names: dict[str, str]) -> str:
    return names.get(entry.change.watch_id, entry.change.watch_id)


def _row(entry: InboxEntry, names: dict[str, str]) -> tuple[str, ...]:
    change = entry.change
    until = "" if entry.snoozed_until is None else f" until {when(entry.snoozed_until)}"
    return (
        entry.entry_id,
        when(moment_of(change.timestamp)),
        _name(entry, names),
        change.url,
        what_changed(change),
        f"{entry.state}{until}",
    )
