from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from webloom.domain.feed import Feed
from webloom.domain.import_run import ImportRun, Reading, RunStatus
from webloom.domain.import_transitions import Ending, NewRun


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """A run in the hands of one producer. Its fencing token is valid until another one
    claims the run."""

    run: ImportRun
    feed: Feed
    token: int


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFilter:
    status: RunStatus | None = None
    text: str | None = None  # in the source's name and URL (domain/search.py)
    source_url: str | None = None
    since: datetime | None = None  # by started_at, both ends included
    until: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RunPage:
    runs: list[ImportRun]
    total: int  # that the filter finds


@dataclass(frozen=True, slots=True)
class RunPlace:
    """Where a scan continues."""

    at: datetime  # in whole milliseconds
    run_ids: frozenset[str]  # of the runs that were started then and have been returned


class ListedRuns(Protocol):
    """Runs as they are read. Raises StoreUnavailable."""

    async def find(self, run_id: str) -> ImportRun | None: ...

    async def page(
        self, chosen: RunFilter, *, offset: int, limit: int, oldest_first: bool = False
    ) -> RunPage:
        """By their start, the latest first or the oldest."""

    async def scan(
        self, chosen: RunFilter, place: RunPlace | None, *, limit: int, oldest_first: bool = False
    ) -> tuple[list[ImportRun], RunPlace | None]:
        """In the order of `page`, and where to continue; None: there are no more. In the end each
        run is returned once, at a cost that does not depend on how many came before. None is
        counted."""

    async def changed(self, since: datetime | None, *, limit: int) -> list[ImportRun]:
        """Runs with `updated_at` at or after `since`, the oldest change first; None: those that are
        running. A change may become visible a little after its time: look back a second or two.
        `updated_at` is of the store's own clock."""


class ImportRuns(Protocol):
    """Imports of feeds, and which producer holds each.

    Every write is idempotent. All verbs raise StoreUnavailable when the store can't be reached;
    nothing was changed then, or the same call can be made again. Leases are measured on the store's
    own timeline, which a jump of a wall clock does not move.
    """

    async def start(self, feed_id: str, new: NewRun) -> ImportRun | None:
        """A running import of the feed; or the active one, whose id is different.

        A feed has one active run at any time. The same call again returns the run that the first
        one made. None: there is no such feed, or it is no longer due.
        """

    async def claim(
        self,
        owner: str,
        *,
        lease: float,
        run_id: str | None = None,
        busy_hosts: Collection[str] = (),
    ) -> Claim | None:
        """A running run (that one, if given) that no living producer holds: the first one started.
        Runs of feeds that are fetched from a busy host are skipped, unless they are asked to end or
        named by `run_id`. None: there is none.

        The first claim of a run has token 1, and every further one a higher token. The owner's own
        claim, made again while its lease is valid, returns its token; once the lease has expired it
        is a new claim. The run of a feed that was removed is asked to end, and the claim shows the
        feed as disabled, with the source's name and URL.

        A feed whose active run has ended or does not exist becomes free on the way. But a run that
        a worker of another program has ended can be claimed, so that `finish` closes it.
        """

    async def renew(self, claim: Claim, *, lease: float) -> bool:
        """False: the claim is no longer valid, or the run has ended."""

    async def give_up(self, claim: Claim) -> None:
        """Another producer can claim the run at once."""

    async def note_reading(self, claim: Claim, reading: Reading) -> ImportRun | None:
        """Write what the producer has done, and count the ledger again and what workers of other
        programs have counted (`third_party.counted`).

        Of the reasons why records of batches failed, the most frequent are named
        (`reasons_of_run`).

        Returns the run as it is now, with `cancel_requested`. It may have ended: a worker of
        another program has set its status, and `finish` is still to be called. None when the claim
        is no longer valid. `updated_at` only moves when a reader can see a difference.
        """

    async def finish(self, claim: Claim, reading: Reading, ending: Ending) -> ImportRun | None:
        """Count once more, close the run, and free its feed.

        How it ends is `third_party.at_end`: records that were fetched and never stored count as
        failed, so that the identity holds. When a worker of another program has ended the run, its
        end is accepted, with its date. Made again it changes nothing and returns the run; None when
        the claim is no longer valid and the run is not closed.
        """

    async def cancel(self, run_id: str) -> ImportRun | None:
        """Ask a running import to end. Returns it as it is now; None: there is no such run."""
