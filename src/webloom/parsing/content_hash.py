"""The content hash: one for all that a posting says.

It covers neither the feed's name nor anything that depends on this program: the same posting has
the same one in every version.
"""

from __future__ import annotations

import hashlib
from typing import Final

from webloom.parsing.job_posting import JobPosting

_MARK: Final = "\x1e"  # between the parts of what is hashed; no part has it
_CONTROLS: Final = bytes(code for code in range(32) if code not in b"\t\n\r") + b"\x7f"


def content_hash_of(posting: JobPosting) -> str | None:
    """Of what a posting says now, whatever hash it has. None: it has characters that a database
    refuses."""
    remote, pay = posting.remote, posting.salary
    published, expires = posting.published_at, posting.expires_at
    parts = (
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
        "" if remote is None else str(remote),
        "" if pay is None else f"{pay.min}|{pay.max}|{pay.currency}|{pay.period}|{pay.text}",
        "" if published is None else published.isoformat(),
        "" if expires is None else expires.isoformat(),
        *posting.categories,
    )
    try:
        data = _MARK.join(parts).encode()
    except UnicodeEncodeError:  # a lone surrogate
        return None
    if len(data) - len(data.translate(None, _CONTROLS)) != len(parts) - 1:
        return None
    return hashlib.blake2b(data, digest_size=16).hexdigest()
