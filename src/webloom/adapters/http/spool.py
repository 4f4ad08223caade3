"""A body on its way to a file: decompressed, hashed and written as it comes, within bounds.

Everything here is work for a thread; a `Spool` is used by one at a time.
"""

from __future__ import annotations

import errno
import hashlib
from pathlib import Path
from types import TracebackType
from typing import Self

from webloom.adapters.http.body import corrupt, too_large
from webloom.domain.errors import FetchFailed, ResourcesExhausted
from webloom.domain.exhaustion import exhaustion_in
from webloom.parsing.compression import Corrupt, Decompressor

_OUTPUT_BYTES = 1024 * 1024  # of decompressed data held at a time, whatever a bomb unfolds into


class DiskFull(FetchFailed):
    """The system has no room for the file."""


class Spool:
    """Raises FetchFailed for a body that is too large or corrupt, and when it can't be written;
    ResourcesExhausted when the file can't be opened because no descriptor is left."""

    def __init__(self, path: Path, wbits: int | None, *, limit: int, may_cut: bool = False) -> None:
        """`wbits`: how the body is compressed, None: it is not. With `may_cut`, the beginning of a
        body that is too large is kept."""
        self._path = path
        self._limit = limit
        self._may_cut = may_cut
        self._decoder = None if wbits is None else Decompressor(wbits)
        self._hash = hashlib.sha256()
        self._received = 0
        self._pending = b""  # output that there was no room for
        self._is_full = False  # as many bytes are in the file as are wanted
        self.allowed: int | None = None  # bytes that the file may have now; None: all of them
        self.bytes = 0  # in the file
        self.is_cut = False  # there is more, and it is not wanted

    def __enter__(self) -> Self:
        try:
            self._file = self._path.open("wb")
        except OSError as error:
            raise self._unwritable(error) from error
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self._file.close()
        except OSError as error:
            if exc is None:
                raise self._unwritable(error) from error

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    def write(self, block: bytes) -> bool:
        """As far as is allowed. False: some of the block is left, for `resume`."""
        block = self._fitting(block, self._limit - self._received)
        self._received += len(block)
        if self._decoder is None:
            self._pending = block
        else:
            self._decoder.feed(block)
        return self.resume()

    @property
    def pending(self) -> int:
        """Bytes that are left, at least."""
        return len(self._pending)

    def resume(self) -> bool:
        """Continue with the rest, once more is allowed. False: some is left again."""
        while not self._is_full:
            if not self._pending and self._decoder is not None:
                self._pending = self._decompressed(self._decoder)
            if not self._pending:
                return True
            if not self._keep():
                return False
        return True

    def _decompressed(self, decoder: Decompressor) -> bytes:
        try:
            return decoder.output(_OUTPUT_BYTES)
        except Corrupt as error:
            raise corrupt() from error

    def finish(self) -> None:
        """The body is complete: what is not in the file by now is missing."""
        if self._decoder is None or not self._received or self.is_cut:
            return
        if not self._decoder.is_complete:
            raise FetchFailed(reason="the compressed body ends too early", retryable=True)

    def _keep(self) -> bool:
        """Whether there was room for all of the output."""
        wanted = self._fitting(self._pending, self._limit - self.bytes)
        allowed = len(wanted) if self.allowed is None else max(0, self.allowed - self.bytes)
        written = wanted[:allowed]
        self._hash.update(written)
        try:
            self._file.write(written)
        except OSError as error:
            raise self._unwritable(error) from error
        self.bytes += len(written)
        self._is_full = len(wanted) < len(self._pending) and len(written) == len(wanted)
        self._pending = self._pending[len(written) :]
        return self._is_full or not self._pending

    def _fitting(self, data: bytes, room: int) -> bytes:
        if len(data) <= room:
            return data
        if not self._may_cut:
            raise too_large(self._limit)
        self.is_cut = True
        return data[:room]

    def _unwritable(self, error: OSError) -> FetchFailed | ResourcesExhausted:
        kind = DiskFull if error.errno in (errno.ENOSPC, errno.EDQUOT) else FetchFailed
        return exhaustion_in(error) or kind(
            reason=f"the body can't be written to {self._path}: {error.strerror or error}",
            retryable=True,
        )
