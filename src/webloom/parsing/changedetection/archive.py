"""Reads a few files of a zip archive, within bounds. A name in the archive is compared and never
used as a path."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from copy import copy
from typing import BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from webloom.domain.errors import FeedUnreadable

LARGEST_MEMBER = 16 * 1024 * 1024  # bytes, unpacked
MOST_UNPACKED = 64 * 1024 * 1024  # of all members that may be read
LARGEST_RATIO = 250  # of a member that is not small; settings in JSON have 5 to 60
SMALL_MEMBER = 1024 * 1024

_DIRECTORY_ENTRY = b"PK\x01\x02"
_PIECE = 1024 * 1024
_UNPACKED_AT_ONCE = 64 * 1024
_ENCRYPTED = 0x1
_UNREADABLE = (
    BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, OSError, OverflowError,
    RuntimeError, ValueError,
)  # fmt: skip


class Archive:
    """Files whose name is wanted, whatever folder they are in."""

    def __init__(
        self, file: BinaryIO, is_wanted: Callable[[str], bool], *, most_members: int
    ) -> None:
        """Raises FeedUnreadable. The file must stay open."""
        _refuse_many_members(file, most_members)
        try:
            self._zip = ZipFile(file)
        except _UNREADABLE as error:
            raise FeedUnreadable(
                "the zip archive is damaged or cut off: download it again"
            ) from error
        self.names: list[str] = []
        self.wanted: dict[tuple[str, str], ZipInfo] = {}  # by folder and name
        for each in self._zip.infolist():
            *folders, name = each.filename.replace("\\", "/").split("/")
            if name:
                self.names.append(each.filename)
            if is_wanted(name):
                self.wanted[folders[-1] if folders else "", name] = each
        if sum(each.file_size for each in self.wanted.values()) > MOST_UNPACKED:
            raise FeedUnreadable(
                f"the settings in the archive have more than {MOST_UNPACKED >> 20} MB: split it"
            )

    def read(self, member: ZipInfo) -> bytes:
        """Raises FeedUnreadable."""
        name = _shown(member.filename)
        _refuse_large(member, name)
        try:
            return self._unpacked(member)
        except _UNREADABLE as error:
            raise FeedUnreadable(f"{name} in the archive is damaged") from error

    def _unpacked(self, member: ZipInfo) -> bytes:
        """`ZipFile.read` would unpack whatever there is, and then cut it to the announced size."""
        longer = copy(member)
        longer.file_size += 1
        content = bytearray()
        with self._zip.open(longer) as file:
            while piece := file.read(_UNPACKED_AT_ONCE):
                content += piece
        if len(content) > member.file_size:
            raise BadZipFile("a member is larger than it announces")
        return bytes(content)


def _refuse_large(member: ZipInfo, name: str) -> None:
    if member.flag_bits & _ENCRYPTED:
        raise FeedUnreadable(f"{name} in the archive is encrypted: unpack it with its password")
    if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise FeedUnreadable(f"{name} in the archive is not compressed with Deflate")
    if member.file_size > LARGEST_MEMBER:
        raise FeedUnreadable(
            f"{name} in the archive has more than {LARGEST_MEMBER >> 20} MB when it is unpacked"
        )
    packed = max(member.compress_size, 1)
    if member.file_size > SMALL_MEMBER and member.file_size > LARGEST_RATIO * packed:
        raise FeedUnreadable(
            f"{name} in the archive is {member.file_size // packed:,} times as large as it is "
            "packed, which no settings are"
        )


def _refuse_many_members(file: BinaryIO, most: int) -> None:
    """Before an object is made of each. The signature may occur elsewhere too, by chance."""
    file.seek(0)
    count, tail = 0, b""
    while piece := file.read(_PIECE):
        window = tail + piece
        count += window.count(_DIRECTORY_ENTRY)
        tail = window[-len(_DIRECTORY_ENTRY) + 1 :]
    file.seek(0)
    if count > most:
        raise FeedUnreadable(
            f"the archive has more than {most:,} files: make one of the .json files in it"
        )


def _shown(name: str) -> str:
    return "".join(each if each.isprintable() else "\ufffd" for each in name[-80:])
