from __future__ import annotations

from pathlib import Path

from webloom.diffs.pages import diff_pages
from webloom.domain.errors import PageUnreadable
from webloom.parsing.pages.reading import read_page
from webloom.ports.page_reader import PageOrder, PageRead


class InProcessPageReader:
    """A PageReader without a child process, and so without its bounds in time and memory."""

    def __init__(self) -> None:
        self.orders: list[PageOrder] = []

    async def read(self, order: PageOrder) -> PageRead:
        self.orders.append(order)
        reading = read_page(
            _body(order.path),
            url=order.url,
            status_code=order.status_code,
            content_type=order.content_type,
            selection=order.selection,
        )
        diff = None if order.previous is None else diff_pages(order.previous, reading.parsed)
        return PageRead(reading=reading, diff=diff)


def _body(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise PageUnreadable(f"can't read {path}: {error.strerror}") from error
