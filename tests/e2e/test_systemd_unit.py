"""deploy/webloom.service: what systemd says of it, and the program under its restrictions."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

import confined
from browser.site import Site, feed, product, served_site
from e2e.receiver import Receiver
from e2e.running import until, until_some
from proc import children_of
from servers.private import free_port, program
from timeouts import TIMEOUT_SECONDS
from webloom.entrypoints.cli.main import COMMANDS
from webloom.settings import load_settings

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "deploy/webloom.service"
ADVICE = "apt-get install systemd"
PROBE = """
import ctypes, json, mmap, os, pathlib, socket
def refused(what):
    try:
        what()
    except OSError as error:
        return error.errno
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps({
    "capabilities": [int(status[name], 16) for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb")],
    "no_new_privileges": int(status["NoNewPrivs"]),
    "umask": os.umask(0o77),
    "elsewhere": [refused(pathlib.Path(each, "x").touch) for each in ("/etc", "/usr", "/opt")],
    "data": refused(pathlib.Path("x").touch),
    "processes": [int(each) for each in os.listdir("/proc") if each.isdecimal()],
    "kernel": os.path.exists("/proc/sys") or os.path.exists("/proc/kmsg"),
    "devices": os.path.exists("/dev/kmsg") or os.path.exists("/dev/vda"),
    "packet": refused(lambda: socket.socket(17, socket.SOCK_RAW)),
    "code": refused(lambda: mmap.mmap(-1, 4096, prot=7)),
    "namespace": ctypes.CDLL(None).unshare(0x10000000),
    "owner": refused(lambda: os.chown("x", 0, 0)),
    "set_user_id": refused(lambda: os.chmod("x", 0o4755)),
}))
"""


@pytest.fixture
def systemd_analyze() -> str:
    return program("systemd", ADVICE, "systemd-analyze")


def test_the_unit_starts_the_program_and_waits_for_its_end() -> None:
    unit = confined.read(UNIT)
    path, command = unit["ExecStart"][0].split()
    assert Path(path).name == "webloom"
    assert command in COMMANDS
    assert float(unit["TimeoutStopSec"][0]) >= load_settings({}).grace + 20
    [data] = [each for each in unit["Environment"] if each.startswith("WEBLOOM_DATA_DIR=")]
    assert data == f"WEBLOOM_DATA_DIR=/var/lib/{unit['StateDirectory'][0]}"
    assert unit["StateDirectoryMode"] == ["0700"]
    assert unit["UMask"] == ["0077"]


def test_systemd_rates_the_unit_as_safe(systemd_analyze: str) -> None:
    done = subprocess.run(
        (systemd_analyze, "security", "--no-pager", "--offline=true", UNIT),
        capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "SYSTEMD_COLORS": "0", "LC_ALL": "C"},
    )  # fmt: skip
    reported = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert reported, done.stdout + done.stderr
    assert float(reported[1]) <= 3.0


def confinement(data: Path, *command: str) -> list[str]:
    kept = [str(ROOT), sys.prefix, sys.base_prefix]
    tool = str(ROOT / "tests/confined.py")
    return [sys.executable, tool, str(UNIT), str(data), *kept, "--", *command]


@pytest.fixture
def data(tmp_path: Path, systemd_analyze: str) -> Path:
    unshare = program("unshare", "apt-get install util-linux", "unshare")
    program("setpriv", "apt-get install util-linux", "setpriv")
    tried = (
        unshare,
        "--user",
        "--map-user=65534",
        "--keep-caps",
        "--mount",
        "--pid",
        "--fork",
        "true",
    )
    if subprocess.run(tried, capture_output=True).returncode:
        pytest.skip("user namespaces are not allowed here")
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


def test_the_restrictions_hold_in_these_tests(data: Path) -> None:
    done = subprocess.run(
        confinement(data, sys.executable, "-c", PROBE),
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    reported = json.loads(done.stdout)
    assert reported == {
        "capabilities": [0, 0, 0, 0],
        "no_new_privileges": 1,
        "umask": 0o77,
        "elsewhere": [30, 30, 30],  # EROFS
        "data": None,
        "processes": [1],
        "kernel": False,
        "devices": False,
        "packet": 97,  # EAFNOSUPPORT
        "code": 1,
        "namespace": -1,
        "owner": 1,
        "set_user_id": 1,
    }


def _started(words: list[str], environment: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        return subprocess.Popen(words, env=environment, stdout=output, stderr=output)


@asynccontextmanager
async def service(data: Path, port: int, allowed: str) -> AsyncIterator[aiohttp.ClientSession]:
    """`webloom up` as the unit starts it; stopped in order at the end."""
    words = confinement(data, str(Path(sys.prefix, "bin/webloom")), "up")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("WEBLOOM_")
    } | {
        "WEBLOOM_DATA_DIR": str(data),
        "WEBLOOM_PORT": str(port),
        "WEBLOOM_ALLOW_ADDRESSES": allowed,
        "WATCH_INTERVAL_MINUTES": "0.05",
    }
    log = data.with_name("log")
    process = _started(words, environment, log)
    try:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as client:

            async def is_ready() -> bool:
                assert process.poll() is None, log.read_text()
                try:
                    async with client.get("/health/ready") as answer:
                        return answer.status == 200
                except aiohttp.ClientError:
                    return False

            await until(is_ready, what="the service")
            yield client
        [webloom] = children_of(process.pid, running=b"webloom")
        os.kill(webloom, signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, TIMEOUT_SECONDS) == 0, log.read_text()
    finally:
        process.kill()
        process.wait()


def _open_to_others(folder: Path) -> list[Path]:
    others = stat.S_IRWXG | stat.S_IRWXO
    return [path for path in folder.rglob("*") if path.stat().st_mode & others]


async def _json(client: aiohttp.ClientSession, method: str, path: str, body: Any = None) -> Any:
    async with client.request(method, path, json=body) as answer:
        assert answer.status < 300, await answer.text()
        return await answer.json(content_type=None) if answer.content_length != 0 else None


async def test_the_program_works_under_the_restrictions_of_the_unit(data: Path) -> None:
    """Fetching, importing, watching and notifying: each child process has its part in it."""
    with served_site() as site:
        async with Receiver("127.0.0.1") as receiver:
            allowed = f"127.0.0.1:{site.port},{receiver.endpoint}"
            async with service(data, free_port(), allowed) as client:
                await _fetches(client, site)
                await _imports(client, site)
                await _watches_and_notifies(client, site, receiver)
                async with client.get("/metrics") as answer:
                    assert "webloom_records" in await answer.text()
                async with client.get("/") as answer:
                    assert answer.status == 200
    assert _open_to_others(data) == []


async def _fetches(client: aiohttp.ClientSession, site: Site) -> None:
    url = site.serve("/page", b"<title>A page</title>")
    await _json(client, "POST", "/metadata", {"url": url})

    async def fetched() -> Any:
        async with client.get("/metadata", params={"url": url}) as answer:
            record = await answer.json()
        return record if record["status"] == "COMPLETED" else None

    await until_some(fetched, what="the page to be fetched")


async def _imports(client: aiohttp.ClientSession, site: Site) -> None:
    source = site.serve_feed("/jobs.rss", feed(3))
    await _json(client, "POST", "/api/feeds", {"url": source})
    await _json(client, "POST", "/api/import/run")

    async def imported() -> Any:
        runs = (await _json(client, "GET", "/api/import-logs"))["data"]
        return next((run for run in runs if run["status"] != "running"), None)

    run = await until_some(imported, what="the feed to be imported")
    assert (run["status"], run["newJobs"]) == ("completed", 3), run


async def _watches_and_notifies(
    client: aiohttp.ClientSession, site: Site, receiver: Receiver
) -> None:
    url = site.serve("/shop", product("Chair", "99.90"))
    targets = [{"url": f"json://{receiver.endpoint}/told"}]
    watch = await _json(client, "POST", "/api/watches", {"url": url, "targets": targets})

    async def checked() -> Any:
        found = await _json(client, "GET", f"/api/watches/{watch['jobId']}")
        return found if found["lastStatus"] else None

    assert (await until_some(checked, what="the first check"))["lastStatus"] == "completed"
    site.serve("/shop", product("Chair", "79.90"))
    await until(lambda: bool(receiver.got), what="the notification")
    assert b"79.9" in receiver.got[0][1]
