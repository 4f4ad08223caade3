"""A feed's text -> its postings, through everything that reads feeds."""

from __future__ import annotations

import io

from webloom.parsing.feeds.element import Element, LaidOut
from webloom.parsing.feeds.formats import detect
from webloom.parsing.feeds.normalise import Normaliser, Rejected
from webloom.parsing.feeds.records import Records
from webloom.parsing.feeds.unpacking import Unpacked
from webloom.parsing.job_posting import JobPosting

SOURCE = "https://board.example/feed.xml"


class Read:
    """`format` is the one that was found; `items` are postings, and what was rejected."""

    def __init__(
        self,
        feed: str | bytes,
        *,
        wanted: str = "auto",
        mapping: dict[str, str] | None = None,
        source_url: str = SOURCE,
    ) -> None:
        data = feed.strip().encode() if isinstance(feed, str) else feed
        records = Records(Unpacked(io.BytesIO(data), 10**9))
        chosen = detect(records.head, wanted)
        normaliser = Normaliser(
            chosen, records.head, source_url=source_url, source_name="Board", mapping=mapping or {}
        )
        self.format = chosen.name
        self.items: list[JobPosting | Rejected] = []
        for record in records.read(chosen.record_names):
            assert isinstance(record, Element | LaidOut)
            try:
                self.items.append(normaliser.posting(record))
            except Rejected as rejected:
                self.items.append(rejected)
        self.notes = normaliser.notes

    def only(self) -> JobPosting:
        (posting,) = self.items
        assert isinstance(posting, JobPosting)
        return posting
