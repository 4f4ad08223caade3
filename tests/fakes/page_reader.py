from __future__ import annotations

from webloom.adapters.page_process import child
from webloom.domain.errors import PageUnreadable
from webloom.ports.page_reader import PageOrder, PageRead


class InProcessPageReader:
    """A PageReader without a child process, and so without its bounds in time and memory."""

    def __init__(self) -> None:
        self.orders: list[PageOrder] = []

    async def read(self, order: PageOrder) -> PageRead:
        self.orders.append(order)
        try:
            body = order.path.read_bytes()
        except OSError as error:
            raise PageUnreadable(f"can't read {order.path}: {error.strerror}") from error
        return child.read(order, body)
