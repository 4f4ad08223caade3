"""The API as its clients see it."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec
from prometheus_client.parser import text_string_to_metric_families
from yarl import URL

from e2e.running import Webloom, until, until_some
from timeouts import TIMEOUT_SECONDS
from webloom.domain.import_run import IMPORT_QUEUE
from webloom.domain.inventory import METADATA_QUEUE
from webloom.domain.page import CHECK_QUEUE, STORAGE_QUEUE

PROBLEM = "application/problem+json"
QUEUES = (METADATA_QUEUE, IMPORT_QUEUE, CHECK_QUEUE, STORAGE_QUEUE)


@dataclass(frozen=True, kw_only=True)
class Answer:
    status: int
    headers: dict[str, str]  # lower-case names
    text: str
    body: Any  # None when it is not JSON

    def is_problem(self, status: int, *parts: str) -> bool:
        """Of this status, as RFC 9457 has it, with these parts in its detail."""
        assert (self.status, self.headers["content-type"]) == (status, PROBLEM), self.text
        assert self.body["status"] == status
        assert self.body["title"]
        missing = [part for part in parts if part not in self.body["detail"]]
        assert not missing, f"{missing} not in {self.body['detail']!r}"
        return True


@asynccontextmanager
async def calling(it: Webloom) -> AsyncIterator[Api]:
    """For a server that outlives the test."""
    async with it.opened_client() as client:
        yield Api(client, it.base)


@asynccontextmanager
async def calling_from(address: str, base: str) -> AsyncIterator[Api]:
    """As another client: any 127.… is an address of this machine."""
    async with aiohttp.ClientSession(
        base,
        connector=aiohttp.TCPConnector(limit=0, local_addr=(address, 0)),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=TIMEOUT_SECONDS),
    ) as client:
        yield Api(client, base)


class Api:
    def __init__(self, client: aiohttp.ClientSession, base: str) -> None:
        self.client = client
        self.base = base

    async def call(
        self, method: str, path: str | URL, *, json: Any = None, data: Any = None, **options: Any
    ) -> Answer:
        """`json` is sent as curl would send it, without its content type."""
        if json is not None:
            data = msgspec.json.encode(json)
        if isinstance(data, bytes):
            data = io.BytesIO(data)  # aiohttp warns of large bodies that are bytes
        options |= {"data": data, "allow_redirects": False}
        async with self.client.request(method, path, **options) as answer:
            is_json = method != "HEAD" and answer.content_type in ("application/json", PROBLEM)
            return Answer(
                status=answer.status,
                headers={name.lower(): value for name, value in answer.headers.items()},
                text=await answer.text(),
                body=await answer.json(content_type=None) if is_json else None,
            )

    async def raw(self, path_and_query: str) -> Answer:
        """A path that is not encoded on the way."""
        return await self.call("GET", URL(self.base + path_and_query, encoded=True))

    async def submit(self, url: str) -> Answer:
        return await self.call("POST", "/metadata", json={"url": url})

    async def submitted(self, *urls: str) -> list[dict[str, Any]]:
        """All of them in one batch, and all accepted."""
        answer = await self.call("POST", "/metadata/batch", json=urls)
        assert answer.status == 202, answer.text
        assert all(each["accepted"] for each in answer.body), answer.text
        return list(answer.body)

    async def look_up(self, url: str, **parameters: str) -> Answer:
        return await self.call("GET", "/metadata", params={"url": url, **parameters})

    async def records(self, **parameters: str | int) -> Answer:
        return await self.call("GET", "/metadata/records", params=parameters)

    async def listed(self, url: str) -> dict[str, Any]:
        """The record as it is, whatever its state; looking at it here requests nothing."""
        host = URL(url).host
        assert host is not None
        answer = await self.records(host=host, limit=200)
        [record] = [record for record in answer.body["data"] if record["url"] == url]
        return dict(record)

    async def record(
        self,
        url: str,
        *,
        ready: Callable[[dict[str, Any]], bool] = lambda record: True,
        within: float = TIMEOUT_SECONDS,
        **parameters: str,
    ) -> dict[str, Any]:
        """The record, once the API answers with one that is ready."""

        async def look() -> dict[str, Any] | None:
            answer = await self.look_up(url, **parameters)
            assert answer.status in (200, 202), answer.text
            return answer.body if answer.status == 200 and ready(answer.body) else None

        return await until_some(look, within=within, what=f"the record of {url}")

    async def listed_as(self, url: str, status: str) -> dict[str, Any]:
        """The record, once it is in this state."""

        async def look() -> dict[str, Any] | None:
            record = await self.listed(url)
            return record if record["status"] == status else None

        return await until_some(look, what=f"{url} to be {status}")

    async def is_alive(self) -> bool:
        try:
            return (await self.call("GET", "/health/live")).status == 200
        except aiohttp.ClientConnectorError:
            return False

    async def ready(self) -> None:
        """Once it says so: of a busy machine it may be said for a moment that it is not."""

        async def look() -> bool:
            return (await self.call("GET", "/health/ready")).status == 200

        await until(look, what="the API to be ready")

    async def queue(self) -> dict[str, Any]:
        """The first one, once it is reported: a busy machine leaves out what it could not read."""

        async def look() -> dict[str, Any] | None:
            answer = await self.call("GET", "/health")
            reported = {each["name"]: each for each in answer.body["queues"]}
            return reported.get(METADATA_QUEUE)

        return dict(await until_some(look, what="the depth of the queue"))

    async def contents(self) -> dict[str, float]:
        """How much of what there is, in the queues and in the inventory, once all is reported."""

        async def look() -> dict[str, float] | None:
            metrics = (await self.call("GET", "/metrics")).text
            samples = [
                sample
                for family in text_string_to_metric_families(metrics)
                if family.name in ("webloom_records", "webloom_queue_messages")
                for sample in family.samples
            ]
            reported = {sample.labels.get("queue", sample.name) for sample in samples}
            if not reported >= {"webloom_records", *QUEUES}:
                return None
            return {
                f"{sample.name} {sorted(sample.labels.items())}": sample.value for sample in samples
            }

        return await until_some(look, what="the metrics of all queues and records")
