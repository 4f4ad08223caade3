"""A posting from the fields that another program has stored.

Nothing is required but a key, a source and a title. A field that can't be what it is called is left
out, and costs no other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from webloom.parsing.content_hash import content_hash_of
from webloom.parsing.foreign_values import moment_of
from webloom.parsing.job_posting import JobPosting, Salary

_REQUIRED = ("dedupeKey", "sourceUrl", "title")


def posting_from(fields: Mapping[str, Any]) -> JobPosting | None:
    """With the content hash of what it says; None: it is not a posting."""
    key, source_url, title = (fields.get(name) for name in _REQUIRED)
    if not (isinstance(key, str) and isinstance(source_url, str) and isinstance(title, str)):
        return None
    if not (key and title.strip()):
        return None
    categories, remote = fields.get("categories"), fields.get("remote")
    posting = JobPosting(
        dedupe_key=key,
        content_hash="",
        source_url=source_url,
        source_name=_text(fields, "sourceName") or source_url,
        title=title,
        external_id=_text(fields, "externalId"),
        job_url=_text(fields, "jobUrl"),
        company=_text(fields, "company"),
        location=_text(fields, "location"),
        city=_text(fields, "city"),
        region=_text(fields, "region"),
        country=_text(fields, "country"),
        remote=remote if isinstance(remote, bool) else None,
        job_type=_text(fields, "jobType"),
        salary=_salary(fields.get("salary")),
        categories=[each for each in categories if isinstance(each, str)]
        if isinstance(categories, list)
        else [],
        description=_text(fields, "description"),
        published_at=moment_of(fields.get("publishedAt")),
        expires_at=moment_of(fields.get("expiresAt")),
    )
    given = fields.get("contentHash")
    content_hash = content_hash_of(posting) or (given if isinstance(given, str) else "")
    return msgspec.structs.replace(posting, content_hash=content_hash)


def _text(fields: Mapping[str, Any], name: str) -> str | None:
    value = fields.get(name)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value else None


def _salary(value: object) -> Salary | None:
    if not isinstance(value, Mapping):
        return None
    plain = {name: _number(each) for name, each in value.items()}
    try:
        return msgspec.convert(plain, Salary)
    except msgspec.ValidationError:
        return None


def _number(value: object) -> object:
    """Without a database's own types of numbers."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    return value
