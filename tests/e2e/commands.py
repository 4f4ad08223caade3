"""Commands that end by themselves, each in a fork of a process that has imported webloom."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import BinaryIO

from patience import PATIENCE_SECONDS

WARM = Path(__file__).with_name("warm.py")


def run_command(
    *arguments: str | Path,
    env: Mapping[str, str],
    stdin: bytes = b"",
) -> subprocess.CompletedProcess[str]:
    """`webloom ARGUMENTS` in the home folder of the environment."""
    command = [*map(str, arguments)]
    order = {"arguments": command, "environment": dict(env), "folder": env["HOME"]}
    told, tell = socket.socketpair()
    read, write = os.pipe()
    with told, tell, TemporaryFile() as out, TemporaryFile() as err:
        descriptors = [tell.fileno(), read, out.fileno(), err.fileno()]
        socket.send_fds(_warm.orders(), [json.dumps(order).encode()], descriptors)
        os.close(read)
        tell.close()
        told.settimeout(PATIENCE_SECONDS)
        with told.makefile("r") as answers:
            process = int(answers.readline())
            with suppress(BrokenPipeError), os.fdopen(write, "wb", buffering=0) as input_:
                input_.write(stdin)
            try:
                code = int(answers.readline())
            except TimeoutError:
                os.kill(process, signal.SIGKILL)
                raise
        return subprocess.CompletedProcess(command, code, _text(out), _text(err))


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
                    self._process = subprocess.Popen(command, pass_fds=[its.fileno()])
        return self._orders


_warm = _Warm()
