from __future__ import annotations

from dataclasses import dataclass

from webloom.ports.feeds import Feeds
from webloom.ports.import_runs import ImportRuns, ListedRuns
from webloom.ports.postings import Postings


@dataclass(frozen=True, kw_only=True, slots=True)
class Imports:
    """The stores of the import pipeline, over one backend."""

    feeds: Feeds
    runs: ImportRuns
    listed_runs: ListedRuns
    postings: Postings
