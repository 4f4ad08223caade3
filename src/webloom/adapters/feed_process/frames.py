"""What the child tells its parent, over a pipe.

Each frame is two lengths, a header in MessagePack, and the JSON of a batch, which the parent passes
on as it is.
"""

from __future__ import annotations

import struct

import msgspec

from webloom.parsing.feeds.reading import Progress

LENGTHS = struct.Struct("<II")


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What the parent asks for, once, on the child's standard input."""

    path: str
    keys_path: str  # where it leaves the keys of all postings
    known_path: str | None  # what the last import has learnt
    learnt_path: str  # where it leaves what it learns
    source_url: str
    source_name: str
    format: str
    mapping: dict[str, str]
    batch_size: int
    content_type: str | None
    max_bytes: int
    counts_only: bool  # frames come without postings
    parent: int  # the process id


class Told(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    progress: Progress


class Refused(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    reason: str  # one sentence for a person


_encode = msgspec.msgpack.Encoder().encode
_decoder: msgspec.msgpack.Decoder[Told | Refused] = msgspec.msgpack.Decoder(Told | Refused)


def pack(header: Told | Refused, body: bytes = b"") -> bytes:
    packed = _encode(header)
    return LENGTHS.pack(len(packed), len(body)) + packed + body


def unpack(header: bytes) -> Told | Refused:
    return _decoder.decode(header)
