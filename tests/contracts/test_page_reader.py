"""The PageReader's contract. What bounds a reader in time and memory is in e2e/test_page_reader."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from fakes.page_reader import InProcessPageReader
from webloom.adapters.page_process.reader import ProcessPageReader
from webloom.domain.errors import PageUnreadable
from webloom.domain.page import PageType, Selection
from webloom.domain.price import Availability
from webloom.ports.page_reader import PageOrder, PageReader

URL = "https://shop.example/chair"
PAGE = b"""<!doctype html><html lang="en"><title>Chair</title><body><main><h1>Chair</h1>
<p>A chair of ash wood with a woven seat, made to be sat on for a very long time.</p></main>
<script type="application/ld+json">{"@type": "Product", "name": "Chair", "offers":
{"@type": "Offer", "price": "79.90", "priceCurrency": "EUR",
"availability": "https://schema.org/InStock"}}</script></body></html>"""

ADAPTERS: dict[str, Callable[[], AbstractAsyncContextManager[PageReader]]] = {
    "process": ProcessPageReader,
    "fake": lambda: nullcontext(InProcessPageReader()),
}


@pytest.fixture(params=ADAPTERS)
async def reader(request: pytest.FixtureRequest) -> AsyncIterator[PageReader]:
    async with ADAPTERS[request.param]() as opened:
        yield opened


def order(folder: Path, body: bytes = PAGE, **given: Any) -> PageOrder:
    path = folder / f"page-{len(list(folder.iterdir()))}"
    path.write_bytes(body)
    return PageOrder(path=path, url=URL, **given)


async def test_a_page_is_read(reader: PageReader, tmp_path: Path) -> None:
    read = await reader.read(order(tmp_path))
    reading = read.reading
    assert read.diff is None
    assert (reading.parsed.title, reading.classification.type) == ("Chair", PageType.PRODUCT)
    assert "woven seat" in reading.parsed.text
    assert reading.price is not None
    assert (str(reading.price.current), reading.price.currency) == ("79.90", "EUR")
    assert reading.availability is Availability.IN_STOCK


async def test_a_page_is_compared_with_the_one_before(reader: PageReader, tmp_path: Path) -> None:
    first = (await reader.read(order(tmp_path))).reading
    same = await reader.read(order(tmp_path, previous=first.parsed))
    assert same.diff is not None
    assert not same.diff.is_change
    assert same.reading == first
    other = PAGE.replace(b"woven", b"sewn").replace(b"79.90", b"80")
    changed = await reader.read(order(tmp_path, other, previous=first.parsed))
    assert changed.diff is not None
    assert changed.diff.text_changed
    assert changed.diff.text is not None
    assert changed.reading.snapshot_hash != first.snapshot_hash
    assert changed.reading.price is not None
    assert changed.reading.price.current == Decimal(80)


async def test_a_long_diff_is_cut_to_what_is_kept(reader: PageReader, tmp_path: Path) -> None:
    def with_images(kind: str) -> bytes:
        images = "".join(f'<img src="/{kind}-{number}.png">' for number in range(300))
        return PAGE.replace(b"</main>", images.encode() + b"</main>")

    first = await reader.read(order(tmp_path, with_images("old")))
    second = order(tmp_path, with_images("new"), previous=first.reading.parsed)
    diff = (await reader.read(second)).diff
    assert diff is not None
    assert (diff.images.added_count, len(diff.images.added)) == (300, 200)


async def test_status_type_and_selection_count(reader: PageReader, tmp_path: Path) -> None:
    body = "<p class=a>caf\xe9</p><p class=b>Other</p>".encode("latin-1")
    options: dict[str, Any] = {
        "content_type": "text/html; charset=iso-8859-1",
        "selection": Selection(keep=[".a"]),
    }
    assert (await reader.read(order(tmp_path, body, **options))).reading.parsed.text == "café"
    gone = await reader.read(order(tmp_path, b"<h1>Not found</h1>", status_code=404))
    assert gone.reading.classification.type is PageType.ERROR


async def test_a_binary_body_is_refused_and_others_are_read(
    reader: PageReader, tmp_path: Path
) -> None:
    bad = [
        order(tmp_path, b"\x89PNG\r\n\x1a\n\x00\x00", content_type="image/png"),
        order(tmp_path, selection=Selection(keep=["#gone"])),
        PageOrder(path=tmp_path / "gone", url=URL),
    ]
    read = await asyncio.gather(
        *(reader.read(each) for each in (*bad, order(tmp_path))), return_exceptions=True
    )
    assert [type(each) for each in read[:3]] == [PageUnreadable] * 3
    assert all(str(each) for each in read[:3])
    assert not isinstance(read[3], BaseException)
