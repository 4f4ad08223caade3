from __future__ import annotations

from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.feeds import MongoFeeds
from webloom.adapters.mongodb.import_ledger import MongoRunLedger
from webloom.adapters.mongodb.import_runs import MongoImportRuns
from webloom.adapters.mongodb.postings import MongoPostings
from webloom.ports.imports import Imports


def mongodb_imports(database: MongoDatabase) -> Imports:
    ledger = MongoRunLedger(database)
    runs = MongoImportRuns(database, ledger)
    return Imports(
        feeds=MongoFeeds(database),
        runs=runs,
        listed_runs=runs,
        postings=MongoPostings(database, ledger, runs),
    )
