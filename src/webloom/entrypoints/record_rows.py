"""Records as rows of a table."""

from __future__ import annotations

from typing import Any

from webloom.domain.inventory import METADATA, Record

_NOT_CELLS = ("headers", "cookies", "page_source")
_METADATA = tuple(name for name in METADATA if name not in _NOT_CELLS)
_DETAILS = ("content_type", "content_length", "content_hash")
_PROCESSING = ("retry_count", "attempt_number", "error_message", "last_attempt_at")
COLUMNS = (
    "url", "status", *_METADATA, *_DETAILS, *_PROCESSING, "created_at", "updated_at",
)  # fmt: skip


def record_row(record: Record) -> dict[str, Any]:
    details = record.additional_details or {}
    return {
        "url": record.url,
        "status": record.status.value,
        **{name: getattr(record.metadata, name) for name in _METADATA},
        **{name: details.get(name) for name in _DETAILS},
        **{name: getattr(record.processing, name) for name in _PROCESSING},
        "created_at": record.created_at,
        "updated_at": record.updated_at,
    }
