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
_TEXTS = {  # of a posting, where it has them; with their names in a document
    each.name: each.encode_name
    for each in msgspec.structs.fields(JobPosting)
    if each.type == str | None
}


def posting_from(fields: Mapping[str, Any]) -> JobPosting | None:
    """With the content hash of what it says; None: it is not a posting."""
    key, source_url, title = (fields.get(name) for name in _REQUIRED)
    if not (isinstance(key, str) and isinstance(source_url, str) and isinstance(title, str)):
        return None
    if not (key and title.strip()):
        return None
    categories, remote = fields.get("categories"), fields.get("remote")
    names = categories if isinstance(categories, list) else []
    posting = JobPosting(
        dedupe_key=key,
        content_hash="",
        source_url=source_url,
        source_name=_text(fields, "sourceName") or source_url,
        title=title,
        remote=remote if isinstance(remote, bool) else None,
        salary=_salary(fields.get("salary")),
        categories=[each for each in names if isinstance(each, str)],
        **{name: _text(fields, written) for name, written in _TEXTS.items()},
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
