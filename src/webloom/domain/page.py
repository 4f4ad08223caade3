"""What is seen in a page."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

STORAGE_QUEUE = "storage-agent"
CHECK_QUEUE = "watch-pages"


class PageType(StrEnum):
    PRODUCT = "product"
    ARTICLE = "article"
    JOB_POSTING = "job_posting"
    LISTING = "listing"
    FORUM = "forum"
    DOCUMENTATION = "documentation"
    LOGIN = "login"
    BLOCKED = "blocked"  # a wall instead of the page: a captcha, a bot check, a refusal
    ERROR = "error"  # the site says that it has no such page, or is broken
    OTHER = "other"

    @property
    def is_content(self) -> bool:
        """Whether it is the page that was requested."""
        return self not in (PageType.BLOCKED, PageType.ERROR)


@dataclass(frozen=True, kw_only=True, slots=True)
class Classification:
    type: PageType
    confidence: float  # from 0 to 1
    reasons: list[str] = field(default_factory=list)  # for a person, the weightiest first


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """Which part of a page counts. A selector is CSS, or XPath if it begins with `/`, `(` or
    `xpath:`."""

    keep: list[str] = field(default_factory=list)  # none: the main text
    drop: list[str] = field(default_factory=list)
    ignore_text: list[str] = field(default_factory=list)  # lines that contain it, whatever the case
    ignore_pattern: list[str] = field(default_factory=list)  # lines that a regular expression finds
    sort_lines: bool = False
    unique_lines: bool = False
