"""The content hash: one for all that a posting says.

It covers neither the feed's name nor anything that depends on this program: the same posting has
the same one in every version.
"""

from __future__ import annotations

import hashlib
from datetime import datetime, tzinfo
from functools import lru_cache
from typing import Final

from msgspec.structs import astuple

from webloom.parsing.job_posting import JobPosting

_MARK: Final = "\x1e"  # between the parts of what is hashed; no part has it
_CONTROLS: Final = bytes(code for code in range(32) if code not in b"\t\n\r") + b"\x7f"


def content_hash_of(posting: JobPosting) -> str | None:
    """Of what a posting says now, whatever hash it has. None: it has characters that a database
    refuses."""
    # Attribute by attribute, it would take twice as long.
    (_, _, _, _, title, identity, url, company, location, city, region, country, remote, kind, pay,
     categories, description, published, expires) = astuple(posting)  # fmt: skip
    parts = (
        title,
        identity or "",
        url or "",
        company or "",
        location or "",
        city or "",
        region or "",
        country or "",
        kind or "",
        description or "",
        "" if remote is None else str(remote),
        "" if pay is None else f"{pay.min}|{pay.max}|{pay.currency}|{pay.period}|{pay.text}",
        "" if published is None else _date_text(published, published.tzinfo),
        "" if expires is None else _date_text(expires, expires.tzinfo),
        *categories,
    )
    try:
        data = _MARK.join(parts).encode()
    except UnicodeEncodeError:  # a lone surrogate
        return None
    if len(data) - len(data.translate(None, _CONTROLS)) != len(parts) - 1:
        return None
    return hashlib.blake2b(data, digest_size=16).hexdigest()


@lru_cache(maxsize=2_000)  # postings share their dates; moments that are equal may differ in zone
def _date_text(date: datetime, zone: tzinfo | None) -> str:
    return date.isoformat()
