"""The content hash: one for all that a posting says.

It covers neither the feed's name nor anything that depends on this program: the same posting has
the same one in every version.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from webloom.parsing.job_posting import JobPosting, Salary

_MARK: Final = "\x1e"  # between the parts of what is hashed; no part has it
_CONTROLS: Final = bytes(code for code in range(32) if code not in b"\t\n\r") + b"\x7f"

# Title, identity, link, company, location, city, region, country, kind, description.
Texts = tuple[str, str, str, str, str, str, str, str, str, str]
Rest = tuple[bool | None, str, str]  # whether it is remote; both dates, as `date_text` has them


def content_hash(
    texts: Texts, rest: Rest, pay: Salary | None, categories: Sequence[str]
) -> str | None:
    """None when there are characters that a database refuses."""
    remote, published, expires = rest
    parts = (
        *texts,
        "" if remote is None else str(remote),
        "" if pay is None else f"{pay.min}|{pay.max}|{pay.currency}|{pay.period}|{pay.text}",
        published,
        expires,
        *categories,
    )
    try:
        data = _MARK.join(parts).encode()
    except UnicodeEncodeError:  # a lone surrogate
        return None
    if len(data) - len(data.translate(None, _CONTROLS)) != len(parts) - 1:
        return None
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def content_hash_of(posting: JobPosting) -> str | None:
    """Of what a posting says now, whatever hash it has."""
    texts = (
        posting.title,
        posting.external_id or "",
        posting.job_url or "",
        posting.company or "",
        posting.location or "",
        posting.city or "",
        posting.region or "",
        posting.country or "",
        posting.job_type or "",
        posting.description or "",
    )
    rest = (posting.remote, date_text(posting.published_at), date_text(posting.expires_at))
    return content_hash(texts, rest, posting.salary, posting.categories)


def date_text(date: datetime | None) -> str:
    return "" if date is None else date.isoformat()
