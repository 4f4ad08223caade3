"""The admin UI: static files.

    /import-history         the file import-history.html
    /import-history/RUN     import-history/_.html: one file for every run
    anything else           404.html

A page's Content-Security-Policy has the hashes of its inline scripts: ui_policy.py.
"""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Match, Route
from starlette.types import Scope

from webloom.entrypoints.api.security_headers import COMMON
from webloom.entrypoints.api.ui_policy import policy

FOLDER = Path(__file__).parents[2] / "_ui"

# Prefixes of the API's paths, which are never pages.
API_PATHS = ("/api/", "/metadata", "/health", "/metrics", "/openapi.json")
IMMUTABLE = "_next/static/"  # files whose names change with their content
STAND_IN = "_"  # the name of a page that is served for every id
SMALLEST_PACKED = 1024
PACKED = ("text/", "application/javascript", "application/json", "image/svg+xml")

API_BASE = ".api-base"  # in the folder of a UI that was built for an API elsewhere
HEADERS = COMMON | {"Cross-Origin-Opener-Policy": "same-origin"}
NOT_BUILT = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Webloom</title>
<h1>Webloom is running without its admin UI</h1>
<p>This installation was made without it. In a checkout, <code>make setup</code> builds it. The API
works: <a href="/health">/health</a>, <a href="/openapi.json">/openapi.json</a>.</p>
</html>
"""


def is_ui(path: str) -> bool:
    """Whether the path is a static file, which holds nothing secret."""
    return not path.startswith(API_PATHS)


@dataclass(frozen=True, kw_only=True)
class _File:
    content: bytes
    media_type: str
    is_immutable: bool
    api_base: str

    @cached_property
    def headers(self) -> dict[str, str]:
        return HEADERS | {
            "ETag": f'"{hashlib.sha256(self.content).hexdigest()[:32]}"',
            "Cache-Control": (
                "public, max-age=31536000, immutable" if self.is_immutable else "no-cache"
            ),
            "Content-Security-Policy": self._policy(),
            "Vary": "Accept-Encoding",
        }

    @cached_property
    def packed(self) -> bytes | None:
        if len(self.content) < SMALLEST_PACKED or not self.media_type.startswith(PACKED):
            return None
        return gzip.compress(self.content, 6, mtime=0)

    def _policy(self) -> str:
        page = self.content if self.media_type.startswith("text/html") else b""
        return policy(page, self.api_base)


class UiRoute(Route):
    """Every path that is not the API's, which keeps its own 404 and 405."""

    def __init__(self, ui: AdminUi) -> None:
        super().__init__("/{path:path}", ui.respond, methods=["GET"], include_in_schema=False)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        return super().matches(scope) if is_ui(scope["path"]) else (Match.NONE, {})


class AdminUi:
    def __init__(self, folder: Path = FOLDER) -> None:
        noted = folder / API_BASE
        api_base = noted.read_text() if noted.exists() else ""
        self._files = {
            path.relative_to(folder).as_posix(): _File(
                content=path.read_bytes(),
                media_type=_media_type(path),
                is_immutable=path.relative_to(folder).as_posix().startswith(IMMUTABLE),
                api_base=api_base,
            )
            for path in sorted(folder.rglob("*"))
            if path.is_file() and not path.name.startswith(".")
        }

    async def respond(self, request: Request) -> Response:
        if not self._files:
            headers = HEADERS | {"Content-Security-Policy": policy()}
            return HTMLResponse(NOT_BUILT, headers=headers)
        found = self._find(request.scope["raw_path"].decode("ascii", "replace").strip("/"))
        if found is None:
            return _response(request, self._files["404.html"], 404)
        return _response(request, found, 200)

    def _find(self, path: str) -> _File | None:
        """`path` is still encoded: an id may contain a slash."""
        name = unquote(path) or "index"
        return self._files.get(name) or self._files.get(f"{name}.html") or self._stand_in(path)

    def _stand_in(self, name: str) -> _File | None:
        """x/ID is x/_.html; x/ID.txt and x/ID/__next….txt are its parts."""
        parent, slash, rest = name.partition("/")
        if not slash or parent.startswith("_next"):
            return None
        one, _, part = rest.partition("/")
        if part:
            return self._files.get(f"{parent}/{STAND_IN}/{part}")
        if one.endswith(".txt"):
            return self._files.get(f"{parent}/{STAND_IN}.txt")
        return self._files.get(f"{parent}/{STAND_IN}.html")


def _response(request: Request, file: _File, status: int) -> Response:
    headers = file.headers
    if status == 200 and headers["ETag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    content = file.content
    if "gzip" in request.headers.get("accept-encoding", "") and file.packed is not None:
        content, headers = file.packed, headers | {"Content-Encoding": "gzip"}
    return Response(content, status, headers, file.media_type)


def _media_type(path: Path) -> str:
    if path.suffix == ".txt":  # React's payloads, which no browser should sniff
        return "text/plain; charset=utf-8"
    if path.suffix == ".js":
        return "application/javascript; charset=utf-8"
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind
