"""`webloom fetch`: one URL, now, through the gate, without storing anything."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from webloom.application.inventory.check_url import check_url
from webloom.domain.errors import FetchFailed, UrlRefused, WebloomError
from webloom.domain.inventory import Received
from webloom.entrypoints.cli.output import (
    AsJson,
    console,
    json_line,
    json_text,
    pipe_may_close,
    plain,
    shortened,
    show_table,
    table,
    visible,
)
from webloom.entrypoints.cli.running import current_settings, run

if TYPE_CHECKING:
    from webloom.settings import Settings

SOURCE_LINES = 20
LONGEST_LINE = 200  # characters of a line of the source that are shown


def fetch(
    url: Annotated[str, typer.Argument(help="What to fetch; http:// or https://.")],
    as_json: AsJson = False,
) -> None:
    """Fetch one URL now and show what came back. Nothing is stored, and no worker is needed.

    Exits with 0 for any response, also a 404 or a 500, and with 1 when there was none.
    """
    try:
        requested, received = run(_fetch(current_settings(), url))
    except (FetchFailed, UrlRefused) as failure:
        if as_json:
            retryable = isinstance(failure, FetchFailed) and failure.retryable
            json_line({"url": json_text(url), "error": str(failure), "retryable": retryable})
        raise WebloomError(visible(str(failure))) from failure
    with pipe_may_close():
        if as_json:
            json_line(_shaped(requested, received))
        else:
            show(received, console())


async def _fetch(settings: Settings, url: str) -> tuple[str, Received]:
    from webloom.bootstrap.network import http_fetcher, network_policy

    requested = check_url(url, policy=network_policy(settings))
    async with http_fetcher(settings) as fetcher:
        return requested, await fetcher.fetch(requested)


def _shaped(url: str, received: Received) -> dict[str, Any]:
    """Like a record of the API."""
    return {"url": url, "metadata": received.metadata, "additional_details": received.details}


def show(received: Received, to: Console) -> None:
    """For people. All of it is untrusted text."""
    color = "green" if received.status_code < 400 else "red"
    to.print(
        f"[bold {color}]{received.status_code} {_phrase(received.status_code)}[/]  "
        f"{plain(received.final_url)}",
        soft_wrap=True,
    )
    to.print()
    _show_facts(received.details, to)
    _show_pairs("Header", received.headers, to)
    _show_pairs("Cookie", received.cookies, to)
    _show_source(received, to)


def _show_facts(details: Mapping[str, Any], to: Console) -> None:
    facts = table("", "", heading=False)
    for hop in details["redirect_chain"]:
        facts.add_row("[bold]redirect[/]", f"{hop['status_code']} from {plain(hop['url'])}")
    facts.add_row("[bold]time[/]", _times(details["timings_ms"]))
    facts.add_row("[bold]protocol[/]", f"HTTP/{details['http_version']}, {_tls(details['tls'])}")
    facts.add_row("[bold]type[/]", plain(details["content_type"] or "not said"))
    if (read := details.get("body_truncated_at")) is not None:
        facts.add_row("[bold]length[/]", f"unknown: only the first {read:,} bytes were read")
    else:
        facts.add_row("[bold]length[/]", f"{details['content_length']:,} bytes")
        facts.add_row("[bold]hash[/]", plain(details["content_hash"]))
    show_table(facts, to)


def _times(timings: Mapping[str, float | None]) -> str:
    return ", ".join(
        f"{name.replace('_', ' ')} {milliseconds:.1f} ms"
        for name, milliseconds in timings.items()
        if milliseconds is not None
    )


def _tls(tls: Mapping[str, str | None] | None) -> str:
    if tls is None:
        return "not encrypted"
    expires = tls.get("certificate_expires_at")
    until = f", certificate valid until {expires}" if expires else ""
    return plain(f"{tls.get('version')} with {tls.get('cipher')}{until}")


def _show_pairs(kind: str, pairs: Mapping[str, str], to: Console) -> None:
    if not pairs:
        return
    to.print()
    shown = table(kind, "Value")
    for name, value in pairs.items():
        for line in value.split("\n"):  # several Set-Cookie headers are joined by line breaks
            shown.add_row(plain(name), plain(line))
    show_table(shown, to)


def _show_source(received: Received, to: Console) -> None:
    source = received.page_source
    to.print()
    if source is None:
        to.print("[bold]Source[/]  none: the body is not text")
        return
    lines = source.split("\n", SOURCE_LINES)
    rest = lines[SOURCE_LINES:]
    more = f", the first {SOURCE_LINES} lines" if rest else ""
    to.print(f"[bold]Source[/]  {_characters(source, received.details)}{more}")
    for line in lines[:SOURCE_LINES]:
        text = line.rstrip("\r").expandtabs(4)
        to.print(plain(shortened(text, LONGEST_LINE)), soft_wrap=True)


def _characters(source: str, details: Mapping[str, Any]) -> str:
    whole = details.get("source_characters", len(source))
    if whole is None:
        return f"the first {len(source):,} characters"
    cut = "" if whole == len(source) else f"; the first {len(source):,} would be kept"
    return f"{whole:,} characters{cut}"


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
