"""An order to read a page, and its answer.

JSON and not MessagePack, since a page's own JSON-LD is passed on, whose numbers may be of any size.
"""

from __future__ import annotations

import msgspec

from webloom.domain.page import Selection
from webloom.parsing.pages.page import ParsedPage
from webloom.ports.page_reader import PageRead


class Order(msgspec.Struct, frozen=True, kw_only=True):
    path: bytes  # as the file system has it
    url: str
    status_code: int
    content_type: str | None
    selection: Selection
    previous: ParsedPage | None


class Answered(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    read: PageRead


class Refused(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    reason: str  # one sentence for a person
    trace: str | None = None  # of an error that nobody has foreseen


encode = msgspec.json.Encoder().encode
orders = msgspec.json.Decoder(Order)
answers: msgspec.json.Decoder[Answered | Refused] = msgspec.json.Decoder(Answered | Refused)
