"""gzip and deflate as servers send them, decompressed block by block."""

from __future__ import annotations

import zlib
from typing import Final

GZIP_MAGIC: Final = b"\x1f\x8b"
GZIP: Final = zlib.MAX_WBITS | 16
# By name of a Content-Encoding.
WBITS: Final = {"gzip": GZIP, "x-gzip": GZIP, "deflate": zlib.MAX_WBITS}
_FREE_MEMBERS: Final = 100
_MEMBER_BYTES: Final = 1024  # on average, of gzip data with more members than those


class Corrupt(ValueError):
    """The compressed data is not valid."""


class Decompressor:
    """Takes a block and gives its output in pieces. gzip data may have several members; what
    follows the last one is ignored. Tiny members cost far more time than they have bytes, so that
    many of them are Corrupt unless `any_members` are fine."""

    def __init__(self, wbits: int, *, any_members: bool = False) -> None:
        self._wbits = wbits
        self._any_members = any_members
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

    def output(self, most: int) -> bytes:
        """At most so many bytes; none when the input is used up. Raises Corrupt."""
        try:
            while (self._input or self._has_more) and self._member is not None:
                if self._member.eof and not self._goes_on():
                    return b""
                output = self._member.decompress(self._input, most)
                self._input = self._member.unconsumed_tail or self._member.unused_data
                self._has_more = len(output) == most
                if output:
                    return output
        except zlib.error as error:
            raise Corrupt(str(error)) from error
        return b""

    def _goes_on(self) -> bool:
        """Whether another member follows the one that has ended."""
        if self._wbits < 16 or not GZIP_MAGIC.startswith(self._input[:2]):
            self._input = b""
            return False
        if len(self._input) < 2:  # too little to tell yet
            return False
        self._next_member()
        return True

    def _next_member(self) -> None:
        self._members += 1
        most = _FREE_MEMBERS + self._taken // _MEMBER_BYTES
        if self._members > most and not self._any_members:
            raise Corrupt("too many members")
        self._member = zlib.decompressobj(self._wbits)
