"""A feed's file through Webloom's reader, whose batches are dropped.

    python -m bench.read_feed --feed PATH

Prints {"items": ..., "per_second": ...}.
"""

import argparse
import json
import time
from pathlib import Path

import uvloop

from webloom.bootstrap.network import feed_reader
from webloom.domain.feed import AUTO
from webloom.ports.feed_reader import ReadOptions
from webloom.settings import load_settings


async def read(path: Path) -> int:
    settings = load_settings({})
    options = ReadOptions(
        source_url="http://127.0.0.1/feed.xml",
        source_name="feed",
        format=AUTO,
        mapping={},
        batch_size=settings.batch_size,
        max_bytes=settings.max_feed,
    )
    items = 0
    async with feed_reader().read(path, options) as batches:
        async for batch in batches:
            items += batch.count
    return items


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--feed", type=Path, required=True)
    feed = parser.parse_args().feed
    started = time.perf_counter()
    items = uvloop.run(read(feed))
    print(json.dumps({"items": items, "per_second": items / (time.perf_counter() - started)}))


if __name__ == "__main__":
    main()
