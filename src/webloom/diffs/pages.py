"""What differs between two versions of a page, as it is sent to `storage-agent` and kept."""

from __future__ import annotations

import msgspec

from webloom.diffs.summary import bounded
from webloom.diffs.text_diff import TextDiff
from webloom.diffs.texts import diff_texts
from webloom.parsing.pages.page import ParsedPage

MOST_URLS = 200  # of a list
LONGEST_URL = 2_000  # characters; images that are written out in the page are longer


class UrlChanges(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    added: list[str]  # in the order of the new page
    removed: list[str]  # in the order of the old one
    added_count: int  # of all, also if the list has only the first of them
    removed_count: int


class TitleChange(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    previous: str | None
    current: str | None


class PageDiff(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    text_changed: bool
    images: UrlChanges
    links: UrlChanges
    title: TitleChange | None = None  # only if it differs
    text: TextDiff | None = None  # as title

    @property
    def is_change(self) -> bool:
        urls = self.images, self.links
        return (
            self.text_changed
            or self.title is not None
            or any(each.added_count or each.removed_count for each in urls)
        )


def diff_pages(old: ParsedPage, new: ParsedPage) -> PageDiff:
    """Small enough to be kept: see `whole_page_diff`."""
    whole = whole_page_diff(old, new)
    return msgspec.structs.replace(
        whole,
        text=None if whole.text is None else bounded(whole.text),
        images=_bounded_urls(whole.images),
        links=_bounded_urls(whole.links),
    )


def whole_page_diff(old: ParsedPage, new: ParsedPage) -> PageDiff:
    """The order of images and links does not count, nor does white space."""
    text = diff_texts(old.text, new.text)
    return PageDiff(
        text_changed=bool(text.hunks),
        images=_url_changes(old.images, new.images),
        links=_url_changes(old.links, new.links),
        title=_title_change(old.title, new.title),
        text=text if text.hunks else None,
    )


def _url_changes(old: list[str], new: list[str]) -> UrlChanges:
    if old == new:
        return UrlChanges(added=[], removed=[], added_count=0, removed_count=0)
    was, is_now = dict.fromkeys(old), dict.fromkeys(new)
    added = [url for url in is_now if url not in was]
    removed = [url for url in was if url not in is_now]
    return UrlChanges(
        added=added, removed=removed, added_count=len(added), removed_count=len(removed)
    )


def _bounded_urls(changes: UrlChanges) -> UrlChanges:
    return msgspec.structs.replace(
        changes,
        added=[_shortened(url) for url in changes.added[:MOST_URLS]],
        removed=[_shortened(url) for url in changes.removed[:MOST_URLS]],
    )


def _shortened(url: str) -> str:
    return url if len(url) <= LONGEST_URL else f"{url[:LONGEST_URL]}…"


def _title_change(old: str | None, new: str | None) -> TitleChange | None:
    if _normalised(old) == _normalised(new):
        return None
    return TitleChange(previous=old, current=new)


def _normalised(title: str | None) -> str:
    return " ".join((title or "").split())
