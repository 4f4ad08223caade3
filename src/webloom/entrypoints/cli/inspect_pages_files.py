"""Pages for `webloom inspect` and `webloom diff`, fetched or read from files."""

from __future__ import annotations

import gzip
import html
import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from webloom.domain.errors import UrlRefused, WebloomError
from webloom.entrypoints.cli.named import checked_url
from webloom.parsing.web_url import normalise

if TYPE_CHECKING:
    from webloom.ports.fetcher import Downloader
    from webloom.ports.page_reader import PageOrder
    from webloom.settings import Settings

_GZIP = b"\x1f\x8b"
_BLOCK = 1024 * 1024
_HEAD = 1024 * 1024  # of a page, in which its address is looked for
_CANONICAL = re.compile(
    rb"""<link\s(?=[^<>]{0,2000}?\brel\s{0,9}=\s{0,9}["']?canonical\b)"""
    rb"""[^<>]{0,2000}?\bhref\s{0,9}=\s{0,9}(?:"([^"<>]{1,8192})"|'([^'<>]{1,8192})'|([^\s"'<>]{1,8192}))""",
    re.IGNORECASE,
)


async def fetched(source: str, into: Path, settings: Settings, downloader: Downloader) -> PageOrder:
    """Raises UrlRefused, FetchFailed."""
    from webloom.application.watch.preview_page import fetched_page

    return await fetched_page(downloader, checked_url(settings, source), into)


def unpacked(given: Path, into: Path, limit: int) -> Path:
    """The file, or `into` with its content decompressed if it is gzip. Raises WebloomError."""
    try:
        with given.open("rb") as file:
            is_packed = file.read(len(_GZIP)) == _GZIP
        if is_packed:
            _unpack(given, into, limit)
            return into
        size = given.stat().st_size
    except FileNotFoundError:
        raise WebloomError("file not found; a URL begins with http:// or https://") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise WebloomError(f"the gzip file is damaged: {error}") from error
    except OSError as error:
        raise WebloomError(f"can't be read: {error.strerror or error}") from error
    if size > limit:
        raise _too_large(limit)
    return given


def _unpack(given: Path, into: Path, limit: int) -> None:
    left = limit
    with gzip.open(given) as packed, into.open("wb") as file:
        while block := packed.read(_BLOCK):
            left -= len(block)
            if left < 0:
                raise _too_large(limit)
            file.write(block)


def _too_large(limit: int) -> WebloomError:
    return WebloomError(f"it is larger than {limit:,} bytes, which is WEBLOOM_MAX_BODY")


def named_url(page: Path) -> str | None:
    """The canonical URL that the page declares, if it is absolute."""
    try:
        with page.open("rb") as file:
            found = _CANONICAL.search(file.read(_HEAD))
    except OSError:  # reported when the page is read
        return None
    if found is None:
        return None
    address = next(filter(None, found.groups())).decode("utf-8", "replace")
    try:
        return normalise(html.unescape(address))
    except UrlRefused:
        return None
