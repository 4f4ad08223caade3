"""A client that remembers exactly what it was promised."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import ClientError, ClientSession, ClientTimeout, TCPConnector


class Client:
    def __init__(self, session: ClientSession, bases: Sequence[str]) -> None:
        self.accepted: set[str] = set()  # URLs whose acceptance has reached us
        self.answers: Counter[str] = Counter()  # statuses, and errors by name
        self.server_errors: Counter[str] = Counter()  # what 5xx answers said
        self._session = session
        self._bases = bases
        self._turn = 0

    async def post(self, url: str) -> int | None:
        """The status; None when the connection was lost before it came."""
        status = await self._post("/metadata", {"url": url})
        if status == 202:
            self.accepted.add(url)
        return status

    async def post_event(self, event: Mapping[str, Any]) -> int | None:
        """As `post`, to the storage agent."""
        return await self._post("/api/watch/events", event)

    async def insist_on_event(self, event: Mapping[str, Any], *, pause: float = 0.05) -> None:
        """Post it until it is accepted."""
        while True:
            if await self.post_event(event) == 202:
                return
            await asyncio.sleep(pause)

    async def _post(self, path: str, body: Mapping[str, Any]) -> int | None:
        try:
            async with self._session.post(f"{self._base()}{path}", json=body) as answer:
                self._count(answer.status)
                if answer.status >= 500:
                    assert int(answer.headers["Retry-After"]) > 0
                    self.server_errors[(await answer.json())["detail"]] += 1
                return answer.status
        except (ClientError, TimeoutError, ConnectionError) as error:
            self.answers[type(error).__name__] += 1
            return None

    async def post_batch(self, urls: Sequence[str]) -> list[str]:
        """What was not accepted, or may not have been."""
        try:
            async with self._session.post(f"{self._base()}/metadata/batch", json=urls) as answer:
                self._count(answer.status)
                body = await answer.json()
                if answer.status != 202:
                    self.server_errors[body["detail"]] += 1
                    return list(urls)
        except (ClientError, TimeoutError, ConnectionError) as error:
            self.answers[type(error).__name__] += 1
            return list(urls)
        assert [each["url"] for each in body] == list(urls)
        self.accepted |= {each["url"] for each in body if each["accepted"]}
        return [each["url"] for each in body if not each["accepted"]]

    async def insist(self, urls: Sequence[str], *, batch: int, pause: float = 0.05) -> None:
        """Submit until every URL is accepted."""
        left = list(urls)
        while left:
            part, left = left[:batch], left[batch:]
            if batch == 1:
                refused = [] if await self.post(part[0]) == 202 else part
            else:
                refused = await self.post_batch(part)
            if refused:
                left = refused + left
                await asyncio.sleep(pause)

    async def get(self, path: str, **query: str) -> tuple[int, Any]:
        async with self._session.get(f"{self._base()}{path}", params=query) as answer:
            return answer.status, await answer.json()

    async def send(self, path: str, body: Mapping[str, Any]) -> tuple[int, Any]:
        async with self._session.post(f"{self._base()}{path}", json=body) as answer:
            return answer.status, await answer.json()

    async def get_status(self, path: str, **query: str) -> int:
        return (await self.get(path, **query))[0]

    async def delete(self, path: str, **query: str) -> int:
        async with self._session.delete(f"{self._base()}{path}", params=query) as answer:
            return answer.status

    def _base(self) -> str:
        self._turn += 1
        return self._bases[self._turn % len(self._bases)]

    def _count(self, status: int) -> None:
        self.answers[str(status)] += 1


@asynccontextmanager
async def client_of(*bases: str, seconds: float = 30.0) -> AsyncIterator[Client]:
    async with ClientSession(
        timeout=ClientTimeout(total=seconds), connector=TCPConnector(limit=0)
    ) as session:
        yield Client(session, bases)
