"""`webloom COMMAND`, or a program that uses webloom, in a fork of a process that has imported it:
most of its start is saved. What is started through another program needs a process of its own.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import BinaryIO

from timeouts import TIMEOUT_SECONDS

WARM = Path(__file__).with_name("warm_process.py")
# A process that has imported aiohttp goes on trusting those whom it trusted then.
TRUSTED = "SSL_CERT_FILE"
TRUSTED_BY_ALL = os.environ.get(TRUSTED)


class Fork:
    """What `subprocess.Popen` tells of a process and can do to it."""

    def __init__(self, arguments: Sequence[str], pid: int, reported: socket.socket) -> None:
        self.args = arguments
        self.pid = pid
        self.returncode: int | None = None
        self._sent_lines = reported
        self._lock = Lock()

    def poll(self) -> int | None:
        with self._lock:
            if self.returncode is None:
                with suppress(BlockingIOError):
                    self.returncode = int(self._sent_lines.recv(100))
                    self._sent_lines.close()
            return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.poll() is None:
            waiting = select.poll()
            waiting.register(self._sent_lines, select.POLLIN)
            waiting.poll(None if timeout is None else timeout * 1000)
        if (code := self.poll()) is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


Service = Fork | subprocess.Popen[bytes]


def start_fork(
    program: str | Path,
    *arguments: str,
    env: Mapping[str, str],
    folder: Path,
    stdin: int,
    stdout: int,
    stderr: int,
) -> Fork:
    """`program`: "webloom", or the path of a Python file."""
    reported, tell = socket.socketpair()
    with tell:
        order = {
            "program": str(program),
            "arguments": arguments,
            "environment": dict(env),
            "folder": str(folder),
        }
        descriptors = [tell.fileno(), stdin, stdout, stderr]
        socket.send_fds(_warm.orders(), [json.dumps(order).encode()], descriptors)
    reported.settimeout(TIMEOUT_SECONDS)
    pid = int.from_bytes(reported.recv(4))
    reported.setblocking(False)
    return Fork((str(program), *arguments), pid, reported)


def start_service(
    *arguments: str,
    env: Mapping[str, str],
    folder: Path,
    log: Path,
    program: str | Path = "webloom",
) -> Service:
    """With all its output in the log."""
    with log.open("wb") as output, Path(os.devnull).open("rb") as nothing:
        if env.get(TRUSTED) != TRUSTED_BY_ALL:
            started = ("-m", "webloom") if program == "webloom" else (str(program),)
            command = (sys.executable, *started, *arguments)
            return subprocess.Popen(
                command, env=env, cwd=folder, stdin=nothing, stdout=output, stderr=output
            )
        return start_fork(
            program,
            *arguments,
            env=env,
            folder=folder,
            stdin=nothing.fileno(),
            stdout=output.fileno(),
            stderr=output.fileno(),
        )


def run_command(
    *arguments: str | Path, env: Mapping[str, str], stdin: bytes = b""
) -> subprocess.CompletedProcess[str]:
    """A command that ends by itself, in the home folder of the environment."""
    read, write = os.pipe()
    with TemporaryFile() as out, TemporaryFile() as err:
        fork = start_fork(
            "webloom",
            *map(str, arguments),
            env=env,
            folder=Path(env["HOME"]),
            stdin=read,
            stdout=out.fileno(),
            stderr=err.fileno(),
        )
        os.close(read)
        with suppress(BrokenPipeError), os.fdopen(write, "wb", buffering=0) as input_:
            input_.write(stdin)
        try:
            code = fork.wait(TIMEOUT_SECONDS)
        finally:
            fork.kill()
        return subprocess.CompletedProcess(fork.args, code, _text(out), _text(err))


def _text(file: BinaryIO) -> str:
    file.seek(0)
    return file.read().decode()


class _Warm:
    """A process that waits for commands, and ends with this one."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def orders(self) -> socket.socket:
        with self._lock:
            if self._process is None:
                self._orders, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                with its:
                    command = (sys.executable, WARM, str(its.fileno()))
                    trusted = {TRUSTED: TRUSTED_BY_ALL} if TRUSTED_BY_ALL else {}
                    env = {name: value for name, value in os.environ.items() if name != TRUSTED}
                    self._process = subprocess.Popen(
                        command, pass_fds=[its.fileno()], env=env | trusted
                    )
        return self._orders


_warm = _Warm()
