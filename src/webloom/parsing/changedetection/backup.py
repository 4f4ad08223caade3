"""Finds the watches of a backup.

Newer versions store `<uuid>/watch.json` and `<uuid>/tag.json`, beside `changedetection.json` with
the settings. In older ones `url-watches.json` has everything. Both write the addresses alone into
`url-list.txt`, which is read if there is nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO

import msgspec

from webloom.domain.errors import FeedUnreadable
from webloom.parsing.changedetection.archive import Archive
from webloom.parsing.changedetection.settings import (
    MOST_GROUPS,
    SharedSettings,
    group_of,
    shared_settings,
)
from webloom.parsing.changedetection.values import mapping
from webloom.parsing.changedetection.watch import RESTOCK, entry_of
from webloom.parsing.json_limits import JsonLimits, JsonTooLarge, refuse_too_large
from webloom.parsing.list_entry import Entry, Note

MOST_WATCHES = 10_000
BEGINNING = (b"PK\x03\x04", b"PK\x05\x06")

_SETTINGS, _OLD, _WATCH, _TAG = "changedetection.json", "url-watches.json", "watch.json", "tag.json"
_LISTS = ("url-list-with-tags.txt", "url-list.txt")
_HEADERS, _RESTOCK_FILE = "headers.txt", f"{RESTOCK}.json"
_NAMES = frozenset((_SETTINGS, _OLD, _WATCH, _TAG, _RESTOCK_FILE, _HEADERS, *_LISTS))
# Brackets and commas, those in texts too: roughly the values that a decoder makes.
_MOST_OF_ONE = 50_000
_MOST_SETTINGS = 300_000  # with groups
_MOST_OF_GROUPS = 8 * 1024 * 1024  # bytes
_MANY = JsonLimits(
    values=1_000_000, items=MOST_WATCHES, called="watches", items_level=2, counts_fields=True
)
_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".7z", ".rar")
_HISTORY = Note("Snapshots and history")
_ADDRESSES_ALONE = Note("All settings: the backup has only a list of addresses")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_objects = msgspec.json.Decoder(dict[str, Any])


class _OldFile(msgspec.Struct):
    watching: dict[str, msgspec.Raw]
    settings: msgspec.Raw = msgspec.Raw(b"{}")


_old_files = msgspec.json.Decoder(_OldFile)


@dataclass(frozen=True, kw_only=True, slots=True)
class Backup:
    """Watches are unpacked and decoded lazily, each time that they are iterated over."""

    notes: list[Note]  # on all of it
    _keys: Sequence[Any]
    _entry: Callable[[Any], Entry]

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[Entry]:
        return map(self._entry, self._keys)


def read_backup(file: BinaryIO, *, most_members: int) -> Backup:
    """Raises FeedUnreadable with a sentence for the person who gave it. The file must stay open."""
    archive = Archive(file, _NAMES.__contains__, most_members=most_members)
    if watches := [key for key in archive.wanted if key[1] == _WATCH]:
        backup = _from_folders(archive, watches)
    elif old := _member(archive, _OLD):
        backup = _from_old_file(old)
    else:
        lines = next(filter(None, (_member(archive, name) for name in _LISTS)), None)
        if lines is None:
            raise FeedUnreadable(_what_is_missing(archive))
        backup = _from_lines(lines)
    if len(backup) > MOST_WATCHES:
        raise FeedUnreadable(f"the backup has more than {MOST_WATCHES:,} watches: split it")
    if not len(backup):
        raise FeedUnreadable("the backup has no watches")
    return backup


def _member(archive: Archive, name: str) -> bytes | None:
    """The file of this name, wherever it is."""
    found = [info for (_, each), info in archive.wanted.items() if each == name]
    return archive.read(found[0]) if found else None


def _from_folders(archive: Archive, watches: list[tuple[str, str]]) -> Backup:
    content = _member(archive, _SETTINGS)
    settings = _decoded(content or b"{}", _SETTINGS, _MOST_SETTINGS).get("settings")
    shared = shared_settings(settings, _groups_of(archive))
    return Backup(
        notes=[_HISTORY, *shared.notes],
        _keys=[folder for folder, _ in watches],
        _entry=partial(_in_folder, archive, shared),
    )


def _groups_of(archive: Archive) -> dict[str, dict[str, Any]]:
    """By key."""
    members = {key[0]: info for key, info in archive.wanted.items() if key[1] == _TAG}
    size = sum(each.file_size for each in members.values())
    if len(members) > MOST_GROUPS or size > _MOST_OF_GROUPS:
        raise FeedUnreadable(
            f"the backup has more than {MOST_GROUPS:,} groups, or more than "
            f"{_MOST_OF_GROUPS >> 20} MB of them"
        )
    return {key: group_of(_decoded(archive.read(info), _TAG)) for key, info in members.items()}


def _in_folder(archive: Archive, shared: SharedSettings, folder: str) -> Entry:
    """One that is damaged does not affect the others."""
    try:
        watch = _decoded(archive.read(archive.wanted[folder, _WATCH]), _WATCH)
        if restock := archive.wanted.get((folder, _RESTOCK_FILE)):
            watch |= mapping(_decoded(archive.read(restock), _RESTOCK_FILE))
    except FeedUnreadable as error:
        return _unreadable(folder, error)
    if (folder, _HEADERS) in archive.wanted:
        watch["headers"] = True
    return entry_of(watch, shared)


def _from_old_file(content: bytes) -> Backup:
    try:
        content = content.removeprefix(_BYTE_ORDER_MARK)
        refuse_too_large(content, _MANY)
        found = _old_files.decode(content)
    except JsonTooLarge as error:
        raise FeedUnreadable(f"{_OLD} in the archive has {error}") from error
    except (msgspec.DecodeError, UnicodeError) as error:
        raise FeedUnreadable(f"{_OLD} in the archive can't be read: {error}") from error
    shared = shared_settings(_decoded(bytes(found.settings), _OLD, _MOST_SETTINGS), {})
    return Backup(
        notes=[_HISTORY, *shared.notes],
        _keys=list(found.watching.items()),
        _entry=partial(_in_old_file, shared),
    )


def _in_old_file(shared: SharedSettings, watch: tuple[str, msgspec.Raw]) -> Entry:
    key, content = watch
    try:
        return entry_of(_decoded(bytes(content), _OLD), shared)
    except FeedUnreadable as error:
        return _unreadable(key, error)


def _from_lines(content: bytes) -> Backup:
    lines = [line.strip() for line in content.splitlines()[: 2 * MOST_WATCHES]]
    return Backup(notes=[_ADDRESSES_ALONE], _keys=[line for line in lines if line], _entry=_in_line)


def _in_line(line: bytes) -> Entry:
    """An address, and in some versions its tags, which are names or the keys of groups."""
    url, _, tags = line.decode(errors="replace").partition(" ")
    watch: Mapping[str, Any] = {"url": url, "tag": "" if tags.startswith(("[", "{")) else tags}
    return entry_of(watch, SharedSettings())


def _unreadable(key: str, error: FeedUnreadable) -> Entry:
    return Entry(given={"name": key[:100]}, refused=str(error), is_foreign=True)


def _decoded(content: bytes, name: str, most: int = _MOST_OF_ONE) -> dict[str, Any]:
    """Raises FeedUnreadable."""
    if sum(map(content.count, (b"[", b"{", b","))) > most:
        raise FeedUnreadable(f"{name} has more than {most:,} values")
    try:
        return _objects.decode(content.removeprefix(_BYTE_ORDER_MARK))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise FeedUnreadable(f"{name} can't be read: {error}") from error


def _what_is_missing(archive: Archive) -> str:
    if any(name.lower().endswith(_ARCHIVES) for name in archive.names):
        return "the archive has another archive in it: unpack it, and give the inner one"
    if not archive.names:
        return "the archive is empty"
    return f"the archive is not a backup of changedetection.io: it has no {_WATCH} and no {_OLD}"
