"""What a check of a page has found, apart from the page's content."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from webloom.domain.storage_event import StorageEvent, milliseconds_of, moment_of
from webloom.domain.watch import Outcome

OUTCOMES = (Outcome.FAILED, Outcome.UNCHANGED, Outcome.CHANGED)  # of one moment, the last counts


@dataclass(frozen=True, kw_only=True, slots=True)
class Validators:
    """What lets the next check of a page skip fetching or parsing it."""

    etag: str | None = None
    last_modified: str | None = None
    body_hash: str | None = None  # sha256

    @property
    def order(self) -> tuple[str, str, str]:
        """The highest of those that came at the same time is kept."""
        return self.etag or "", self.last_modified or "", self.body_hash or ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Checked:
    watch_id: str
    url: str
    run_id: str
    at: datetime
    outcome: Outcome
    error: str | None = None  # one sentence, of FAILED
    validators: Validators | None = None  # None: they stay as they are

    @property
    def order(self) -> tuple[int, int]:
        """The highest of a page is its last check."""
        return milliseconds_of(self.at), OUTCOMES.index(self.outcome)


def check_of(event: StorageEvent) -> Checked:
    """Of the page that the event was made of."""
    validators = None
    if event.validators:
        validators = Validators(
            etag=event.validators.get("etag"),
            last_modified=event.validators.get("lastModified"),
            body_hash=event.validators.get("bodyHash"),
        )
    return Checked(
        watch_id=event.watch_id,
        url=event.url,
        run_id=event.run_id or "",
        at=moment_of(event.ts),
        outcome=Outcome.CHANGED,
        validators=validators,
    )
