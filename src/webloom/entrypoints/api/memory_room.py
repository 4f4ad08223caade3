"""A limit on the bytes of requests and responses in memory.

Small ones are not counted. A large one waits until there is room, and one client gets at most half
of it, so that clients that stop reading block only themselves.
"""

from __future__ import annotations

import asyncio
from collections import Counter

from webloom.entrypoints.api.responses import Refusal

SMALL = 64 * 1024
WAIT_SECONDS = 10.0
TRY_LATER = {"Retry-After": "10"}


class MemoryRoom:
    def __init__(self, most: int) -> None:
        self._most = most
        self._of_client: Counter[str] = Counter()
        self._used = 0
        self._waiting: dict[asyncio.Future[None], tuple[str, int]] = {}

    def fits(self, client: str, size: int) -> bool:
        """A body larger than the whole room fits when nothing else is there."""
        of_client = self._of_client[client]
        return (not self._used or self._used + size <= self._most) and (
            not of_client or of_client + size <= self._most // 2
        )

    def take_at_once(self, client: str, size: int) -> None:
        """For bytes that are in memory already."""
        self._used += size
        self._of_client[client] += size

    async def take(self, client: str, size: int) -> None:
        """Raises Refusal when it takes too long."""
        if self.fits(client, size):
            self.take_at_once(client, size)
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[turn] = (client, size)
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self.give_back(client, size)
            if not isinstance(error, TimeoutError):
                raise
            detail = "Too much is being sent and received at the moment. Try again."
            raise Refusal(503, detail, TRY_LATER) from None
        finally:
            self._waiting.pop(turn, None)

    def give_back(self, client: str, size: int) -> None:
        self._used -= size
        self._of_client[client] -= size
        if not self._of_client[client]:
            del self._of_client[client]
        for turn, wanted in list(self._waiting.items()):
            if not turn.done() and self.fits(*wanted):
                del self._waiting[turn]
                self.take_at_once(*wanted)
                turn.set_result(None)


class Share:
    """The bytes that one request holds of a room."""

    def __init__(self, room: MemoryRoom, client: str) -> None:
        self._room = room
        self._client = client
        self._size = 0

    async def take(self, size: int) -> None:
        if size > SMALL:
            await self._room.take(self._client, size)
            self._size += size

    def fits(self, size: int) -> bool:
        """Whether there is room for what it does not hold yet."""
        return size <= max(SMALL, self._size) or self._room.fits(self._client, size - self._size)

    def resize(self, size: int) -> None:
        """Hold this many bytes, now that the size is known."""
        size = size if size > SMALL else 0
        more = size - self._size
        self._size = size
        if more > 0:
            self._room.take_at_once(self._client, more)
        elif more < 0:
            self._room.give_back(self._client, -more)

    def close(self) -> None:
        self.resize(0)
