"""`webloom submit`: put any number of URLs into the queue, as fast as it accepts them.

    file -> blocks -> lines -> batches -> SubmitUrl.many -> accepted | refused | no room: again

Only one block of input is in memory at a time. Nothing is lost: while the queue is full or the
database is unavailable, it waits.
"""

from __future__ import annotations

import asyncio
import io
import itertools
import os
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from webloom.application.inventory.submit_url import Accepted, Answer, NoRoom, Refused
from webloom.domain.backoff import Backoff
from webloom.domain.errors import Unavailable, WebloomError
from webloom.domain.inventory import METADATA_QUEUE
from webloom.entrypoints.cli.files import STDIN, shown_file
from webloom.entrypoints.cli.output import (
    INTERRUPTED,
    SOME_FAILED,
    AsJson,
    console,
    discard_stdout,
    json_line,
    plain,
    shortened,
    visible,
)
from webloom.entrypoints.cli.running import current_settings, run

if TYPE_CHECKING:
    from webloom.bootstrap.services import Services

BATCH = 500
BLOCK_BYTES = 64 * 1024
LONGEST_LINE = 8 * 1024 * 1024  # a record that was exported with its source fits
SHOWN_IN_FULL = 20  # refused lines; the rest is counted
QUEUE_FULL = Backoff(base=0.1, cap=2.0)
SAY_SECONDS = 10.0
WORKER_SECONDS = 30.0  # without a heartbeat, after which a worker counts as not running

Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True, slots=True)
class InputLine:
    place: str  # file:line
    number: int
    url: str  # of a line that can't be read: its text
    unreadable: str | None = None  # why


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    lines: list[InputLine]
    size: int  # bytes


class _JsonLine(msgspec.Struct):
    url: str


_json = msgspec.json.Decoder(str | _JsonLine)


def submit(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="Files with one URL a line, or one JSON object with a url; - is standard input. "
            "Blank lines and lines that begin with # are skipped.",
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Put URLs into the queue. When it is full, wait for the workers and continue.

    Exits with 0 when every URL was accepted and with 3 when some were refused.
    """
    _refuse_unreadable(files)
    report = Report(as_json=as_json, console=console(err=True))
    try:
        run(_submit(files, report))
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        discard_stdout()
        raise WebloomError("the output's reader is gone, so submitting has stopped") from None
    finally:
        report.summary()
    if report.refused:
        raise typer.Exit(SOME_FAILED)


async def _submit(files: list[str], report: Report) -> None:
    from webloom.bootstrap.connections import open_services

    async with open_services(current_settings()) as services:
        feeder = Feeder(services, report)
        with report.progress(_total_bytes(files)):
            for name in files:
                blocks = read_blocks(name)
                while (block := await _in_daemon_thread(partial(next, blocks, None))) is not None:
                    lines = iter(block.lines)
                    while batch := list(itertools.islice(lines, BATCH)):
                        await feeder.feed(batch)
                    report.advance(block.size)


class Feeder:
    """Submits batches, one after the other, each until all of it has a result."""

    def __init__(self, services: Services, report: Report) -> None:
        self._services = services
        self._report = report
        self._has_warned = False

    async def feed(self, batch: list[InputLine]) -> None:
        """Returns when every line is accepted or refused."""
        waiting = []
        for line in batch:
            if line.unreadable is None:
                waiting.append(line)
            else:
                self._report.refuse(line, line.unreadable)
        failures = 0
        while waiting:
            left = await self._try(waiting)
            failures = 1 if len(left) < len(waiting) else failures + 1
            waiting = left
            self._report.advance(0)
            if waiting:
                await asyncio.sleep(QUEUE_FULL.delay(failures))

    async def _try(self, waiting: list[InputLine]) -> list[InputLine]:
        """The lines to retry, in order."""
        try:
            results = await self._services.submit_url.many([line.url for line in waiting])
            left = [
                line
                for line, result in zip(waiting, results, strict=True)
                if not self._report.add(line, result)
            ]
            if len(left) == len(waiting):
                await self._warn_if_no_worker()
        except Unavailable as error:
            self._report.say(f"waiting for the database: {error}")
            return waiting
        return left

    async def _warn_if_no_worker(self) -> None:
        if self._has_warned:
            return
        seen = await self._services.heartbeats.seen(WORKER_SECONDS)
        if not any(each.heartbeat.serves(METADATA_QUEUE) for each in seen):
            self._report.say(
                "the queue is full and no worker is running: start one with `webloom worker`"
            )
            self._has_warned = True


@dataclass(kw_only=True)
class Report:
    """Progress and results."""

    as_json: bool
    console: Console
    accepted: int = 0
    refused: int = 0
    _bar: Progress | None = None
    _task: TaskID = field(default=TaskID(0))
    _last_said: str = ""

    def add(self, line: InputLine, result: Answer) -> bool:
        """False: the queue has no room yet."""
        match result:
            case NoRoom():
                return False
            case Refused(reason=reason):
                self.refuse(line, reason)
            case Accepted(url=url, request_id=request_id):
                self.accepted += 1
                if self.as_json:
                    self._json(line, accepted=True, url=url, request_id=request_id)
        return True

    def refuse(self, line: InputLine, reason: str) -> None:
        self.refused += 1
        if self.as_json:
            self._json(line, accepted=False, url=line.url, error=reason)
        elif self.refused <= SHOWN_IN_FULL:
            self.say(f"{line.place}: refused: {reason}: {shortened(line.url)}")
            if self.refused == SHOWN_IN_FULL:
                self.say("further refused lines are only counted")

    def _json(self, line: InputLine, **facts: Any) -> None:
        json_line({"line": line.number, "file": line.place.rpartition(":")[0], **facts})

    def say(self, text: str) -> None:
        """Print a line, unless it repeats the last one."""
        if text != self._last_said:
            self._last_said = text
            self.console.print(plain(text), soft_wrap=True)

    def summary(self) -> None:
        self.say(f"{self.accepted:,} accepted, {self.refused:,} refused")

    def advance(self, size: int) -> None:
        if self._bar is not None:
            self._bar.update(self._task, advance=size, accepted=self.accepted, refused=self.refused)

    @contextmanager
    def progress(self, total: int | None) -> Iterator[None]:
        """A bar on a terminal, otherwise a line from time to time."""
        if not self.console.is_terminal:
            saying = asyncio.create_task(self._say_from_time_to_time())
            try:
                yield
            finally:
                saying.cancel()
            return
        counts = TextColumn("{task.fields[accepted]:,} accepted, {task.fields[refused]:,} refused")
        with Progress(BarColumn(), counts, TimeElapsedColumn(), console=self.console) as bar:
            self._task = bar.add_task("", total=total, accepted=0, refused=0)
            self._bar = bar
            try:
                yield
            finally:
                self._bar = None

    async def _say_from_time_to_time(self) -> None:
        while True:
            await asyncio.sleep(SAY_SECONDS)
            self.say(f"{self.accepted:,} accepted, {self.refused:,} refused so far")


def read_blocks(name: str) -> Iterator[Block]:
    """The lines of a file, or of a pipe as they arrive. Raises WebloomError."""
    shown = shown_file(name)
    try:
        with io.FileIO(0 if name == "-" else name, closefd=name != "-") as stream:
            held = bytearray()  # the beginning of a line whose end has not come yet
            number = 0
            while block := stream.read(BLOCK_BYTES):
                lines = []
                *ends, beginning = block.split(b"\n")
                for end in ends:
                    number += 1
                    lines += _parse(bytes(held + end), shown, number)
                    held.clear()
                if len(held) <= LONGEST_LINE:
                    held += beginning
                yield Block(lines=lines, size=len(block))
            yield Block(lines=_parse(bytes(held), shown, number + 1), size=0)
    except OSError as error:
        raise WebloomError(f"can't read {shown}: {error.strerror or error}") from error


def _parse(raw: bytes, name: str, number: int) -> list[InputLine]:
    """No line, or one."""
    place = f"{name}:{number}"
    if number == 1:
        raw = raw.removeprefix(b"\xef\xbb\xbf")  # a byte order mark
    text = raw[: LONGEST_LINE + 1].decode("utf-8", "replace").strip()
    if not text or text.startswith("#"):
        return []

    def unreadable(why: str) -> list[InputLine]:
        return [InputLine(place=place, number=number, url=text[:1000], unreadable=why)]

    if len(raw) > LONGEST_LINE:
        return unreadable(f"the line is longer than {LONGEST_LINE:,} bytes")
    try:
        raw.decode()
        if text[0] in '{"':
            decoded = _json.decode(text)
            text = decoded if isinstance(decoded, str) else decoded.url
    except UnicodeDecodeError:
        return unreadable("the line is not UTF-8")
    except (msgspec.MsgspecError, RecursionError):
        return unreadable('the line is neither a URL nor JSON such as {"url": "https://..."}')
    return [InputLine(place=place, number=number, url=text)]


def _refuse_unreadable(files: list[str]) -> None:
    """All of them, before anything is submitted."""
    for name in files:
        if name == STDIN:
            if sys.stdin is None or sys.stdin.closed:
                raise WebloomError("can't read standard input: it is closed")
            continue
        path = Path(name)
        if not path.exists():
            raise WebloomError(f"can't read {visible(name)}: file not found")
        if path.is_dir():
            raise WebloomError(f"can't read {visible(name)}: it is a folder; name the files in it")
        if not os.access(path, os.R_OK):
            raise WebloomError(f"can't read {visible(name)}: permission denied")


def _total_bytes(files: list[str]) -> int | None:
    """None when one of them is not a regular file."""
    total = 0
    for name in files:
        try:
            facts = os.fstat(0) if name == "-" else Path(name).stat()
        except OSError:
            return None
        if not stat.S_ISREG(facts.st_mode):
            return None
        total += facts.st_size
    return total


async def _in_daemon_thread(work: Callable[[], Result]) -> Result:
    """Run blocking work in a thread that does not keep the process alive after Ctrl-C."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def settle(result: Result | None, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]  # no error: there is one

    def run() -> None:
        result, error = None, None
        try:
            result = work()
        except BaseException as raised:
            error = raised
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, daemon=True).start()
    return await future
