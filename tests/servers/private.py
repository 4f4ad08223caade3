"""Real servers for tests: private ones, on free ports, in folders of their own.

Each can be killed, paused and started again on the same port and the same data, as an operator's
server would be. Nothing here touches a server that happens to be running.
"""

from __future__ import annotations

import atexit
import itertools
import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from timeouts import TIMEOUT_SECONDS


class Missing(Exception):
    """A program that a test needs is not installed; the test is skipped (outcomes.py)."""

    def __init__(self, name: str, advice: str) -> None:
        super().__init__(f"{name} is not installed: {advice}")
        self.name = name  # as people know it
        self.advice = advice  # how to get it


class DidNotStart(Exception):
    """A server or browser did not start, which says nothing about the code (outcomes.py)."""


# Below those that the system hands out, so that no other program gets one while its server is away.
_PORTS = range(20_000, 32_000)
_BLOCK = 1000
_claim = socket.socket(socket.AF_UNIX)
atexit.register(_claim.close)


@cache
def _ports() -> Iterator[int]:
    """One after the other, of a block that is claimed for as long as this process lives: several
    runs of the tests choose at the same time."""
    for first in random.sample(_PORTS[::_BLOCK], len(_PORTS) // _BLOCK):
        with suppress(OSError):
            _claim.bind(f"\0ports for tests of webloom from {first}")
            return itertools.cycle(range(first, first + _BLOCK))
    return itertools.islice(itertools.cycle(_PORTS), random.randrange(len(_PORTS)), None)


def free_port() -> int:
    while True:
        port = next(_ports())
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def program(name: str, advice: str, *commands: str) -> str:
    """The path of the first of the commands that is installed."""
    for command in commands:
        if found := shutil.which(command):
            return found
    raise Missing(name, advice)


class PrivateServer:
    """A server process and all its children: one process group."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.log = folder / "server.log"
        self._process: subprocess.Popen[bytes] | None = None

    def command(self) -> Sequence[str]:
        raise NotImplementedError

    def environment(self) -> Mapping[str, str]:
        return {}

    def answers(self) -> bool:
        """Whether it is ready to serve."""
        raise NotImplementedError

    def settings(self, database: str) -> dict[str, str]:
        """That make this database on it the store; of servers that can be one."""
        raise NotImplementedError

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.command(),
                env=os.environ | self.environment(),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._wait()

    def _wait(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not self.answers():
            ended = self._process.poll() is not None
            if ended or time.monotonic() > deadline:
                why = "ended" if ended else f"is not ready after {TIMEOUT_SECONDS:.0f} s"
                self.kill()
                raise DidNotStart(f"{type(self).__name__} {why}:\n{self.log.read_text()[-4000:]}")
            time.sleep(0.05)

    def kill(self) -> None:
        """At once, as a power cut would."""
        self._signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()
            deadline = time.monotonic() + TIMEOUT_SECONDS
            while (
                _at_work(self._process.pid) or accepts(self.port)
            ) and time.monotonic() < deadline:
                time.sleep(0.02)  # its files and its port are free when the last thread is gone
            self._process = None

    def pause(self) -> None:
        """Returns when it has stopped: on a busy machine it may go on for a while after the
        signal."""
        self._signal(signal.SIGSTOP)
        if self._process is not None:
            deadline = time.monotonic() + TIMEOUT_SECONDS
            while not _is_stopped(self._process.pid) and time.monotonic() < deadline:
                time.sleep(0.005)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def restart(self) -> None:
        self.kill()
        self.start()

    def ensure_running(self) -> None:
        """However the last test left it: dead, paused or well."""
        self.resume()
        if not self.answers():
            self.restart()

    def _signal(self, number: int) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    @contextmanager
    def running(self) -> Iterator[None]:
        try:
            self.start()
            yield
        finally:
            self.kill()


def _at_work(group: int) -> bool:
    """Whether a process of the group lives; one that waits for its parent's attention does not."""
    return any(state not in "ZX" for state in _states(group))


def _is_stopped(group: int) -> bool:
    return all(state in "TtZX" for state in _states(group))


def _states(group: int) -> Iterator[str]:
    """Of the threads of a process group."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            process_group = (process / "stat").read_text().rpartition(")")[2].split()[2]
            if int(process_group) == group:
                for thread in (process / "task").glob("*/stat"):
                    yield thread.read_text().rpartition(")")[2].split()[0]
        except (OSError, ValueError, IndexError):
            continue


def accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
