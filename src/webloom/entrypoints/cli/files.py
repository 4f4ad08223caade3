"""Files named on the command line; - is standard input or output."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from webloom.domain.errors import WebloomError
from webloom.entrypoints.cli.output import visible
from webloom.private_files import open_for_user, open_private

STDIN = "-"


def shown_file(file: str) -> str:
    return "standard input" if file == STDIN else visible(file)


@contextmanager
def opened(file: str) -> Iterator[BinaryIO]:
    """A file to read. Raises WebloomError, also when reading it fails."""
    try:
        if file == STDIN:
            yield sys.stdin.buffer
            return
        with Path(file).open("rb") as stream:
            yield stream
    except OSError as error:
        reason = error.strerror or error
        raise WebloomError(f"can't read {shown_file(file)}: {reason}") from error


def read_file(file: str) -> bytes:
    """Raises WebloomError."""
    with opened(file) as stream:
        return stream.read()


@contextmanager
def whole_file(output: str, *, is_private: bool = False) -> Iterator[BinaryIO]:
    """A file that appears complete or not at all. Only its owner can read a private one."""
    if output == "-":
        yield sys.stdout.buffer
        return
    target = Path(output).resolve()
    if target.exists() and not target.is_file():  # a device or a named pipe; a folder fails to open
        with _writing(output, target, must_be_new=False, is_private=False) as stream:
            yield stream
        return
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with _writing(output, part, must_be_new=True, is_private=is_private) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists() and not is_private:
            part.chmod(target.stat().st_mode)  # who may read an existing file stays
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _writing(named: str, path: Path, *, must_be_new: bool, is_private: bool) -> Iterator[BinaryIO]:
    try:
        opened = open_private(path) if is_private else open_for_user(path, must_be_new=must_be_new)
        with opened as stream:
            yield stream
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or error
        raise WebloomError(f"can't write {visible(named)}: {reason}") from error
