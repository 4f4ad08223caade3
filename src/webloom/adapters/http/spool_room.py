"""Room in the spool, shared by the downloads of this process.

    reserve: queue for room -> download -> more: as it grows | no room: start again later

All files in the folder count, also those of other programs; so do bytes that a download of this
process was promised and has not written yet. Where there is no room, the oldest download waits for
a while and the others end, so that it can continue: two that wait for each other would never end.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from webloom.domain.errors import FetchFailed
from webloom.domain.spool import (
    KNOWN_FOLDER,
    SpoolLimits,
    SpoolUse,
    most_of_one,
    never_fits,
    next_request,
    room_for,
    shortage,
    step,
)

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0  # for which a measurement holds, and between two while something waits
KNOWN_SECONDS = 60.0  # the same for what was learnt of feeds: there may be many
PAUSE_SECONDS = 30.0  # for which a download waits in its middle; servers do not wait forever


class NoRoom(Exception):
    """A download has to start again when there is room for `needed` bytes."""

    def __init__(self, needed: int) -> None:
        self.needed = needed


class SpoolRoom:
    """One for each process and spool."""

    def __init__(
        self, folder: Path, limits: SpoolLimits, *, pause_seconds: float = PAUSE_SECONDS
    ) -> None:
        self.folder = folder
        self.limits = limits
        self.pause_seconds = pause_seconds
        self._reservations: dict[Path, Reservation] = {}  # the oldest first
        self._line = asyncio.Lock()  # those that wait to begin: first come, first served
        self._waiting: dict[Path, str] = {}  # downloads -> for what
        self._short: str | None = None  # at the last look
        self._measured_at = float("-inf")
        self._known = (float("-inf"), 0)  # when it was measured, and its bytes
        self._others = self._own = 0  # bytes in files: of others, of the shares
        self._free = self._disk = 0

    @property
    def full(self) -> str | None:
        """Why imports wait, or would; None: there is room."""
        return next(iter(self._waiting.values()), self._short)

    async def look(self) -> None:
        """For `full`, when nothing asks for room."""
        with suppress(OSError):  # then the next import says what is wrong with the folder
            self._short = shortage(await self.use(), self.limits)

    @asynccontextmanager
    async def reserve(self, path: Path, needed: int) -> AsyncIterator[Reservation]:
        """For a download to that file. Waits until `needed` bytes can be written."""
        async with self._line:
            while True:
                use = await self.with_room(needed)
                wanted = min(needed, max(1, most_of_one(use, self.limits)))
                if (reason := shortage(use, self.limits, wanted)) is None:
                    break
                self.note_wait(path, reason)
                await asyncio.sleep(LOOK_SECONDS)
            self._reservations[path] = reservation = Reservation(self, path, wanted)
        self.note_room(path)
        try:
            yield reservation
        finally:
            del self._reservations[path]
            self._measured_at = float("-inf")  # what it has written is a file as any other now

    def note_wait(self, path: Path, reason: str) -> None:
        """Logged when the first download begins to wait, and when the last no longer does."""
        if not self._waiting:
            log.warning("imports wait for room in the spool", extra={"reason": reason})
        self._waiting[path] = reason

    def note_room(self, path: Path) -> None:
        """It continues, or has ended."""
        if self._waiting.pop(path, None) is not None and not self._waiting:
            log.info("imports no longer wait for room in the spool")

    async def use(self, *, is_fresh: bool = False) -> SpoolUse:
        if is_fresh or time.monotonic() - self._measured_at > LOOK_SECONDS:
            await self._measure()
        promised = sum(reservation.promised for reservation in self._reservations.values())
        return SpoolUse(
            used=self._others + max(promised, self._own),
            free=self._free - max(0, promised - self._own),
            disk=self._disk,
        )

    async def with_room(self, needed: int) -> SpoolUse:
        """Removes caches where the budget is short."""
        use = await self.use()
        if use.used + needed <= self.limits.budget or not self._known[1]:
            return use
        excess = use.used + needed - self.limits.budget
        await asyncio.to_thread(_remove_oldest, self.folder / KNOWN_FOLDER, excess)
        self._known = (float("-inf"), 0)
        return await self.use(is_fresh=True)

    async def _measure(self) -> None:
        known_at, known = self._known
        is_old = time.monotonic() - known_at > KNOWN_SECONDS
        while True:
            own = set(self._reservations)
            found = await asyncio.to_thread(_measured, self.folder, own, None if is_old else known)
            if own <= self._reservations.keys():  # none has ended meanwhile
                break
        self._own, self._others, known, self._free, self._disk = found
        self._measured_at = time.monotonic()
        if is_old:
            self._known = (self._measured_at, known)

    def is_oldest(self, reservation: Reservation) -> bool:
        return next(iter(self._reservations.values()), None) is reservation


class Reservation:
    """What one download may write."""

    def __init__(self, room: SpoolRoom, path: Path, reserved: int) -> None:
        self._room = room
        self._path = path
        self._reserved = reserved
        self.granted = 0

    @property
    def promised(self) -> int:
        return max(self.granted, self._reserved)

    async def expect(self, size: int) -> None:
        """The server says how much comes. Raises NoRoom, or FetchFailed as `more` does."""
        room = self._room
        use = await room.use()
        self._refuse_beyond(use, size)
        if shortage(use, room.limits, max(0, size - self.promised)) is not None:
            raise NoRoom(size)
        self._reserved = max(self._reserved, size)

    async def more(self, wanted: int) -> None:
        """Some of the bytes that are wanted, or more: `granted` is how many may be written in all.
        Waits for a while where there is no room, and raises NoRoom then; FetchFailed when there
        never will be."""
        room, began = self._room, time.monotonic()
        while True:
            use = await room.with_room(1)
            left = room_for(use, room.limits) + max(0, self._reserved - self.granted)
            if left > 0:
                self.granted += min(max(wanted, step(room.limits)), left)
                room.note_room(self._path)
                return
            self._refuse_beyond(use, self.granted + 1)
            room.note_wait(self._path, shortage(use, room.limits) or "")
            waited = time.monotonic() - began
            if not room.is_oldest(self) or waited > room.pause_seconds:
                raise NoRoom(next_request(self.granted, most_of_one(use, room.limits)))
            await asyncio.sleep(min(LOOK_SECONDS, room.pause_seconds / 10))
            await room.use(is_fresh=True)

    async def disk_is_full(self, written: int) -> None:
        """The system refused to write. Raises NoRoom if that is a lack of room which is waited for
        here; it may be a quota."""
        room = self._room
        use = await room.use(is_fresh=True)
        self._refuse_beyond(use, written + 1)
        if shortage(use, room.limits) is not None:
            raise NoRoom(next_request(max(written, self.granted), most_of_one(use, room.limits)))

    def _refuse_beyond(self, use: SpoolUse, size: int) -> None:
        if size > most_of_one(use, self._room.limits):
            raise FetchFailed(reason=never_fits(use, self._room.limits), retryable=False)


def _measured(folder: Path, own: set[Path], known: int | None) -> tuple[int, int, int, int, int]:
    """Bytes of the own files and of others, those of the known folder among them; free bytes and
    size of the disk."""
    if known is None:
        known = _bytes_below(folder / KNOWN_FOLDER)
    of_own, of_others = 0, known
    for entry in _entries(folder):
        if entry.name == KNOWN_FOLDER:
            continue
        if entry.is_dir(follow_symlinks=False):
            of_others += _bytes_below(Path(entry.path))
        elif Path(entry.path) in own:
            of_own += _size(entry)
        else:
            of_others += _size(entry)
    nearest = folder
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    disk = shutil.disk_usage(nearest)
    return of_own, of_others, known, disk.free, disk.total


def _bytes_below(folder: Path) -> int:
    return sum(_size(entry) for entry in _entries(folder) if entry.is_file(follow_symlinks=False))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:  # missing
        return []


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except OSError:  # gone meanwhile
        return 0


def _remove_oldest(folder: Path, excess: int) -> None:
    """Until `excess` bytes are free."""
    files = []
    for entry in _entries(folder):
        with suppress(OSError):
            files.append((entry.stat().st_mtime, entry.stat().st_size, entry.path))
    for _, size, path in sorted(files):
        if excess <= 0:
            return
        with suppress(OSError):
            os.unlink(path)  # noqa: PTH108 - a path of scandir
        excess -= size
