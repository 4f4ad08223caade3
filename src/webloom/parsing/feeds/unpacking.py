"""A feed's file -> its bytes, decompressed while they are read."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import BinaryIO

from webloom.domain.errors import FeedUnreadable

_GZIP = b"\x1f\x8b"
_GZIP_FORMAT = 31  # of zlib's wbits
_READ = 64 * 1024
_ARCHIVES = {
    b"PK\x03\x04": "a ZIP archive",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ\x00": "compressed with xz",
    b"\x28\xb5\x2f\xfd": "compressed with zstd",
    b"%PDF": "a PDF document",
}


class Unpacked:
    """A file, decompressed if it is gzip, and once more if gzip comes out of it: some servers
    compress what is compressed already. At most `max_bytes` come out of it; what asks for more
    raises FeedUnreadable."""

    def __init__(self, file: BinaryIO, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._given = 0
        self._given_between = 0
        start = file.read(_READ)
        for magic, kind in _ARCHIVES.items():
            if start.startswith(magic):
                raise FeedUnreadable(f"The answer is {kind}; only gzip is unpacked.")
        self._is_packed = start.startswith(_GZIP)
        self._outer = self._source = _opened(file.read, start)
        if self._is_packed:
            self._source = _opened(self._read_between, self._read_between(_READ))

    @property
    def position(self) -> int:
        """Bytes of the file that were read."""
        return self._outer.position

    @property
    def is_whole(self) -> bool:
        """False once a compressed file turned out to be cut off or corrupt."""
        return self._outer.is_whole and self._source.is_whole

    def read(self, size: int) -> bytes:
        """At most so many bytes; none at the end."""
        piece = self._source.read(size)
        self._given += len(piece)
        self._check(self._given)
        return piece

    def _read_between(self, size: int) -> bytes:
        piece = self._outer.read(size)
        self._given_between += len(piece)
        self._check(self._given_between - _READ)  # which may have been read ahead
        return piece

    def _check(self, given: int) -> None:
        if given > self._max_bytes:
            raise FeedUnreadable(
                f"The feed is larger than {self._max_bytes:,} bytes"
                f"{' when it is decompressed' if self._is_packed else ''}, which is the limit."
            )


def _opened(read: Callable[[int], bytes], start: bytes) -> _Gzip | _Plain:
    return _Gzip(read, start) if start.startswith(_GZIP) else _Plain(read, start)


class _Plain:
    is_whole = True

    def __init__(self, read: Callable[[int], bytes], start: bytes) -> None:
        self._read = read
        self._start = start
        self.position = len(start)

    def read(self, size: int) -> bytes:
        if self._start:
            piece, self._start = self._start[:size], self._start[size:]
            return piece
        piece = self._read(size)
        self.position += len(piece)
        return piece


class _Gzip:
    """One or several gzip files in a row. What can be read of a broken one is read."""

    def __init__(self, read: Callable[[int], bytes], start: bytes) -> None:
        self._read = read
        self._packed = start
        self._member = zlib.decompressobj(_GZIP_FORMAT)
        self.position = len(start)
        self.is_whole = True

    def read(self, size: int) -> bytes:
        pieces = []
        while size > 0 and (piece := self._read_some(size)):
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def _read_some(self, size: int) -> bytes:
        while self.is_whole:
            if self._member.eof and not self._begin_next():
                return b""
            is_at_end = not self._packed and not self._refill()
            try:
                piece = self._member.decompress(self._packed, size)
            except zlib.error:
                self.is_whole = False
                return b""
            done = self._member.eof
            self._packed = self._member.unused_data if done else self._member.unconsumed_tail
            if piece:
                return piece
            if is_at_end and not done:
                self.is_whole = False
        return b""

    def _begin_next(self) -> bool:
        """What follows a member and is none is padding."""
        if len(self._packed) < len(_GZIP):
            self._refill()
        if not self._packed.startswith(_GZIP):
            return False
        self._member = zlib.decompressobj(_GZIP_FORMAT)
        return True

    def _refill(self) -> bool:
        more = self._read(_READ)
        self.position += len(more)
        self._packed += more
        return bool(more)
