from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steps import at_most
from webloom.parsing.text_decoding import CODECS, decode_body

HTML = "text/html"
DECODED = [
    ("é".encode(), HTML, "é", "UTF-8 when it fits"),
    (b"\xe9", HTML, "é", "windows-1252 when UTF-8 does not fit"),
    (b"", None, "", "an empty body is an empty text"),
    (b"plain", None, "plain", "no content type, looks like text"),
    (b"plain", "application/octet-stream", "plain", "unknown bytes that look like text"),
    (codecs.BOM_UTF8 + "é".encode(), f"{HTML}; charset=latin1", "é", "the BOM wins"),
    (codecs.BOM_UTF16_LE + "aé".encode("utf-16-le"), HTML, "aé", "UTF-16 by its BOM"),
    (codecs.BOM_UTF16_BE + "aé".encode("utf-16-be"), None, "aé", "UTF-16 by its BOM, other end"),
    ("aé".encode("utf-16-le"), f"{HTML}; charset=utf-16", "aé", "UTF-16 by its header"),
    (b"\x80", f"{HTML}; charset=ISO-8859-1", "€", "latin1 means windows-1252"),
    (b"\x80", f"{HTML};charset='us-ascii'", "€", "ascii means windows-1252"),
    ("日本".encode("cp932"), f'{HTML}; charset="Shift_JIS"', "日本", "quoted"),
    ("髙①".encode("cp932"), f"{HTML}; charset=sjis", "髙①", "the superset that browsers use"),
    ("镕".encode("gb18030"), f"{HTML}; charset=gb2312", "镕", "gb2312 means gb18030"),
    ("привет".encode("koi8-r"), f"{HTML}; charset=koi8-r", "привет", "koi8-r"),
    (b"<meta charset=windows-1251>\xef", HTML, "<meta charset=windows-1251>п", "meta"),
    (
        b"<meta http-equiv=x content='text/html; charset=windows-1251'>\xef",
        HTML,
        "<meta http-equiv=x content='text/html; charset=windows-1251'>п",
        "http-equiv",
    ),
    (
        b"<?xml version='1.0' encoding='windows-1251'?>\xef",
        "application/rss+xml",
        "<?xml version='1.0' encoding='windows-1251'?>п",
        "XML declaration",
    ),
    (b"<!--<meta charset=koi8-r>-->\xe9", HTML, "<!--<meta charset=koi8-r>-->é", "commented out"),
    (b"<meta charset=utf-16>\xc3\xa9", HTML, "<meta charset=utf-16>é", "readable, so not UTF-16"),
    (
        b" " * 1100 + b"<meta charset=koi8-r>\xe9",
        HTML,
        " " * 1100 + "<meta charset=koi8-r>é",
        "late",
    ),
    (b"a\xffb", f"{HTML}; charset=utf-8", "a\ufffdb", "what does not fit is replaced"),
    (b"\xff\xfea", f"{HTML}; charset=utf-8", "\ufffd", "a BOM that lies"),
    (b"caf\xc3\xa9", f"{HTML}; charset=punycode", "café", "punycode is ignored"),
    (b"caf\xc3\xa9", f"{HTML}; charset=zlib", "café", "zlib is ignored"),
    (b"caf\xc3\xa9", f"{HTML}; charset=idna", "café", "idna is ignored"),
    (b"+AGE-", f"{HTML}; charset=utf-7", "+AGE-", "utf-7 is ignored"),
    (b"caf\xc3\xa9", f"{HTML}; charset=no-such", "café", "an unknown charset is ignored"),
    (b"caf\xc3\xa9", f"{HTML}; charset=", "café", "an empty charset is ignored"),
    (b"caf\xc3\xa9", f"{HTML}; charset={'x' * 9000}", "café", "an absurd charset is ignored"),
    (b"\xe9", f"{HTML};{' ' * 900}charset=cp866", "щ", "a charset after many spaces"),
    (b"\xe9", f"{HTML};{' ' * 1000}charset=cp866", "é", "a charset after too many is ignored"),
    (b"<svg/>", "image/svg+xml", "<svg/>", "an image that is text"),
    (b"{}", "application/ld+json", "{}", "JSON by its suffix"),
    (
        b"one \x00 in a thousand" + b"." * 100,
        HTML,
        "one \0 in a thousand" + "." * 100,
        "a stray NUL",
    ),
]


@pytest.mark.parametrize(
    ("body", "content_type", "text", "reason"), DECODED, ids=[row[3] for row in DECODED]
)
def test_text_is_decoded_as_a_browser_would(
    body: bytes, content_type: str | None, text: str, reason: str
) -> None:
    assert decode_body(body, content_type) == text


PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00"


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"GIF89a", "image/gif"),
        (b"%PDF-1.7", "application/pdf"),
        (b"PK", "application/zip"),
        (b"x", "video/mp4"),
        (b"x", "font/woff2"),
        (PNG, None),
        (PNG, "application/octet-stream"),
        (PNG, "text/html; charset=utf-8"),
        (b"\x00" * 50, "text/plain"),
    ],
)
def test_what_is_not_text_has_no_text(body: bytes, content_type: str | None) -> None:
    assert decode_body(body, content_type) is None


@given(body=st.binary(max_size=300), label=st.sampled_from([*CODECS, "punycode", "idna", "zlib"]))
def test_whatever_comes_out_can_be_stored(body: bytes, label: str) -> None:
    text = decode_body(body, f"text/plain; charset={label}")
    assert text is None or text.encode("utf-8").decode("utf-8") == text


@given(body=st.binary(max_size=300), content_type=st.none() | st.text(max_size=60))
def test_any_content_type_is_accepted(body: bytes, content_type: str | None) -> None:
    text = decode_body(body, content_type)
    assert text is None or text.encode("utf-8").decode("utf-8") == text


@pytest.mark.timeout(60)  # of the C code that steps don't count
@pytest.mark.parametrize("pattern", [b"\x81", b"\xff", b"\x1b$B\x80", b" \xd8"])
def test_a_large_body_takes_few_steps_whatever_its_charset(pattern: bytes) -> None:
    body = pattern * (512 * 1024 // len(pattern))
    for codec in set(CODECS.values()):
        label = next(label for label, name in CODECS.items() if name == codec)
        with at_most(10_000):
            text = decode_body(body, f"text/plain; charset={label}")
        assert text is not None, label


def test_a_slice_boundary_does_not_break_a_character() -> None:
    text = "a" + "😀" * 40_000
    assert decode_body(text.encode("utf-16-le"), "text/plain; charset=utf-16le") == text


@pytest.mark.parametrize(
    "content_type",
    ["text/html;charset=" + " " * 60_000 + ";", "text/html;" + "charset= " * 7_000],
    ids=["endless spaces", "endless repetitions"],
)
def test_a_hostile_content_type_takes_few_steps(content_type: str) -> None:
    with at_most(1_000):
        text = decode_body(b"<p>text</p>", content_type)
    assert text == "<p>text</p>"
