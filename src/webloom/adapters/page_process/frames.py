"""What parent and child say to each other over the pipes: a length, and JSON of that length.

JSON and not MessagePack, since a page's own JSON-LD is passed on, whose numbers may be of any size.
"""

from __future__ import annotations

import struct

import msgspec

from webloom.domain.page import Selection
from webloom.parsing.pages.page import ParsedPage
from webloom.ports.page_reader import PageRead

LENGTH = struct.Struct("<I")
MOST_BYTES = 256 * 1024 * 1024  # of a frame, and of a page
OUT_OF_MEMORY = 12  # exit code of the child


class Order(msgspec.Struct, frozen=True, kw_only=True):
    path: bytes  # as the file system has it
    url: str
    status_code: int
    content_type: str | None
    selection: Selection
    previous: ParsedPage | None


class Ready(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The child has started, and takes orders."""

    cpu: float  # seconds that it has used so far


class Answered(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    read: PageRead
    cpu: float
    resident: int  # bytes; 0: not known


class Refused(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    reason: str  # one sentence for a person
    trace: str | None  # of an error that nobody has foreseen
    cpu: float
    resident: int


_encode = msgspec.json.Encoder().encode
orders = msgspec.json.Decoder(Order)
answers: msgspec.json.Decoder[Ready | Answered | Refused] = msgspec.json.Decoder(
    Ready | Answered | Refused
)


def pack(content: Order | Ready | Answered | Refused) -> bytes:
    packed = _encode(content)
    return LENGTH.pack(len(packed)) + packed
