"""A body on its way to a file: decompressed, hashed and written as it comes, within bounds.

Everything here is work for a thread; a `Spool` is used by one at a time.
"""

from __future__ import annotations

import errno
import hashlib
import zlib
from pathlib import Path
from types import TracebackType
from typing import Self

from webloom.adapters.http.body import WBITS, not_asked_for, too_large
from webloom.domain.errors import FetchFailed, ResourcesExhausted
from webloom.domain.exhaustion import exhaustion_in

_OUTPUT_BYTES = 1024 * 1024  # of decompressed data held at a time, whatever a bomb unfolds into
_FREE_MEMBERS = 100
_MEMBER_BYTES = 1024  # on average, of a gzip body with more members than those


class DiskFull(FetchFailed):
    """The system has no room for the file."""


class Spool:
    """Raises FetchFailed for a body that is too large or corrupt, and when it can't be written;
    ResourcesExhausted when the file can't be opened for want of a descriptor."""

    def __init__(self, path: Path, encoding: str, *, limit: int, may_cut: bool = False) -> None:
        """With `may_cut`, the beginning is kept of a body that is too large."""
        self._path = path
        self._limit = limit
        self._may_cut = may_cut
        self._decoder = _decoder_of(encoding)
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
        """As far as is allowed. False: some of the block is left, for `go_on`."""
        block = self._fitting(block, self._limit - self._received)
        self._received += len(block)
        if self._decoder is None:
            self._pending = block
        else:
            self._decoder.feed(block)
        return self.go_on()

    @property
    def pending(self) -> int:
        """Bytes that are left, at least."""
        return len(self._pending)

    def go_on(self) -> bool:
        """With what is left, when more is allowed. False: some is left again."""
        while not self._is_full:
            if not self._pending and self._decoder is not None:
                self._pending = self._decoder.next_output()
            if not self._pending:
                return True
            if not self._keep():
                return False
        return True

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


class _Decoder:
    """One block in, its output in pieces. A gzip body may have several members."""

    def __init__(self, wbits: int) -> None:
        self._wbits = wbits
        self._member: zlib._Decompress | None = None  # None: before the first block
        self._input = b""
        self._has_more = False  # output, though perhaps no input
        self._taken = 0
        self._members = 0

    @property
    def is_complete(self) -> bool:
        return self._member is not None and self._member.eof

    def feed(self, block: bytes) -> None:
        self._taken += len(block)
        self._input += block  # what is left of the block before is a byte at most
        if self._member is None and self._input:
            if self._wbits == zlib.MAX_WBITS and self._input[0] & 0x0F != 8:
                self._wbits = -zlib.MAX_WBITS  # "deflate" without its header, as some servers do
            self._next_member()

    def next_output(self) -> bytes:
        """Empty when all of the input is used up."""
        try:
            while (self._input or self._has_more) and self._member is not None:
                if self._member.eof and not self._goes_on():
                    return b""
                output = self._member.decompress(self._input, _OUTPUT_BYTES)
                self._input = self._member.unconsumed_tail or self._member.unused_data
                self._has_more = len(output) == _OUTPUT_BYTES
                if output:
                    return output
        except zlib.error as error:
            raise FetchFailed(reason="the compressed body is corrupt", retryable=False) from error
        return b""

    def _goes_on(self) -> bool:
        """Behind the end of a member: another one, or what nobody needs."""
        if self._wbits < 16 or not b"\x1f\x8b".startswith(self._input[:2]):
            self._input = b""
            return False
        if len(self._input) < 2:  # too little to tell yet
            return False
        self._next_member()
        return True

    def _next_member(self) -> None:
        self._members += 1
        if self._members > _FREE_MEMBERS + self._taken // _MEMBER_BYTES:  # each costs a copy
            raise zlib.error("too many members")
        self._member = zlib.decompressobj(self._wbits)


def _decoder_of(encoding: str) -> _Decoder | None:
    if encoding in ("", "identity"):
        return None
    wbits = WBITS.get(encoding)
    if wbits is None:
        raise not_asked_for(encoding)
    return _Decoder(wbits)
