"""Makes the pictures of the README and the docs: the demo in a real browser.

    python scripts/screenshots.py docs/images

Starts `webloom demo` in a folder of its own, waits until it has shown everything, and ends it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Page, expect, sync_playwright

WATCH = "loom-and-weft"
TIMEOUT_SECONDS = 180.0
MANY_WATCHES = 240
FIRST_WITH_MANY = "watches"  # of the pictures: those before show the demo as it is
CHANGES_WANTED = 12  # so that there is a curve to see


def main(folder: Path) -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("chromium is missing: apt install chromium")
    folder.mkdir(parents=True, exist_ok=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    base = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory(prefix="webloom-") as data:
        demo = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-m", "webloom", "demo", "--port", str(port)],
            env=os.environ | {"WEBLOOM_DATA_DIR": data},
            stdout=subprocess.DEVNULL,
        )
        try:
            _wait_for_changes(base)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium)
                for name, path, options in _pictures(base):
                    if name == FIRST_WITH_MANY:
                        _add_watches(base)
                    page = browser.new_page(base_url=base, locale="en-GB", **options)
                    _take(page, path, folder / f"{name}.png")
                    page.close()
                browser.close()
        finally:
            demo.send_signal(signal.SIGTERM)
            demo.wait(90)


def _pictures(base: str) -> list[tuple[str, str, dict[str, Any]]]:
    desk: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}
    night = desk | {"color_scheme": "dark"}
    phone = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2}
    runs = _get(f"{base}/api/import-logs?status=partial&limit=1")["data"]
    pages = _get(f"{base}/api/watch/pages?{urlencode({'jobId': WATCH, 'q': 'coat'})}")["data"]
    of_page = urlencode({"jobId": WATCH, "url": pages[0]["url"]})
    return [
        ("overview", "/", desk),
        ("import-run", f"/import-history/{runs[0]['runId']}", desk),
        ("watched-page", f"/watch/page?{of_page}", {"viewport": {"width": 1280, "height": 1100}}),
        ("queues-dark", "/queues", night),
        ("watches", "/watch", desk),
        ("phone", "/watch", phone),
    ]


def _add_watches(base: str) -> None:
    """Of the demo's site; all have been checked when this returns."""
    urls = _get(f"{base}/api/watches/{WATCH}")["urls"]
    for number in range(MANY_WATCHES):
        url = urls[number % len(urls)]
        what = url.rpartition("/")[2].replace("-", " ").capitalize()
        body = {
            "urls": [f"{url}?size={number}"],
            "name": f"{what}, size {number // len(urls) + 34}",
            "schedule": {"everyMinutes": (30, 60, 240)[number % 3]},
            "tags": ["winter"] if number % 4 == 0 else [],
        }
        request = urllib.request.Request(  # noqa: S310 - loopback
            f"{base}/api/watches",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        urllib.request.urlopen(request, timeout=10).close()  # noqa: S310
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while any(each["lastRunId"] is None for each in _all_watches(base)):
        if time.monotonic() > deadline:
            raise SystemExit("the watches have not been checked")
        time.sleep(0.5)


def _all_watches(base: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor: str | None = ""
    while cursor is not None:
        query = urlencode({"limit": 200} | ({"cursor": cursor} if cursor else {}))
        answer = _get(f"{base}/api/watches?{query}")
        found += answer["data"]
        cursor = answer["nextCursor"]
    return found


def _take(page: Page, path: str, file: Path) -> None:
    page.goto(path)
    page.locator("h1").wait_for()
    expect(page.get_by_text("Loading", exact=True)).to_have_count(0)
    page.wait_for_timeout(500)  # charts and live events
    page.screenshot(path=file)
    print(file)  # noqa: T201 - a program for people


def _wait_for_changes(base: str) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        try:
            if len(_get(f"{base}/api/watch/pages/changes")["data"]) >= CHANGES_WANTED:
                return
        except OSError:
            pass  # it does not listen yet
        time.sleep(0.5)
    raise SystemExit(f"the demo has not shown its changes within {TIMEOUT_SECONDS:.0f} s")


def _get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - loopback
        return json.load(answer)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
