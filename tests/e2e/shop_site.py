"""A shop on loopback whose pages are what a test says, and who is notified of their changes."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any, Self

from aiohttp import web

from e2e.api_client import Api
from e2e.hostile_site import Request, answer, ok
from e2e.running import until_some
from e2e.watched_site import UNFIT_PORTS, WatchedSite

PARAGRAPH = (
    "The shuttle goes from one side of the loom to the other, and the weaver beats the weft "
    "against the cloth that is there already. "
)
CAPTCHA = (
    "<!doctype html><title>Just a moment...</title><h1>Verify you are human</h1>"
    '<div class="g-recaptcha"></div>'
)


@dataclass(frozen=True, kw_only=True)
class Served:
    body: str
    status: int = 200
    etag: str | None = None


class ShopSite(WatchedSite):
    """`pages` are by path; the others are as its base has them."""

    def __init__(self) -> None:
        super().__init__()
        self.pages: dict[str, Served] = {}

    async def do_page(self, request: Request, writer: asyncio.StreamWriter) -> None:
        page = self.pages.get(request.path)
        if page is None:
            await super().do_page(request, writer)
            return
        headers = ["Content-Type: text/html; charset=utf-8"]
        if page.etag is not None:
            headers.append(f"ETag: {page.etag}")
        body = page.body.encode()
        if page.etag is not None and request.headers.get("if-none-match") == page.etag:
            writer.write(answer(304, *headers))
        elif page.status == 200:
            writer.write(ok(body, *headers))
        else:
            writer.write(answer(page.status, f"Content-Length: {len(body)}", *headers) + body)


def article(words: str, *, title: str = "A story", aside: str = "") -> Served:
    text = "".join(f"<p>Part {part}. {PARAGRAPH}</p>" for part in range(4))
    return Served(
        body=f"<!doctype html><html lang=en><title>{title}</title>"
        f"<article><h1>A story</h1><p>{words}</p>{text}</article>"
        f"<div id=aside>{aside}</div></html>"
    )


def product(
    price: str, *, title: str = "Loom", stock: str = "InStock", etag: str | None = None
) -> Served:
    offer = {"@type": "Offer", "price": price, "priceCurrency": "EUR", "availability": stock}
    whole = {"@context": "https://schema.org", "@type": "Product", "name": "Loom", "offers": offer}
    return Served(
        body=f'<!doctype html><html lang=en><title>{title}</title><script type="application/'
        f'ld+json">{json.dumps(whole)}</script><h1>Loom</h1><p>{PARAGRAPH * 3}</p>'
        f"<p>{price} EUR</p><button>Add to cart</button></html>",
        etag=etag,
    )


class Hook:
    """A webhook's other end."""

    def __init__(self, host: str) -> None:
        self._host = host
        self.url = ""
        self.got: list[tuple[dict[str, str], bytes]] = []  # headers with lower-case names, and body

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_post("/{path:.*}", self._take)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        port = 0
        while not port or port in UNFIT_PORTS:
            await web.TCPSite(self._runner, self._host, 0).start()
            port = self._runner.addresses[-1][1]
        self.url = f"http://{self._host}:{port}/hooks/a-secret-token"
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._runner.cleanup()

    async def _take(self, request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.got.append((headers, await request.read()))
        return web.Response(status=204)


async def watched(api: Api, *urls: str, **fields: Any) -> dict[str, Any]:
    """A watch that is checked on demand only."""
    body = {"urls": list(urls), "enabled": False, **fields}
    answer = await api.call("POST", "/api/watches", json=body)
    assert answer.status == 201, answer.text
    return dict(answer.body)


async def checked(api: Api, watch_id: str) -> dict[str, Any]:
    """Check a watch's pages now: the run, at its end."""
    answer = await api.call("POST", f"/api/watches/{watch_id}/run")
    assert answer.status == 202, answer.text
    return await finished_watch_run(api, answer.body["runId"])


async def finished_watch_run(api: Api, run_id: str) -> dict[str, Any]:
    async def look() -> dict[str, Any] | None:
        run = (await api.call("GET", f"/api/watch/runs/{run_id}")).body
        return None if run["status"] == "in_progress" else dict(run)

    return await until_some(look, what=f"the end of run {run_id}")


async def page_of(api: Api, watch_id: str, url: str) -> dict[str, Any]:
    """With its content."""
    answer = await api.call("GET", "/api/watch/pages", params={"jobId": watch_id, "url": url})
    assert answer.status == 200, answer.text
    [page] = answer.body["data"]
    return dict(page)
