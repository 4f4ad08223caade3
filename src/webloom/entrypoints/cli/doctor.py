"""`webloom doctor`: look at everything that Webloom depends on, and say what to do."""

from __future__ import annotations

import asyncio
import os
import resource
import shlex
import shutil
import socket
import sqlite3
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import typer
import uvloop

from webloom import __version__
from webloom.application.overview.liveness import Waiting, exhausted, missing_scheduler, unserved
from webloom.application.watch.manage_watches import all_watches
from webloom.bootstrap.brokers import queue_limits
from webloom.bootstrap.connections import open_services
from webloom.bootstrap.network import network_policy, spool_room
from webloom.bootstrap.places import places_of
from webloom.bootstrap.services import Services
from webloom.domain.errors import BackendRefused, WebloomError
from webloom.domain.feed import Feed
from webloom.domain.inventory import METADATA_QUEUE
from webloom.domain.spool import shortage, shown_bytes
from webloom.domain.watch import Watch
from webloom.entrypoints.advice import MAKE_ROOM, START_SCHEDULER
from webloom.entrypoints.api.schemas import STORAGE_FULL
from webloom.entrypoints.cli.output import counted, visible
from webloom.entrypoints.processes import refuse_open_bind
from webloom.parsing.backend_url import shown
from webloom.parsing.web_origin import ANY
from webloom.ports.broker import QueueDepth
from webloom.ports.connection import Connected
from webloom.ports.heartbeats import ALIVE_SECONDS, SeenProcess
from webloom.private_files import open_to_others
from webloom.settings import FROM_FILE, VARIABLES, Settings, load_settings, unknown_variables

LEAST_FREE_BYTES = 500 * 1024 * 1024
MOST_FEEDS = 10  # that fail and are named; and as many watches
OLDEST_SQLITE = (3, 37, 0)
CHECK_FOLDER = "Check WEBLOOM_DATA_DIR and WEBLOOM_STORE, the folder's owner and its disk."


class Finding(msgspec.Struct, kw_only=True):
    check: str
    state: Literal["ok", "warning", "problem"]
    detail: str
    advice: str | None = None


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per check.")] = False,
) -> None:
    """Check every dependency and say what to do. Exits with 1 when something is wrong."""
    settings = load_settings()
    findings = [*uvloop.run(_examine(settings)), *_readers(settings)]  # once all is protected
    for finding in findings:
        typer.echo(msgspec.json.encode(finding).decode() if as_json else _line(finding))
    if any(finding.state == "problem" for finding in findings):
        raise typer.Exit(1)


def _line(finding: Finding) -> str:
    mark = {"ok": "ok     ", "warning": "warning", "problem": "PROBLEM"}[finding.state]
    advice = f"\n{'':9}-> {finding.advice}" if finding.advice else ""
    return f"{mark}  {finding.check}: {finding.detail}{advice}"


async def _examine(settings: Settings) -> list[Finding]:
    findings = [*_runtime(), *_settings(settings), _files(settings), _listening(settings)]
    findings.append(await _spool(settings))
    if settings.is_embedded:
        findings.append(_disk(settings))
        if not _exists(settings.database):
            findings.append(_to_be_created(settings.database))
            if settings.store_url == settings.embedded_url:
                return findings
    try:
        async with open_services(settings) as services:
            findings += [item async for item in _services(services)]
    except BackendRefused as error:
        findings.append(Finding(check="backends", state="problem", detail=str(error)))
    except WebloomError as error:
        findings.append(
            Finding(check="database", state="problem", detail=str(error), advice=CHECK_FOLDER)
        )
    return findings


def _runtime() -> Iterator[Finding]:
    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding(check="webloom", state="ok", detail=f"{__version__} on Python {python}")
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        yield Finding(
            check="sqlite",
            state="problem",
            detail=f"{sqlite3.sqlite_version} is too old",
            advice="Use a Python with SQLite 3.37 or later (Debian 12, Ubuntu 22.04 and later).",
        )
    else:
        yield Finding(check="sqlite", state="ok", detail=sqlite3.sqlite_version)


def _settings(settings: Settings) -> Iterator[Finding]:
    changed = [
        f"{variable}={_shown(settings, name, variable)}"
        for name, variable in _names().items()
        if getattr(settings, name) != VARIABLES[variable].default
    ]
    yield Finding(
        check="settings", state="ok", detail=", ".join(changed) or "all at their defaults"
    )
    for name in unknown_variables():
        yield Finding(
            check="settings",
            state="warning",
            detail=f"{name} is set, but no setting has this name",
            advice=f"Known are: {', '.join(sorted(VARIABLES))}.",
        )
    try:
        refuse_open_bind(settings, frozenset({"api"}))
    except WebloomError as error:
        yield Finding(
            check="access",
            state="problem",
            detail=str(error),
            advice="`webloom new-key` makes one.",
        )
    if both := network_policy(settings).contradictions():
        yield Finding(
            check="gate",
            state="warning",
            detail=f"allowed and denied, so that it is refused: {', '.join(both)}",
            advice="Take it out of WEBLOOM_ALLOW_ADDRESSES or WEBLOOM_DENY_ADDRESSES.",
        )
    if ANY in settings.allow_origins:
        yield Finding(
            check="access",
            state="warning",
            detail="WEBLOOM_ALLOW_ORIGINS is *: any web page in your browser can use this API",
            advice="Name the origins of the pages that should.",
        )


def _shown(settings: Settings, name: str, variable: str) -> str:
    value = getattr(settings, name)
    if variable in settings.from_files:
        return FROM_FILE
    if name == "api_key_hashes":
        return "(hidden)"
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return shown(value) if isinstance(value, str) else str(value)


def _names() -> dict[str, str]:
    return {name: str(field.alias) for name, field in Settings.model_fields.items()}


def _disk(settings: Settings) -> Finding:
    free = shutil.disk_usage(_nearest(settings.database)).free
    detail = f"{free / 1e9:.1f} GB free for {settings.database}"
    if free < LEAST_FREE_BYTES:
        return Finding(
            check="disk",
            state="warning",
            detail=detail,
            advice="Free some space or move WEBLOOM_DATA_DIR: a full disk stops all writing.",
        )
    return Finding(check="disk", state="ok", detail=detail)


async def _spool(settings: Settings) -> Finding:
    """Where a feed lies while it is read."""
    folder = settings.data_dir / "spool"
    lowest = folder if _exists(folder) else _nearest(folder)
    if not (lowest.is_dir() and os.access(lowest, os.W_OK | os.X_OK)):
        return Finding(
            check="spool",
            state="problem",
            detail=f"{folder} can't be used: {lowest} is not a folder that Webloom may write to",
            advice="Check WEBLOOM_DATA_DIR and the folder's owner: no feed can be imported.",
        )
    room = spool_room(settings)
    use = await room.use()
    short = shortage(use, room.limits)
    used = (
        f"{shown_bytes(use.used)} of {shown_bytes(room.limits.budget)} used for feeds in {folder}"
    )
    return Finding(
        check="spool",
        state="ok" if short is None else "warning",
        detail=f"{used}, {shown_bytes(use.free)} free on its disk"
        + ("" if short is None else f"; imports wait: {short}"),
        advice=None if short is None else MAKE_ROOM,
    )


def _readers(settings: Settings) -> Iterator[Finding]:
    """Who else can use what is kept here."""
    places = places_of(settings)
    for path, mode in open_to_others(places).items():
        wanted = "700" if path.is_dir() else "600"
        name = str(path.absolute())
        yield Finding(
            check="privacy",
            state="warning",
            detail=f"{visible(name)} has the mode {mode:03o}: other users of this machine can "
            f"{'change' if mode & 0o022 else 'read' if mode & 0o044 else 'enter'} it",
            advice=f"If they should not: chmod {wanted} {shlex.quote(name)}",
        )


def _to_be_created(database: Path) -> Finding:
    folder = _nearest(database)
    if folder.is_dir() and os.access(folder, os.W_OK | os.X_OK):
        return Finding(check="database", state="ok", detail=f"{database} will be created")
    return Finding(
        check="database",
        state="problem",
        detail=f"{database} can't be created: {folder} is not a folder that Webloom may write to",
        advice=CHECK_FOLDER,
    )


def _nearest(path: Path) -> Path:
    """The lowest folder above it that exists."""
    return next(folder for folder in path.absolute().parents if _exists(folder))


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # it lies in a folder that may not be entered
        return False


def _files(settings: Settings) -> Finding:
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = settings.slots * 2 + 256
    if limit < wanted:
        return Finding(
            check="open files",
            state="warning",
            detail=f"{limit} allowed, {wanted} wanted for {settings.slots} slots",
            advice=f"Run `ulimit -n {wanted}` first, or lower WEBLOOM_SLOTS.",
        )
    return Finding(check="open files", state="ok", detail=f"{limit} allowed")


def _listening(settings: Settings) -> Finding:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            return Finding(
                check="port",
                state="warning",
                detail=f"{settings.host} port {settings.port}: {error.strerror}",
                advice="Fine if that is Webloom; otherwise choose another WEBLOOM_PORT.",
            )
    return Finding(check="port", state="ok", detail=f"{settings.host} port {settings.port} is free")


async def _services(services: Services) -> AsyncIterator[Finding]:
    settings = services.settings
    if settings.is_embedded:
        yield await asyncio.to_thread(_file, settings.database)
    seen: list[SeenProcess] | None = None
    feeds: list[Feed] = []
    watches: list[Watch] = []
    waiting = Waiting()
    is_full = False
    try:
        seen = await services.heartbeats.seen(ALIVE_SECONDS)
        feeds = await services.imports.feeds.all()
        watches = [each async for each in all_watches(services.watches)]
        waiting = Waiting.of(feeds, await services.watches.count_watches())
        is_full = await services.page_storage.is_full()
        size = await services.sizes.size()
        yield _reached("store", services.store_link)
    except WebloomError as error:
        yield _not_reached("store", services.store_link, error, "WEBLOOM_STORE")
    limits = queue_limits(settings)
    for link in services.broker_links:
        name = f"broker of {', '.join(link.queues)}"
        try:
            depths = {queue: await services.broker.depth(queue) for queue in link.queues}
            yield _reached(name, link.connected)
        except WebloomError as error:
            yield _not_reached(name, link.connected, error, "WEBLOOM_BROKER")
            continue
        for queue, depth in depths.items():
            yield _depth(queue, depth, limits[queue])
    if seen is not None:
        if missing := exhausted(each.heartbeat for each in seen):
            yield Finding(check="resources", state="problem", detail=missing)
        yield _workers(seen, settings.broker_urls)
        for finding in (*_scheduler(waiting, seen), *_feeds(feeds)):
            yield finding
        yield _watches(watches)
        if is_full:
            yield Finding(check="storage", state="problem", detail=STORAGE_FULL)
        if size.full is not None:
            yield Finding(check="storage", state="problem", detail=f"full: {size.full}")


def _reached(name: str, link: Connected) -> Finding:
    connection = link.connection()
    return Finding(check=name, state="ok", detail=f"{connection.kind}, {connection.address}")


def _not_reached(name: str, link: Connected, error: WebloomError, variable: str) -> Finding:
    connection = link.connection()
    where = f"{connection.kind}, {connection.address}"
    return Finding(
        check=name,
        state="problem",
        detail=f"{where}: {error}",
        advice=f"Is the server running and reachable from here? {variable} says where it is.",
    )


def _depth(queue: str, depth: QueueDepth, limit: int) -> Finding:
    in_flight = "" if depth.in_flight is None else f"{depth.in_flight} in flight, "
    named = "" if queue == METADATA_QUEUE else f" --queue {queue}"
    return Finding(
        check=queue,
        state="warning" if depth.dead else "ok",
        detail=f"{depth.ready} ready of {limit}, {depth.delayed} delayed, "
        f"{in_flight}{depth.dead} dead",
        advice=f"See `webloom dead list{named}`." if depth.dead else None,
    )


def _scheduler(waiting: Waiting, seen: list[SeenProcess]) -> Iterator[Finding]:
    """Whether anybody imports and checks what is on a schedule."""
    if detail := missing_scheduler(waiting, {each.heartbeat.role for each in seen}):
        yield Finding(check="scheduler", state="warning", detail=detail, advice=START_SCHEDULER)


def _watches(watches: list[Watch]) -> Finding:
    enabled = sum(watch.config.enabled for watch in watches)
    failing = [watch for watch in watches if watch.failures]
    detail = f"{counted(len(watches), 'watch')}, {enabled} of them on a schedule"
    if not failing:
        return Finding(check="watches", state="ok", detail=detail)
    names = ", ".join(visible(each.config.name) for each in failing[:MOST_FEEDS])
    return Finding(
        check="watches",
        state="warning",
        detail=f"{detail}; of {len(failing)} no page could be checked last time: {names}",
        advice="`webloom history URL` says why.",
    )


def _feeds(feeds: list[Feed]) -> Iterator[Finding]:
    """The feeds that fail."""
    scheduled = sum(feed.config.enabled for feed in feeds)
    failing = [feed for feed in feeds if feed.failures]
    for feed in failing[:MOST_FEEDS]:
        yield Finding(
            check="feeds",
            state="warning",
            detail=f"{visible(feed.config.name)} fails, {feed.failures} in a row: "
            f"{visible(feed.last_error or 'no reason is known')}",
            advice=f"`webloom feed '{feed.config.fetch_url}'` shows what it is like now.",
        )
    rest = len(failing) - MOST_FEEDS
    yield Finding(
        check="feeds",
        state="warning" if rest > 0 else "ok",
        detail=f"{counted(len(feeds), 'feed')}, {scheduled} of them on a schedule"
        + (f"; {rest} more fail" if rest > 0 else ""),
    )


def _workers(seen: list[SeenProcess], queues: Iterable[str]) -> Finding:
    workers = [each for each in seen if each.heartbeat.role == "worker"]
    idle = unserved(queues, [each.heartbeat for each in seen])
    if workers and idle:
        return Finding(
            check="workers",
            state="warning",
            detail=f"{len(workers)} alive, and none serves {', '.join(idle)}",
            advice=f"Start `webloom worker --queue {' --queue '.join(idle)}`.",
        )
    if workers:
        return Finding(check="workers", state="ok", detail=f"{len(workers)} alive")
    return Finding(
        check="workers",
        state="warning",
        detail="none is running, so nothing is fetched",
        advice="Start `webloom up`, or `webloom worker` beside the API.",
    )


def _file(path: Path) -> Finding:
    if problem := _quick_check(path):
        return Finding(
            check="database",
            state="problem",
            detail=f"{path} is damaged: {problem}",
            advice="Stop Webloom, keep a copy of the file, and restore a backup.",
        )
    return Finding(check="database", state="ok", detail=f"{path}, {path.stat().st_size:,} bytes")


def _quick_check(path: Path) -> str | None:
    """A full check of a large file takes minutes; its first pages tell whether it is readable."""
    connection = sqlite3.connect(path)
    try:
        if path.stat().st_size > 256 * 1024 * 1024:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            return None
        result = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
        return None if result == "ok" else result
    except sqlite3.Error as error:
        return str(error)
    finally:
        connection.close()
