"""How a store reports a batch of postings: its counts and its failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from webloom.domain.import_run import LONGEST_SAMPLE, Counts, Failure, Verdict, count
from webloom.parsing.job_posting import JobPosting
from webloom.ports.postings import Batch

LONGEST_REASON = 300
LONGEST_TITLE = 200


def refused(posting: JobPosting, reason: str) -> Failure:
    """For a record that the store refuses."""
    title, url = posting.title[:LONGEST_TITLE], posting.job_url or ""
    shown = {"title": _valid(title), "jobUrl": _valid(url)}
    return Failure(
        reason=f"the store does not take the posting: {_valid(reason[:LONGEST_REASON])}",
        sample=msgspec.json.encode(shown).decode()[:LONGEST_SAMPLE],
    )


def _valid(text: str) -> str:
    """Without lone surrogates."""
    return text.encode(errors="replace").decode()


def ledger_row(
    batch: Batch, refused: Sequence[Failure], *verdicts: Mapping[Verdict, int]
) -> tuple[Counts, list[Failure]]:
    """The counts and failures of an applied batch, for its row in the ledger."""
    failures = [*batch.failures, *refused]
    counts = Counts(duplicate=batch.duplicates, failed=len(failures))
    for each in verdicts:
        counts = counts.plus(count(each))
    return counts, failures
