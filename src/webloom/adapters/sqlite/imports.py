from __future__ import annotations

from webloom.adapters.sqlite.database import Database
from webloom.adapters.sqlite.feeds import SqliteFeeds
from webloom.adapters.sqlite.import_runs import SqliteImportRuns
from webloom.adapters.sqlite.postings import SqlitePostings
from webloom.ports.imports import Imports


def sqlite_imports(database: Database, *, durable_batches: bool) -> Imports:
    runs = SqliteImportRuns(database)
    return Imports(
        feeds=SqliteFeeds(database),
        runs=runs,
        listed_runs=runs,
        postings=SqlitePostings(database, durable_batches=durable_batches),
    )
