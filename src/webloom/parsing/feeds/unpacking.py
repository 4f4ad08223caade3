"""A feed's file -> its bytes, decompressed while they are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO

from webloom.domain.errors import FeedUnreadable
from webloom.parsing.compression import GZIP, GZIP_MAGIC, Corrupt, Decompressor

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
        self._is_packed = start.startswith(GZIP_MAGIC)
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
    return _Gzip(read, start) if start.startswith(GZIP_MAGIC) else _Plain(read, start)


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
        self._decompressor = Decompressor(GZIP, any_members=True)
        self._decompressor.feed(start)
        self.position = len(start)
        self.is_whole = True

    def read(self, size: int) -> bytes:
        pieces = []
        while size > 0 and (piece := self._read_some(size)):
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def _read_some(self, size: int) -> bytes:
        try:
            while self.is_whole and not (piece := self._decompressor.output(size)):
                more = self._read(_READ)
                if not more:
                    self.is_whole = self._decompressor.is_complete
                    return b""
                self.position += len(more)
                self._decompressor.feed(more)
        except Corrupt:
            self.is_whole = False
        return piece if self.is_whole else b""
