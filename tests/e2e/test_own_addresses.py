"""The gate on a machine that has public addresses, in a network of its own."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from e2e.scripts import last_line, own_network
from webloom.adapters import own_addresses
from webloom.adapters.own_addresses import is_own_address

PROLOGUE = """
    import asyncio, json, subprocess

    def ip(*arguments):
        subprocess.run(["ip", *arguments], check=True)

    ip("link", "set", "lo", "up")
    ip("link", "add", "w0", "type", "veth", "peer", "name", "w1")
    ip("link", "set", "w0", "up")
    ip("addr", "add", "93.184.216.34/24", "dev", "w0")
    ip("addr", "add", "93.184.216.35/24", "dev", "w0")  # beside the main one
    ip("addr", "add", "2606:4700::1111/128", "dev", "lo")
    ip("route", "add", "local", "93.184.217.0/24", "dev", "lo")  # a network as a whole
    ip("-6", "route", "add", "local", "2606:4701::/48", "dev", "lo")
"""


def seen_in_own_network(script: str) -> dict[str, Any]:
    """The last line that the script prints, as JSON."""
    if not (through := own_network()):
        pytest.skip("needs a network namespace")
    return last_line(PROLOGUE, script, through=through)


def test_loopback_is_always_of_this_machine() -> None:
    assert is_own_address("127.0.0.1")
    assert is_own_address("127.0.0.77")
    assert not is_own_address("192.0.2.77")  # for documentation, so it is never assigned


def test_without_netlink_other_calls_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_addresses, "_asked_by_netlink", lambda *_: None)
    assert is_own_address("127.0.0.1")
    assert is_own_address("127.0.0.77")
    assert not is_own_address("192.0.2.77")


PROBES = """
    from webloom.adapters import own_addresses
    from webloom.adapters.own_addresses import is_own_address

    OWN = ["127.0.0.1", "93.184.216.34", "93.184.216.35", "93.184.217.9", "::1",
           "2606:4700::1111", "2606:4701::7"]
    OTHERS = ["93.184.218.1", "8.8.8.8", "2606:4702::1", "fe80::1%lo", "192.0.2.1"]
    seen = {}

    def look(name):
        seen[name] = [each for each in OWN + OTHERS if is_own_address(each)]

    look("kernel")
    for family in ("ipv4", "ipv6"):
        with open(f"/proc/sys/net/{family}/ip_nonlocal_bind", "w") as setting:
            setting.write("1")
    look("kernel, and any address can be bound to")
    ip("addr", "del", "93.184.216.35/24", "dev", "w0")
    look("one less")
    ip("addr", "add", "8.8.8.8/32", "dev", "lo")
    look("another")
    own_addresses._asked_by_netlink = lambda *_: None
    look("no netlink, and any address can be bound to")
    for family in ("ipv4", "ipv6"):
        with open(f"/proc/sys/net/{family}/ip_nonlocal_bind", "w") as setting:
            setting.write("0")
    look("no netlink")
    print(json.dumps(seen))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux")
def test_the_kernel_knows_every_address_of_this_machine_at_the_moment() -> None:
    seen = seen_in_own_network(PROBES)
    first = ["127.0.0.1", "93.184.216.34", "93.184.216.35", "93.184.217.9", "::1"]
    first += ["2606:4700::1111", "2606:4701::7"]
    assert seen["kernel"] == seen["kernel, and any address can be bound to"] == first
    fewer = [each for each in first if each != "93.184.216.35"]
    assert seen["one less"] == fewer
    assert sorted(seen["another"]) == sorted([*fewer, "8.8.8.8"])
    # What another system can't tell is a network that is routed here as a whole.
    rest = {"127.0.0.1", "93.184.216.34", "::1", "2606:4700::1111", "8.8.8.8"}
    assert rest <= set(seen["no netlink, and any address can be bound to"]) <= set(seen["another"])
    assert rest <= set(seen["no netlink"]) <= set(seen["another"])


FETCHES = """
    from datetime import UTC, datetime
    from pathlib import Path
    from tempfile import mkdtemp

    from e2e.hostile_site import HostileSite
    from e2e.fetcher.fetching import FakeResolver, SMALL
    from webloom.adapters.http.download import HttpDownloader
    from webloom.adapters.http.fetcher import HttpFetcher
    from webloom.adapters.notify.apprise_process import AppriseNotifier
    from webloom.adapters.notify.webhook import WebhookNotifier
    from webloom.adapters.refusal_log import RefusalLog
    from webloom.domain.errors import FetchFailed, NotSent
    from webloom.domain.feed import LastFetch
    from webloom.domain.network_policy import NetworkPolicy
    from webloom.domain.watch import Target
    from webloom.ports.notifier import NotificationMessage

    MESSAGE = NotificationMessage(
        message_id="1", at=datetime.now(UTC), title="t", lines=["l"], payload={}
    )
    refusals = RefusalLog()

    async def outcome_of(action):
        try:
            await action
        except (FetchFailed, NotSent) as failure:
            return failure.reason
        return "reached"

    async def main():
        seen = {}
        async with HostileSite(host="93.184.216.34") as site, HostileSite() as other:
            allow = [f"127.0.0.1:{other.port}"]
            names = FakeResolver(self_test=[["93.184.216.34"]])
            policy = NetworkPolicy.parse(allow)
            async with (
                HttpFetcher(
                    policy=policy, refusals=refusals, limits=SMALL, resolver=names
                ) as fetcher,
                HttpDownloader(policy=policy, refusals=refusals) as downloader,
                WebhookNotifier(policy=policy, refusals=refusals) as webhooks,
            ):
                redirect = other.url(f"/redirect?to={site.url('/page')}")
                file = Path(mkdtemp()) / "page"
                seen["address"] = await outcome_of(fetcher.fetch(site.url("/page")))
                seen["name"] = await outcome_of(fetcher.fetch(site.url("/page", host="self.test")))
                seen["redirect"] = await outcome_of(fetcher.fetch(redirect))
                download = downloader.download(site.url("/page"), file, known=LastFetch())
                seen["download"] = await outcome_of(download)
                seen["webhook"] = await outcome_of(
                    webhooks.send(Target(url=site.url("/")), MESSAGE)
                )
                apprise = AppriseNotifier(policy=policy, refusals=refusals)
                target = Target(url=site.url("/").replace("http:", "json:"))
                seen["apprise"] = await outcome_of(apprise.send(target, MESSAGE))
            seen["connections"] = site.connections
            seen["counts"] = refusals.counts()
            wide = NetworkPolicy.parse(["0.0.0.0/0", "::/0"])
            async with HttpFetcher(policy=wide, limits=SMALL) as fetcher:
                seen["wide network"] = await outcome_of(fetcher.fetch(site.url("/page")))
            for entry in (f"93.184.216.34:{site.port}", "93.184.216.34"):
                exact = NetworkPolicy.parse([entry])
                async with HttpFetcher(policy=exact, limits=SMALL) as fetcher:
                    seen[f"named {len(seen)}"] = await outcome_of(fetcher.fetch(site.url("/page")))
                denied = NetworkPolicy.parse([entry], deny=["93.184.216.0/24"])
                async with HttpFetcher(policy=denied, limits=SMALL) as fetcher:
                    seen[f"denied {len(seen)}"] = await outcome_of(fetcher.fetch(site.url("/page")))
            async with HttpFetcher(policy=policy, limits=SMALL) as fetcher:
                ip("addr", "flush", "dev", "w0")
                seen["gone"] = await outcome_of(fetcher.fetch(site.url("/page")))
                ip("addr", "add", "93.184.216.34/24", "dev", "w0")
                seen["back"] = await outcome_of(fetcher.fetch(site.url("/page")))
        print(json.dumps(seen))

    asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="adds addresses to an interface")
def test_no_way_out_leads_back_to_this_machine() -> None:
    seen = seen_in_own_network(FETCHES)
    own = "93.184.216.34 is an address of this machine"
    for way in ("address", "redirect", "download", "webhook", "apprise", "wide network", "back"):
        assert own in seen[way], way
    assert "leads to an address that Webloom does not connect to" in seen["name"]
    assert "93.184" not in seen["name"]
    assert seen["connections"] == 0
    assert seen["counts"]["own-address"] == 6
    for name, reported in seen.items():
        if name.startswith("named"):
            assert reported == "reached"
        if name.startswith("denied"):
            assert "WEBLOOM_DENY_ADDRESSES" in reported
    assert "no connection could be made" in seen["gone"]  # it is another machine's then
    assert "93.184" not in seen["gone"]
