"""Feed imports: against the peer on MongoDB and BullMQ, and the embedded default against parsing.

python -m bench imports
python -m bench.imports --items 20000 --many 50000 --more 20000    for a quick look
"""

import argparse
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import uvloop
from pymongo import AsyncMongoClient
from redis.asyncio import Redis

from bench.feeds import CHANGED_EVERY, FeedServer, start_feed_server, write_feed
from bench.import_runs import Imported, System, peer_on_stack, webloom_on_stack, webloom_up
from bench.processes import PYTHON, run_json
from bench.stack import running_server
from bench.table import Row, print_table
from servers.mongod import MongoServer
from servers.redis import RedisServer

PEER = "BullMQ, mongoose, fast-xml-parser in Node"
FEED = "jobs.xml"
CACHE_GB = 2  # of mongod, which by itself would take half of the machine's memory
MORE_ROUNDS = 3
COMPLETE_ROUNDS = 3
UNCHANGED_ITEMS = 1000  # about 1 MB
UNCHANGED_RUNS = 20


@dataclass(frozen=True, kw_only=True)
class Sizes:
    items: int = 200_000  # on MongoDB and BullMQ
    many: int = 1_000_000  # on the embedded default
    more: int = 100_000  # on top of these, and on an empty store
    rounds: int = 1


async def measure(sizes: Sizes | None = None, parts: list[str] | None = None) -> list[Row]:
    rows: list[Row] = []
    for part in parts or PARTS:
        with tempfile.TemporaryDirectory() as name:
            feeds = Path(name) / "feeds"
            feeds.mkdir()
            async with start_feed_server(feeds) as server:
                rows += await PARTS[part](sizes or Sizes(), server, Path(name))
    return rows


async def _on_stack(sizes: Sizes, server: FeedServer, folder: Path) -> list[Row]:
    """The same feed twice, the second time with one item of a hundred changed; in turns with the
    peer, on the same servers."""
    new: list[tuple[Imported, Imported]] = []
    again: list[tuple[Imported, Imported]] = []
    items = sizes.items
    async with (
        running_server(MongoServer(folder / "mongod", cache_gb=CACHE_GB)) as mongod,
        running_server(RedisServer(folder / "redis")) as redis,
    ):
        for turn in range(sizes.rounds):
            at = {"mongodb": mongod.url, "redis": redis.url, "database": f"imports{turn}"}
            async with peer_on_stack(**at) as system:
                theirs = await _twice(system, server, items, updated=items)
            await _clear(**at)
            async with webloom_on_stack(folder / f"webloom{turn}", **at) as system:
                ours = await _twice(system, server, items, updated=-(-items // CHANGED_EVERY))
            await _clear(**at)
            for who, runs in (("webloom", ours), ("peer", theirs)):
                for what, run in zip(("new", "again"), runs, strict=True):
                    _tell(f"{items:,} items, {what}, {who}", items, run)
            new.append((ours[0], theirs[0]))
            again.append((ours[1], theirs[1]))
    return [
        _rates(f"{items:,} new items on MongoDB and BullMQ", items, new, must=3, aim=6),
        _rates("the same feed again, 1 % changed", items, again, must=6, aim=15),
        Row(
            measure="CPU of a new item there, the servers' apart",
            unit="µs",
            webloom=median(ours.cpu_seconds for ours, _ in new) / items * 1e6,
            peer=PEER,
            peer_value=median(theirs.cpu_seconds for _, theirs in new) / items * 1e6,
            must=None,
        ),
        Row(
            measure="peak memory of any process there",
            unit="MB",
            webloom=max(ours.peak_bytes for ours, _ in new + again) / 1e6,
            peer=PEER,
            peer_value=max(theirs.peak_bytes for _, theirs in new + again) / 1e6,
            must=None,
        ),
    ]


async def _twice(
    system: System, server: FeedServer, items: int, *, updated: int
) -> tuple[Imported, Imported]:
    write_feed(server.path(FEED), items)
    new = await system.import_feed(server.checked_url(FEED), items, newJobs=items)
    write_feed(server.path(FEED), items, edition=1)
    again = await system.import_feed(
        server.checked_url(FEED), items, newJobs=0, updatedJobs=updated
    )
    return new, again


async def _clear(*, mongodb: str, redis: str, database: str) -> None:
    async with AsyncMongoClient[dict[str, object]](mongodb) as client:
        await client.drop_database(database)
    async with Redis.from_url(redis) as connection:
        await connection.flushall()


def _rates(
    measure: str, items: int, pairs: list[tuple[Imported, Imported]], *, must: float, aim: float
) -> Row:
    theirs = median(items / peer.seconds for _, peer in pairs)
    ratio = median(peer.seconds / ours.seconds for ours, peer in pairs)
    return Row(
        measure=measure,
        unit="items/s",
        webloom=ratio * theirs,
        peer=PEER,
        peer_value=theirs,
        must=must,
        aim=aim,
    )


async def _embedded(sizes: Sizes, server: FeedServer, folder: Path) -> list[Row]:
    """Many items into an empty store; then more, in turns with a store that is empty."""
    write_feed(server.path(FEED), sizes.many)
    alone = await _reading("bench.read_feed", server.path(FEED))
    bare = await _reading("bench.peers.lxml_loop", server.path(FEED))
    full = folder / "full"
    async with webloom_up(full) as system:
        many = await system.import_feed(server.checked_url(FEED), sizes.many, newJobs=sizes.many)
    _tell(f"{sizes.many:,} new items, embedded", sizes.many, many)
    server.path(FEED).unlink()
    on_empty: list[float] = []
    on_full: list[float] = []
    for turn in range(MORE_ROUNDS):
        name = f"more{turn}.xml"
        write_feed(server.path(name), sizes.more, series=f"more{turn}")
        for store, seconds in ((folder / f"empty{turn}", on_empty), (full, on_full)):
            async with webloom_up(store) as system:
                more = await system.import_feed(
                    server.checked_url(name), sizes.more, newJobs=sizes.more
                )
            seconds.append(more.seconds)
    rate = sizes.many / many.seconds
    return [
        Row(
            measure=f"{sizes.many:,} new items, embedded default",
            unit="items/s",
            webloom=rate,
            peer="its reader alone",
            peer_value=alone,
            must=0.4,
            aim=0.7,
        ),
        Row(
            measure="the same",
            unit="items/s",
            webloom=rate,
            peer="lxml, a bare loop over raw text",
            peer_value=bare,
            must=None,
        ),
        Row(
            measure="CPU of a new item, all processes",
            unit="µs",
            webloom=many.cpu_seconds / sizes.many * 1e6,
            peer="the limit",
            peer_value=120,
            must=1.0,
            aim=0.5,
            lower_is_better=True,
        ),
        Row(
            measure="peak memory of any process",
            unit="MB",
            webloom=many.peak_bytes / 1e6,
            peer="the limit",
            peer_value=200,
            must=1.0,
            aim=0.5,
            lower_is_better=True,
        ),
        Row(
            measure=f"{sizes.more:,} new items with {sizes.many:,} stored",
            unit="items/s",
            webloom=sizes.more / median(on_full),
            peer="with none stored",
            peer_value=sizes.more / median(on_empty),
            must=0.8,
            aim=0.95,
        ),
    ]


def _tell(what: str, items: int, run: Imported) -> None:
    cpu = ", ".join(f"{name} {used / items * 1e6:.0f} µs" for name, used in run.cpu.items())
    peaks = ", ".join(f"{name} {peak / 1e6:.0f} MB" for name, peak in run.peaks.items())
    print(f"{what}: {run.seconds:.1f} s; CPU of an item: {cpu}; at most: {peaks}", file=sys.stderr)


async def _reading(module: str, path: Path) -> float:
    command = [PYTHON, "-m", module, "--feed", str(path)]
    return float((await run_json(command, timeout_seconds=1800))["per_second"])


async def _nothing_new(sizes: Sizes, server: FeedServer, folder: Path) -> list[Row]:
    """A feed that has not changed since it was imported: the server says so, or sends it again."""
    write_feed(server.path(FEED), UNCHANGED_ITEMS)
    rows = []
    async with webloom_up(folder / "webloom") as system:
        for answer, url in (
            ("304", server.checked_url(FEED)),
            ("1 MB that is the same", server.plain_url(FEED)),
        ):
            await system.import_feed(url, UNCHANGED_ITEMS, newJobs=UNCHANGED_ITEMS)
            seconds = await system.cpu_of_runs(url, UNCHANGED_RUNS, totalFetched=0)
            rows.append(
                Row(
                    measure=f"CPU of a run that gets {answer}",
                    unit="ms",
                    webloom=seconds * 1000,
                    peer="the limit",
                    peer_value=50,
                    must=1.0,
                    lower_is_better=True,
                )
            )
    return rows


async def _complete_batches(sizes: Sizes, server: FeedServer, folder: Path) -> list[Row]:
    """What messages for workers of other programs cost our own side: the feed is read twice, and
    nothing is known. The same feed twice, in turns with the default."""
    items = sizes.more
    used: dict[str, list[tuple[Imported, Imported]]] = {"false": [], "true": []}
    for turn in range(COMPLETE_ROUNDS):
        for value, runs in used.items():
            setting = {"WEBLOOM_COMPLETE_BATCHES": value}
            async with webloom_up(folder / f"{value}{turn}", **setting) as system:
                updated = -(-items // CHANGED_EVERY)
                runs.append(await _twice(system, server, items, updated=updated))

    def cpu(value: str, which: int) -> float:
        return median(runs[which].cpu_seconds for runs in used[value]) / items * 1e6

    return [
        Row(
            measure=f"CPU of {what} with complete batches, embedded",
            unit="µs",
            webloom=cpu("true", which),
            peer="without",
            peer_value=cpu("false", which),
            must=None,
            lower_is_better=True,
        )
        for which, what in enumerate(("a new item", "an item that comes again, 1 % changed,"))
    ]


PARTS: dict[str, Callable[[Sizes, FeedServer, Path], Awaitable[list[Row]]]] = {
    "stack": _on_stack,
    "embedded": _embedded,
    "nothing-new": _nothing_new,
    "complete-batches": _complete_batches,
}


def main() -> None:
    usual = Sizes()
    parser = argparse.ArgumentParser(prog="python -m bench.imports")
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=", ".join(PARTS))
    parser.add_argument("--items", type=int, default=usual.items, help="on MongoDB and BullMQ")
    parser.add_argument("--many", type=int, default=usual.many, help="on the embedded default")
    parser.add_argument("--more", type=int, default=usual.more, help="on top of these")
    parser.add_argument("--rounds", type=int, default=usual.rounds, help="on MongoDB and BullMQ")
    given = parser.parse_args()
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"no part is called {', '.join(unknown)}; there are {', '.join(PARTS)}")
    sizes = Sizes(items=given.items, many=given.many, more=given.more, rounds=given.rounds)
    sys.exit(0 if print_table(uvloop.run(measure(sizes, given.parts))) else 1)


if __name__ == "__main__":
    main()
