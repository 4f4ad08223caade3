"""The ceiling of our fetching: aiohttp alone, which reads every page and keeps nothing.

`python -m bench.peers.bare_aiohttp --site URL --pages 10000 --width 64` prints one line of JSON.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Iterator, Sequence

import aiohttp
import uvloop

from bench.site import page_urls


async def fetch_all(urls: Sequence[str], width: int) -> int:
    """Get and read all URLs, so many at a time; how many answered 200."""
    todo = iter(urls)
    connector = aiohttp.TCPConnector(limit=width)
    async with aiohttp.ClientSession(connector=connector) as session:
        return sum(await asyncio.gather(*(_fetch_next(session, todo) for _ in range(width))))


async def _fetch_next(session: aiohttp.ClientSession, todo: Iterator[str]) -> int:
    good = 0
    for url in todo:
        async with session.get(url) as response:
            await response.read()
            good += response.status == 200
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", required=True)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--width", type=int, default=64)
    options = parser.parse_args()
    urls = page_urls(options.site, options.pages)
    cpu, start = time.process_time(), time.perf_counter()
    pages = uvloop.run(fetch_all(urls, options.width))
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
    if pages != len(urls):
        raise SystemExit(f"only {pages} of {len(urls)} pages answered 200")
    report = {
        "pages": pages,
        "seconds": round(seconds, 4),
        "cpu_seconds": round(cpu_seconds, 4),
        "pages_per_second": round(pages / seconds, 1),
    }
    print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
