from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import aiormq

from servers.private import PrivateServer, free_port, program
from timeouts import TIMEOUT_SECONDS

NAME = "RabbitMQ"
ADVICE = "apt-get install rabbitmq-server"
# As deploy/compose.yaml sets it, only shorter. A node that starts may find that a queue for delays
# is there before its exchange; it tries again after this time, and after three minutes by default.
RETRY_DEAD_LETTERS = "-rabbit dead_letter_worker_publisher_confirm_timeout 3000"
DEBIAN = "/usr/lib/rabbitmq/bin"  # behind the wrappers that insist on their own user and folders


class RabbitServer(PrivateServer):
    """A node with its own name, cookie, folders and port mapper (epmd)."""

    def __init__(self, folder: Path, *options: str) -> None:
        super().__init__(folder)
        self.options = options  # lines of rabbitmq.conf
        self._server = program(NAME, ADVICE, f"{DEBIAN}/rabbitmq-server", "rabbitmq-server")
        self._ctl = program(NAME, ADVICE, f"{DEBIAN}/rabbitmqctl", "rabbitmqctl")
        self._epmd_port = free_port()
        self._dist_port = free_port()
        self._epmd: subprocess.Popen[bytes] | None = None

    @property
    def limits_channels(self) -> bool:
        """Whether one prefetch limit can cover several queues: not from RabbitMQ 4 on."""
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(b"AMQP\x00\x00\x09\x01")
            hello = connection.recv(4096)
        found = re.search(rb"\x07versionS....(\d+)\.", hello, re.DOTALL)
        assert found is not None, hello
        return int(found[1]) < 4

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self.port}/"

    @asynccontextmanager
    async def channel(self) -> AsyncIterator[aiormq.abc.AbstractChannel]:
        """As another program would have it."""
        connection = await aiormq.connect(self.url)
        try:
            yield await connection.channel()
        finally:
            await connection.close(ConnectionError("closed"))

    async def delete_queues(self, *names: str) -> None:
        async with self.channel() as channel:
            for name in names:
                await channel.queue_delete(name)

    async def delete_exchanges(self, *names: str) -> None:
        async with self.channel() as channel:
            for name in names:
                await channel.exchange_delete(name)

    async def purge_queue(self, name: str) -> None:
        async with self.channel() as channel:
            await channel.queue_purge(name)

    async def declare_short_queue(self, name: str) -> None:
        """With arguments that differ from Webloom's."""
        async with self.channel() as channel:
            await channel.queue_declare(name, durable=True, arguments={"x-max-length": 7})

    @asynccontextmanager
    async def disk_alarm(self) -> AsyncIterator[None]:
        """It takes no message; what is there can be worked off."""

        def is_reported() -> bool:
            """The alarm takes a moment to reach the connections."""
            states = self.ctl("list_connections", "state", "--no-table-headers").split()
            return bool(states) and set(states) <= {"blocking", "blocked"}

        try:
            await asyncio.to_thread(self.ctl, "set_disk_free_limit", "1000000GB")
            for _ in range(100):
                if await asyncio.to_thread(is_reported):
                    break
            else:
                raise AssertionError("RabbitMQ does not report the alarm to its clients")
            yield
        finally:
            await asyncio.to_thread(self.ctl, "set_disk_free_limit", "1MB")

    def listed(self, what: str) -> int:
        """How many connections, channels or queues it has."""
        return len(self.ctl("--no-table-headers", f"list_{what}").splitlines())

    def queue_lengths(self) -> dict[str, int]:
        rows = self.ctl("list_queues", "name", "messages", "--no-table-headers").splitlines()
        return {name: int(count) for name, count in map(str.split, rows)}

    def environment(self) -> Mapping[str, str]:
        return {
            "HOME": str(self.folder),
            "ERL_EPMD_PORT": str(self._epmd_port),
            "RABBITMQ_NODENAME": f"webloom{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(self._dist_port),
            "RABBITMQ_MNESIA_BASE": str(self.folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self.folder / "log"),
            "RABBITMQ_CONFIG_FILE": str(self.folder / "rabbitmq.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "plugins"),
            "RABBITMQ_CONF_ENV_FILE": str(self.folder / "no-such-file"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": f"+S 2:2 +sbwt none {RETRY_DEAD_LETTERS}",
        }

    def command(self) -> Sequence[str]:
        return (self._server,)

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "plugins").write_text("[].")
        config = ["loopback_users = none", *self.options]
        (self.folder / "rabbitmq.conf").write_text("\n".join(config) + "\n")
        epmd = program(NAME, ADVICE, "epmd")
        with self.log.open("ab") as log:
            self._epmd = subprocess.Popen(
                (epmd, "-port", str(self._epmd_port), "-address", "127.0.0.1"),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        super().start()

    def kill(self) -> None:
        super().kill()
        if self._epmd is not None:
            self._epmd.kill()
            self._epmd.wait()
            self._epmd = None

    def answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
                connection.sendall(b"AMQP\x00\x00\x09\x01")
                return connection.recv(1) == b"\x01"
        except OSError:
            return False

    def ctl(self, *words: str) -> str:
        """rabbitmqctl on this node."""
        done = subprocess.run(
            (self._ctl, "--quiet", *words),
            env=os.environ | self.environment(),
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=True,
        )
        return done.stdout
