"""Backups of changedetection.io."""

from __future__ import annotations

import struct
import tracemalloc
import zlib
from decimal import Decimal
from io import BytesIO
from typing import Any
from zipfile import ZIP_LZMA, ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from changedetection import archive, backup, old_backup, watch
from webloom.domain.errors import FeedUnreadable
from webloom.parsing.changedetection import archive as limits
from webloom.parsing.changedetection.backup import MOST_WATCHES, Backup, read_backup
from webloom.parsing.list_entry import Entry

URL = "https://a.example/"
SHOPS: dict[str, dict[str, Any]] = {"shops": {"title": "Shops, of others"}}
_SMALL = old_backup({"url": URL})
STEPS = [{"operation": "Goto site"}, {"operation": "Click element", "selector": "#more"}]


def read(content: bytes) -> Backup:
    return read_backup(BytesIO(content), most_members=30_000)


def only(content: bytes) -> Entry:
    [entry] = read(content)
    return entry


def notes(**settings: Any) -> list[str]:
    return [str(each) for each in only(backup(watch(URL) | settings)).notes]


def test_a_new_watch_needs_nothing_but_its_address_and_the_usual_interval() -> None:
    entry = only(backup(watch(URL)))
    assert entry.given == {
        "url": URL,
        "schedule": {"everyMinutes": 180},
        "enabled": True,
        "selection": {
            "keep": [], "drop": [], "ignoreText": [], "ignorePattern": [],
            "sortLines": False, "uniqueLines": False,
        },
        "tags": [],
        "targets": [],
    }  # fmt: skip
    assert (entry.notes, entry.refused) == ([], None)
    assert [str(each) for each in read(backup(watch(URL))).notes] == ["Snapshots and history"]


def test_what_maps_is_carried_over() -> None:
    content = backup(
        watch(
            URL,
            title="One\n",
            page_title="Other",
            paused=True,
            tags=["shops", "unknown"],
            time_between_check={"days": 1, "minutes": "30"},
            time_between_check_use_default=False,
            include_filters=[".price", "/html/body", "xpath://h1", "xpath1://h2", "json:$.x"],
            subtractive_selectors=["#ad"],
            ignore_text=["Copyright", r"/\d+ left/", "/a.b/s", "/c/i"],
            remove_duplicate_lines=True,
            notification_urls=["json://a.example/x", "json://{{ host }}/"],
        ),
        groups={"shops": SHOPS["shops"] | {"subtractive_selectors": ["nav"]}},
        application={"global_ignore_text": ["Visitors"], "global_subtractive_selectors": [".x"]},
    )
    entry = only(content)
    assert entry.given == {
        "url": URL,
        "name": "One",
        "enabled": False,
        "tags": ["Shops  of others"],
        "schedule": {"everyMinutes": 1470},
        "targets": [{"url": "json://a.example/x"}],
        "selection": {
            "keep": [".price", "/html/body", "xpath://h1", "xpath://h2"],
            "drop": ["#ad", "nav", ".x"],
            "ignoreText": ["Copyright", "Visitors"],
            "ignorePattern": [r"(?i)\d+ left", "(?i)c"],
            "sortLines": False,
            "uniqueLines": True,
        },
    }
    assert [str(each) for each in entry.notes] == [
        "Patterns over several lines: /a.b/s",
        "JSON filters: json:$.x",
        "Notification targets with a template: 1",
    ]


@pytest.mark.parametrize(
    ("settings", "note"),
    [
        ({"browser_steps": STEPS}, "Browser steps"),
        ({"headers": {"Cookie": "a"}}, "Request headers"),
        ({"body": "a", "method": "POST"}, "Request body"),
        ({"method": "POST"}, "Request method: POST"),
        ({"fetch_backend": "html_webdriver"}, "A browser to fetch with: Webloom runs no"),
        ({"processor": "image_ssim_diff"}, "Its way to compare: image_ssim_diff"),
        ({"processor": "restock_diff"}, "Only when it is in stock again"),
        ({"trigger_text": ["sale"]}, "Texts to wait for"),
        ({"text_should_not_be_present": ["sold"]}, "Texts that must be absent"),
        ({"extract_text": ["/a/"]}, "Patterns that extract text"),
        ({"conditions": [{"field": "page_text", "operator": "in"}]}, "Conditions"),
        ({"filter_text_removed": False}, "Kinds of changes that are ignored"),
        ({"time_schedule_limit": {"enabled": True}}, "Hours at which it may be checked"),
        ({"proxy": "p"}, "Proxy"),
        ({"notification_muted": True}, "Muted notifications: it is added without targets"),
        ({"url": f"source:{URL}"}, "Comparison of the page's source"),
        ({"include_filters": [f"#a{each}" for each in range(51)]}, "More than 50 filters"),
    ],
)
def test_what_cannot_be_carried_over_is_said(settings: dict[str, Any], note: str) -> None:
    found = notes(**settings)
    assert any(each.startswith(note) for each in found), found


def test_a_form_that_was_left_empty_is_no_loss() -> None:
    empty = {"field": None, "operator": None, "value": ""}
    assert notes(browser_steps=STEPS[:1], conditions=[empty], headers={}, body="") == []


def test_targets_are_its_own_or_of_its_group_or_for_all() -> None:
    groups: dict[str, dict[str, Any]] = {
        "quiet": {"title": "q", "notification_urls": ["json://quiet/"], "notification_muted": True},
        "loud": {"title": "l", "notification_urls": ["json://loud/"]},
    }
    content = backup(
        watch(URL, notification_urls=["json://own/"], tags=["loud"]),
        watch(URL, tags=["quiet", "loud"]),
        watch(URL),
        watch(URL, notification_muted=True),
        groups=groups,
        application={"notification_urls": ["json://all/"]},
    )
    found = [[each["url"] for each in entry.given["targets"]] for entry in read(content)]
    assert found == [["json://own/"], ["json://loud/"], ["json://all/"], []]


def test_limits_on_prices_come_from_the_watch_or_from_a_group_that_overrides_it() -> None:
    of_group = {"price_change_min": 5, "in_stock_processing": "all_changes"}
    group: dict[str, Any] = {"overrides_watch": True, "processor_config_restock_diff": of_group}
    own = {"price_change_min": 79.9, "price_change_max": 100, "price_change_threshold_percent": "5"}
    content = backup(
        watch(URL, processor="restock_diff"),
        watch(URL, processor="restock_diff", tags=["g"]),
        groups={"g": group},
        more={"0/restock_diff.json": b'{"restock_diff": %s}' % str(own).replace("'", '"').encode()},
    )
    first, second = read(content)
    assert first.given["thresholds"] == {
        "priceBelow": Decimal("79.9"),
        "priceChangePercent": Decimal(5),
    }
    assert "A price above which to notify" in [str(each) for each in first.notes]
    assert second.given["thresholds"] == {"priceBelow": Decimal(5)}


def test_settings_for_all_watches_count() -> None:
    content = backup(
        watch(URL),
        application={"all_paused": True, "fetch_backend": "html_webdriver"},
        requests={"time_between_check": {"weeks": 100}, "proxy": "p"},
        groups={"g": {"url_match_pattern": "*shop*"}},
        more={"0/headers.txt": b"A: b"},
    )
    found = read(content)
    [entry] = found
    assert entry.given["enabled"] is False
    assert entry.given["schedule"] == {"everyMinutes": 525_600}
    assert [each.what.split(":")[0] for each in entry.notes] == [
        "Request headers", "A browser to fetch with", "Its interval, which is outside the limits",
    ]  # fmt: skip
    assert {each.what for each in found.notes} >= {
        "Proxies", "Groups that find their watches by address",
    }  # fmt: skip


def test_the_older_layout_with_one_file() -> None:
    content = old_backup(
        {"url": URL, "title": "A", "tag": "x, y", "minutes_between_check": 20, "css_filter": "#p"},
        watch("https://b.example/", tags=["shops"]),
        watch("https://c.example/{% now 'utc' %}"),
        groups=SHOPS,
        requests={"time_between_check": None, "minutes_between_check": 7},
    )
    first, second, third = read(content)
    assert (first.given["tags"], first.given["selection"]["keep"]) == (["x", "y"], ["#p"])
    assert first.given["schedule"] == {"everyMinutes": 20}
    assert second.given["schedule"] == {"everyMinutes": 7}
    assert second.given["tags"] == ["Shops  of others"]
    assert "template" in str(third.refused)


@pytest.mark.parametrize(
    ("name", "lines", "tags"),
    [
        ("url-list.txt", f"{URL}\r\n\r\n", []),
        ("folder/url-list-with-tags.txt", f"{URL} a, b\r\n", ["a", "b"]),
        ("url-list-with-tags.txt", f"{URL} ['3f']\r\n", []),
    ],
)
def test_without_settings_the_addresses_are_read(name: str, lines: str, tags: list[str]) -> None:
    found = read(archive({name: lines.encode()}))
    [entry] = found
    assert (entry.given["url"], entry.given["tags"]) == (URL, tags)
    assert "All settings" in str(found.notes[0])


def test_a_damaged_watch_does_not_affect_the_others() -> None:
    content = backup(watch(URL), more={"a/watch.json": b"[]", "b/watch.json": b'{"url": 5}'})
    good, array, number = read(content)
    assert (good.refused, number.refused, number.given["url"]) == (None, None, "")
    assert "watch.json can't be read" in str(array.refused)
    broken = bytearray(backup(watch(URL), watch("https://b.example/")))
    at = broken.index(b"0/watch.json") + 40
    broken[at] ^= 0xFF
    first, second = read(bytes(broken))
    assert "damaged" in str(first.refused)
    assert second.refused is None


def encrypted() -> bytes:
    content = bytearray(archive({"url-watches.json": b"{}"}))
    content[content.index(b"PK\x01\x02") + 8] |= 1
    return bytes(content)


def with_lzma() -> bytes:
    made = BytesIO()
    with ZipFile(made, "w", ZIP_LZMA) as written:
        written.writestr("url-watches.json", "{}")
    return made.getvalue()


def announcing(size: int) -> bytes:
    """A directory that says that a file is this large."""
    content = bytearray(archive({"url-watches.json": b"{}"}))
    struct.pack_into("<I", content, content.index(b"PK\x01\x02") + 24, size)
    return bytes(content)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (backup(watch(URL))[:-30], "damaged or cut off"),
        (b"PK\x03\x04", "damaged or cut off"),
        (encrypted(), "encrypted"),
        (with_lzma(), "not compressed with Deflate"),
        (announcing(limits.LARGEST_MEMBER + 1), "more than 16 MB"),
        (announcing(2**31), "more than 64 MB"),
        (announcing(1), "damaged"),
        (archive({"a/backup.zip": backup(watch(URL))}), "another archive in it"),
        (archive({}), "empty"),
        (archive({"holiday.jpg": b"x"}), "not a backup of changedetection.io"),
        (archive({"url-watches.json": b"[]"}), "can't be read"),
        (old_backup(), "no watches"),
        (archive({"url-watches.json": b"{}" + b" " * 2_000_000}), "times as large"),
        (archive({f"{each}/watch.json": b"" for each in range(MOST_WATCHES + 1)}), "split it"),
        (archive({f"{each}/tag.json": b"{}" for each in range(1001)} | {"a/watch.json": b""}),
         "more than 1,000 groups"),
        (archive({str(each): b"" for each in range(30_001)}), "more than 30,000 files"),
        (old_backup(*({} for _ in range(MOST_WATCHES + 1))), "more than 10,000 watches"),
    ],
)  # fmt: skip
def test_what_is_refused(content: bytes, reason: str) -> None:
    with pytest.raises(FeedUnreadable, match=reason):
        read(content)


def test_a_bomb_costs_little_memory() -> None:
    """60 MB unpacked, of watches that are read one at a time."""
    one = b'{"url":"https://a.example/","x":"%s"}' % (bytes(range(97, 123)) * 38_000)
    bomb = archive({f"{each}/watch.json": one for each in range(60)} | {"../../x": b"x"})
    tracemalloc.start()
    try:
        assert sum(each.given["url"] == URL for each in read(bomb)) == 60
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(bomb) < 1_000_000
    assert peak < 10_000_000


def test_a_member_is_not_unpacked_beyond_what_it_announces() -> None:
    """64 MB announced as 300 bytes, with the checksum of those."""
    beginning = b'{"watching": {"0": {"url": "https://a.example/"}}}'.ljust(300)
    content = bytearray(archive({"url-watches.json": beginning.ljust(64 << 20)}))
    entry = content.index(b"PK\x01\x02")
    struct.pack_into("<I", content, entry + 16, zlib.crc32(beginning))
    struct.pack_into("<I", content, entry + 24, len(beginning))
    tracemalloc.start()
    try:
        with pytest.raises(FeedUnreadable, match="damaged"):
            read(bytes(content))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(content) < 100_000
    assert peak < 1_000_000


@given(st.binary(max_size=200) | st.tuples(st.integers(0, 400), st.binary(min_size=1, max_size=8)))
def test_hostile_bytes_are_read_or_refused(given_bytes: bytes | tuple[int, bytes]) -> None:
    content = bytearray(_SMALL)
    if isinstance(given_bytes, bytes):
        content = bytearray(b"PK\x03\x04" + given_bytes)
    else:
        at, put = given_bytes
        content[at : at + len(put)] = put
    try:
        for entry in read(bytes(content)):
            assert entry.given or entry.refused
    except FeedUnreadable:
        pass


_NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
_KEYS = st.text(max_size=5)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | _NUMBERS | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(
    st.dictionaries(st.sampled_from(sorted(watch(""))), _JSON),
    st.dictionaries(st.sampled_from(["tags", "fetch_backend", "notification_urls"]), _JSON),
)
def test_values_of_any_type_are_read(settings: dict[str, Any], application: dict[str, Any]) -> None:
    for content in (
        backup(watch(URL) | settings, groups={"g": settings}, application=application),
        old_backup(settings, groups=application),
    ):
        for entry in read(content):
            assert isinstance(entry.given["url"], str)
