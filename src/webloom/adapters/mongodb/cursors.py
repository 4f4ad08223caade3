"""Parts of cursors that only MongoDB has."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from bson.errors import InvalidId
from bson.objectid import ObjectId

from webloom.adapters.mongodb.documents import Document
from webloom.domain.storage_event import milliseconds_of, moment_of
from webloom.stores.cursors import bad_cursor, page_of, values_of


def object_id(text: str, cursor: str) -> ObjectId:
    """Raises BadCursor."""
    try:
        return ObjectId(text)
    except InvalidId as error:
        raise bad_cursor(cursor) from error


def moment(milliseconds: int, cursor: str) -> datetime:
    """Raises BadCursor."""
    try:
        return moment_of(milliseconds)
    except OverflowError as error:
        raise bad_cursor(cursor) from error


class LatestFirst:
    """Pages of a listing by a time, and then by an ObjectId; or from its other end."""

    def __init__(self, time: str, key: str) -> None:
        self._time = time
        self._key = key

    def behind(self, cursor: str, *, oldest_first: bool = False) -> Document:
        """What the next page is chosen from. Raises BadCursor."""
        at, key = values_of(cursor, int, str, oldest_first=oldest_first)
        last, than = moment(at, cursor), "$gt" if oldest_first else "$lt"
        further = [{self._time: {than: last}}, {self._key: {than: object_id(key, cursor)}}]
        return {self._time: {f"{than}e": last}, "$or": further}

    def place(self, document: Document) -> tuple[int, str]:
        """What a cursor behind it holds."""
        return milliseconds_of(document[self._time]), str(document[self._key])

    def page(
        self, documents: Sequence[Document], limit: int
    ) -> tuple[Sequence[Document], str | None]:
        """As `page_of`."""
        return page_of(documents, limit, self.place)
