from __future__ import annotations

import zlib

_WBITS = {"gzip": 31, "deflate": 15}


def bomb(encoding: str, mebibytes: int, *, head: bytes = b"", filler: bytes = b"\0") -> bytes:
    """Much of the same byte, compressed a thousandfold. It never ends: no reader gets that far.

    After a full flush a block refers to nothing before it, so that one serves as all.
    """
    compressor = zlib.compressobj(9, wbits=_WBITS[encoding])
    start = compressor.compress(head) + compressor.flush(zlib.Z_FULL_FLUSH)
    block = compressor.compress(filler * (1 << 20)) + compressor.flush(zlib.Z_FULL_FLUSH)
    return start + block * mebibytes
