"""Real webloom processes over one data folder, to be killed, stopped and started again.

    fleet = fleets(site, lease=2)
    api = await fleet.start("api")
    worker = await fleet.start("worker")
    worker.kill()

A process that ends without a request fails the test (`Fleet.check`).
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from e2e.running import SAYS_WHEN_READY
from forks import Service, start_service
from proc import states
from servers.private import free_port
from timeouts import TIMEOUT_SECONDS

RIGGED = Path(__file__).with_name("rigged.py")
POLL_SECONDS = 0.05

Found = TypeVar("Found")


async def eventually(
    look: Callable[[], Found], *, what: str, seconds: float = TIMEOUT_SECONDS
) -> Found:
    """The first true thing that `look` finds."""

    async def look_soon() -> Found:
        return look()

    return await eventually_async(look_soon, what=what, seconds=seconds)


async def eventually_async(
    look: Callable[[], Awaitable[Found]], *, what: str, seconds: float = TIMEOUT_SECONDS
) -> Found:
    deadline = time.monotonic() + seconds
    while not (found := await look()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited too long: {what}; the last look: {found!r}")
        await asyncio.sleep(POLL_SECONDS)
    return found


class Process:
    def __init__(self, role: str, popen: Service, log: Path) -> None:
        self.role = role
        self.log = log
        self.told_to_end = False
        self._popen = popen

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def alive(self) -> bool:
        return self._popen.poll() is None

    @property
    def code(self) -> int | None:
        return self._popen.poll()

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    async def said(self, text: str) -> None:
        def look() -> bool:
            return text in self.output or not self.alive

        await eventually(look, what=f"{self.role} says {text!r}")
        assert text in self.output, f"{self.role} ended with {self.code}: {self.output[-3000:]}"

    async def ended(self) -> int:
        """Its code, once it has ended in the way that the test expects."""
        await eventually(lambda: not self.alive, what=f"{self.role} ends")
        self.told_to_end = True
        return self._popen.wait()

    def kill(self) -> None:
        """SIGKILL, and gone when this returns."""
        self.told_to_end = True
        self._popen.kill()
        self._popen.wait()

    def stop(self) -> None:
        """SIGSTOP, and stopped when this returns."""
        os.kill(self.pid, signal.SIGSTOP)
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while states(self.pid) != {"T"}:
            assert time.monotonic() < deadline, f"{self.pid} does not stop"

    def go_on(self) -> None:
        """SIGCONT."""
        os.kill(self.pid, signal.SIGCONT)

    def end(self) -> None:
        """Make sure that it is gone, in whatever state it is."""
        if self.alive:
            self.kill()


@dataclass(kw_only=True)
class Fleet:
    folder: Path
    settings: dict[str, str]
    data: Path
    port: int = field(default_factory=free_port)  # of the API
    prefix: Sequence[str] = ()  # a command that every process is started through
    rigged: Path = RIGGED
    processes: list[Process] = field(default_factory=list)

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def database(self) -> Path:
        return self.data / "webloom.db"

    async def start(self, role: str, *, port: int | None = None, **rigging: str) -> Process:
        """Start a process and wait until it is ready."""
        process = self.launch(role, port=port, **rigging)
        await process.said(SAYS_WHEN_READY[role])
        return process

    def launch(self, role: str, *, port: int | None = None, **rigging: str) -> Process:
        """Start a process. `rigging` is what the program `rigged` shall do to it."""
        environment = _plain_environment() | self.settings
        environment |= {"WEBLOOM_PORT": str(port or self.port)}
        environment.setdefault("WEBLOOM_CONNECTIONS_PER_ADDRESS", "10000")  # a load is one client
        environment |= {f"RIGGED_{name.upper()}": value for name, value in rigging.items()}
        log = self.folder / f"{len(self.processes):03d}-{role}.log"
        popen: Service
        if self.prefix:
            program = (str(self.rigged),) if rigging else ("-m", "webloom")
            command = [*self.prefix, sys.executable, *program, role]
            popen = _launch(command, environment, self.folder, log)
        else:
            popen = start_service(
                role,
                env=environment,
                folder=self.folder,
                log=log,
                program=self.rigged if rigging else "webloom",
            )
        process = Process(role, popen, log)
        self.processes.append(process)
        return process

    def check(self) -> None:
        """Nothing has ended by itself, and nothing has raised an unexpected error."""
        for process in self.processes:
            ended_well = process.alive or process.told_to_end
            assert ended_well, f"{process.role} ended with {process.code}: {process.output[-3000:]}"
            assert "Traceback" not in process.output, process.output[-5000:]

    def end(self) -> None:
        for process in self.processes:
            process.end()

    def tell(self) -> None:
        """What the processes said, for a test that failed."""
        for process in self.processes[-12:]:
            sys.stdout.write(f"--- {process.log.name}\n{process.output[-1500:]}\n")


def _plain_environment() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("WEBLOOM_", "RIGGED_"))
    } | {"PYTHONUNBUFFERED": "1"}


def _launch(
    command: Sequence[str], environment: Mapping[str, str], folder: Path, log: Path
) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        return subprocess.Popen(
            command,
            env=environment,
            cwd=folder,  # no webloom.env of the developer's is read
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )


@dataclass(frozen=True, kw_only=True)
class SmallDisk:
    """A tmpfs in a mount namespace of its own, which vanishes with its keeper.

    SQLite takes `seen` for a path of this namespace: here the database can only be read as a copy.
    """

    inside: Path  # as a process in there calls it
    seen: Path  # as it is reached from here
    enter: Sequence[str]  # the command to start a process in there

    def fill(self) -> int:
        """Until there is no room for another byte; how many there were."""
        with (self.seen / "filler").open("ab", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                return file.tell()

    @contextmanager
    def kept_full(self) -> Iterator[None]:
        """Another program takes every block as soon as it becomes free."""
        stop = threading.Event()

        def fill_on() -> None:
            while not stop.wait(0.001):
                self.fill()

        self.fill()
        filling = threading.Thread(target=fill_on)
        filling.start()
        try:
            yield
        finally:
            stop.set()
            filling.join()
            self.free()

    def free(self) -> None:
        (self.seen / "filler").unlink()

    def copy(self, to: Path) -> Path:
        return Path(shutil.copytree(self.seen, to))


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[SmallDisk]:
    """Needs no root. Raises OSError where the system forbids it."""
    folder.mkdir()
    script = f'mount -t tmpfs -o size={size} tmpfs "$1" && echo ready && exec sleep 600'
    keeper = subprocess.Popen(
        ["unshare", "-Urm", "sh", "-c", script, "sh", str(folder)], stdout=subprocess.PIPE
    )
    assert keeper.stdout is not None
    try:
        if keeper.stdout.readline() != b"ready\n":
            raise OSError("this machine allows no mount namespaces")
        yield SmallDisk(
            inside=folder,
            seen=Path(f"/proc/{keeper.pid}/root{folder}"),
            enter=["nsenter", "-t", str(keeper.pid), "-U", "-m", "--preserve-credentials"],
        )
    finally:
        keeper.stdout.close()
        keeper.kill()
        keeper.wait()
