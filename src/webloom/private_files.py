"""Files of Webloom are private to its user: folders 0700, files 0600.

keep_private()    at the start of a process: sets its umask, which children and SQLite inherit
make_folder()     puts a marker into a folder that we create, to recognise it later
protect()         at start-up: closes what an older version or another program left open
open_for_user()   a file that the user named follows the user's umask
open_private()    unless it holds secrets
read_trusted()    a configuration file is read only if no other user could have written it

A folder that Webloom did not create keeps its mode, and `webloom doctor` warns. Nothing here
follows a symbolic link to a file, or opens a database file: closing it would end SQLite's locks.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from errno import ENOTDIR
from itertools import chain
from pathlib import Path
from typing import BinaryIO

MARKER = ".made-by-webloom"
_FOLDER = 0o700
_FILE = 0o600
_OTHERS = 0o077
_WRITABLE = 0o022
_DATABASE_SUFFIXES = ("", "-wal", "-shm", "-journal", "-reserve", "-reserve-new")
_SPOOL_FILES = ("*.feed", "*.feed.*", "*.part", "*.page", "*.preview/*", "known/*")
_SPOOL_FOLDERS = ("known", "*.preview")
_DEMO = "demo"  # the data folder of `webloom demo`
_users_umask: int | None = None  # None: it is still that of the process


@dataclass(frozen=True, kw_only=True, slots=True)
class Places:
    """Where an installation keeps its data."""

    data_dir: Path
    spool: Path  # in the data folder
    databases: tuple[Path, ...]
    is_default: bool  # no setting names the data folder

    @property
    def folders(self) -> list[Path]:
        """That of the data first, then those of databases elsewhere."""
        return list(dict.fromkeys([self.data_dir, *(each.parent for each in self.databases)]))

    @property
    def database_files(self) -> Iterator[Path]:
        for database in self.databases:
            for suffix in _DATABASE_SUFFIXES:
                yield database.with_name(database.name + suffix)

    @property
    def spool_files(self) -> Iterator[Path]:
        return _found(self.spool, _SPOOL_FILES)

    @property
    def spool_folders(self) -> Iterator[Path]:
        return chain([self.spool], _found(self.spool, _SPOOL_FOLDERS))


def keep_private() -> None:
    """What this process and its children create from now on is private."""
    global _users_umask
    _users_umask = os.umask(_OTHERS)


def open_for_user(path: Path, *, must_be_new: bool = False) -> BinaryIO:
    """For writing a file that the user named. An existing one keeps its mode."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        file = os.open(path, flags, 0o666 if _users_umask is None else _FILE)
    except FileExistsError:
        if must_be_new:
            raise
        return path.open("wb")
    if _users_umask is not None:
        with suppress(OSError):  # a file system without modes
            os.fchmod(file, 0o666 & ~_users_umask)
    return os.fdopen(file, "wb")


def open_private(path: Path) -> BinaryIO:
    """For writing a new file that only its owner can read."""
    return os.fdopen(
        os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _FILE), "wb"
    )


class NotTrusted(Exception):
    """Its text says why."""


def read_trusted(path: Path) -> bytes:
    """The content of a file that was found rather than named. Raises NotTrusted if another user
    than root could have written it. Raises OSError."""
    place = path.absolute()
    itself = path.lstat()
    is_link = stat.S_ISLNK(itself.st_mode)
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # a named pipe would be waited for
    file = os.open(path, flags if is_link else flags | os.O_NOFOLLOW)
    with os.fdopen(file, "rb") as stream:
        found = os.fstat(file)
        owners = {itself.st_uid, found.st_uid} - {0, os.geteuid()}
        if owners:
            raise NotTrusted(f"{place} belongs to another user, {owners.pop()}")
        if not stat.S_ISREG(found.st_mode):
            raise NotTrusted(f"{place} is not a file")
        if found.st_mode & _WRITABLE:
            mode = stat.S_IMODE(found.st_mode)
            raise NotTrusted(f"{place} has the mode {mode:03o}, so that other users can change it")
        return stream.read()


def make_folder(folder: Path) -> None:
    """With missing parents. Raises OSError."""
    missing = []
    for each in (folder, *folder.parents):
        if each.exists():
            break
        missing.append(each)
    for each in reversed(missing):
        with suppress(FileExistsError):  # created concurrently
            each.mkdir(mode=_FOLDER)
            _mark(each)
    folder.mkdir(exist_ok=True)  # raises if something else has this name


def make_spool(spool: Path) -> None:
    """In its data folder. Raises OSError."""
    make_folder(spool.parent)
    try:
        spool.mkdir(mode=_FOLDER, exist_ok=True)
    except FileExistsError as error:  # whose message is misleading
        raise NotADirectoryError(ENOTDIR, os.strerror(ENOTDIR), str(spool)) from error


def protect(places: Places) -> list[Path]:
    """Make our files private, and return those that were not. What can't be changed, or is not
    ours, stays as it is. Safe to run concurrently."""
    if _is_of_older_version(places):
        _mark(places.data_dir)
    ours = [folder for folder in places.folders if _is_made_by_us(folder)]
    folders = [folder.resolve() for folder in ours]
    if places.data_dir in ours:
        folders += places.spool_folders
    markers = (folder / MARKER for folder in ours)
    files = chain(places.database_files, places.spool_files, markers)
    return [
        *(folder for folder in folders if _close(folder, stat.S_ISDIR)),
        *(file for file in files if _close(file, stat.S_ISREG)),
    ]


def open_to_others(places: Places) -> dict[Path, int]:
    """The modes of data folders that other users can access, and of accessible files in them."""
    folders = {each: mode for each in places.folders if (mode := _open_mode(each))}
    files: Iterable[Path] = (each for each in places.database_files if each.parent in folders)
    if places.data_dir in folders and _open_mode(places.spool):
        files = chain(files, places.spool_files)
    return folders | {each: mode for each in files if (mode := _open_mode(each))}


def _found(folder: Path, patterns: Iterable[str]) -> Iterator[Path]:
    for pattern in patterns:
        with suppress(OSError):  # a folder that we may not read
            yield from folder.glob(pattern)


def _mark(folder: Path) -> None:
    """May fail on a full disk; the folder is private anyway."""
    with suppress(OSError):
        os.close(os.open(folder / MARKER, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _FILE))


def _is_made_by_us(folder: Path) -> bool:
    try:
        marker = (folder / MARKER).lstat()
    except OSError:
        return False
    return stat.S_ISREG(marker.st_mode) and marker.st_uid == os.geteuid()


def _is_of_older_version(places: Places) -> bool:
    """Older versions left no marker. Their folder is the default one, contains only our files, and
    its database is open to other users."""
    if not places.is_default or _is_made_by_us(places.data_dir):
        return False
    known = {each.name for each in places.database_files} | {places.spool.name, _DEMO}
    try:
        names = {each.name for each in places.data_dir.iterdir()}
    except OSError:
        return False
    inside = [each for each in places.databases if each.parent == places.data_dir]
    return names <= known and any(_open_mode(each) for each in inside)


def _open_mode(path: Path) -> int:
    """0 if it is private, or does not exist."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return 0
    return mode if mode & _OTHERS else 0


def _close(path: Path, is_kind: Callable[[int], bool]) -> bool:
    """Whether it was open to other users and no longer is."""
    try:
        if not hasattr(os, "O_PATH"):  # macOS
            mode = _closed_mode(path.lstat(), is_kind)
            if mode is not None:
                path.chmod(mode, follow_symlinks=False)
            return mode is not None
        file = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            mode = _closed_mode(os.fstat(file), is_kind)
            if mode is not None:
                Path(f"/proc/self/fd/{file}").chmod(mode)
            return mode is not None
        finally:
            os.close(file)
    except OSError:  # missing, or on a file system that is read-only or without modes
        return False


def _closed_mode(found: os.stat_result, is_kind: Callable[[int], bool]) -> int | None:
    """None: it stays as it is."""
    if not is_kind(found.st_mode) or found.st_uid != os.geteuid():
        return None
    if stat.S_ISREG(found.st_mode) and found.st_nlink != 1:  # another name of it may not be ours
        return None
    if not found.st_mode & _OTHERS:
        return None
    return stat.S_IMODE(found.st_mode) & ~_OTHERS
