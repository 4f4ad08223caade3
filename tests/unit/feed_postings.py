"""Feeds for tests -> their postings, through everything that reads feeds."""

from __future__ import annotations

import io
import json

from webloom.parsing.feeds.formats import detect
from webloom.parsing.feeds.normalise import Normaliser, Rejected
from webloom.parsing.feeds.records import Records
from webloom.parsing.feeds.scan import Unreadable
from webloom.parsing.feeds.unpacking import Unpacked
from webloom.parsing.job_posting import JobPosting

SOURCE = "https://board.example/feed.xml"
ATOM = 'xmlns="http://www.w3.org/2005/Atom"'


class ReadPostings:
    """Everything a feed gives. `format` is the one that was detected, or asked for."""

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
        self.items: list[JobPosting | Rejected | Unreadable] = []
        for record in records.read(chosen.record_names):
            assert not isinstance(record, bytes)  # nothing is known from an earlier import
            if isinstance(record, Unreadable):
                self.items.append(record)
                continue
            try:
                self.items.append(normaliser.posting(record))
            except Rejected as rejected:
                self.items.append(rejected)
        self.notes = normaliser.notes
        self.repairs = dict(records.repairs)
        self.is_whole = records.is_whole

    @property
    def postings(self) -> list[JobPosting]:
        """Of a feed whose records are all good."""
        found = [item for item in self.items if isinstance(item, JobPosting)]
        assert len(found) == len(self.items)
        return found

    def only(self) -> JobPosting:
        [posting] = self.postings
        return posting


def job(inner: str, root: str = "jobs") -> JobPosting:
    """A record with these elements, beside an id, a title and a link."""
    usual = "<id>1</id><title>Cook</title><url>https://a.example/1</url>"
    return ReadPostings(f"<{root}><job>{usual}{inner}</job></{root}>").only()


def json_job(**fields: object) -> JobPosting:
    record = {"id": 1, "title": "Cook", "url": "https://a.example/1", **fields}
    return ReadPostings(json.dumps({"jobs": [record]})).only()


def rss_item(inner: str, channel: str = "", attributes: str = "") -> JobPosting:
    record = f"<item><title>Cook</title>{inner}</item>"
    return ReadPostings(f"<rss {attributes}><channel>{channel}{record}</channel></rss>").only()


def atom_entry(inner: str, feed_inner: str = "", attributes: str = "") -> JobPosting:
    """`inner` begins within the entry's start tag."""
    feed = f"<feed {ATOM} {attributes}>{feed_inner}<entry {inner}</entry></feed>"
    return ReadPostings(feed).only()
