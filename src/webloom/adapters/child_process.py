"""Processes that read what is somebody else's, as their parent sees them."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import sys
from asyncio.subprocess import PIPE, Process
from typing import TypeVar

from webloom.adapters.child_limits import OUT_OF_FILES
from webloom.adapters.resources import require_descriptors
from webloom.domain.errors import ResourcesExhausted
from webloom.domain.exhaustion import PROCESSES, exhaustion_in

_STREAM_BUFFER = 1024 * 1024
_LAST_WORDS = 2000  # bytes of what a crashed child wrote
_DESCRIPTORS = 16  # that starting a child takes for a moment, and a few more
# As Python and the dynamic linker say it.
_OUT_OF_FILES = re.compile(rf"\[Errno ({errno.EMFILE}|{errno.ENFILE})\]|: Error 2[34]\b")
_Stream = TypeVar("_Stream", asyncio.StreamReader, asyncio.StreamWriter)


async def start_child(module: str, *arguments: str) -> Process:
    """Runs `python -m module`, all three of its streams being pipes.

    Raises ResourcesExhausted, and OSError.
    """
    # uvloop leaves the pipes of a child open that it could not start, and names no reason.
    require_descriptors(_DESCRIPTORS)
    try:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            module,
            *arguments,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            limit=_STREAM_BUFFER,
            # What it reads is somebody else's: it gets no secret from the environment.
            env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,  # Ctrl-C in a terminal is for its parent to deal with
        )
    except OSError as error:
        if error.errno == errno.EAGAIN:  # of fork
            raise ResourcesExhausted(PROCESSES) from error
        if exhausted := exhaustion_in(error):
            raise exhausted from error
        raise


def pipe(stream: _Stream | None) -> _Stream:
    if stream is None:
        raise RuntimeError("the child has no pipe")
    return stream


async def last_words(child: Process) -> str:
    """The end of what the child writes to its standard error."""
    errors = pipe(child.stderr)
    kept = b""
    while piece := await errors.read(_LAST_WORDS):
        kept = (kept + piece)[-_LAST_WORDS:]
    return kept.decode("utf-8", "replace").strip()


def ended_for_want_of_files(code: int, words: str) -> bool:
    """Whether a child could not open what it is made of. It reads one file, and keeps none open."""
    return code == OUT_OF_FILES or (code > 0 and _OUT_OF_FILES.search(words) is not None)


def crash(code: int, words: str) -> str:
    how = f"by signal {-code}" if code < 0 else f"with code {code}"
    last_line = words.rsplit("\n", 1)[-1]
    return f"ended unexpectedly {how}{f': {last_line}' if last_line else ''}"
