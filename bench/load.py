"""A load generator that costs next to nothing, in a process of its own.

`python -m bench.load --url http://127.0.0.1:8081/health --connections 64 --seconds 5` repeats one
request; with `--method POST --bodies FILE` each line of the file is the body of one; with
`--requests FILE` each line is JSON {"method", "path", "body"}. It cycles over them until the time
is up or `--total` are answered. Closed loop: each connection sends its next request when the answer
to the last one is there. Prints one line of JSON.
"""

import argparse
import asyncio
import json
import time
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import cast

import uvloop

from bench.processes import split_url

_RECONNECT_SECONDS = 0.02  # after a refused connection, so that it does not spin


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request to send; it is built into bytes before the clock starts."""

    method: str = "GET"
    path: str = "/"  # with its query, already percent-encoded
    body: str | None = None  # JSON text
    headers: tuple[tuple[str, str], ...] = ()

    def encode(self, host: str) -> bytes:
        lines = [f"{self.method} {self.path} HTTP/1.1", f"Host: {host}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        body = b"" if self.body is None else self.body.encode()
        if self.body is not None:
            lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass(frozen=True, kw_only=True)
class LoadResult:
    requests: int  # answered, whatever the status
    seconds: float
    rps: float
    statuses: dict[str, int]  # keyed by status code
    p50_ms: float
    p99_ms: float
    errors: int  # connections refused or lost, and responses that are not HTTP
    cpu_seconds: float  # of the generator: near `seconds` means that it was the bottleneck


class Answer:
    """Reads one response after another: status and length only, the body is counted, not kept."""

    def __init__(self) -> None:
        self.status = 0
        self.keep_alive = True
        self.until_closed = False  # the body has no length: the end of the connection ends it
        self._in_body = False
        self._chunked = False
        self._left = 0  # bytes of a body, or of a chunk, still to come
        self._pending = b""  # the part of a head, or of a chunk's size, that has come so far

    def feed(self, data: bytes) -> bool:
        """Whether the response is complete with this. Raises ValueError if it is not HTTP."""
        if not self._in_body:
            if self._pending:
                data = self._pending + data
            end = data.find(b"\r\n\r\n")
            if end < 0:
                self._pending = data
                return False
            self._pending = b""
            self._read_head(data[:end].lower())
            data = data[end + 4 :]
        if self._chunked:
            done = self._feed_chunks(data)
        else:
            self._left -= len(data)
            done = self._left <= 0 and not self.until_closed
        self._in_body = not done
        return done

    def _read_head(self, head: bytes) -> None:
        if not head.startswith(b"http/1."):
            raise ValueError("not an HTTP response")
        self.status = int(head[9:12])
        self.keep_alive = b"\r\nconnection: close" not in head
        self.until_closed = self._chunked = False
        self._left = 0
        at = head.find(b"\r\ncontent-length:")
        if at >= 0:
            end = head.find(b"\r\n", at + 17)
            self._left = int(head[at + 17 : end if end >= 0 else None])
        elif b"\r\ntransfer-encoding: chunked" in head:
            self._chunked = True
        else:
            self.until_closed = self.status not in (204, 304)

    def _feed_chunks(self, data: bytes) -> bool:
        data = self._pending + data
        at = 0
        while True:
            if self._left >= len(data) - at:  # `_left` includes the line's end after the chunk
                self._left -= len(data) - at
                self._pending = b""
                return False
            at += self._left
            self._left = 0
            end = data.find(b"\r\n", at)
            if end < 0 or (data[at:end] == b"0" and not data.endswith(b"\r\n\r\n")):
                self._pending = data[at:]
                return False
            size = int(data[at:end].partition(b";")[0], 16)
            if size == 0:
                self._pending = b""
                return True
            self._left = size + 2
            at = end + 2


class _Run:
    """What the connections of one run share."""

    def __init__(self, requests: Iterator[bytes]) -> None:
        self.requests = requests
        self.latencies = array("d")
        self.statuses: Counter[int] = Counter()
        self.errors = 0
        self.all_sent = False


class _Connection(asyncio.Protocol):
    """Sends a request, reads its answer, sends the next; `closed` is done when it ends."""

    def __init__(self, run: _Run) -> None:
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._run = run
        self._answer = Answer()
        self._waiting = False
        self._sent = 0.0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's has another base class
        self._send()

    def data_received(self, data: bytes) -> None:
        try:
            if not self._waiting or not self._answer.feed(data):
                return
        except ValueError:
            self.abort()
            return
        self._record()
        if self._answer.keep_alive:
            self._send()
        else:
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._waiting:
            if self._answer.until_closed and exc is None:
                self._record()
            else:
                self._run.errors += 1
        if not self.closed.done():
            self.closed.set_result(None)

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def leave(self) -> None:
        """Give up the request in flight: it counts neither as answered nor as an error."""
        self._waiting = False
        self.abort()

    def _send(self) -> None:
        assert self._transport is not None
        request = next(self._run.requests, None)
        if request is None:
            self._run.all_sent = True
            self._transport.abort()
            return
        self._waiting = True
        self._sent = time.perf_counter()
        self._transport.write(request)

    def _record(self) -> None:
        self._run.latencies.append(time.perf_counter() - self._sent)
        self._run.statuses[self._answer.status] += 1
        self._waiting = False


async def run_load(
    url: str,
    targets: Sequence[Request],
    *,
    connections: int = 64,
    seconds: float = 5.0,
    total: int | None = None,
) -> LoadResult:
    """Send the targets in turn, again and again, to the host of the URL.

    Ends after so many seconds, or earlier when `total` requests are answered.
    """
    host, port, _ = split_url(url)
    encoded = [target.encode(f"{host}:{port}") for target in targets]
    run = _Run(islice(cycle(encoded), total))
    cpu, start = time.process_time(), time.perf_counter()
    keepers = [asyncio.create_task(_keep_connected(run, host, port)) for _ in range(connections)]
    await asyncio.wait(keepers, timeout=seconds)
    elapsed, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
    result = _summary(run, elapsed, cpu_seconds)
    for keeper in keepers:
        keeper.cancel()
    for outcome in await asyncio.gather(*keepers, return_exceptions=True):
        if isinstance(outcome, Exception):
            raise outcome
    return result


async def _keep_connected(run: _Run, host: str, port: int) -> None:
    loop = asyncio.get_running_loop()
    while not run.all_sent:
        try:
            _, connection = await loop.create_connection(lambda: _Connection(run), host, port)
        except OSError:
            run.errors += 1
            await asyncio.sleep(_RECONNECT_SECONDS)
            continue
        try:
            await connection.closed
        finally:
            connection.leave()


def _summary(run: _Run, seconds: float, cpu_seconds: float) -> LoadResult:
    ordered = sorted(run.latencies)
    return LoadResult(
        requests=len(ordered),
        seconds=round(seconds, 4),
        rps=round(len(ordered) / seconds, 1),
        statuses={str(code): count for code, count in sorted(run.statuses.items())},
        p50_ms=_percentile_ms(ordered, 0.50),
        p99_ms=_percentile_ms(ordered, 0.99),
        errors=run.errors,
        cpu_seconds=round(cpu_seconds, 4),
    )


def _percentile_ms(ordered: Sequence[float], share: float) -> float:
    if not ordered:
        return 0.0
    return round(ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000, 3)


def write_requests(path: Path, targets: Sequence[Request]) -> None:
    """Write the file that `--requests` reads."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(asdict(target)) + "\n" for target in targets)


def read_requests(path: Path) -> list[Request]:
    targets = []
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = json.loads(line)
        fields["headers"] = tuple((name, value) for name, value in fields.get("headers", ()))
        targets.append(Request(**fields))
    return targets


def _targets(options: argparse.Namespace) -> list[Request]:
    if options.requests is not None:
        return read_requests(options.requests)
    _, _, path = split_url(options.url)
    if options.bodies is None:
        return [Request(method=options.method, path=path)]
    bodies = options.bodies.read_text(encoding="utf-8").splitlines()
    return [Request(method=options.method, path=path, body=body) for body in bodies]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--method", default="GET")
    parser.add_argument("--bodies", type=Path)
    parser.add_argument("--requests", type=Path)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--total", type=int)
    options = parser.parse_args()
    targets = _targets(options)
    if not targets:
        parser.error("there is no request to send")
    result = uvloop.run(
        run_load(
            options.url,
            targets,
            connections=options.connections,
            seconds=options.seconds,
            total=options.total,
        )
    )
    print(json.dumps(asdict(result)), flush=True)


if __name__ == "__main__":
    main()
