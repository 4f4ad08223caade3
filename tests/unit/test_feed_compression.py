"""Compressed feeds: whole, cut off, corrupt, compressed twice, or too large."""

from __future__ import annotations

import gzip
import zlib

import pytest

from unit.feed_bodies import ReadRecords, feed, item
from webloom.domain.errors import FeedUnreadable


def test_gzip_is_recognised_by_its_bytes_also_in_several_members() -> None:
    whole = feed(item(1), item(2))
    packed = gzip.compress(whole[:200]) + gzip.compress(whole[200:]) + b"\0" * 20
    read = ReadRecords(packed)
    assert (read.texts("title"), read.repairs) == (["Title 1", "Title 2"], {})
    assert read.is_whole
    assert read.records.position == len(packed)


def large_feed() -> bytes:
    return feed(*[item(number, description=b"%032x" % (number * 7919)) for number in range(9000)])


def test_a_gzip_that_is_cut_off_gives_what_can_be_read() -> None:
    packed = gzip.compress(large_feed())
    read = ReadRecords(packed[: len(packed) * 2 // 3])
    assert 4000 < len(read.items) < 9000
    assert read.texts("title") == [f"Title {number}" for number in range(len(read.items))]
    assert not read.is_whole
    assert read.repairs == {"truncated": 1}


def test_a_corrupt_gzip_gives_what_can_be_read() -> None:
    packed = bytearray(gzip.compress(large_feed()))
    packed[len(packed) * 2 // 3] ^= 0xFF
    packed[-8:] = b"\0" * 8
    read = ReadRecords(bytes(packed))
    assert len(read.items) > 1000
    assert not read.is_whole


def test_a_gzip_without_its_last_bytes_is_not_whole_though_its_text_is() -> None:
    read = ReadRecords(gzip.compress(feed(item(1)))[:-4])
    assert (len(read.items), read.is_whole, read.repairs) == (1, False, {"truncated": 1})


@pytest.mark.parametrize("is_packed", [True, False])
def test_a_feed_larger_than_allowed_is_refused(is_packed: bool) -> None:
    bomb = feed(item(1, description=b"a" * 5_000_000))
    with pytest.raises(FeedUnreadable, match="larger than 1,000,000 bytes"):
        ReadRecords(gzip.compress(bomb) if is_packed else bomb, max_bytes=1_000_000)


def test_raw_deflate_is_refused() -> None:
    with pytest.raises(FeedUnreadable):
        ReadRecords(zlib.compress(feed(item(1))))


def test_gzip_within_gzip_is_unpacked() -> None:
    whole = gzip.compress(gzip.compress(feed(*map(item, range(300)))))
    read = ReadRecords(whole)
    assert len(read.items) == 300
    assert read.is_whole
    assert read.records.position == len(whole)


def test_gzip_within_gzip_that_is_cut_off_is_read_as_far_as_it_goes() -> None:
    body = feed(*(item(number, title=str(number**9).encode()) for number in range(1, 300)))
    for packed in (
        gzip.compress(gzip.compress(body)[:-100]),
        gzip.compress(gzip.compress(body))[:-100],
    ):
        read = ReadRecords(packed)
        assert 100 < len(read.items) < 300
        assert not read.is_whole


def test_neither_layer_of_gzip_gives_more_than_the_limit() -> None:
    bomb = gzip.compress(gzip.compress(b"<rss>" + b" " * 10_000_000))
    with pytest.raises(FeedUnreadable, match="larger than 1,000,000 bytes when it is decompressed"):
        ReadRecords(bomb, max_bytes=1_000_000)
    nothing = gzip.compress(gzip.compress(b"") * 100_000)
    with pytest.raises(FeedUnreadable, match="larger than 1,000,000 bytes when it is decompressed"):
        ReadRecords(nothing, max_bytes=1_000_000)
