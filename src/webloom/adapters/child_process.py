"""Processes that read what is somebody else's, as their parent sees them."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from typing import TypeVar

_STREAM_BUFFER = 1024 * 1024
_LAST_WORDS = 2000  # bytes of what a crashed child wrote
_Stream = TypeVar("_Stream", asyncio.StreamReader, asyncio.StreamWriter)


async def start_child(module: str, *arguments: str) -> Process:
    """Runs `python -m module`, all three of its streams being pipes."""
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


def crash(code: int, words: str) -> str:
    how = f"by signal {-code}" if code < 0 else f"with code {code}"
    last_line = words.rsplit("\n", 1)[-1]
    return f"ended unexpectedly {how}{f': {last_line}' if last_line else ''}"
