"""An order to read a page, and its answer.

JSON and not MessagePack, since a page's own JSON-LD is passed on, whose numbers may be of any size.
"""

from __future__ import annotations

import os
from base64 import b64decode
from pathlib import Path
from typing import Any

import msgspec

from webloom.ports.page_reader import PageOrder, PageRead


class Answered(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    read: PageRead


class Refused(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    reason: str  # one sentence for a person
    trace: str | None = None  # of an unexpected error


def _path(kind: type, value: Any) -> Path:
    return Path(os.fsdecode(b64decode(value)))


encode = msgspec.json.Encoder(enc_hook=os.fsencode).encode  # a path's bytes become base64
orders = msgspec.json.Decoder(PageOrder, dec_hook=_path)
responses: msgspec.json.Decoder[Answered | Refused] = msgspec.json.Decoder(Answered | Refused)
