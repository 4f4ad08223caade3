from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymongo
from pymongo.database import Database
from pymongo.errors import PyMongoError

from servers.private import PrivateServer, program

ADVICE = "install MongoDB 7 (mongodb-org-server) and put mongod on PATH"


class MongoServer(PrivateServer):
    """Standalone, or a replica set of one when it has a `replica_set` name."""

    def __init__(
        self,
        folder: Path,
        *options: str,
        replica_set: str | None = None,
        cache_gb: float = 0.5,
    ) -> None:
        super().__init__(folder)
        self.options = options
        self.cache_gb = cache_gb
        self.replica_set = replica_set
        self._program = program("MongoDB", ADVICE, "mongod")

    @property
    def url(self) -> str:
        direct = f"replicaSet={self.replica_set}" if self.replica_set else "directConnection=true"
        return f"mongodb://127.0.0.1:{self.port}/?{direct}"

    @contextmanager
    def database(self, name: str) -> Iterator[Database[dict[str, Any]]]:
        """As another program would have it."""
        with pymongo.MongoClient[dict[str, Any]](self.url) as client:
            yield client[name]

    def drop(self, name: str) -> None:
        with self.database(name) as database:
            database.client.drop_database(name)

    def settings(self, database: str) -> dict[str, str]:
        return {"store": self.url, "mongodb_database": database}

    def command(self) -> Sequence[str]:
        (self.folder / "db").mkdir(exist_ok=True)
        replication = ("--replSet", self.replica_set) if self.replica_set else ()
        return (
            self._program, "--dbpath", str(self.folder / "db"), "--port", str(self.port),
            "--bind_ip", "127.0.0.1", "--wiredTigerCacheSizeGB", str(self.cache_gb),
            "--setParameter", "enableTestCommands=1",  # fail points
            *replication, *self.options,
        )  # fmt: skip

    def answers(self) -> bool:
        address = f"mongodb://127.0.0.1:{self.port}/?directConnection=true"
        with pymongo.MongoClient[dict[str, object]](
            address, serverSelectionTimeoutMS=500, connectTimeoutMS=500
        ) as client:
            try:
                hello = client.admin.command("hello")
                if self.replica_set is None or hello.get("isWritablePrimary"):
                    return True
                if hello.get("info") == "Does not have a valid replica set config":
                    members = [{"_id": 0, "host": f"127.0.0.1:{self.port}"}]
                    client.admin.command(
                        {"replSetInitiate": {"_id": self.replica_set, "members": members}}
                    )
            except PyMongoError:
                pass
        return False
