"""Room on the disk that is set aside for the moment when it is full: a file beside the database.

On a disk without a free block SQLite can't delete either: the write-ahead log must grow, or what it
holds must go into the file, which grows. So the file `<database>-reserve` takes room while there is
some, and gives it up step by step when a write finds the disk full. It is completed again as soon
as the disk has room for what is missing and a quarter of the reserve more.

    whole -> a step is given up -> ... -> empty     the log can't be written into the file, is very
                                                    short, or has no room for deletes
    whole <- the disk has room                      looked at with every write, while it is short

While a part is missing, the database does not grow: writes use pages that deletes have freed, and a
log that is written over. Otherwise new data would eat up the reserve, and pruning would end.

Every process of the database sees the same file. Its size says how much is left, and the time of
its last change says when a write was refused: a scheduler that needs no room itself learns by it
that others do.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from webloom.adapters.sqlite.connecting import LOG_BYTES

log = logging.getLogger(__name__)

MIB = 1 << 20
MOST_BYTES = LOG_BYTES + 4 * MIB  # what a log can add to the file, and room for deletes
SHARE = 4  # a small disk lends no more than one part in four
STEPS = 8  # in which it is given up
LOG_SHARE = 4  # the log is kept as long as one part in four
LITTLE = 1 << 18
_PRIVATE = 0o600
_databases: dict[tuple[int, int], int] = {}  # inode -> file


class Reserve:
    """One for each process and database. Its methods block for microseconds, except when it is
    completed. There is none where the disk doesn't say how large it is, or where the system can't
    take room on it (macOS)."""

    def __init__(self, database: Path) -> None:
        self.path = database.with_name(f"{database.name}-reserve")
        self._database = database
        self._log = database.with_name(f"{database.name}-wal")
        self._size = 0  # when whole; 0: not known yet

    def is_short(self) -> bool:
        """A part of it is given up."""
        return self._missing() > 0

    @property
    def wanted(self) -> int:
        """Bytes that must be free on the disk before the database may grow again."""
        return self._missing() + self._whole() // 4

    @property
    def left_by_queues(self) -> int:
        """Bytes of free pages that a queue leaves to others, on a full disk."""
        return self._whole() // 4

    @property
    def last_refusal(self) -> int:
        """Changes with every write of any process that is refused."""
        try:
            with _opened(self.path) as file, _locked(file):  # not while it is being completed
                return os.fstat(file).st_mtime_ns
        except OSError:
            return 0

    def note_refusal(self) -> None:
        """A write has no room, and pruning is needed."""
        with suppress(OSError), _opened(self.path, os.O_CREAT) as file, _locked(file):
            os.utime(file)

    def keep(self) -> None:
        """Make or complete it, if the disk has room, and see that the log has its part."""
        with suppress(OSError):
            if not self.path.exists() and self._free() >= self._whole() + self._whole() // 4:
                new = self.path.with_name(f"{self.path.name}-new")
                new.touch(mode=_PRIVATE)
                os.utime(new, ns=(0, 0))  # nothing was refused yet
                new.rename(self.path)
            if self.path.exists() and self.complete() and self.is_log_short():
                self._lengthen(self._log, self._whole() // LOG_SHARE)

    def is_log_short(self) -> bool:
        """The log is no longer than what it is given: on a full disk, commits need room in it."""
        try:
            return self._log.stat().st_size < self._whole() // LOG_SHARE
        except OSError:
            return False

    def complete(self) -> bool:
        """Whether nothing is missing. What is given up is taken back when the disk has room."""
        if not self.is_short():
            return True
        if self._free() < self.wanted:
            return False
        with suppress(OSError), _opened(self.path) as file, _locked(file):
            before = os.fstat(file)
            try:
                os.posix_fallocate(file, 0, self._whole())
            except OSError:
                os.ftruncate(file, before.st_size)
            # This is not a refusal.
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        if self.is_short():
            return False
        log.info("the disk space kept in reserve is complete", extra={"path": str(self.path)})
        return True

    def give_up(self) -> bool:
        """A little of it, for any file. False: nothing is left."""
        return self._give(LITTLE, to=None)

    def give_to_log(self) -> bool:
        """A step of it. False: nothing is left."""
        return self._give(self._whole() // STEPS, to=self._log)

    def give_to_database(self, size: int) -> bool:
        """As much as makes the file that large. False: nothing is left."""
        try:
            missing = size - self._database.stat().st_size
        except OSError:
            return False
        return self._give(max(missing, LITTLE), to=self._database)

    def _give(self, size: int, *, to: Path | None) -> bool:
        """In small pieces, each at once: another program that takes one before we do takes little,
        and we give up another."""
        try:
            with _opened(self.path) as file, _locked(file):
                before = left = os.fstat(file).st_size
                given = 0
                while left and given < size:
                    piece = min(LITTLE, left, size - given)
                    left -= piece
                    os.ftruncate(file, left)
                    given += piece if to is None or self._took(to, piece) else 0
        except OSError:
            return False
        if before:
            fields = {"path": str(self.path), "bytes_left": left}
            log.warning("the disk is full: using the reserve", extra=fields)
        return before > 0

    def _took(self, to: Path, piece: int) -> bool:
        """Whether there is no other reason to try again than a program that was quicker."""
        try:
            self._lengthen(to, piece)
        except OSError as error:
            return error.errno != errno.ENOSPC
        return True

    def _lengthen(self, path: Path, by: int) -> None:
        """Behind its last commit, SQLite takes zeros for the end of the log. The end of the
        database it knows by its header, and cuts off the rest with a checkpoint."""
        with _kept_open(path) if path == self._database else _opened(path) as file:
            os.posix_fallocate(file, 0, os.fstat(file).st_size + by)

    def _whole(self) -> int:
        if not self._size and hasattr(os, "posix_fallocate"):
            with suppress(OSError):
                disk = os.statvfs(self.path.parent)
                self._size = min(MOST_BYTES, disk.f_blocks * disk.f_frsize // SHARE)
        return self._size

    def _missing(self) -> int:
        """0 without the file: there was never room for it."""
        try:
            return max(0, self._whole() - os.stat(self.path).st_size)  # noqa: PTH116 - at each write
        except OSError:
            return 0

    def _free(self) -> int:
        disk = os.statvfs(self.path.parent)
        return disk.f_bavail * disk.f_frsize


@contextmanager
def _opened(path: Path, flags: int = 0) -> Iterator[int]:
    file = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | flags, _PRIVATE)
    try:
        yield file
    finally:
        os.close(file)


@contextmanager
def _kept_open(path: Path) -> Iterator[int]:
    """For as long as the process lives: closing a file of a database ends all locks that SQLite has
    on it in this process."""
    found = path.stat()
    inode = (found.st_dev, found.st_ino)
    if inode not in _databases:
        _databases[inode] = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    yield _databases[inode]


@contextmanager
def _locked(file: int) -> Iterator[None]:
    """So that of several processes one changes its size at a time. Closing ends it."""
    fcntl.flock(file, fcntl.LOCK_EX)
    yield
