"""Tags of watches and feeds."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from webloom.domain.names import is_control

MOST_TAGS = 20  # of one item
LONGEST_TAG = 50
MOST_LISTED = 1000  # tags of all items


@dataclass(frozen=True, kw_only=True, slots=True)
class TagCount:
    tag: str
    count: int  # of items that have it


def tag_key(tag: str) -> str:
    """Tags with the same key are the same tag."""
    return unicodedata.normalize("NFC", tag.strip()).casefold()


def checked_tags(given: Iterable[str]) -> list[str]:
    """As they are kept, each once. Raises ValueError, whose text says what is wrong."""
    tags: dict[str, str] = {}
    for each in given:
        tag = _checked(each)
        tags.setdefault(tag_key(tag), tag)
    if len(tags) > MOST_TAGS:
        raise ValueError(f"more than {MOST_TAGS}")
    return list(tags.values())


def first_tags(given: Iterable[str]) -> list[str]:
    """Those that can be tags, each once, until an item has no room for more."""
    tags: dict[str, str] = {}
    for each in given:
        with suppress(ValueError):
            tag = _checked(each)
            tags.setdefault(tag_key(tag), tag)
        if len(tags) == MOST_TAGS:
            break
    return list(tags.values())


def _checked(given: str) -> str:
    tag = unicodedata.normalize("NFC", given.strip())
    if not tag:
        raise ValueError("a tag is empty")
    if len(tag) > LONGEST_TAG:
        raise ValueError(f"{tag[:20]}…: longer than {LONGEST_TAG} characters")
    if "," in tag or any(map(is_control, tag)):
        raise ValueError("a tag contains a comma or a control character")
    return tag


def with_tags(tags: list[str], added: Iterable[str]) -> list[str]:
    """Raises ValueError, as `checked_tags` does."""
    return checked_tags([*tags, *added])


def without_tags(tags: list[str], removed: Iterable[str]) -> list[str]:
    keys = {tag_key(each) for each in removed}
    return [each for each in tags if tag_key(each) not in keys]


def counted_tags(items: Iterable[Iterable[str]]) -> list[TagCount]:
    """The tags of many items, in alphabetical order, each in one of its spellings. If they are too
    many, the most frequent ones."""
    counts: dict[str, int] = {}
    spellings: dict[str, str] = {}
    for tags in items:
        for tag in tags:
            key = tag_key(tag)
            counts[key] = counts.get(key, 0) + 1
            spellings[key] = min(tag, spellings.get(key, tag))
    kept = sorted(counts, key=lambda key: (-counts[key], key))[:MOST_LISTED]
    return [TagCount(tag=spellings[key], count=counts[key]) for key in sorted(kept)]
