from __future__ import annotations

from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.documents import Document, plain
from webloom.adapters.mongodb.primitives import Codec, MongoDocuments
from webloom.domain.lease import Lease
from webloom.stores.locks import StoredLocks


def lock_codec(database: MongoDatabase) -> Codec[Lease]:
    return Codec(database.locks, decode=_decode, encode=_encode, guards=("owner", "token", "lease"))


def mongodb_locks(database: MongoDatabase) -> StoredLocks:
    return StoredLocks(MongoDocuments(database, lock_codec(database)))


def _decode(document: Document) -> Lease:
    return Lease(owner=document["owner"], token=int(document["token"]), until=document["lease"])


def _encode(lease: Lease) -> Document:
    return {"owner": plain(lease.owner), "token": lease.token, "lease": lease.until}
