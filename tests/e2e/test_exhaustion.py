"""Adapters in a process that may not open another file: none of them blames what it was asked for.

Each runs in a process of its own on uvloop, as Webloom does.
"""

from __future__ import annotations

import sys
from typing import Any

import pytest

from e2e.scripts import last_line, own_network

PROLOGUE = """
    import asyncio, contextlib, json, os, resource, sys
    from pathlib import Path
    from tempfile import mkdtemp
    import uvloop
    from webloom.domain.errors import ResourcesExhausted, WebloomError

    SOFT, HARD = resource.getrlimit(resource.RLIMIT_NOFILE)
    seen = {}

    @contextlib.contextmanager
    def scarce(free=0, limit=200):
        "Leaves so many descriptors."
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, HARD))
        held = []
        try:
            with contextlib.suppress(OSError):
                while True:
                    held.append(os.open(os.devnull, os.O_RDONLY))
            for _ in range(free):
                os.close(held.pop())
            yield
        finally:
            for each in held:
                os.close(each)
            resource.setrlimit(resource.RLIMIT_NOFILE, (SOFT, HARD))

    def used():
        return len(os.listdir("/proc/self/fd"))

    async def outcome_of(action):
        try:
            await action
        except WebloomError as error:
            return f"{type(error).__name__}: {error}"
        return "done"
"""
OURS = "ResourcesExhausted: this process has as many files and connections open as it may"


def seen_by(script: str, through: list[str] | None = None) -> dict[str, Any]:
    """What the script has put into `seen`."""
    return last_line(PROLOGUE, script, "\nprint(json.dumps(seen))\n", through=through)


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")


def test_no_fetch_fails_for_want_of_descriptors() -> None:
    seen = seen_by("""
        from e2e.hostile_site import HostileSite
        from webloom.adapters.http.download import HttpDownloader
        from webloom.adapters.http.fetcher import HttpFetcher
        from webloom.adapters.notify.webhook import WebhookNotifier
        from webloom.adapters.resources import RESERVED
        from webloom.domain.feed import LastFetch
        from webloom.domain.network_policy import NetworkPolicy
        from webloom.domain.watch import Target
        from e2e.test_notifier import MESSAGE

        async def main():
            async with HostileSite() as site:
                policy = NetworkPolicy.parse([f"127.0.0.1:{site.port}"])
                async with (
                    HttpFetcher(policy=policy) as fetcher,
                    HttpDownloader(policy=policy) as downloader,
                    WebhookNotifier(policy=policy) as webhooks,
                ):
                    page = site.url("/page")
                    with scarce():
                        seen["fetch"] = await outcome_of(fetcher.fetch(page))
                        seen["post"] = await outcome_of(webhooks.send(Target(url=page), MESSAGE))
                    with scarce(free=200 // 8 - 1):
                        seen["only the reserve is left"] = await outcome_of(fetcher.fetch(page))
                    seen["connections"] = site.connections
                    seen["fetch again"] = await outcome_of(fetcher.fetch(page))
                    await downloader.download(page, Path(mkdtemp()) / "first", known=LastFetch())
                    file = Path(mkdtemp()) / "page"
                    with scarce():  # on the connection that is open already
                        seen["download"] = await outcome_of(
                            downloader.download(page, file, known=LastFetch())
                        )
                    seen["download again"] = await outcome_of(
                        downloader.download(page, file, known=LastFetch())
                    )

        uvloop.run(main())
    """)
    for action in ("fetch", "post", "only the reserve is left", "download"):
        assert seen[action].startswith(OURS), (action, seen[action])
    assert seen["connections"] == 0
    assert seen["fetch again"] == seen["download again"] == "done"


def test_no_name_is_unknown_for_want_of_descriptors() -> None:
    seen = seen_by("""
        import socket
        from webloom.adapters.http.fetcher import HttpFetcher
        from webloom.adapters.http.gate import SystemResolver
        from webloom.domain.network_policy import NetworkPolicy

        def unknown(resolver):  # to any resolver, without a question to another machine
            return resolver.resolve("127.0.0.1", 80, socket.AF_INET6)

        async def main():
            async with HttpFetcher(policy=NetworkPolicy.parse()) as fetcher:
                for free in (0, 1, 3):
                    with scarce(free):
                        seen[f"{free} free"] = await outcome_of(fetcher.fetch("http://localhost/"))
            resolver = SystemResolver()
            for free in (0, 1, 3):
                with scarce(free):
                    seen[f"unknown, {free} free"] = await outcome_of(unknown(resolver))
            try:
                await unknown(resolver)
            except OSError as error:
                seen["unknown"] = type(error).__name__
            await resolver.close()

        uvloop.run(main())
    """)
    for free in (1, 3):
        assert seen[f"unknown, {free} free"].startswith(OURS), seen
    assert seen["0 free"].startswith(OURS), seen
    assert seen["unknown"] == "gaierror"


CHILDREN = """
    from e2e.test_notifier import MESSAGE
    from webloom.adapters.feed_process.reader import ProcessFeedReader
    from webloom.adapters.notify.apprise_process import AppriseNotifier
    from webloom.adapters.page_process.reader import ProcessPageReader
    from webloom.domain.network_policy import NetworkPolicy
    from webloom.domain.watch import Target
    from webloom.ports.feed_reader import ReadOptions
    from webloom.ports.page_reader import PageOrder

    folder = Path(mkdtemp())
    (folder / "page").write_text("<title>Loom</title><p>A loom.")
    (folder / "feed").write_text("<rss><channel><item><title>A job</title></item></channel></rss>")
    PAGE = PageOrder(
        path=folder / "page", url="http://shop.test/", status_code=200, content_type="text/html"
    )
    FEED = ReadOptions(
        source_url="http://feed.test/", source_name="feed", format="auto", mapping={},
        batch_size=10, max_bytes=1 << 20,
    )

    async def read_feed():
        async with ProcessFeedReader().read(folder / "feed", FEED) as batches:
            async for _ in batches:
                pass

    async def main():
        apprise = AppriseNotifier(policy=NetworkPolicy.parse())
        target = Target(url="json://10.0.0.1/")
        async with ProcessPageReader() as pages:
            await outcome_of(read_feed())
            before = used()
            for free in range(12):
                with scarce(free):
                    seen[f"page {free}"] = await outcome_of(pages.read(PAGE))
                    seen[f"feed {free}"] = await outcome_of(read_feed())
                    seen[f"message {free}"] = await outcome_of(apprise.send(target, MESSAGE))
            seen["left open"] = used() - before
            seen["page again"] = await outcome_of(pages.read(PAGE))
            seen["feed again"] = await outcome_of(read_feed())
            seen["message again"] = await outcome_of(apprise.send(target, MESSAGE))

    uvloop.run(main())
"""


def test_no_child_process_fails_for_want_of_descriptors_and_none_is_left_open() -> None:
    seen = seen_by(CHILDREN)
    for free in range(12):
        for what in ("page", "feed", "message"):
            assert seen[f"{what} {free}"].startswith(OURS), seen
    assert seen["left open"] == 0
    assert seen["page again"] == seen["feed again"] == "done"
    assert seen["message again"].startswith("NotSent: JSON is not used: 10.0.0.1")


def test_apprise_says_what_it_could_not_open() -> None:
    seen = seen_by("""
        import socket
        import msgspec
        from webloom.adapters.notify.frames import Order, Result
        from webloom.adapters.sandbox.frames import HEAD, Frame

        with socket.create_server(("127.0.0.1", 0)) as taken:
            endpoint = f"127.0.0.1:{taken.getsockname()[1]}"
        order = Order(
            url=f"json://{endpoint}/", title="t", lines=["l"], allow=[endpoint], deny=[], own=[],
        )

        async def main():
            for limit in (HARD, 10):
                child = await asyncio.create_subprocess_exec(
                    sys.executable, "-m", "webloom.adapters.notify.child",
                    str(os.getpid()), str(1 << 30), stdin=-1, stdout=-1,
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)),
                )
                answered, _ = await child.communicate(Frame(msgspec.json.encode(order)).packed())
                result = msgspec.json.decode(answered[2 * HEAD.size :], type=Result)
                seen[f"{limit == HARD}"] = [result.reason, str(result.exhausted)]

        uvloop.run(main())
    """)
    assert seen["True"] == ["JSON could not be reached, or did not take the message", "None"]
    assert OURS.endswith(seen["False"][1].partition(":")[0])


def test_the_database_says_what_it_can_not_be_opened_for() -> None:
    seen = seen_by("""
        from webloom.adapters.sqlite.database import open_database
        from webloom.adapters.system_clock import SystemClock
        from webloom.domain.errors import StoreUnavailable
        from webloom.domain.exhaustion import exhaustion_in

        async def main():
            async with open_database(Path(mkdtemp()) / "w.db", SystemClock()) as database:
                count = lambda connection: connection.execute("SELECT 1").fetchone()
                with scarce():
                    try:
                        await database.scan(count)  # whose connection is opened by now
                    except StoreUnavailable as error:
                        seen["error"] = str(error)
                        seen["ours"] = exhaustion_in(error) is not None
                seen["again"] = await outcome_of(database.scan(count))

        uvloop.run(main())
    """)
    assert "raise its limit of open files" in seen["error"]
    assert seen["ours"]
    assert seen["again"] == "done"


def test_no_fetch_fails_for_want_of_local_ports() -> None:
    if not (through := own_network()):
        pytest.skip("needs a network namespace")
    seen = seen_by(
        """
        import socket, subprocess
        from e2e.hostile_site import HostileSite
        from webloom.adapters.http.fetcher import HttpFetcher
        from webloom.domain.network_policy import NetworkPolicy

        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        Path("/proc/sys/net/ipv4/ip_local_port_range").write_text("40000 40003")

        async def main():
            async with HostileSite() as site:
                policy = NetworkPolicy.parse([f"127.0.0.1:{site.port}", "2001:db8::1"])
                held = []
                with contextlib.suppress(OSError):
                    while True:
                        held.append(socket.create_connection(("127.0.0.1", site.port)))
                async with HttpFetcher(policy=policy) as fetcher:
                    seen["no port"] = await outcome_of(fetcher.fetch(site.url("/page")))
                    for each in held:
                        each.setsockopt(  # closed at once, so that its port is free again
                            socket.SOL_SOCKET, socket.SO_LINGER, b"\\1\\0\\0\\0\\0\\0\\0\\0"
                        )
                        each.close()
                    seen["again"] = await outcome_of(fetcher.fetch(site.url("/page")))
                    Path("/proc/sys/net/ipv6/conf/all/disable_ipv6").write_text("1")
                    seen["no IPv6"] = await outcome_of(fetcher.fetch("http://[2001:db8::1]/"))

        uvloop.run(main())
    """,
        through,
    )
    assert seen["no port"].startswith("ResourcesExhausted: this machine has no local port left")
    assert seen["again"] == "done"
    assert seen["no IPv6"].startswith("NotConnected: no connection could be made"), seen
