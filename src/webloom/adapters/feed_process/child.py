"""The process that reads a feed."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from webloom.adapters.feed_process.frames import BatchRead, Order, Refused, encode, orders
from webloom.adapters.feed_process.known import KnownRecords, KnownWriter, fingerprint
from webloom.adapters.sandbox.child import run
from webloom.domain.errors import FeedUnreadable
from webloom.parsing.feeds.formats import detect
from webloom.parsing.feeds.reading import FeedReading
from webloom.parsing.feeds.records import Records
from webloom.parsing.feeds.unpacking import Unpacked


def serve(order: bytes) -> Iterator[tuple[bytes, bytes]]:
    try:
        yield from _batches(orders.decode(order))
    except FeedUnreadable as error:
        yield encode(Refused(reason=str(error))), b""


def _batches(order: Order) -> Iterator[tuple[bytes, bytes]]:
    options = order.options
    with order.path.open("rb") as file, order.learnt_path.open("wb") as learnt:
        records = Records(Unpacked(file, options.max_bytes), content_type=options.content_type)
        made_by = fingerprint(
            source_url=options.source_url,
            source_name=options.source_name,
            format=detect(records.head, options.format).name,
            mapping=options.mapping,
            context=records.context,
        )
        known = None if options.known is None else KnownRecords.opened(options.known, made_by)
        reading = FeedReading(
            records,
            source_url=options.source_url,
            source_name=options.source_name,
            wanted_format=options.format,
            mapping=options.mapping,
            batch_size=options.batch_size,
            known=known,
            learnt=KnownWriter(learnt, made_by),
        )
        for jobs, progress in reading.batches():
            if progress.is_last:
                learnt.flush()
                order.keys_path.write_bytes(memoryview(reading.keys.table).cast("B"))
            if options.counts_only:
                jobs, progress = b"", msgspec.structs.replace(progress, known=b"")
            yield encode(BatchRead(progress=progress)), jobs


if __name__ == "__main__":
    run(serve)
