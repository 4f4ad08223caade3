"""The peer of our fetching: a Scrapy spider that keeps of every page what we keep.

`python -m bench.peers.scrapy_spider --site URL --pages 10000 --width 64 --output FILE` writes a
line of JSON per page into the file and prints one about the run. The clock runs from the spider's
opening to its closing: starting the interpreter, Scrapy and its reactor is not counted.
"""

import argparse
import json
import time
from collections.abc import Iterator
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any

from scrapy import Spider, signals
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import Response, TextResponse

from bench.site import page_urls

_HANDLERS = {
    "twisted": "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler",
    "aiohttp": "scrapy.core.downloader.handlers._aiohttp.AiohttpDownloadHandler",
}


class PageSpider(Spider):
    name = "pages"

    def parse(self, response: Response, **kwargs: Any) -> Iterator[dict[str, Any]]:
        assert isinstance(response, TextResponse)
        assert response.request is not None
        cookies = response.headers.getlist("Set-Cookie")
        yield {
            "url": response.request.url,
            "status": response.status,
            "headers": dict(response.headers.to_unicode_dict()),
            "cookies": _cookies(cookies) if cookies else {},
            "page_source": response.text,
            "final_url": response.url,
        }


def _cookies(lines: list[bytes]) -> dict[str, str]:
    jar: SimpleCookie = SimpleCookie()
    for line in lines:
        try:
            jar.load(line.decode("latin-1"))
        except CookieError:
            continue
    return {name: morsel.value for name, morsel in jar.items()}


class Stopwatch:
    """Wall and CPU time between the signals that a spider was opened and that it was closed."""

    def __init__(self) -> None:
        self.seconds = self.cpu_seconds = 0.0
        self._start = self._cpu = 0.0

    def opened(self) -> None:
        self._start, self._cpu = time.perf_counter(), time.process_time()

    def closed(self) -> None:
        self.seconds = time.perf_counter() - self._start
        self.cpu_seconds = time.process_time() - self._cpu


def settings(*, width: int, output: Path, handler: str, loop: str) -> dict[str, Any]:
    """What an experienced user sets for speed; cookies and redirects stay on, as with us."""
    return {
        "CONCURRENT_REQUESTS": width,
        "CONCURRENT_REQUESTS_PER_DOMAIN": width,
        "CONCURRENT_ITEMS": 1,  # a page yields one; the default 100 starts 100 tasks per page
        "DOWNLOAD_DELAY": 0,
        "DOWNLOAD_HANDLERS": {"http": _HANDLERS[handler]},
        "ASYNCIO_EVENT_LOOP": "uvloop.Loop" if loop == "uvloop" else None,
        "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
        "FEEDS": {str(output): {"format": "jsonlines", "encoding": "utf8", "overwrite": True}},
        "RETRY_ENABLED": False,
        "ROBOTSTXT_OBEY": False,
        "HTTPCACHE_ENABLED": False,
        "AUTOTHROTTLE_ENABLED": False,
        "METAREFRESH_ENABLED": False,
        "REFERER_ENABLED": False,
        "HTTPPROXY_ENABLED": False,
        "DOWNLOADER_STATS": False,
        "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
        "MEMUSAGE_ENABLED": False,
        "LOGSTATS_INTERVAL": 0,
        "LOG_LEVEL": "ERROR",
    }


def count_items(output: Path) -> int:
    """How many different URLs the file holds whole."""
    with output.open(encoding="utf-8") as lines:
        items = (json.loads(line) for line in lines)
        return len({item["url"] for item in items if item["status"] == 200 and item["page_source"]})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", required=True)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--handler", choices=sorted(_HANDLERS), default="twisted")
    parser.add_argument("--loop", choices=("uvloop", "asyncio"), default="uvloop")
    options = parser.parse_args()
    urls = page_urls(options.site, options.pages)
    watch = Stopwatch()
    process = AsyncCrawlerProcess(
        settings(
            width=options.width, output=options.output, handler=options.handler, loop=options.loop
        )
    )
    crawler = process.create_crawler(PageSpider)
    crawler.signals.connect(watch.opened, signals.spider_opened)
    crawler.signals.connect(watch.closed, signals.spider_closed)
    process.crawl(crawler, start_urls=urls)
    process.start()
    pages = count_items(options.output)
    if pages != len(urls):
        raise SystemExit(f"only {pages} of {len(urls)} pages were written")
    report = {
        "pages": pages,
        "seconds": round(watch.seconds, 4),
        "cpu_seconds": round(watch.cpu_seconds, 4),
        "pages_per_second": round(pages / watch.seconds, 1),
    }
    print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
