"""Webhooks and Apprise against servers on loopback."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
import re
import socket
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult

from e2e.receiver import Receiver, seen_of_children
from webloom.adapters.notify.apprise_process import AppriseNotifier
from webloom.adapters.notify.notifier import TargetNotifier
from webloom.adapters.notify.services import SCHEMES, service_of
from webloom.adapters.notify.targets import check_target
from webloom.adapters.notify.webhook import WebhookNotifier
from webloom.domain.errors import NotSent
from webloom.domain.network_policy import NetworkPolicy
from webloom.domain.watch import Target
from webloom.parsing.target_url import shown_target
from webloom.ports.notifier import NotificationMessage

ELSEWHERE = "that Webloom does not connect to; the log says which and why"
SECRET = "the secret of the target"
MESSAGE = NotificationMessage(
    message_id="0123abcd",
    at=datetime(2026, 3, 1, 12, 0, 0, 900_000, tzinfo=UTC),
    title="My shop: 1 change",
    lines=["https://shop.test/1: the price <b>fell</b>", "ä"],
    payload={"watchName": "Ä", "changes": [{"price": {"current": Decimal("79.990")}}]},
)


@pytest.fixture
async def site() -> AsyncIterator[Receiver]:
    async with Receiver("127.0.0.1") as receiver:
        yield receiver


@pytest.fixture
async def canary() -> AsyncIterator[Receiver]:
    async with Receiver("127.0.0.2") as receiver:
        yield receiver
        assert receiver.got == []


def policy(*receivers: Receiver) -> NetworkPolicy:
    return NetworkPolicy.parse([each.endpoint for each in receivers])


class OneAnswer(AbstractResolver):
    def __init__(self, *addresses: str) -> None:
        self._addresses = addresses

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in self._addresses
        ]

    async def close(self) -> None:
        pass


async def refusal(notifier: WebhookNotifier | AppriseNotifier, url: str) -> NotSent:
    with pytest.raises(NotSent) as raised:
        await notifier.send(Target(url=url), MESSAGE)
    return raised.value


# Webhooks


async def test_a_webhook_is_signed_as_documented(site: Receiver) -> None:
    async with TargetNotifier(policy=policy(site)) as notifier:
        await notifier.send(Target(url=site.url("/hook?a=1"), secret=SECRET), MESSAGE)
        await notifier.send(Target(url=site.url("/hook")), MESSAGE)
    (request, body), (unsigned, _) = site.got
    assert request.method == "POST"
    assert request.path_qs == "/hook?a=1"
    assert request.content_type == "application/json"
    assert json.loads(body)["watchName"] == "Ä"
    assert b'"current":79.990' in body
    headers = request.headers
    assert headers["Webloom-Id"] == "0123abcd"
    assert headers["Webloom-Timestamp"] == "1772366400"
    signed = b"0123abcd.1772366400." + body
    expected = hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
    assert headers["Webloom-Signature"] == f"v1={expected}"
    assert "Webloom-Signature" not in unsigned.headers


def test_the_example_of_the_documentation_verifies_a_signature() -> None:
    page = Path(__file__).parents[2] / "docs" / "notifications.md"
    example = re.search(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    assert example is not None
    names: dict[str, Any] = {}
    exec(example[1], names)
    body, now = b'{"a":1}', str(int(datetime.now(UTC).timestamp()))
    digest = hmac.new(b"k", f"id.{now}.".encode() + body, hashlib.sha256).hexdigest()
    headers = {
        "Webloom-Id": "id",
        "Webloom-Timestamp": now,
        "Webloom-Signature": f"v1={digest}",
    }
    assert names["is_genuine"](headers, body, "k")
    assert not names["is_genuine"](headers, body + b" ", "k")
    assert not names["is_genuine"](headers, body, "another")
    assert not names["is_genuine"](headers | {"Webloom-Id": "other"}, body, "k")
    assert not names["is_genuine"](headers | {"Webloom-Timestamp": "1"}, body, "k")


@pytest.mark.parametrize(
    ("answer", "retryable", "retry_after"),
    [
        ("400", False, None),
        ("404", False, None),
        ("410", False, None),
        ("408", True, None),
        ("425", True, None),
        ("429?after=120", True, 120.0),
        ("500", True, None),
        ("503?after=7", True, 7.0),
        ("304", False, None),
    ],
)
async def test_the_status_of_a_webhooks_answer_decides_whether_it_is_retried(
    site: Receiver, answer: str, retryable: bool, retry_after: float | None
) -> None:
    async with WebhookNotifier(policy=policy(site)) as notifier:
        failure = await refusal(notifier, site.url(f"/{answer}"))
    assert (failure.retryable, failure.retry_after) == (retryable, retry_after)
    assert answer[:3] in failure.reason


async def test_redirects_of_a_webhook_are_not_followed(site: Receiver, canary: Receiver) -> None:
    async with WebhookNotifier(policy=policy(site, canary)) as notifier:
        failure = await refusal(notifier, site.url(f"/to/{canary.endpoint}/"))
    assert not failure.retryable
    assert "redirects are not followed" in failure.reason


async def test_a_webhook_does_not_get_around_the_gate(canary: Receiver) -> None:
    for url, resolver in (
        (canary.url("/"), None),
        (f"http://innocent.test:{canary.port}/", OneAnswer("127.0.0.2")),
        (f"http://innocent.test:{canary.port}/", OneAnswer("127.0.0.3", "127.0.0.2")),
    ):
        allowed = NetworkPolicy.parse(["127.0.0.3"])
        async with WebhookNotifier(policy=allowed, resolver=resolver) as notifier:
            failure = await refusal(notifier, url)
        expected = "127.0.0.2 is a loopback address" if resolver is None else ELSEWHERE
        assert expected in failure.reason
        assert ("127.0.0.2" in failure.reason) == (resolver is None)
        assert not failure.retryable


async def test_a_receiver_that_is_not_there_is_tried_again(site: Receiver) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    async with WebhookNotifier(policy=NetworkPolicy.parse([f"127.0.0.1:{port}"])) as notifier:
        failure = await refusal(notifier, f"http://127.0.0.1:{port}/")
    assert failure.retryable


async def test_a_receiver_holds_nobody_up(site: Receiver) -> None:
    async with WebhookNotifier(policy=policy(site), total_seconds=0.5) as notifier:
        failure = await refusal(notifier, site.url("/silence"))
    assert failure.retryable
    async with WebhookNotifier(policy=policy(site)) as notifier:
        await notifier.send(Target(url=site.url("/endless")), MESSAGE)


# Apprise


@pytest.mark.parametrize("scheme", ["json", "xml"])
async def test_apprise_sends_to_an_address_that_is_allowed(site: Receiver, scheme: str) -> None:
    async with TargetNotifier(policy=policy(site)) as notifier:
        await notifier.send(Target(url=site.url("/hook/t0ken", scheme)), MESSAGE)
    [(request, body)] = site.got
    assert request.path == "/hook/t0ken"
    assert b"My shop: 1 change" in body


async def test_a_long_message_is_cut_to_what_a_service_takes(site: Receiver) -> None:
    lines = [f"line {number} {'x' * 400}" for number in range(500)]
    notifier = AppriseNotifier(policy=policy(site))
    await notifier.send(Target(url=site.url("/", "json")), replace(MESSAGE, lines=lines))
    [(_, body)] = site.got
    shown = json.loads(body)["message"].splitlines()
    assert shown == [*lines[: len(shown) - 1], "and more"]
    assert 32_000 < len("\n".join(shown)) < 32_768


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
async def test_no_other_process_sees_the_target(
    site: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET_OF_WEBLOOM", "hidden")
    await AppriseNotifier(policy=policy(site)).send(Target(url=site.url("/t0ken", "json")), MESSAGE)
    [seen] = [each for each in site.children if "webloom.adapters.notify.child" in each]
    assert "t0ken" not in seen
    assert "hidden" not in seen


async def test_apprise_does_not_get_around_the_gate(site: Receiver, canary: Receiver) -> None:
    notifier = AppriseNotifier(policy=policy(site))
    for url in (
        canary.url("/", "json"),
        f"json://localhost:{canary.port}/",
        site.url(f"/to/{canary.endpoint}/?redirect=yes", "json"),
        f"irc://127.0.0.2:{canary.port}/#channel",
        f"mailto://127.0.0.2:{canary.port}?from=a@shop.test&to=b@shop.test",
    ):
        failure = await refusal(notifier, url)
        expected = ELSEWHERE if "localhost" in url else "is a loopback address"
        assert expected in failure.reason, url
        assert "WEBLOOM_ALLOW_ADDRESSES" in failure.reason, url
        assert not failure.retryable


async def test_apprise_follows_no_redirect_by_itself(site: Receiver, canary: Receiver) -> None:
    notifier = AppriseNotifier(policy=policy(site, canary))
    failure = await refusal(notifier, site.url(f"/to/{canary.endpoint}/", "json"))
    assert failure.reason == "JSON answered 307"


@pytest.mark.parametrize(("status", "retryable"), [(401, False), (429, True), (503, True)])
async def test_the_status_apprise_is_answered_with_decides_whether_it_is_retried(
    site: Receiver, status: int, retryable: bool
) -> None:
    failure = await refusal(AppriseNotifier(policy=policy(site)), site.url(f"/{status}", "json"))
    assert failure.reason == f"JSON answered {status}"
    assert failure.retryable == retryable


async def test_apprise_is_ended_when_it_takes_too_long(site: Receiver) -> None:
    notifier = AppriseNotifier(policy=policy(site), total_seconds=1.5)
    failure = await refusal(notifier, site.url("/silence", "json"))
    assert failure.retryable
    assert seen_of_children() == []


async def test_no_file_of_this_machine_is_read_for_a_target() -> None:
    template = f"discord://{'1' * 20}/{'a' * 64}?template=/etc/passwd"
    failure = await refusal(AppriseNotifier(policy=NetworkPolicy.parse()), template)
    assert failure.reason == "Discord is not used: the service may not read files of this machine"


async def test_services_of_this_machine_are_refused_also_by_the_process() -> None:
    failure = await refusal(AppriseNotifier(policy=NetworkPolicy.parse()), "syslog://")
    assert not failure.retryable
    assert "refused" in failure.reason


@pytest.mark.parametrize(
    ("form", "shown"), [("", b"<b>fell</b>"), ("&format=html", b"&lt;b&gt;fell&lt;/b&gt;")]
)
async def test_a_mail_shows_markup_as_text(form: str, shown: bytes) -> None:
    mails: list[bytes] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.test\r\n")
        while line := await reader.readline():
            if line.upper().startswith(b"DATA"):
                writer.write(b"354 go on\r\n")
                mails.append(await reader.readuntil(b"\r\n.\r\n"))
            writer.write(b"250 ok\r\n")
        writer.close()

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    async with server:
        endpoint = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        target = Target(url=f"mailto://{endpoint}?from=a@shop.test&to=b@shop.test{form}")
        notifier = AppriseNotifier(policy=NetworkPolicy.parse([endpoint]))
        await notifier.send(target, replace(MESSAGE, lines=["the price <b>fell</b>"]))
    assert shown in mails[0]
    assert (b"text/html" in mails[0]) == bool(form)
    assert b"Subject: My shop: 1 change" in mails[0]


@pytest.mark.parametrize(
    ("url", "name"),
    [
        (f"opsgenie://{'t0ken' * 7}", "Opsgenie"),
        (f"opsgenie://{'t0ken' * 7}/?action=close", "Opsgenie"),
        (f"jira://{'t0ken' * 7}/?action=ack", "Jira"),
        ("resend://t0ken:a@example.test/#x", "Resend"),
    ],
)
async def test_a_service_that_sends_nothing_has_not_sent(url: str, name: str) -> None:
    check_target(url)
    failure = await refusal(AppriseNotifier(policy=NetworkPolicy.parse()), url)
    assert failure.reason.startswith(f"{name} sent nothing to anybody: ")
    assert "t0ken" not in failure.reason
    assert not failure.retryable


async def test_a_service_without_a_recipient_has_not_sent() -> None:
    requested: list[str] = []
    login = {"User": {"Id": "1"}, "Id": "1", "AccessToken": "a"}
    sessions = [{"Id": "2"}]

    async def answer(request: web.Request) -> web.Response:
        requested.append(f"{request.method} {request.path}")
        if request.path.endswith("/Sessions"):
            return web.json_response(sessions)
        if request.path.endswith("/Message"):
            return web.Response(status=204)
        return web.json_response(login)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        endpoint = f"127.0.0.1:{runner.addresses[0][1]}"
        notifier = AppriseNotifier(policy=NetworkPolicy.parse([endpoint]))
        await notifier.send(Target(url=f"emby://me:p4ss@{endpoint}"), MESSAGE)
        assert "POST /Sessions/2/Message" in requested
        sessions.clear()
        failure = await refusal(notifier, f"emby://me:p4ss@{endpoint}")
    finally:
        await runner.cleanup()
    assert failure.reason == (
        "Emby was reached, and sent the message to nobody: it has no recipient now"
    )
    assert failure.retryable, "there may be a recipient later"


ESCAPES = """
    import ctypes, os, shutil, smtplib, socket, subprocess, sys, urllib.request
    from webloom.adapters.notify.confinement import Confined, Confinement
    from webloom.domain.network_policy import NetworkPolicy

    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    tcp = socket.socket()
    local = socket.socket(socket.AF_UNIX)
    ESCAPES = {
        "connect": lambda: tcp.connect(("127.0.0.1", 9)),
        "connect_ex": lambda: tcp.connect_ex(("127.0.0.1", 9)),
        "by name": lambda: tcp.connect(("localhost", 9)),
        "short form": lambda: tcp.connect(("127.1", 9)),
        "six": lambda: sys.audit("socket.connect", tcp, ("::ffff:127.0.0.1", 9)),
        "metadata": lambda: sys.audit("socket.connect", tcp, ("169.254.169.254", 80)),
        "port of another service": lambda: sys.audit("socket.connect", tcp, ("9.9.9.9", 25)),
        "private address": lambda: sys.audit("socket.connect", tcp, ("10.0.0.1", 6667)),
        "datagram": lambda: udp.sendto(b"x", ("127.0.0.1", 9)),
        "message": lambda: udp.sendmsg([b"x"], [], 0, ("127.0.0.1", 9)),
        "unix": lambda: local.connect("/run/x.sock"),
        "bind": lambda: tcp.bind(("127.0.0.1", 0)),
        "urllib": lambda: urllib.request.urlopen("file:///etc/passwd"),
        "mail": lambda: smtplib.SMTP("127.0.0.1", 9),
        "popen": lambda: subprocess.run(["true"]),
        "system": lambda: os.system("true"),
        "exec": lambda: os.execv("/bin/true", ["true"]),
        "spawn": lambda: os.posix_spawn("/bin/true", ["true"], {}),
        "fork": os.fork,
        "ctypes": lambda: ctypes.CDLL(None),
        "read": lambda: open("/etc/passwd"),
        "read bytes": lambda: os.open(b"/etc/passwd", os.O_RDONLY),
        "read upwards": lambda: open(os.__file__ + "/../../../../../../../../etc/passwd"),
        "write": lambda: open(os.__file__, "a"),
        "create": lambda: os.open("/tmp/x", os.O_CREAT),
        "folder": lambda: os.mkdir("/tmp/x"),
        "remove": lambda: os.remove("/tmp/does-not-exist"),
        "copy": lambda: shutil.copyfile(os.__file__, "/tmp/x"),
    }
    Confinement(NetworkPolicy.parse(), frozenset({6667})).begin()
    for name, escape in ESCAPES.items():
        try:
            escape()
        except Confined:
            continue
        except OSError as error:
            if isinstance(getattr(error, "reason", error), Confined):
                continue
            print(name, repr(error))
        else:
            print(name)
    sys.audit("socket.connect", tcp, ("9.9.9.9", 443))
    sys.audit("socket.connect", tcp, ("9.9.9.9", 6667))
    open(os.__file__).close()
    open("/dev/null", "wb").close()
    import wsgiref.handlers
    print("end")
"""


def test_every_way_out_is_closed() -> None:
    done = subprocess.run(
        [sys.executable, "-B", "-c", textwrap.dedent(ESCAPES)],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert (done.stdout, done.stderr) == ("end\n", "")


def test_a_network_policy_survives_the_way_to_the_process() -> None:
    entries = ["10.0.0.0/8", "192.168.1.7", "[::1]:8080", "127.0.0.1:9", "fd00::/8"]
    given = NetworkPolicy.parse(entries, deny=entries[:2])
    again = NetworkPolicy.parse(given.allowed.entries(), deny=given.denied.entries())
    assert again == given


# Targets


@pytest.mark.parametrize(
    "url", ["emby://h/?tz=No/Where", "jellyfin://h/?tz=No/Where", "matrix://h/?tz=No/Where"]
)
def test_a_target_that_apprise_refuses_prints_no_traceback(url: str) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from webloom.adapters.notify.targets import check_target\n"
            "try: check_target(sys.argv[1])\nexcept ValueError as error: print(error)",
            url,
        ],
        capture_output=True,
        text=True,
    )
    assert "can't be read" in done.stdout
    assert done.stderr == ""


def test_apprise_knows_every_scheme_that_is_allowed() -> None:
    service_of("json://host")
    from apprise.manager_plugins import NotificationManager

    known = NotificationManager()  # type: ignore[no-untyped-call]  # it has no types
    assert [each for each in sorted(SCHEMES) if each not in known] == []


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/hook?token=1",
        "http://192.168.1.2:8080/",
        "json://user:password@example.com/path",
        "mailto://user:password@example.com",
        "tgram://123456789:abcdefghijklmnop/42",
    ],
)
def test_a_target_can_be_saved(url: str) -> None:
    check_target(url)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "a target is a URL"),
        ("p4ssword", "a target is a URL"),
        ("json://host/p4ssword with blanks", "a target is a URL"),
        ("json://host/p4ssword\r\nX: y", "a target is a URL"),
        ("https://" + "a" * 5000, "longer than 4096"),
        ("https://user:p4ssword@example.com/", "user name or password"),
        ("https://discord.com/api/webhooks/1234567890/p4ssword" + "x" * 60, "as discord://"),
        ("file:///etc/p4ssword", "is refused"),
        ("syslog://p4ssword", "is refused"),
        ("dbus://", "is refused"),
        ("gnome://", "is refused"),
        ("macosx://", "is refused"),
        ("windows://", "is refused"),
        ("rsyslog://p4ssword", "is refused"),
        ("unheard-of://p4ssword", "is refused"),
        ("slack://p4ssword", "can't be read"),
        ("discord://p4ssword", "can't be read"),
    ],
)
def test_a_target_is_refused_with_a_reason_and_without_its_secret(url: str, reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)) as raised:
        check_target(url)
    assert "p4ssword" not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://Example.com:8443/hook/token?x=1", "https://example.com:8443/…"),
        ("https://user:password@example.com/", "https://…"),
        ("slack://tokenA/tokenB/tokenC", "slack://…"),
        ("mailto://user:pa/ss@example.com", "mailto://…"),
        ("password", "…"),
        ("pass word://x", "…"),
    ],
)
def test_a_target_is_shown_without_its_secrets(url: str, shown: str) -> None:
    assert shown_target(url) == shown


async def test_what_apprise_logs_of_a_target_is_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(ValueError, match="can't be read"):
        check_target("slack://p4ssword")
    said = [each for each in caplog.records if each.name != "asyncio"]  # of what others left behind
    assert said == []
