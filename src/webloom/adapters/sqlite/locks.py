from __future__ import annotations

from webloom.adapters.sqlite.batches import plain
from webloom.adapters.sqlite.database import Database
from webloom.adapters.sqlite.primitives import SqliteDocuments, Table
from webloom.domain.lease import Lease
from webloom.stores.locks import StoredLocks

LOCKS = Table(
    "locks",
    key="name",
    columns=("owner", "token", "lease"),
    decode=lambda row: Lease(owner=row[1], token=row[2], until=row[3]),
    encode=lambda each: {"owner": plain(each.owner), "token": each.token, "lease": each.until},
)


def sqlite_locks(database: Database) -> StoredLocks:
    return StoredLocks(SqliteDocuments(database, LOCKS))
