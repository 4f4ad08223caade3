"""One Redis server: the connection, its requirements, and script calls.

Calls made while others are in flight wait for them, and are then pipelined in order on one
connection. Nothing is retried: a call whose answer was lost may have been executed, and its caller
knows whether it can be repeated.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError
from redis.exceptions import TimeoutError as NoAnswerError

from webloom.adapters.bullmq.refusals import FOREIGN, CommandRefused, check_server, translated
from webloom.cancellation import cancel_and_wait
from webloom.domain.backoff import RECONNECT
from webloom.domain.errors import BackendRefused, BrokerUnavailable, WebloomError
from webloom.jitter import jitter
from webloom.parsing.backend_url import shown
from webloom.ports.clock import Clock
from webloom.ports.connection import Connection

log = logging.getLogger(__name__)

CONNECT_SECONDS = 1.0
ANSWER_SECONDS = 5.0  # after which the server counts as lost
CHECK_SECONDS = 5.0  # between health checks of an idle connection
QUIET_SECONDS = 1.0  # after a timeout, calls fail at once
MOST_CALLS, MOST_BYTES = 500, 1 << 20  # per pipeline
TURNS = 2  # of the event loop, for other calls to join: an ack and the request for the next job

# Options allowed in an address. Those that Webloom sets itself are ignored.
OPTIONS = frozenset((
    "db", "username", "password", "client_name", "ssl_ca_certs", "ssl_ca_path", "ssl_ca_data",
    "ssl_certfile", "ssl_keyfile", "ssl_password", "ssl_cert_reqs", "ssl_check_hostname",
    "ssl_ciphers",
))  # fmt: skip

Argument = str | bytes | int | float


@dataclass(frozen=True, slots=True)
class Script:
    text: str
    refusals: Mapping[int, str] = field(default_factory=dict)  # meaning of an answer
    sha: str = field(init=False)

    def __post_init__(self) -> None:
        digest = hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()
        object.__setattr__(self, "sha", digest)  # by which Redis identifies it


@dataclass(frozen=True, slots=True)
class _Call:
    script: Script
    keys: Sequence[str]
    arguments: Sequence[Argument]
    answer: asyncio.Future[Any]

    @property
    def size(self) -> int:
        return sum(len(each) for each in self.arguments if isinstance(each, (str, bytes)))


class Server:
    def __init__(self, url: str, clock: Clock) -> None:
        self.address = shown(url)
        self._url = url
        self._clock = clock
        self._ahead: float | None = None  # the server's clock minus the steady clock
        self._client = self.client(ANSWER_SECONDS)
        self._calls: deque[_Call] = deque()
        self._sender: asyncio.Task[None] | None = None
        self._checked = False  # since the last loss: it may be another server now
        self._failure: str | None = None
        self._quiet_until: float | None = None  # on the clock of the event loop
        self._lost = asyncio.Event()
        self.reached = asyncio.Event()
        self.reached_at = 0.0  # on the clock of the event loop; since then it has answered
        self._closed = False

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Server]:
        """Raises BackendRefused. An unreachable server is retried."""
        keeper = None
        try:
            with suppress(BrokerUnavailable):
                await self.check()
            keeper = asyncio.create_task(self._keep())
            yield self
        finally:
            self._closed = True
            if keeper is not None:
                await cancel_and_wait(keeper)
            if self._sender is not None:
                await asyncio.wait([self._sender])
            await self._client.aclose()

    def connection(self) -> Connection:
        state = "READY" if self._failure is None else "DISCONNECTED"
        return Connection(kind="bullmq", address=self.address, state=state, detail=self._failure)

    def client(self, answer_seconds: float) -> Redis:
        """A client that gives up at the first failure. The caller closes it."""
        ours: dict[str, Any] = {
            "protocol": 2,
            "encoding": "utf-8",
            "encoding_errors": "surrogateescape",  # for job ids that are not UTF-8
            "decode_responses": False,
            "socket_connect_timeout": CONNECT_SECONDS,
            "socket_timeout": answer_seconds,
            "retry": Retry(NoBackoff(), 0),
            "retry_on_timeout": False,
            "health_check_interval": 0,
        }
        try:  # the library's own texts can hold a part of the password
            given: dict[str, Any] = {**parse_url(self._url)}
            named = parse_qs(urlsplit(self._url).query).keys()
        except ValueError:
            raise BackendRefused(
                f"{self.address} is not the address of a Redis server: use "
                "redis://user:password@host:6379/0, with a percent-encoded password"
            ) from None
        try:
            if not named <= OPTIONS | ours.keys():
                raise TypeError
            pool = ConnectionPool(**(given | ours))
            pool.make_connection()  # type: ignore[no-untyped-call]  # redis-py leaves it untyped
        except (TypeError, ValueError, RedisError):
            raise BackendRefused(
                f"the address of Redis at {self.address} has an unknown option or a bad value: it "
                "takes db and client_name, and with rediss:// the options of redis-py that begin "
                "with ssl_"
            ) from None
        return Redis.from_pool(pool)

    def now(self) -> float:
        """Seconds since 1970 by the server's clock, which all users of a queue share. A jump of the
        local clock does not change it."""
        if self._ahead is None:
            return self._clock.now().timestamp()
        return self._clock.steady() + self._ahead

    def call(
        self, script: Script, keys: Sequence[str], arguments: Sequence[Argument]
    ) -> asyncio.Future[Any]:
        """The future raises BrokerUnavailable or BackendRefused. The call is made even if it is
        not awaited."""
        loop = asyncio.get_running_loop()
        answer = loop.create_future()
        if self._closed:
            answer.set_exception(BrokerUnavailable(f"the connection to {self.address} is closed"))
            return answer
        if self._is_quiet(loop.time()):
            answer.set_exception(BrokerUnavailable(str(self._failure)))
            return answer
        self._calls.append(_Call(script, keys, arguments, answer))
        if self._sender is None or self._sender.done():
            self._sender = loop.create_task(self._send())
        return answer

    def _is_quiet(self, now: float) -> bool:
        """After a timeout, only one call at a time tries the server."""
        if self._quiet_until is None or self._calls:
            return False
        is_tried = self._sender is not None and not self._sender.done()
        return is_tried or now < self._quiet_until

    async def check(self) -> None:
        """Check that the server answers and meets the requirements."""
        try:
            await self._client.ping()
            before = self._clock.steady()
            seconds, microseconds = await self._client.time()
            self._ahead = seconds + microseconds / 1e6 - (before + self._clock.steady()) / 2
            if not self._checked:
                info = await self._client.info()
                check_server(info, self.address)
                if not info.get("aof_enabled"):
                    log.warning(
                        "Redis loses messages when it restarts: set appendonly yes",
                        extra={"address": self.address},
                    )
        except FOREIGN as error:
            raise self._lost_by(error) from error
        except BackendRefused as error:
            raise self._failed(error) from None
        self._checked = True
        self._succeeded()

    async def _keep(self) -> None:
        """Monitor the server, and reconnect after a loss."""
        failures = 0
        while True:
            if self._failure is None:
                failures = 0
                with suppress(TimeoutError):
                    async with asyncio.timeout(CHECK_SECONDS):
                        await self._lost.wait()
            if self._failure is not None:
                failures += 1
                await asyncio.sleep(RECONNECT.delay(failures, jitter=jitter()))
            with suppress(WebloomError):
                await self.check()

    async def _send(self) -> None:
        while self._calls:
            for _ in range(TURNS):
                await asyncio.sleep(0)
            together = [self._calls.popleft()]
            size = together[0].size
            while self._calls and len(together) < MOST_CALLS and size < MOST_BYTES:
                together.append(self._calls.popleft())
                size += together[-1].size
            try:
                if not self._checked:
                    await self.check()
                answers = await self._answers(together)
            except Exception as error:
                # Waiting calls would fail the same way, only later.
                while self._calls:
                    together.append(self._calls.popleft())
                answers = [error] * len(together)
            for call, answer in zip(together, answers, strict=True):
                if call.answer.done():
                    continue
                if isinstance(answer, Exception):
                    call.answer.set_exception(answer)
                else:
                    call.answer.set_result(answer)

    async def _answers(self, calls: Sequence[_Call]) -> list[Any]:
        try:
            answers = await self._evaluate(calls)
            unknown = [n for n, each in enumerate(answers) if isinstance(each, NoScriptError)]
            if unknown:
                for text in {calls[n].script.text for n in unknown}:
                    await self._client.script_load(text)
                again = await self._evaluate([calls[n] for n in unknown])
                for n, answer in zip(unknown, again, strict=True):
                    answers[n] = answer
        except FOREIGN as error:
            raise self._lost_by(error) from error
        self._succeeded()
        return [self._read(call, answer) for call, answer in zip(calls, answers, strict=True)]

    def _read(self, call: _Call, answer: Any) -> Any:
        if isinstance(answer, Exception):
            return translated(answer, self.address)
        if isinstance(answer, int) and answer in call.script.refusals:
            return CommandRefused(call.script.refusals[answer])
        return answer

    async def _evaluate(self, calls: Sequence[_Call]) -> list[Any]:
        async with self._client.pipeline(transaction=False) as pipe:
            for call in calls:
                pipe.execute_command(
                    "EVALSHA", call.script.sha, len(call.keys), *call.keys, *call.arguments
                )
            return await pipe.execute(raise_on_error=False)

    def _lost_by(self, error: Exception) -> WebloomError:
        if isinstance(error, NoAnswerError):
            self._quiet_until = asyncio.get_running_loop().time() + QUIET_SECONDS
        return self._failed(translated(error, self.address))

    def _failed(self, error: BrokerUnavailable | BackendRefused) -> WebloomError:
        if self._failure is None:
            log.warning("cannot reach Redis", extra={"address": self.address, "error": str(error)})
        self._failure = str(error)
        self._checked = False
        self.reached.clear()
        self._lost.set()
        return error

    def _succeeded(self) -> None:
        if not self.reached.is_set():
            self._failure = None
            self._quiet_until = None
            self._lost.clear()
            self.reached_at = asyncio.get_running_loop().time()
            self.reached.set()
            log.info("Redis answers", extra={"address": self.address})
