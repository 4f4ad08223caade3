"""The process that reads a feed: `python -m webloom.adapters.feed_process.child`.

It takes one order from its standard input, writes frames to its standard output, and is bounded, as
what it reads is somebody else's. It ends with its parent.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import BinaryIO

import msgspec

from webloom.adapters.child_limits import bound
from webloom.adapters.feed_process.frames import Order, Refused, Told, pack
from webloom.domain.errors import FeedUnreadable
from webloom.parsing.feeds.formats import detect
from webloom.parsing.feeds.known import KnownRecords, KnownWriter, fingerprint
from webloom.parsing.feeds.reading import FeedReading
from webloom.parsing.feeds.records import Records
from webloom.parsing.feeds.unpacking import Unpacked


def main() -> None:
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
    bound(order.parent)
    out = sys.stdout.buffer
    try:
        _read(order, out)
    except FeedUnreadable as error:
        out.write(pack(Refused(reason=str(error))))
    except MemoryError:
        out.write(pack(Refused(reason="The feed needs more memory than its reader may use.")))
    except BrokenPipeError:
        # The parent has left. Nothing is to be said, not even by Python's own flush at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
        return
    out.flush()


def _read(order: Order, out: BinaryIO) -> None:
    with Path(order.path).open("rb") as file, Path(order.learnt_path).open("wb") as learnt:
        records = Records(Unpacked(file, order.max_bytes), content_type=order.content_type)
        made_by = fingerprint(
            source_url=order.source_url,
            source_name=order.source_name,
            format=detect(records.head, order.format).name,
            mapping=order.mapping,
            context=records.context,
        )
        known = order.known_path and KnownRecords.opened(Path(order.known_path), made_by)
        reading = FeedReading(
            records,
            source_url=order.source_url,
            source_name=order.source_name,
            wanted_format=order.format,
            mapping=order.mapping,
            batch_size=order.batch_size,
            known=known or None,
            learnt=KnownWriter(learnt, made_by),
        )
        for jobs, progress in reading.batches():
            if progress.is_last:
                learnt.flush()
                Path(order.keys_path).write_bytes(memoryview(reading.keys.table).cast("B"))
            if order.counts_only:
                jobs, progress = b"", msgspec.structs.replace(progress, known=b"")
            out.write(pack(Told(progress=progress), jobs))
            out.flush()


if __name__ == "__main__":
    main()
