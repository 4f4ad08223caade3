from __future__ import annotations

from webloom.adapters.mongodb.client import MongoDatabase
from webloom.adapters.mongodb.feeds import MongoFeedQueries, feed_codec
from webloom.adapters.mongodb.import_ledger import MongoRunLedger
from webloom.adapters.mongodb.import_run_codec import run_codec
from webloom.adapters.mongodb.import_runs import MongoRunQueries
from webloom.adapters.mongodb.postings import MongoPostings
from webloom.adapters.mongodb.primitives import MongoDocuments, MongoPairs
from webloom.ports.imports import Imports
from webloom.stores.feeds import StoredFeeds
from webloom.stores.import_runs import StoredImportRuns


def mongodb_imports(database: MongoDatabase) -> Imports:
    feed_documents, run_documents = feed_codec(database), run_codec(database)
    feeds = MongoDocuments(database, feed_documents)
    runs = MongoDocuments(database, run_documents)
    ledger = MongoRunLedger(database)
    stored_runs = StoredImportRuns(
        documents=runs,
        queries=MongoRunQueries(database),
        ledger=ledger,
        feeds=feeds,
        starting=MongoPairs(database, feed_documents, run_documents),
        ending=MongoPairs(database, run_documents, feed_documents),
    )
    return Imports(
        feeds=StoredFeeds(feeds, MongoFeedQueries(database), runs),
        runs=stored_runs,
        postings=MongoPostings(database, ledger, stored_runs),
    )
