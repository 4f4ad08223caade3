"""Encodings, declared rightly, wrongly or not at all; compressed files."""

from __future__ import annotations

import gzip
import zlib

import pytest

from unit.feed_bodies import CLOSING, OPENING, Read, feed, item
from webloom.domain.errors import FeedUnreadable

TITLE = "Café “Ñandú” \u2013 5 €"


def body(codec: str, declared: str | None, title: str = TITLE) -> bytes:
    declaration = f'<?xml version="1.0" encoding="{declared}"?>' if declared else ""
    text = declaration + (OPENING + item(1) + item(2, title=b"@") + CLOSING).decode()
    return text.replace("@", title).encode(codec)


WRONG = {"wrong encoding": 1}


@pytest.mark.parametrize(
    ("codec", "declared", "content_type", "repairs"),
    [
        ("utf-8", "UTF-8", None, {}),
        ("utf-8", None, None, {}),
        ("utf-8-sig", None, None, {}),
        ("utf-8", "utf-8", "text/xml; charset=iso-8859-1", {}),
        ("utf-8", "iso-8859-1", None, WRONG),
        ("utf-8", "us-ascii", None, WRONG),
        ("utf-8", "windows-1251", None, WRONG),
        ("utf-8", "utf-16", None, WRONG),
        ("utf-8", "gb2312", None, WRONG),
        ("utf-8", "no-such-encoding", None, {}),
        ("cp1252", "windows-1252", None, {}),
        ("cp1252", "iso-8859-1", None, {}),
        ("cp1252", None, "text/xml; charset=ISO-8859-1", {}),
        ("cp1252", "utf-8", None, WRONG),
        ("cp1252", None, None, WRONG),
        ("utf-16", "utf-16", None, {}),
        ("utf-16-le", "utf-16", None, {}),
        ("utf-16-be", None, None, {}),
        ("utf-32", "utf-32", None, {}),
        ("utf-32-be", None, None, {}),
        ("gb18030", "gb18030", None, {}),
    ],
)
def test_text_is_read_whatever_is_declared(
    codec: str, declared: str | None, content_type: str | None, repairs: dict[str, int]
) -> None:
    read = Read(body(codec, declared), content_type=content_type)
    assert read.texts("title") == ["Title 1", TITLE]
    assert read.repairs == repairs
    assert read.is_whole


@pytest.mark.parametrize(
    ("codec", "title"),
    [
        ("cp1251", "Инженер"),
        ("koi8-r", "Инженер"),
        ("iso8859-2", "Łódź"),
        ("iso8859-15", "5 €"),
        ("shift_jis", "エンジニア"),
        ("euc_jp", "エンジニア"),
        ("iso2022_jp", "エンジニア"),
        ("big5", "工程師"),
        ("euc_kr", "엔지니어"),
    ],
)
def test_other_alphabets(codec: str, title: str) -> None:
    declared = codec.replace("_", "-").replace("iso", "iso-").replace("shift-", "shift_")
    read = Read(body(codec, declared, title))
    assert read.texts("title") == ["Title 1", title]
    assert read.repairs == {}


@pytest.mark.parametrize("declared", [None, "utf-8"])
def test_russian_that_does_not_say_its_encoding(declared: str | None) -> None:
    title = "Водитель категории в «ООО» Ромашка"  # noqa: RUF001
    read = Read(body("windows-1251", declared, title))
    assert read.texts("title") == ["Title 1", title]
    assert read.repairs == WRONG


def test_a_russian_word_in_a_feed_that_is_utf_8_does_not_change_the_others() -> None:
    russian = item(2, title="Водитель грузовика сейчас".encode("cp1251"))
    spanish = "Ñandú y piñón, año " * 9 + "."
    read = Read(feed(item(1, title=spanish.encode()), russian, item(3, title=b"Caf\xe9")))
    assert [read.texts("title")[at] for at in (0, 2)] == [spanish, "Café"]


def test_letters_that_look_like_utf_8_do_not_mislead_a_feed_that_is_none() -> None:
    titles = [f"Wünsche {number}" for number in range(5)] + ["NESCAFÉ®"]
    items = b"".join(item(1, title=title.encode("cp1252")) for title in titles)
    read = Read(b'<?xml version="1.0" encoding="iso-8859-1"?>' + OPENING + items + CLOSING)
    assert read.texts("title") == titles
    assert read.repairs == {}


def test_one_bad_byte_in_a_feed_that_is_utf_8_and_says_latin_1() -> None:
    titles = ["Café", "Zürich", "Ω"]
    items = b"".join(item(1, title=title.encode()) for title in titles)
    broken = item(1, title="Café ".encode() + b"\xe9")
    read = Read(b'<?xml version="1.0" encoding="iso-8859-1"?>' + OPENING + items + broken + CLOSING)
    assert read.texts("title") == [*titles, "Café é"]


def test_gzip_is_recognised_by_its_bytes_also_in_several_members() -> None:
    whole = feed(item(1), item(2))
    packed = gzip.compress(whole[:200]) + gzip.compress(whole[200:]) + b"\0" * 20
    read = Read(packed)
    assert (read.texts("title"), read.repairs) == (["Title 1", "Title 2"], {})
    assert read.is_whole
    assert read.records.position == len(packed)


def large_feed() -> bytes:
    return feed(*[item(number, description=b"%032x" % (number * 7919)) for number in range(9000)])


def test_a_gzip_that_is_cut_off_gives_what_can_be_read() -> None:
    packed = gzip.compress(large_feed())
    read = Read(packed[: len(packed) * 2 // 3])
    assert 4000 < len(read.items) < 9000
    assert read.texts("title") == [f"Title {number}" for number in range(len(read.items))]
    assert not read.is_whole
    assert read.repairs == {"truncated": 1}


def test_a_corrupt_gzip_gives_what_can_be_read() -> None:
    packed = bytearray(gzip.compress(large_feed()))
    packed[len(packed) * 2 // 3] ^= 0xFF
    packed[-8:] = b"\0" * 8
    read = Read(bytes(packed))
    assert len(read.items) > 1000
    assert not read.is_whole


def test_a_gzip_without_its_last_bytes_is_not_whole_though_its_text_is() -> None:
    read = Read(gzip.compress(feed(item(1)))[:-4])
    assert (len(read.items), read.is_whole, read.repairs) == (1, False, {"truncated": 1})


@pytest.mark.parametrize("is_packed", [True, False])
def test_more_bytes_than_are_allowed_are_refused(is_packed: bool) -> None:
    bomb = feed(item(1, description=b"a" * 5_000_000))
    with pytest.raises(FeedUnreadable, match="larger than 1,000,000 bytes"):
        Read(gzip.compress(bomb) if is_packed else bomb, max_bytes=1_000_000)


NO_FEEDS = [
    ("empty", b"", "empty"),
    ("blank", b" \n\n", "empty"),
    ("only a byte order mark", b"\xef\xbb\xbf", "empty"),
    ("text", b"Service unavailable", "neither XML nor JSON"),
    ("a web page", b"<!DOCTYPE html>\n<html><body>Log in</body></html>", "web page"),
    ("a web page in XML", b'<?xml version="1.0"?><html><body/></html>', "web page"),
    ("a piece of one", b"<div>Please <b>log in</b></div>", "web page"),
    ("a picture", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0", "neither XML nor JSON"),
    ("a ZIP archive", b"PK\x03\x04abc", "ZIP archive"),
    ("gzip of nothing", gzip.compress(b""), "empty"),
    ("gzip of noise", gzip.compress(b"abc")[:10], "empty"),
    ("JSON without items", b'{"error": "no"}', "without a list"),
    ("a piece of JSON", b'{"items', "begins like JSON"),
    ("a string in JSON", b'"abc"', "neither XML nor JSON"),
    (
        "billion laughs",
        b'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><rss>&b;</rss>',
        "declares entities",
    ),
    (
        "an external entity",
        b'<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]><rss>&a;</rss>',
        "declares entities",
    ),
    ("a parameter entity", b'<!DOCTYPE r [<!ENTITY % a "b"> %a;]><rss/>', "declares entities"),
    ("a DOCTYPE without end", b"<!DOCTYPE r [<!ELEMENT a ANY>" + b" " * 70_000, "does not end"),
]


@pytest.mark.parametrize(
    ("answer", "said"), [row[1:] for row in NO_FEEDS], ids=[row[0] for row in NO_FEEDS]
)
def test_what_is_no_feed_is_refused_with_one_sentence(answer: bytes, said: str) -> None:
    with pytest.raises(FeedUnreadable, match=said) as refused:
        Read(answer)
    assert "\n" not in str(refused.value)
    assert str(refused.value).endswith(".")


@pytest.mark.parametrize(
    "root",
    [
        b"<rss><channel/></rss>",
        b"<rss/>",
        b"<jobs></jobs>",
        b'<?xml version="1.0"?>\n<jobs a="b" />\n',
        b"[]",
        b'{"version": "https://jsonfeed.org/version/1.1", "items": []}',
    ],
)
def test_an_empty_feed_is_fine(root: bytes) -> None:
    read = Read(root, ("item", "job"))
    assert (read.items, read.failures, read.repairs, read.is_whole) == ([], [], {}, True)


DTD = b'<!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "http://x.example/rss.dtd">'


def test_a_plain_doctype_is_ignored_and_may_declare_html_entities() -> None:
    read = Read(DTD + OPENING + item(1, title=b"Caf&eacute;") + CLOSING)
    assert (read.texts("title"), read.repairs) == (["Café"], {})


def test_entities_for_characters_are_no_attack() -> None:
    subset = b"<!DOCTYPE rss [<!ENTITY eacute \"&#233;\"> <!ENTITY corp 'Example Inc'>]>"
    read = Read(subset + OPENING + item(1, title=b"Caf&eacute; &corp;") + CLOSING)
    assert (read.texts("title"), read.repairs) == (["Café Example Inc"], {})


def test_a_reference_that_would_name_a_file_stays_text() -> None:
    late = item(1, title=b"&xxe;") + b'<!DOCTYPE r [<!ENTITY xxe SYSTEM "file:///etc/passwd">]>'
    read = Read(OPENING + late + CLOSING)
    assert read.texts("title") == ["&xxe;"]


def test_raw_deflate_is_no_feed() -> None:
    with pytest.raises(FeedUnreadable):
        Read(zlib.compress(feed(item(1))))
