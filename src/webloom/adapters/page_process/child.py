"""The process that reads pages: `python -m webloom.adapters.page_process.child PARENT MEMORY`.

It takes orders from its standard input, one after the other until that is closed, and answers each
on its standard output. It is bounded, as what it reads is somebody else's, and ends with its
parent, who watches the time.
"""

from __future__ import annotations

import errno
import gc
import os
import resource
import sys
import time
import traceback
from typing import BinaryIO

from webloom.adapters.child_limits import OUT_OF_FILES, bound
from webloom.adapters.page_process.frames import (
    LENGTH,
    MOST_BYTES,
    OUT_OF_MEMORY,
    Answered,
    Order,
    Ready,
    Refused,
    orders,
    pack,
)
from webloom.domain.errors import PageUnreadable
from webloom.parsing.diffs.pages import diff_pages
from webloom.parsing.pages.reading import read_page
from webloom.ports.page_reader import PageRead


def main() -> None:
    bound(int(sys.argv[1]), int(sys.argv[2]))
    # Frames keep a descriptor that is not the one of `print`, which a library may use.
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    gc.freeze()
    memory = _Memory()
    try:
        _write(out, pack(Ready(cpu=time.process_time())))
        while (packed := _frame(sys.stdin.buffer)) is not None:
            _write(out, _answer(packed, memory))
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except BrokenPipeError:  # the parent has left
        os._exit(0)


def _frame(source: BinaryIO) -> bytes | None:
    length = source.read(LENGTH.size)
    return source.read(LENGTH.unpack(length)[0]) if len(length) == LENGTH.size else None


def _answer(packed: bytes, memory: _Memory) -> bytes:
    reason, trace = "", None
    try:
        answer = pack(
            Answered(
                read=_read(orders.decode(packed)),
                cpu=time.process_time(),
                resident=memory.resident(),
            )
        )
        if len(answer) <= MOST_BYTES:
            return answer
        reason = "what is in the page is too much"
    except PageUnreadable as error:
        reason = str(error)
    except MemoryError:
        raise
    except Exception as error:
        reason = f"the page can't be read because of a fault in Webloom: {_named(error)}"
        trace = traceback.format_exc(limit=-20)
    return pack(
        Refused(reason=reason, trace=trace, cpu=time.process_time(), resident=memory.resident())
    )


def _read(order: Order) -> PageRead:
    reading = read_page(
        _body(order.path),
        url=order.url,
        status_code=order.status_code,
        content_type=order.content_type,
        selection=order.selection,
    )
    diff = None if order.previous is None else diff_pages(order.previous, reading.parsed)
    return PageRead(reading=reading, diff=diff)


def _body(path: bytes) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a Path is not made of bytes
            body = file.read(MOST_BYTES + 1)
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):  # the machine's fault, not the page's
            os._exit(OUT_OF_FILES)
        named = os.fsdecode(path).encode("utf-8", "replace").decode()
        raise PageUnreadable(f"can't read {named}: {error.strerror or error}") from error
    if len(body) > MOST_BYTES:
        raise PageUnreadable(f"the page is larger than {MOST_BYTES:,} bytes")
    return body


def _named(error: Exception) -> str:
    said = " ".join(str(error).split())[:200].encode("utf-8", "backslashreplace").decode()
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _write(out: BinaryIO, frame: bytes) -> None:
    left = memoryview(frame)
    while left:
        left = left[out.write(left) :]


class _Memory:
    """What this process holds now. The peak that `getrusage` tells of may be its parent's."""

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


if __name__ == "__main__":
    main()
