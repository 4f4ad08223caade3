"""RSS feeds of jobs with items of 1 KB, and a loopback server that streams them.

    python -m bench.feeds write PATH --items 200000

A feed is a file in a folder. `/checked/NAME` serves it with an ETag and answers 304 to a client
that has it already; `/plain/NAME` always sends it whole, without anything to check it by.
"""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import islice
from pathlib import Path
from urllib.parse import unquote

from bench.processes import PYTHON, running

HOST = "127.0.0.1"
CHANGED_EVERY = 100  # of the items of a changed feed, one of so many

_TOP = """<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:job_listing="https://jobs.example.com/">
<channel>
<title>Jobs of the bench</title>
<link>https://jobs.example.com/</link>
<description>Every open position</description>
"""
_END = "</channel>\n</rss>\n"
_TITLES = ("Engineer", "Data &amp; Analytics Lead", "Nurse", "Chef de cuisine", "Gärtner", "Clerk")
_COMPANIES = ("Acme &amp; Sons", "Brightwater", "Café Nord", "Delphi Labs", "Eastgate Clinic")
_PLACES = ("Berlin, Germany", "Lyon, France", "Remote", "Austin, TX", "Málaga, Spain", "Leeds")
_TYPES = ("Full-time", "Part-time", "Contract", "Internship")
_CATEGORIES = ("Engineering", "Health", "Kitchen &amp; Service", "Office", "Gardening", "Research")
_DUTIES = (
    "You keep what we have running and build what comes next, with a team of seven",
    "You talk with the people who use it every day, and write down what they need",
    "You plan the week&#8217;s work, and you say so early when a date can&#8217;t be kept",
    "You look after the numbers &amp; the people behind them, from Monday to Thursday",
)
_FIRST_DAY = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
_DATES = [format_datetime(_FIRST_DAY + timedelta(hours=hour)) for hour in range(2000)]


def _item(number: int, series: str, edition: int) -> str:
    title = _TITLES[number % len(_TITLES)]
    company = _COMPANIES[number % len(_COMPANIES)]
    place = _PLACES[number % len(_PLACES)]
    duty, other = _DUTIES[number % len(_DUTIES)], _DUTIES[(number + 1) % len(_DUTIES)]
    pay = 31_000 + (number * 37 + edition * 500) % 60_000
    return (
        f"<item><title>{title} {number}</title>\n"
        f"<link>https://jobs.example.com/{series}/job-{number:07d}?from=rss</link>\n"
        f'<guid isPermaLink="false">{series}-{number:07d}</guid>\n'
        f"<pubDate>{_DATES[number % len(_DATES)]}</pubDate>\n"
        f"<category>{_CATEGORIES[number % len(_CATEGORIES)]}</category>\n"
        f"<job_listing:company>{company}</job_listing:company>\n"
        f"<job_listing:location>{place}</job_listing:location>\n"
        f"<job_listing:job_type>{_TYPES[number % len(_TYPES)]}</job_listing:job_type>\n"
        f"<description><![CDATA[<p>Position {number} of <b>{company}</b>, {place}: we look for "
        f"somebody who begins soon.</p>\n<p>{duty}.</p>\n<ul><li>{other}</li>"
        f"<li>About {pay} a year &#8211; more with experience</li></ul>\n"
        f'<p>Write to <a href="https://jobs.example.com/apply/{number}" '
        'class="apply">our office</a>; you hear from us within a week.</p>\n'
        "<p><i>Everybody is welcome.</i> We reply to every letter, pay for the journey to the "
        "first meeting, and keep what you send us for no longer than six months.</p>"
        "]]></description>\n</item>\n"
    )


def write_feed(path: Path, items: int, *, series: str = "main", edition: int = 0) -> None:
    """Two series have no posting in common. An edition after the first differs from it in one of
    CHANGED_EVERY items. The file appears at its path when it is whole."""
    unfinished = path.with_name(path.name + ".part")
    with unfinished.open("w", encoding="utf-8", newline="\n") as file:
        file.write(_TOP)
        lines = _items(items, series, edition)
        while chunk := "".join(islice(lines, 500)):
            file.write(chunk)
        file.write(_END)
    unfinished.replace(path)


def _items(items: int, series: str, edition: int) -> Iterator[str]:
    for number in range(items):
        yield _item(number, series, 0 if number % CHANGED_EVERY else edition)


@dataclass(frozen=True, kw_only=True)
class FeedServer:
    """A server of the feeds in a folder, in a process of its own."""

    folder: Path
    url: str  # without a slash at the end

    def path(self, name: str) -> Path:
        return self.folder / name

    def checked_url(self, name: str) -> str:
        return f"{self.url}/checked/{name}"

    def plain_url(self, name: str) -> str:
        return f"{self.url}/plain/{name}"


@asynccontextmanager
async def start_feed_server(folder: Path) -> AsyncIterator[FeedServer]:
    async with running([PYTHON, "-m", "bench.feeds", "serve", str(folder)]) as process:
        port = (await process.wait_for_line("ready ")).split()[1]
        yield FeedServer(folder=folder, url=f"http://{HOST}:{port}")


async def _serve(folder: Path) -> None:
    """Serve until SIGTERM or SIGINT."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, ValueError):
            head = await reader.readuntil(b"\r\n\r\n")
            await _answer(folder, head.decode("latin-1"), writer)
        writer.close()

    server = await asyncio.start_server(answer, HOST, 0)
    print(f"ready {server.sockets[0].getsockname()[1]}", flush=True)
    await stopped.wait()
    server.close()


async def _answer(folder: Path, head: str, writer: asyncio.StreamWriter) -> None:
    request, *lines = head.split("\r\n")
    _, kind, name = unquote(request.split()[1]).split("/")
    headers = {name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
    try:
        file = (folder / name).open("rb")
    except OSError:
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        return
    with file:
        stat = os.fstat(file.fileno())
        etag = f'"{stat.st_mtime_ns:x}-{stat.st_size:x}"'
        check = f"ETag: {etag}\r\n" if kind == "checked" else ""
        if check and headers.get("if-none-match") == etag:
            writer.write(f"HTTP/1.1 304 Not Modified\r\n{check}Connection: close\r\n\r\n".encode())
            return
        writer.write(
            f"HTTP/1.1 200 OK\r\nContent-Type: application/rss+xml\r\n{check}"
            f"Content-Length: {stat.st_size}\r\nConnection: close\r\n\r\n".encode()
        )
        await writer.drain()
        await asyncio.get_running_loop().sendfile(writer.transport, file)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.feeds")
    actions = parser.add_subparsers(dest="action", required=True)
    write = actions.add_parser("write")
    write.add_argument("path", type=Path)
    write.add_argument("--items", type=int, required=True)
    write.add_argument("--series", default="main")
    write.add_argument("--edition", type=int, default=0)
    actions.add_parser("serve").add_argument("folder", type=Path)
    given = parser.parse_args()
    if given.action == "write":
        write_feed(given.path, given.items, series=given.series, edition=given.edition)
        print(f"{given.path}: {given.path.stat().st_size:,} bytes", file=sys.stderr)
    else:
        asyncio.run(_serve(given.folder))


if __name__ == "__main__":
    main()
