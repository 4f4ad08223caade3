"""`webloom doctor`: check everything that Webloom depends on, and say what to do."""

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
from typing import TYPE_CHECKING, Literal

import msgspec
import typer

from webloom import __version__
from webloom.application.overview.liveness import Waiting, exhausted, missing_scheduler, unserved
from webloom.domain.errors import BackendRefused, WebloomError
from webloom.domain.feed import Feed
from webloom.domain.inventory import METADATA_QUEUE
from webloom.domain.spool import shortage, shown_bytes
from webloom.domain.watch import Watch
from webloom.entrypoints.advice import MAKE_ROOM, START_SCHEDULER, STORAGE_FULL
from webloom.entrypoints.cli.output import AsJson, counted, json_line, visible
from webloom.entrypoints.cli.running import current_settings, run
from webloom.parsing.web_origin import ANY
from webloom.ports.broker import QueueDepth
from webloom.ports.connection import Connected
from webloom.ports.heartbeats import ALIVE_SECONDS, SeenProcess
from webloom.private_files import open_to_others

if TYPE_CHECKING:
    from webloom.bootstrap.services import Services
    from webloom.settings import Settings

LEAST_FREE_BYTES = 500 * 1024 * 1024
MOST_FEEDS = 10  # failing ones that are named; as many watches
OLDEST_SQLITE = (3, 37, 0)
CHECK_FOLDER = "Check WEBLOOM_DATA_DIR and WEBLOOM_STORE, the folder's owner and its disk."
MARKS = {"ok": "ok     ", "warning": "warning", "problem": "PROBLEM"}


class Finding(msgspec.Struct):
    check: str
    state: Literal["ok", "warning", "problem"]
    detail: str
    advice: str | None = None


def _ok(check: str, detail: str) -> Finding:
    return Finding(check, "ok", detail)


def _warning(check: str, detail: str, advice: str | None = None) -> Finding:
    return Finding(check, "warning", detail, advice)


def _problem(check: str, detail: str, advice: str | None = None) -> Finding:
    return Finding(check, "problem", detail, advice)


def doctor(as_json: AsJson = False) -> None:
    """Check every dependency and say what to do. Exits with 1 when something is wrong."""
    settings = current_settings()
    # Permissions last: opening the services restricts those of our own files.
    findings = [*run(_examine(settings)), *_permissions(settings)]
    for finding in findings:
        if as_json:
            json_line(finding)
            continue
        advice = f"\n{'':9}-> {finding.advice}" if finding.advice else ""
        typer.echo(f"{MARKS[finding.state]}  {finding.check}: {finding.detail}{advice}")
    if any(finding.state == "problem" for finding in findings):
        raise typer.Exit(1)


async def _examine(settings: Settings) -> list[Finding]:
    from webloom.bootstrap.connections import open_services

    findings = [*_runtime(), *_settings(settings), _open_files(settings), _port(settings)]
    findings.append(await _spool(settings))
    if settings.is_embedded:
        findings.append(_disk(settings))
        if not _exists(settings.database):
            findings.append(_new_database(settings.database))
            if settings.store_url == settings.embedded_url:
                return findings
    try:
        async with open_services(settings) as services:
            findings += [finding async for finding in _services(services)]
    except BackendRefused as error:
        findings.append(_problem("backends", str(error)))
    except WebloomError as error:
        findings.append(_problem("database", str(error), CHECK_FOLDER))
    return findings


def _runtime() -> Iterator[Finding]:
    python = ".".join(map(str, sys.version_info[:3]))
    yield _ok("webloom", f"{__version__} on Python {python}")
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        yield _problem(
            "sqlite",
            f"{sqlite3.sqlite_version} is too old",
            "Use a Python with SQLite 3.37 or later (Debian 12, Ubuntu 22.04 and later).",
        )
    else:
        yield _ok("sqlite", sqlite3.sqlite_version)


def _settings(settings: Settings) -> Iterator[Finding]:
    from webloom.bootstrap.network import network_policy
    from webloom.entrypoints.processes import refuse_open_bind
    from webloom.entrypoints.settings_shown import settings_in_force
    from webloom.settings import VARIABLES, unknown_variables

    changed = [
        f"{each.name}={each.value}" for each in settings_in_force(settings) if not each.is_default
    ]
    yield _ok("settings", ", ".join(changed) or "all at their defaults")
    for name in unknown_variables():
        yield _warning(
            "settings",
            f"{name} is set, but no setting has this name",
            f"Known are: {', '.join(sorted(VARIABLES))}.",
        )
    try:
        refuse_open_bind(settings, frozenset({"api"}))
    except WebloomError as error:
        yield _problem("access", str(error), "`webloom new-key` makes one.")
    if both := network_policy(settings).contradictions():
        yield _warning(
            "gate",
            f"allowed and denied, so that it is refused: {', '.join(both)}",
            "Take it out of WEBLOOM_ALLOW_ADDRESSES or WEBLOOM_DENY_ADDRESSES.",
        )
    if ANY in settings.allow_origins:
        yield _warning(
            "access",
            "WEBLOOM_ALLOW_ORIGINS is *: any web page in your browser can use this API",
            "Name the origins of the pages that should.",
        )


def _disk(settings: Settings) -> Finding:
    free = shutil.disk_usage(_nearest(settings.database)).free
    detail = f"{free / 1e9:.1f} GB free for {settings.database}"
    if free < LEAST_FREE_BYTES:
        advice = "Free some space or move WEBLOOM_DATA_DIR: a full disk stops all writing."
        return _warning("disk", detail, advice)
    return _ok("disk", detail)


async def _spool(settings: Settings) -> Finding:
    """Whether there is room for the files of feeds."""
    from webloom.bootstrap.network import spool_room

    folder = settings.spool
    lowest = folder if _exists(folder) else _nearest(folder)
    if not _is_writable(lowest):
        return _problem(
            "spool",
            f"{folder} can't be used: {lowest} is not a folder that Webloom may write to",
            "Check WEBLOOM_DATA_DIR and the folder's owner: no feed can be imported.",
        )
    room = spool_room(settings)
    use = await room.use()
    used = f"{shown_bytes(use.used)} of {shown_bytes(room.limits.budget)} used for feeds"
    detail = f"{used} in {folder}, {shown_bytes(use.free)} free on its disk"
    if short := shortage(use, room.limits):
        return _warning("spool", f"{detail}; imports wait: {short}", MAKE_ROOM)
    return _ok("spool", detail)


def _permissions(settings: Settings) -> Iterator[Finding]:
    """Files and folders that other users of the machine can use."""
    from webloom.bootstrap.places import places_of

    for path, mode in open_to_others(places_of(settings)).items():
        name = str(path.absolute())
        others_can = "change" if mode & 0o022 else "read" if mode & 0o044 else "enter"
        yield _warning(
            "privacy",
            f"{visible(name)} has the mode {mode:03o}: other users of this machine can "
            f"{others_can} it",
            f"If they should not: chmod {'700' if path.is_dir() else '600'} {shlex.quote(name)}",
        )


def _new_database(database: Path) -> Finding:
    folder = _nearest(database)
    if _is_writable(folder):
        return _ok("database", f"{database} will be created")
    return _problem(
        "database",
        f"{database} can't be created: {folder} is not a folder that Webloom may write to",
        CHECK_FOLDER,
    )


def _is_writable(folder: Path) -> bool:
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


def _nearest(path: Path) -> Path:
    """The lowest folder above it that exists."""
    return next(folder for folder in path.absolute().parents if _exists(folder))


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # in a folder without permission
        return False


def _open_files(settings: Settings) -> Finding:
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = settings.slots * 2 + 256
    if limit < wanted:
        return _warning(
            "open files",
            f"{limit} allowed, {wanted} wanted for {settings.slots} slots",
            f"Run `ulimit -n {wanted}` first, or lower WEBLOOM_SLOTS.",
        )
    return _ok("open files", f"{limit} allowed")


def _port(settings: Settings) -> Finding:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    place = f"{settings.host} port {settings.port}"
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            advice = "Fine if that is Webloom; otherwise choose another WEBLOOM_PORT."
            return _warning("port", f"{place}: {error.strerror}", advice)
    return _ok("port", f"{place} is free")


async def _services(services: Services) -> AsyncIterator[Finding]:
    from webloom.application.watch.manage_watches import all_watches
    from webloom.bootstrap.brokers import queue_limits

    settings = services.settings
    if settings.is_embedded:
        yield await asyncio.to_thread(_database, settings.database)
    stored: list[Finding] = []
    try:
        seen = await services.heartbeats.seen(ALIVE_SECONDS)
        feeds = await services.imports.feeds.all()
        watches = [each async for each in all_watches(services.watches)]
        waiting = Waiting.of(feeds, await services.watches.count_watches())
        stored += [*_processes(seen, settings.broker_urls, waiting), *_feeds(feeds)]
        stored.append(_watches(watches))
        if await services.page_storage.is_full():
            stored.append(_problem("storage", STORAGE_FULL))
        if (full := (await services.sizes.size()).full) is not None:
            stored.append(_problem("storage", f"full: {full}"))
        yield _reached("store", services.store_link)
    except WebloomError as error:
        stored.clear()
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
            yield _queue(queue, depth, limits[queue])
    for finding in stored:
        yield finding


def _reached(name: str, link: Connected) -> Finding:
    connection = link.connection()
    return _ok(name, f"{connection.kind}, {connection.address}")


def _not_reached(name: str, link: Connected, error: WebloomError, variable: str) -> Finding:
    connection = link.connection()
    return _problem(
        name,
        f"{connection.kind}, {connection.address}: {error}",
        f"Is the server running and reachable from here? {variable} says where it is.",
    )


def _queue(queue: str, depth: QueueDepth, limit: int) -> Finding:
    in_flight = "" if depth.in_flight is None else f"{depth.in_flight} in flight, "
    detail = (
        f"{depth.ready} ready of {limit}, {depth.delayed} delayed, {in_flight}{depth.dead} dead"
    )
    if depth.dead:
        named = "" if queue == METADATA_QUEUE else f" --queue {queue}"
        return _warning(queue, detail, f"See `webloom dead list{named}`.")
    return _ok(queue, detail)


def _processes(
    seen: list[SeenProcess], queues: Iterable[str], waiting: Waiting
) -> Iterator[Finding]:
    beats = [each.heartbeat for each in seen]
    if missing := exhausted(beats):
        yield _problem("resources", missing)
    workers = sum(beat.role == "worker" for beat in beats)
    idle = unserved(queues, beats)
    if not workers:
        advice = "Start `webloom up`, or `webloom worker` beside the API."
        yield _warning("workers", "none is running, so nothing is fetched", advice)
    elif idle:
        yield _warning(
            "workers",
            f"{workers} alive, and none serves {', '.join(idle)}",
            f"Start `webloom worker --queue {' --queue '.join(idle)}`.",
        )
    else:
        yield _ok("workers", f"{workers} alive")
    if detail := missing_scheduler(waiting, {beat.role for beat in beats}):
        yield _warning("scheduler", detail, START_SCHEDULER)


def _feeds(feeds: list[Feed]) -> Iterator[Finding]:
    scheduled = sum(feed.config.enabled for feed in feeds)
    failing = [feed for feed in feeds if feed.failures]
    for feed in failing[:MOST_FEEDS]:
        yield _warning(
            "feeds",
            f"{visible(feed.config.name)} fails, {feed.failures} in a row: "
            f"{visible(feed.last_error or 'no reason is known')}",
            f"`webloom feed '{feed.config.fetch_url}'` shows what it is like now.",
        )
    detail = f"{counted(len(feeds), 'feed')}, {scheduled} of them on a schedule"
    rest = len(failing) - MOST_FEEDS
    yield _warning("feeds", f"{detail}; {rest} more fail") if rest > 0 else _ok("feeds", detail)


def _watches(watches: list[Watch]) -> Finding:
    enabled = sum(watch.config.enabled for watch in watches)
    failing = [watch for watch in watches if watch.failures]
    detail = f"{counted(len(watches), 'watch')}, {enabled} of them on a schedule"
    if not failing:
        return _ok("watches", detail)
    names = ", ".join(visible(each.config.name) for each in failing[:MOST_FEEDS])
    return _warning(
        "watches",
        f"{detail}; of {len(failing)} no page could be checked last time: {names}",
        "`webloom history URL` says why.",
    )


def _database(path: Path) -> Finding:
    if damage := _quick_check(path):
        return _problem(
            "database",
            f"{path} is damaged: {damage}",
            "Stop Webloom, keep a copy of the file, and restore a backup.",
        )
    return _ok("database", f"{path}, {path.stat().st_size:,} bytes")


def _quick_check(path: Path) -> str | None:
    """What is wrong with the file. A full check of a large one takes minutes, so only its schema is
    read."""
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
