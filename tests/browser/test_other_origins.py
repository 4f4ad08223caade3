"""Pages of another origin, in a real browser: what WEBLOOM_ALLOW_ORIGINS lets them do."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from browser.site import Site, served_site
from e2e.running import Webloom, running_for_module
from servers.private import free_port
from timeouts import TIMEOUT_SECONDS

ROOT = Path(__file__).parents[2]
KEY = "wl_a-key-for-a-page-elsewhere"
EMPTY = b"<!doctype html><html lang=en><title>A page elsewhere</title></html>"
NOT_WELL = ("error", "warning")

ASK = """async ([url, key, body]) => {
  const headers = key ? {Authorization: `Bearer ${key}`} : {};
  try {
    const answer = await fetch(url, body
      ? {method: "POST", headers: {...headers, "Content-Type": "application/json"}, body}
      : {headers});
    return [answer.status, await answer.text()];
  } catch (error) {
    return [0, String(error)];  // the browser does not let the page see it
  }
}"""
LISTEN = """url => new Promise(done => {
  const stream = new EventSource(url);
  const end = word => { stream.close(); done(word); };
  stream.onopen = () => end("open");
  stream.onerror = () => end("refused");
})"""


@pytest.fixture(scope="module")
def stranger() -> Iterator[Site]:
    """A site that nobody has named."""
    with served_site() as site:
        site.serve("/", EMPTY)
        yield site


@pytest.fixture(scope="module")
def named(site: Site) -> Site:
    site.serve("/", EMPTY)
    return site


@contextmanager
def api(folder: Path, origin: str, **settings: Any) -> Iterator[Webloom]:
    data = folder / "data"
    with running_for_module("api", data_dir=data, allow_origins=origin, **settings) as it:
        yield it


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, named: Site) -> Iterator[Webloom]:
    with api(tmp_path_factory.mktemp("guarded"), named.base, api_keys=KEY) as it:
        yield it


@pytest.fixture(scope="module")
def without_keys(tmp_path_factory: pytest.TempPathFactory, named: Site) -> Iterator[Webloom]:
    with api(tmp_path_factory.mktemp("open"), named.base) as it:
        yield it


@pytest.fixture
def foreign(browser: Browser) -> Iterator[BrowserContext]:
    """Not watched as other pages are: being refused shows on the console."""
    opened = browser.new_context(locale="en-GB", timezone_id="UTC")
    opened.set_default_timeout(TIMEOUT_SECONDS * 1000)
    yield opened
    opened.close()


def page_of(context: BrowserContext, site: Site) -> Page:
    page = context.new_page()
    page.goto(f"{site.base}/")
    return page


def test_a_page_of_a_named_origin_asks_with_its_key(
    foreign: BrowserContext, named: Site, guarded: Webloom
) -> None:
    page = page_of(foreign, named)
    url = f"{guarded.base}/metadata"
    status, text = page.evaluate(ASK, [url, KEY, '{"url": "http://a.test/elsewhere"}'])
    assert (status, "PENDING" in text) == (202, True)
    status, text = page.evaluate(ASK, [f"{url}/records", KEY, None])
    assert (status, "http://a.test/elsewhere" in text) == (200, True)
    status, text = page.evaluate(ASK, [f"{url}/records", None, None])
    assert (status, "API key is required" in text) == (401, True)  # it can read why


def test_a_page_of_another_origin_sees_and_changes_nothing(
    foreign: BrowserContext, stranger: Site, guarded: Webloom, without_keys: Webloom
) -> None:
    page = page_of(foreign, stranger)
    for webloom, key in ((guarded, KEY), (without_keys, None)):
        url = f"{webloom.base}/metadata"
        for body in (None, '{"url": "http://a.test/stranger"}'):
            status, text = page.evaluate(
                ASK, [f"{url}/records" if body is None else url, key, body]
            )
            assert (status, "TypeError" in text) == (0, True)
        assert page.evaluate(LISTEN, f"{webloom.base}/api/live?topics=queues") == "refused"
    page.goto(f"{without_keys.base}/inventory")  # the API's own page, which sees all there is
    _, text = page.evaluate(ASK, ["/metadata/records", None, None])
    assert "stranger" not in text


def test_a_page_of_a_named_origin_listens(
    foreign: BrowserContext, named: Site, without_keys: Webloom
) -> None:
    page = page_of(foreign, named)
    for path in ("/api/import-logs/stream", "/api/import-logs/sse", "/api/live?topics=queues"):
        assert page.evaluate(LISTEN, f"{without_keys.base}{path}") == "open", path


class UiHandler(SimpleHTTPRequestHandler):
    """The rules that docs/admin.md gives a web server."""

    def translate_path(self, path: str) -> str:
        folder = Path(str(self.directory))
        name = path.partition("?")[0].strip("/") or "index"
        kind, _, rest = name.partition("/")
        part = rest.partition("/")[2]
        end = f"/{part}" if part else ".txt" if rest.endswith(".txt") else ".html"
        wanted = (name, f"{name}.html", f"{kind}/_{end}")
        found = [each for each in wanted if (folder / each).is_file()]
        return str(folder / (found[0] if found else "404.html"))

    def log_message(self, *_: object) -> None:
        pass


@dataclass(kw_only=True)
class Elsewhere:
    """A UI on one port, and its API on another."""

    webloom: Webloom
    base: str


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory, site: Site) -> Iterator[Elsewhere]:
    folder, port = tmp_path_factory.mktemp("elsewhere"), free_port()
    built = subprocess.run(
        (sys.executable, "scripts/build_ui.py", "--to", folder / "ui"),
        cwd=ROOT,
        env=os.environ | {"NEXT_PUBLIC_API_BASE_URL": f"http://127.0.0.1:{port}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    handler = partial(UiHandler, directory=str(folder / "ui"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}"
    settings = {"port": port, "api_keys": KEY, "allow_addresses": f"127.0.0.1:{site.port}"}
    with running_for_module(
        "up", data_dir=folder / "data", allow_origins=base, **settings
    ) as webloom:
        yield Elsewhere(webloom=webloom, base=base)
    server.shutdown()
    server.server_close()


@pytest.mark.thorough
@pytest.mark.timeout(600)  # Next builds the whole UI
def test_the_ui_works_from_another_server(
    foreign: BrowserContext, elsewhere: Elsewhere, site: Site
) -> None:
    page = foreign.new_page()
    said: list[str] = []
    page.on("console", lambda each: said.append(each.text) if each.type in NOT_WELL else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(f"{elsewhere.base}/inventory")
    page.get_by_label("API key").fill(KEY)
    page.get_by_label("API key").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Inventory")

    url = site.serve("/from-elsewhere", b"<p>seen from elsewhere</p>")
    body = f'{{"url": "{url}"}}'
    status, _ = page.evaluate(ASK, [f"{elsewhere.webloom.base}/metadata", KEY, body])
    assert status == 202
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name=url))
    expect(row).to_contain_text("completed")  # by the live stream, without a reload

    for name in ("Watch", "Queues", "Postings", "System"):
        page.get_by_role("navigation", name="Main").get_by_role("link", name=name).click()
        expect(page.get_by_role("heading", level=1)).to_have_text(name)
        expect(page.get_by_role("alert").filter(has_text="could not be loaded")).to_have_count(0)
    page.goto(f"{elsewhere.base}/queues/metadata_queue")  # one file stands for every queue
    expect(page.get_by_role("heading", level=1)).to_contain_text("metadata_queue")
    assert [each for each in said if "401" not in each] == []  # before the key was given

    said.clear()
    status, _ = page.evaluate(ASK, [f"{site.base}/from-elsewhere", None, None])
    assert status == 0  # by the policy inside of the page, before the site is asked
    assert any("Content Security Policy" in each for each in said), said
