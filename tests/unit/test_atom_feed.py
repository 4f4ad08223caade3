"""The Atom feed of changes, read back."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from lxml import etree  # type: ignore[import-untyped]  # the package has no types

from webloom.domain.reason import PriceReason
from webloom.entrypoints.api.atom_feed import atom_feed
from webloom.ports.page_history import ChangeLog

NAMES = {"a": "A shop"}
SELF = "https://webloom.test/api/watch/feed.atom?a=1&b=2"
SPACES = {"a": "http://www.w3.org/2005/Atom"}


def change(**given: Any) -> ChangeLog:
    fields: dict[str, Any] = {
        "watch_id": "a",
        "url": "https://example.com/1",
        "changes": {},
        "previous": 1,
        "current": 2,
        "timestamp": 1_712_345_678_910,
        "alerts": ["the price fell"],
    }
    return ChangeLog(**(fields | given))


def read(*changes: ChangeLog, watch_id: str | None = None, title: str = "Changes") -> Any:
    return etree.fromstring(
        atom_feed(changes, title=title, self_url=SELF, watch_id=watch_id, names=NAMES)
    )


def texts(root: Any, path: str) -> list[str]:
    return [str(each) for each in root.xpath(path, namespaces=SPACES)]


def test_a_change_is_an_entry_with_all_that_atom_asks_for() -> None:
    feed = read(change(), title="All <changes> & more")
    assert texts(feed, "/a:feed/a:title/text()") == ["All <changes> & more"]
    assert texts(feed, "/a:feed/a:updated/text()") == ["2024-04-05T19:34:38.910+00:00"]
    assert texts(feed, "/a:feed/a:author/a:name/text()") == ["Webloom"]
    assert texts(feed, "/a:feed/a:link[@rel='self']/@href") == [SELF]
    assert texts(feed, "//a:entry/a:title/text()") == ["A shop: the price fell"]
    assert texts(feed, "//a:entry/a:updated/text()") == ["2024-04-05T19:34:38.910+00:00"]
    assert texts(feed, "//a:entry/a:link[@rel='alternate']/@href") == ["https://example.com/1"]
    assert texts(feed, "//a:entry/a:content/@type") == ["text"]
    assert "the price fell" in texts(feed, "//a:entry/a:content/text()")[0]
    assert texts(feed, "//a:id[not(starts-with(., 'urn:uuid:'))]") == []


def test_reasons_are_worded_when_the_feed_is_read() -> None:
    price = PriceReason(previous=Decimal(20), current=Decimal(15), currency="EUR")
    feed = read(change(reasons=[price]))
    sentence = "the price fell by 25 % to 15.00 EUR"
    assert texts(feed, "//a:entry/a:title/text()") == [f"A shop: {sentence}"]
    assert sentence in texts(feed, "//a:entry/a:content/text()")[0].splitlines()
    silent = read(change(alerts=[]))
    assert texts(silent, "//a:entry/a:title/text()") == ["A shop: the page changed"]


def test_an_id_stays_when_versions_are_renumbered_and_is_of_one_change_only() -> None:
    def ids(*changes: ChangeLog) -> list[str]:
        return texts(read(*changes), "//a:entry/a:id/text()")

    assert ids(change()) == ids(change(previous=4, current=5, alerts=[]))
    others = [change(timestamp=1), change(url="https://example.com/2"), change(watch_id="b")]
    assert len({*ids(change(), *others)}) == 4
    feeds = {texts(read(watch_id=each), "/a:feed/a:id/text()")[0] for each in (None, "a", "b")}
    assert len(feeds) == 3


def test_changes_of_one_moment_have_ids_of_their_own_and_known_ids_stay() -> None:
    def ids(*changes: ChangeLog) -> list[str]:
        return texts(read(*changes), "//a:entry/a:id/text()")

    alike = [change(), change(key="1"), change(key="2"), change(key="1", timestamp=1)]
    assert len(set(ids(*alike))) == 4
    assert ids(*alike) == [*ids(alike[0]), *ids(alike[1]), *ids(alike[2]), *ids(alike[3])]
    known = "urn:uuid:20b3b024-a0c5-50e2-932d-5acf79ebf5ee"
    assert ids(change()) == [known]  # as readers have it of earlier versions


def test_a_feed_without_changes_is_valid() -> None:
    feed = read()
    assert texts(feed, "//a:entry") == []
    assert texts(feed, "/a:feed/a:updated/text()") == ["1970-01-01T00:00:00.000+00:00"]


def test_hostile_texts_stay_text() -> None:
    hostile = "]]><script>alert(1)</script>\x00\x1b\ufffe\ud800&amp;"
    feed = read(change(alerts=[hostile], watch_id=hostile, changes={hostile: hostile}))
    assert texts(feed, "//a:script") == []
    shown = "]]><script>alert(1)</script>\ufffd\ufffd\ufffd\ufffd&amp;"
    assert texts(feed, "//a:entry/a:title/text()") == [f"{shown}: {shown}"]


def test_a_page_without_a_web_url_has_no_link() -> None:
    feed = read(change(url="javascript:alert(1)"), change(url=""), change(url="https://a.test/\\"))
    assert texts(feed, "//a:entry/a:link/@href") == []
    assert len(texts(feed, "//a:entry/a:content/text()")) == 3


def test_any_moment_becomes_a_date() -> None:
    feed = read(change(timestamp=10**18), change(timestamp=-5))
    assert texts(feed, "//a:entry/a:updated/text()") == [
        "9999-12-31T23:59:59.999+00:00",
        "1970-01-01T00:00:00.000+00:00",
    ]


def test_what_changed_in_the_text_is_shown_as_far_as_it_is_known() -> None:
    operation = {"op": "insert", "oldLine": 1, "newLine": 1, "lines": ["<b>new</b>"] * 300}
    hunk = {"oldLine": 1, "oldLines": 0, "newLine": 1, "newLines": 300, "operations": [operation]}
    content = texts(read(change(changes={"text": {"hunks": [hunk]}})), "//a:content/text()")[0]
    assert "+<b>new</b>\n" in content
    assert content.endswith("…")
    assert len(content.splitlines()) < 110
    foreign = read(change(changes={"text": ["of", "another", "form"]}))
    assert len(texts(foreign, "//a:content")) == 1
