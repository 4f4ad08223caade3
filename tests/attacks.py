"""Clients that mean harm, on loopback: each holds what it has opened until its context ends.

Used by the tests of limits and by `python -m bench attacks`.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

ATTACKER = "127.66.0.1"
TOGETHER = 50  # connections that are opened at a time
SMALL_BUFFER = 4096


@asynccontextmanager
async def connected(
    port: int, count: int, send: bytes = b"", *, addresses: tuple[str, ...] = (ATTACKER,)
) -> AsyncIterator[list[socket.socket]]:
    """Connections that send something and then do nothing: they do not even read. Those that the
    server has closed stay in the list."""
    loop = asyncio.get_running_loop()
    opened: list[socket.socket] = []

    async def open_one(number: int) -> None:
        it = socket.socket()
        opened.append(it)
        it.setblocking(False)
        it.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
        it.bind((addresses[number % len(addresses)], 0))
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(10):
                await loop.sock_connect(it, ("127.0.0.1", port))
                await loop.sock_sendall(it, send)

    try:
        for start in range(0, count, TOGETHER):
            numbers = range(start, min(count, start + TOGETHER))
            await asyncio.gather(*(open_one(number) for number in numbers))
        yield opened
    finally:
        for each in opened:
            each.close()


def many_headers(count: int = 12_600) -> bytes:
    """A head without an end."""
    return b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"a:\r\n" * count


def request(path: str, *headers: str) -> bytes:
    lines = [f"GET {path} HTTP/1.1", "Host: 127.0.0.1", *headers, "", ""]
    return "\r\n".join(lines).encode()


def is_open(connection: socket.socket) -> bool:
    """Whether the server has not closed it. What it has sent is read."""
    try:
        while connection.recv(1 << 16):
            pass
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def memory(pid: int) -> tuple[int, int]:
    """Bytes that the process has in memory now, and that it had at most."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    now, most = (int(fields[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM"))
    return now, most


def open_files(pid: int) -> int:
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
