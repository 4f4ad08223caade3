"""Workers of other programs, which count into a run directly.

Webloom's own workers add a row to the ledger for each batch, and the counters are the sums of these
rows. A worker of another program knows no ledger: it increments the public counters, and ends the
run when the last batch is counted. So there is one rule for every counter:

    what others counted = what the run shows - what Webloom last wrote there
    what the run shows  = the producer's + the ledger's + what others counted

A counter that is lower than Webloom wrote it counts as 0, never as negative.
"""

from __future__ import annotations

from dataclasses import replace

from webloom.domain.import_run import (
    NOTHING,
    Counts,
    ImportRun,
    RunStatus,
    Tally,
    balanced,
    error_at_end,
    merged_failures,
    merged_reasons,
    status_at_end,
)

NO_REASON = "counted as failed by a worker of another program, without a reason"
UNCOUNTED = (
    "nothing is left on the queue, and the workers of another program have not counted all batches"
)

_FROM_GOOD_TO_BAD = [RunStatus.COMPLETED, RunStatus.PARTIAL, RunStatus.FAILED]


def counted_by_others(shown: Tally, written: Tally | None) -> Tally:
    """`written` is what Webloom itself counted when it last wrote the run; None: unknown, because
    an earlier version wrote it, which supported only its own workers."""
    if written is None:
        return NOTHING
    counts = (max(0, now - own) for now, own in zip(shown.counts, written.counts, strict=True))
    return Tally(Counts(*counts), max(0, shown.batches - written.batches))


def counted(run: ImportRun, own: ImportRun) -> ImportRun:
    """The public counters of a run. `own` is the run as Webloom's producer and workers counted it;
    `run` is the run as it was read, with the counts and failures that others added."""
    others = run.third_party
    if others == NOTHING:
        return replace(own, third_party=NOTHING)
    known = [*own.failures, *run.reading.failures]
    added = [each for each in run.failures if each not in known]
    reasons: dict[str, int] = {}
    for failure in added[: others.counts.failed]:
        reasons = merged_reasons(reasons, {failure.reason: 1})
    if rest := others.counts.failed - sum(reasons.values()):
        reasons = merged_reasons(reasons, {NO_REASON: rest})
    return replace(
        own,
        third_party=others,
        counts=own.counts.plus(others.counts),
        processed_batches=own.processed_batches + others.batches,
        failures=merged_failures(own.failures, added),
        failure_reasons=merged_reasons(own.failure_reasons, reasons),
    )


def at_end(run: ImportRun, error: str | None) -> ImportRun:
    """A counted run at its end: its status, its error, and the identity of its counters.

    If only Webloom's workers took part, the identity is made to hold (`balanced`). The counts of
    other programs stay, and if they do not add up, the error says so. If one of them ended the run,
    the worse of its status and ours stands.
    """
    is_ended = run.status is not RunStatus.RUNNING
    if run.third_party == NOTHING and not is_ended:
        run = balanced(run)
        status = status_at_end(run.counts, error=error)
        return replace(run, status=status, error=error_at_end(run, error))
    status = status_at_end(run.counts, error=error)
    if is_ended:
        status = max(status, run.status, key=_FROM_GOOD_TO_BAD.index)
    if not run.cancel_requested:
        error = "; ".join(filter(None, (error, _difference(run)))) or None
    return replace(run, status=status, error=error)


def _difference(run: ImportRun) -> str | None:
    """A sentence if the counters differ from the number of records read."""
    fetched, total = run.reading.fetched, run.counts.total
    if total == fetched:
        return None
    counted = f"the workers of another program counted {total:,} records of {fetched:,}"
    return f"{counted}: some batch was counted twice" if total > fetched else counted
