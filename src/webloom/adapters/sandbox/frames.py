"""What goes over the pipes, in both directions: the lengths of two parts, what the sender has used
so far, and the parts."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

HEAD: Final = struct.Struct("<IIdQ")
MOST_BYTES: Final = 256 * 1024 * 1024  # of each part


class Frame(NamedTuple):
    content: bytes  # encoded as the kind of work needs it
    body: bytes = b""  # passed on as it is
    cpu: float = 0.0  # seconds
    resident: int = 0  # bytes; 0: not known

    def packed(self) -> bytes:
        head = HEAD.pack(len(self.content), len(self.body), self.cpu, self.resident)
        return head + self.content + self.body
