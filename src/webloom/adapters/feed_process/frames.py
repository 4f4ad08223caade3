"""An order to read a feed, and its answer: for each batch how far it is, with the batch itself as
JSON in the body of the frame, which the parent passes on as it is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from webloom.parsing.feeds.progress import Progress
from webloom.ports.feed_reader import ReadOptions


class Order(msgspec.Struct, frozen=True, kw_only=True):
    path: Path
    keys_path: Path  # where it leaves the keys of all postings
    learnt_path: Path  # where it leaves what it learns
    options: ReadOptions


class BatchRead(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    progress: Progress


class Refused(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    reason: str  # one sentence for a person


def _path(kind: type, value: Any) -> Path:
    return Path(os.fsdecode(value))


encode = msgspec.msgpack.Encoder(enc_hook=os.fsencode).encode
orders = msgspec.msgpack.Decoder(Order, dec_hook=_path)
responses: msgspec.msgpack.Decoder[BatchRead | Refused] = msgspec.msgpack.Decoder(
    BatchRead | Refused
)
