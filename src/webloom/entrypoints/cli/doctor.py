"""`webloom doctor`: check everything that Webloom depends on, and say what to do."""

from __future__ import annotations

import asyncio
import os
import resource
import shlex
import shutil
import socket
import sys
from collections.abc import AsyncIterator, Collection, Iterable, Iterator
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
import typer

from webloom import __version__
from webloom.application.overview.facts import Backend, Facts, QueueState, unserved
from webloom.application.overview.troubles import exhausted, missing_scheduler
from webloom.domain.errors import BackendRefused, WebloomError
from webloom.domain.feed import Feed
from webloom.domain.inventory import METADATA_QUEUE
from webloom.domain.spool import shortage, shown_bytes
from webloom.domain.watch import Watch
from webloom.entrypoints.advice import MAKE_ROOM, START_SCHEDULER, storage_problems
from webloom.entrypoints.cli.output import AsJson, counted, json_line, visible
from webloom.entrypoints.cli.running import current_settings, run
from webloom.parsing.web_origin import ANY
from webloom.private_files import open_to_others

if TYPE_CHECKING:
    from webloom.bootstrap.services import Services
    from webloom.settings import Settings

LEAST_FREE_BYTES = 500 * 1024 * 1024
MOST_FEEDS = 10  # failing ones that are named; as many watches
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


def _meant(name: str, known: Collection[str]) -> str:
    near = get_close_matches(name, known, n=1)
    return f"Did you mean {near[0]}?" if near else "docs/settings.md lists the settings."


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
    from webloom.bootstrap.sqlite import sqlite_library

    python = ".".join(map(str, sys.version_info[:3]))
    yield _ok("webloom", f"{__version__} on Python {python}")
    version, is_too_old = sqlite_library()
    if is_too_old:
        yield _problem(
            "sqlite",
            f"{version} is too old",
            "Use a Python with SQLite 3.37 or later (Debian 12, Ubuntu 22.04 and later).",
        )
    else:
        yield _ok("sqlite", version)


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
            _meant(name, VARIABLES),
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
    from webloom.bootstrap.use_cases import gather_facts

    if services.settings.is_embedded:
        yield await asyncio.to_thread(_database, services.settings.database)
    facts = await gather_facts(services, seconds=None)()
    stored: list[Finding] = []
    try:
        if facts.store.problem is None:
            stored = [finding async for finding in _stored(services, facts)]
    except WebloomError as error:
        facts = replace(facts, store=replace(facts.store, problem=str(error)))
    yield _backend(facts.store, "WEBLOOM_STORE")
    queues = {queue.name: queue for queue in facts.queues}
    for broker in facts.brokers:
        yield _backend(broker, "WEBLOOM_BROKER")
        for name in broker.queues if broker.problem is None else ():
            yield _queue(queues[name])
    for finding in stored:
        yield finding


async def _stored(services: Services, facts: Facts) -> AsyncIterator[Finding]:
    """Raises what the store does."""
    from webloom.application.watch.manage_watches import all_watches

    for finding in _processes(facts, services.settings.broker_urls):
        yield finding
    for finding in _feeds(await services.imports.feeds.all()):
        yield finding
    yield _watches([each async for each in all_watches(services.watches)])
    size = await services.sizes.size()
    for problem in storage_problems(replace(facts, full=size.full)):
        yield _problem("storage", problem)


def _backend(backend: Backend, variable: str) -> Finding:
    where = f"{backend.connection.kind}, {backend.connection.address}"
    if backend.problem is None:
        return _ok(backend.name, where)
    return _problem(
        backend.name,
        f"{where}: {backend.problem}",
        f"Is the server running and reachable from here? {variable} says where it is.",
    )


def _queue(queue: QueueState) -> Finding:
    in_flight = "" if queue.in_flight is None else f"{queue.in_flight} in flight, "
    ready = f"{queue.ready} ready of {queue.limit}"
    detail = f"{ready}, {queue.delayed} delayed, {in_flight}{queue.dead} dead"
    if queue.dead:
        named = "" if queue.name == METADATA_QUEUE else f" --queue {queue.name}"
        return _warning(queue.name, detail, f"See `webloom dead list{named}`.")
    return _ok(queue.name, detail)


def _processes(facts: Facts, queues: Iterable[str]) -> Iterator[Finding]:
    beats = facts.alive
    if missing := exhausted(beats):
        yield _problem("resources", str(missing))
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
    if detail := missing_scheduler(facts):
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
    from webloom.bootstrap.sqlite import damage_in_file

    if damage := damage_in_file(path):
        return _problem(
            "database",
            f"{path} is damaged: {damage}",
            "Stop Webloom, keep a copy of the file, and restore a backup.",
        )
    return _ok("database", f"{path}, {path.stat().st_size:,} bytes")
