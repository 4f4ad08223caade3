from __future__ import annotations

import asyncio
import os
from pathlib import Path

from aiohttp import web


class Receiver:
    """A web server that keeps what it is sent."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.port = 0
        self.got: list[tuple[web.Request, bytes]] = []
        self.children: list[str] = []  # what is to be seen of this process's children
        self.silent = asyncio.Event()

    def url(self, path: str, scheme: str = "http") -> str:
        return f"{scheme}://{self.host}:{self.port}{path}"

    @property
    def endpoint(self) -> str:
        return f"{self.host}:{self.port}"

    async def __aenter__(self) -> Receiver:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._take)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self.host, 0)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self.silent.set()
        await self._runner.cleanup()

    async def _take(self, request: web.Request) -> web.StreamResponse:
        self.got.append((request, await request.read()))
        self.children += seen_of_children()
        what, _, rest = request.path.strip("/").partition("/")
        if what == "silence":
            await self.silent.wait()
        if what == "endless":
            answer = web.StreamResponse()
            await answer.prepare(request)
            while not self.silent.is_set():
                await answer.write(b"x" * 65536)
            return answer
        if what == "to":
            raise web.HTTPTemporaryRedirect(f"http://{rest}")
        headers = {"Retry-After": request.query["after"]} if "after" in request.query else {}
        return web.Response(status=int(what) if what.isdigit() else 204, headers=headers)


def seen_of_children() -> list[str]:
    """Of those that tell people: this process may have servers of other tests, too."""
    seen = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"PPid:\t{os.getpid()}\n" in (process / "status").read_text(errors="replace"):
                command = (process / "cmdline").read_text(errors="replace")
                if "webloom.adapters.notify" in command:
                    seen.append(command + (process / "environ").read_text(errors="replace"))
        except OSError:
            continue  # it has ended
    return seen
