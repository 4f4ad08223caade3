from __future__ import annotations

from webloom.adapters.sqlite.database import Database
from webloom.adapters.sqlite.feeds import FEEDS, SqliteFeedQueries
from webloom.adapters.sqlite.import_ledger import SqliteRunLedger
from webloom.adapters.sqlite.import_runs import RUNS, SqliteRunQueries
from webloom.adapters.sqlite.postings import SqlitePostings
from webloom.adapters.sqlite.primitives import SqliteDocuments, SqlitePairs
from webloom.ports.imports import Imports
from webloom.stores.feeds import StoredFeeds
from webloom.stores.import_runs import StoredImportRuns


def sqlite_imports(database: Database, *, durable_batches: bool) -> Imports:
    feeds, runs = SqliteDocuments(database, FEEDS), SqliteDocuments(database, RUNS)
    return Imports(
        feeds=StoredFeeds(feeds, SqliteFeedQueries(database), runs),
        runs=StoredImportRuns(
            documents=runs,
            queries=SqliteRunQueries(database),
            ledger=SqliteRunLedger(database),
            feeds=feeds,
            starting=SqlitePairs(database, FEEDS, RUNS),
            ending=SqlitePairs(database, RUNS, FEEDS),
        ),
        postings=SqlitePostings(database, durable_batches=durable_batches),
    )
