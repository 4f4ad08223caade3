"""What a feed offers, in one form, as it travels on `import-feed` and is kept.

It is a msgspec struct rather than a dataclass: one import may create, write and read a million of
them, and msgspec is many times faster.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Annotated, Generic, TypeVar

import msgspec

Job = TypeVar("Job")
Moment = Annotated[datetime, msgspec.Meta(tz=True)]  # UTC


class Salary(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    min: int | float | None = None
    max: int | float | None = None
    currency: str | None = None  # ISO 4217, where it is known
    period: str | None = None  # hour, day, week, month or year
    text: str | None = None  # as the feed has it, where it is free text


class JobPosting(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    omit_defaults=True,
    gc=False,  # never part of a cycle
):
    dedupe_key: str  # see `dedupe_key`
    content_hash: str  # of everything behind the source's name
    source_url: str  # the feed's
    source_name: str  # the feed's when the posting was last changed
    title: str
    external_id: str | None = None
    job_url: str | None = None
    company: str | None = None
    location: str | None = None  # for a reader; the three that follow only where they are given
    city: str | None = None
    region: str | None = None
    country: str | None = None
    remote: bool | None = None
    job_type: str | None = None
    salary: Salary | None = None
    categories: list[str] = []
    description: str | None = None  # sanitised HTML, or plain text
    published_at: Moment | None = None
    expires_at: Moment | None = None

    def listed_at(self, created_at: datetime) -> datetime:
        """Its place in lists. `created_at` is when it was first stored."""
        return self.published_at or created_at


class ImportBatch(msgspec.Struct, Generic[Job], frozen=True, kw_only=True, rename="camel"):
    """The message on `import-feed`, named IMPORT_FEED_BATCH where a broker has names. Its jobs are
    postings. They are decoded one by one, so that an invalid one does not affect the others."""

    run_id: str
    source_url: str
    batch_index: int  # from 0
    jobs: list[Job]
    total_batches: int | None = None  # once it is known
    # Postings that are as they were at the last import: for each, in hexadecimal digits, its key
    # (40) and its content hash (32).
    known: str = ""


def dedupe_key(source_url: str, external_id: str | None, job_url: str | None) -> str:
    """One posting of one feed, however often it is imported."""
    identity = f"{source_url}|{external_id or job_url}"
    return hashlib.sha1(identity.encode(errors="replace"), usedforsecurity=False).hexdigest()
