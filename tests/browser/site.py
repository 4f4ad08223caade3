"""A site of the tests on loopback, in a thread of its own: feeds, shop pages and hostile ones.

What it serves can be changed while Webloom looks at it.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape

# Titles, names and texts as an attacker would choose them.
HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


def feed(count: int, *, first: int = 0, title: str = "Job {number}", broken: int = 0) -> bytes:
    """RSS with so many items; the last `broken` of them have neither title nor link."""
    items = [
        f"<item><title>{escape(title.format(number=number))}</title><guid>job-{number}</guid>"
        f"<link>https://jobs.test/{number}</link><author>Acme</author>"
        f"<description>Work number {number}</description>"
        "<pubDate>Mon, 02 Nov 2026 10:00:00 GMT</pubDate></item>"
        for number in range(first, first + count - broken)
    ]
    items += [f"<item><description>item {number}</description></item>" for number in range(broken)]
    return (
        '<?xml version="1.0"?><rss version="2.0"><channel><title>Jobs</title>'
        f"{''.join(items)}</channel></rss>"
    ).encode()


def product(name: str, price: str, *, text: str = "A good thing.", stock: str = "InStock") -> bytes:
    return (
        f"<!doctype html><html lang=en><title>{escape(name)}</title><h1>{escape(name)}</h1>"
        '<script type="application/ld+json">{"@context":"https://schema.org","@type":"Product",'
        f'"name":"a product","offers":{{"@type":"Offer","price":"{price}","priceCurrency":"EUR",'
        f'"availability":"https://schema.org/{stock}"}}}}</script>'
        f'<main><p>{escape(text)}</p><p class="price">{price} €</p><button>Add to basket</button>'
        "</main></html>"
    ).encode()


class Site:
    """`pages` by path: the body, and its content type. A path that is not there is a 404."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[bytes, str]] = {}
        self.gate = threading.Event()  # paths that begin with /held/ wait for it
        self.gate.set()
        self.port = 0
        self.scheme = "http"

    @property
    def base(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def serve(self, path: str, body: bytes, kind: str = "text/html; charset=utf-8") -> str:
        self.pages[path] = (body, kind)
        return f"{self.base}{path}"

    def serve_feed(self, path: str, body: bytes) -> str:
        return self.serve(path, body, "application/rss+xml")


@contextmanager
def served_site(secured_by: ssl.SSLContext | None = None) -> Iterator[Site]:
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path.startswith("/held/"):
                site.gate.wait(60)
            found = site.pages.get(path)
            if path == "/moved":
                self.send_response(301)
                self.send_header("Location", "/plain")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            body, kind = found or (b"there is no such page", "text/plain")
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Set-Cookie", "taste=oatmeal; Path=/; HttpOnly")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if secured_by is not None:
        server.socket = secured_by.wrap_socket(server.socket, server_side=True)
        site.scheme = "https"
    site.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        site.gate.set()
        server.shutdown()
        server.server_close()
