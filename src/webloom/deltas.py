"""Compact storage of a text's versions.

A version is kept whole, or as a delta: compressed with a newer version as the dictionary, so that
what both have costs nearly nothing. Either is read with what it was made with.
"""

from __future__ import annotations

import zstandard

_LEVEL = 9
_DELTA_LEVEL = 9  # a higher one takes ten times as long, for a third less
_SMALLEST_WINDOW, _LARGEST_WINDOW = 10, 27  # as powers of two
_FORMAT_LIMIT = 64 * 1024 * 1024  # of a version; more is never written


def compressed(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=_LEVEL).compress(data)


def restored(stored: bytes) -> bytes:
    """Raises ValueError when it is damaged."""
    return _decompressed(zstandard.ZstdDecompressor(max_window_size=1 << 31), stored)


def delta(data: bytes, newer: bytes) -> bytes:
    """To be read by `applied` with the same `newer`."""
    window = max(_SMALLEST_WINDOW, (len(data) + len(newer)).bit_length())
    parameters = zstandard.ZstdCompressionParameters.from_level(
        _DELTA_LEVEL,
        source_size=len(data) + len(newer),
        window_log=min(window, _LARGEST_WINDOW),
        enable_ldm=True,
    )
    dictionary = zstandard.ZstdCompressionDict(newer, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    compressor = zstandard.ZstdCompressor(dict_data=dictionary, compression_params=parameters)
    return compressor.compress(data)


def applied(stored: bytes, newer: bytes) -> bytes:
    """Raises ValueError when it is damaged, or was made with another version."""
    dictionary = zstandard.ZstdCompressionDict(newer, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    decompressor = zstandard.ZstdDecompressor(dict_data=dictionary, max_window_size=1 << 31)
    return _decompressed(decompressor, stored)


def _decompressed(decompressor: zstandard.ZstdDecompressor, stored: bytes) -> bytes:
    try:
        return decompressor.decompress(stored, max_output_size=_FORMAT_LIMIT)
    except zstandard.ZstdError as error:
        raise ValueError(f"a stored version can't be read: {error}") from error
