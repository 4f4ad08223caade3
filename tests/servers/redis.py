from __future__ import annotations

import socket
from collections.abc import Sequence
from pathlib import Path

from servers.private import PrivateServer, program


class RedisServer(PrivateServer):
    def __init__(self, folder: Path, *options: str) -> None:
        super().__init__(folder)
        self.options = options
        self._program = program("Redis", "apt-get install redis-server", "redis-server")

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def command(self) -> Sequence[str]:
        # With "everysec" it answers before it writes, while an fsync takes its time; with "no" it
        # has written first, and a kill loses nothing.
        return (
            self._program, "--port", str(self.port), "--bind", "127.0.0.1",
            "--dir", str(self.folder), "--save", "", "--appendonly", "yes",
            "--appendfsync", "no", *self.options,
        )  # fmt: skip

    def answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                answer = connection.recv(64)
        except OSError:
            return False
        return answer.startswith((b"+PONG", b"-NOAUTH"))
