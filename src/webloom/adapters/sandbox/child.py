"""The child's side: `python -m MODULE PARENT MEMORY`, where MODULE calls `run`."""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import BinaryIO

from webloom.adapters.sandbox.frames import HEAD, Frame

OUT_OF_FILES = 82  # exit codes: no descriptor left
OUT_OF_MEMORY = 12
_PR_SET_PDEATHSIG = 1
OBJECTS_BETWEEN_COLLECTIONS = 100_000  # reading makes many objects, and no cycles


def run(serve: Callable[[bytes], Iterator[tuple[bytes, bytes]]]) -> None:
    """Carry out the orders from standard input, one after the other, until it is closed. Each part
    of an answer is the content and body of a frame."""
    _limit_resources(parent=int(sys.argv[1]), memory=int(sys.argv[2]))
    # Frames keep a descriptor that is not the one of `print`, which a library may use.
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    gc.freeze()
    memory = _Memory()
    try:
        _write(out, Frame(b"", cpu=time.process_time()))
        while (order := _order(sys.stdin.buffer)) is not None:
            for content, body in serve(order):
                _write(out, Frame(content, body, time.process_time(), memory.resident()))
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except BrokenPipeError:  # the parent has left
        os._exit(0)


def _limit_resources(*, parent: int, memory: int) -> None:
    for kind, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it was gone before
            raise SystemExit
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)


def _order(source: BinaryIO) -> bytes | None:
    head = source.read(HEAD.size)
    return source.read(HEAD.unpack(head)[0]) if len(head) == HEAD.size else None


def _write(out: BinaryIO, frame: Frame) -> None:
    left = memoryview(frame.packed())
    while left:
        left = left[out.write(left) :]


class _Memory:
    """The memory that this process uses now. The peak of `getrusage` may be its parent's."""

    def __init__(self) -> None:
        try:
            self._file = os.open("/proc/self/statm", os.O_RDONLY)
        except OSError:
            self._file = -1

    def resident(self) -> int:
        """Bytes; 0 where the system does not say."""
        if self._file < 0:
            return 0
        return int(os.pread(self._file, 100, 0).split()[1]) * resource.getpagesize()
