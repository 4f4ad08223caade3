"""A web in memory, as a Fetcher and a Downloader reach it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from webloom.adapters.http.headers import cookie_of, plain_headers, seconds_to_wait
from webloom.domain.errors import FetchFailed, NotConnected, UrlRefused
from webloom.domain.feed import LastFetch
from webloom.domain.inventory import Received
from webloom.domain.network_policy import NetworkPolicy
from webloom.parsing.text_decoding import decode_body
from webloom.parsing.web_url import join, normalise
from webloom.ports.fetcher import Downloaded

MOST_REDIRECTS = 5
NOT_FOUND = 404


@dataclass(frozen=True, kw_only=True)
class Answer:
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def to(self, known: LastFetch) -> Answer:
        """As a server answers a conditional request."""
        mine = plain_headers(self.headers)
        if known.etag is not None:  # then a date does not count
            is_known = known.etag == mine.get("etag")
        else:
            date = known.last_modified
            is_known = date is not None and date == mine.get("last-modified")
        return Answer(status=304, headers=self.headers) if is_known else self

    @property
    def retry_after(self) -> float | None:
        return seconds_to_wait(plain_headers(self.headers).get("retry-after"))


@dataclass(kw_only=True)
class _Reached:
    url: str
    answer: Answer
    cookies: dict[str, str]


class FakeWeb:
    """Answers what a test has put at a URL, as soon as the test allows it.

    There is no connection to a host without pages; a host with some answers 404 for any other.
    """

    def __init__(
        self,
        *,
        policy: NetworkPolicy | None = None,
        total_seconds: float = 3600.0,
        max_bytes: int = 1 << 24,
    ) -> None:
        self.pages: dict[str, Answer | FetchFailed] = {}
        self.requested: list[str] = []
        self.conditions: list[LastFetch] = []  # of downloads
        self.most_running = 0
        self.started = asyncio.Event()  # a request is waiting for its answer
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self._policy = policy or NetworkPolicy.parse([])
        self._total_seconds = total_seconds
        self._max_bytes = max_bytes
        self._running = 0

    async def fetch(self, url: str) -> Received:
        async with self._waiting(url):
            reached = self._reach(url, LastFetch())
        answer = reached.answer
        headers = plain_headers(answer.headers)
        body, details = answer.body, {}
        if len(body) > self._max_bytes:
            body = body[: self._max_bytes]
            details = {
                "body_truncated_at": self._max_bytes,
                "content_length": None,
                "content_hash": None,
            }
        return Received(
            status_code=answer.status,
            headers=headers,
            cookies=reached.cookies,
            page_source=decode_body(body, headers.get("content-type")),
            final_url=reached.url,
            details=details,
            retry_after=answer.retry_after,
        )

    async def download(self, url: str, into: Path, *, known: LastFetch) -> Downloaded:
        self.conditions.append(known)
        async with self._waiting(url):
            reached = self._reach(url, known)
        answer = reached.answer
        headers = plain_headers(answer.headers)
        body = answer.body if 200 <= answer.status <= 299 else None
        if body is not None:
            self._refuse_large(body)
            _write(into, body)
        return Downloaded(
            status_code=answer.status,
            final_url=reached.url,
            bytes=len(body or b""),
            sha256=None if body is None else hashlib.sha256(body).hexdigest(),
            etag=headers.get("etag"),
            last_modified=headers.get("last-modified"),
            content_type=headers.get("content-type"),
            retry_after=answer.retry_after,
        )

    @property
    def running(self) -> int:
        return self._running

    @asynccontextmanager
    async def _waiting(self, url: str) -> AsyncIterator[None]:
        self.requested.append(url)
        self._running += 1
        self.most_running = max(self.most_running, self._running)
        self.started.set()
        try:
            async with asyncio.timeout(self._total_seconds):
                await self.may_answer.wait()
            yield
        except TimeoutError:
            raise FetchFailed(
                reason=f"no complete answer within {self._total_seconds:g} s", retryable=True
            ) from None
        finally:
            self._running -= 1

    def _reach(self, url: str, known: LastFetch) -> _Reached:
        """Follow redirects to the last answer."""
        reached = _Reached(url=url, answer=Answer(), cookies={})
        for _ in range(MOST_REDIRECTS + 1):
            reached.answer = self._answer(reached.url).to(known)
            headers = plain_headers(reached.answer.headers)
            if cookie := cookie_of(headers.get("set-cookie", "")):
                reached.cookies[cookie[0]] = cookie[1]
            location = headers.get("location")
            if reached.answer.status not in (301, 302, 303, 307, 308) or location is None:
                return reached
            with _refusals_as_failures():
                reached.url = join(reached.url, location)
        raise FetchFailed(
            reason=f"there were more than {MOST_REDIRECTS} redirects", retryable=False
        )

    def _answer(self, url: str) -> Answer:
        with _refusals_as_failures():
            url = normalise(url)
        self._refuse_address(url)
        page = self.pages.get(url)
        if isinstance(page, FetchFailed):
            raise page
        if page is not None:
            return page
        if _server(url) not in map(_server, self.pages):
            raise NotConnected(reason="no connection could be made", retryable=True)
        return Answer(status=NOT_FOUND)

    def _refuse_address(self, url: str) -> None:
        parts = urlsplit(url)
        try:
            address = ip_address(parts.hostname or "")
        except ValueError:
            return  # a name
        if refusal := self._policy.refusal(str(address), parts.port or 80):
            raise FetchFailed(reason=refusal.detail, retryable=False)

    def _refuse_large(self, body: bytes) -> None:
        if len(body) > self._max_bytes:
            raise FetchFailed(
                reason=f"the body is larger than {self._max_bytes} bytes", retryable=False
            )


def _server(url: str) -> str:
    """http and https have different ports."""
    return url[: url.index("/", len("https://")) + 1]


@contextmanager
def _refusals_as_failures() -> Iterator[None]:
    try:
        yield
    except UrlRefused as refused:
        raise FetchFailed(reason=str(refused), retryable=False) from refused


def _write(into: Path, body: bytes) -> None:
    """In no thread, which could outlive a cancelled download."""
    try:
        into.write_bytes(body)
    except OSError as error:
        raise FetchFailed(
            reason=f"the body can't be written to {into}: {error.strerror}", retryable=True
        ) from error
