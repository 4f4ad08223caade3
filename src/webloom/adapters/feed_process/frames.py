"""An order to read a feed, and its answer: for each batch how far it is, with the batch itself as
JSON in the body of the frame, which the parent passes on as it is."""

from __future__ import annotations

import msgspec

from webloom.parsing.feeds.progress import Progress


class Order(msgspec.Struct, frozen=True, kw_only=True):
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


class BatchRead(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    progress: Progress


class Refused(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    reason: str  # one sentence for a person


encode = msgspec.msgpack.Encoder().encode
orders = msgspec.msgpack.Decoder(Order)
answers: msgspec.msgpack.Decoder[BatchRead | Refused] = msgspec.msgpack.Decoder(BatchRead | Refused)
