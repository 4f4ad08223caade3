"""Bytes of a response -> text, as a browser reads them; None when they are not text.

The charset is the site's word, so it only chooses among codecs listed here: Python
knows others that are quadratic, that decompress, or that yield something other than text.
"""

from __future__ import annotations

import codecs
import re
from functools import cache, lru_cache
from typing import NamedTuple

from webloom.parsing.words import by_word

_SLICE = 64 * 1024
_SNIFFED = 1024  # bytes that decide, as in the encoding and MIME sniffing standards
_MOST_CONTENT_TYPE = 1000  # characters

# Our name for each codec -> labels that the encoding standard gives it. Python's superset of an
# encoding is named where browsers use the superset too.
_LABELS: dict[str, str] = {
    "utf-8": "utf-8 utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8",
    "utf-16-le": "utf-16 utf-16le ucs-2 iso-10646-ucs-2 csunicode unicode unicodefeff",
    "utf-16-be": "utf-16be unicodefffe",
    "cp1252": "windows-1252 cp1252 x-cp1252 ascii us-ascii ansi_x3.4-1968 iso-8859-1 iso8859-1"
    " iso_8859-1 iso88591 latin1 l1 ibm819 cp819 csisolatin1 iso-ir-100 iso_8859-1:1987",
    "cp1250": "windows-1250 cp1250 x-cp1250",
    "cp1251": "windows-1251 cp1251 x-cp1251",
    "cp1253": "windows-1253 cp1253 x-cp1253",
    "cp1254": "windows-1254 cp1254 x-cp1254 iso-8859-9 iso8859-9 iso_8859-9 iso88599 latin5 l5",
    "cp1255": "windows-1255 cp1255 x-cp1255",
    "cp1256": "windows-1256 cp1256 x-cp1256",
    "cp1257": "windows-1257 cp1257 x-cp1257",
    "cp1258": "windows-1258 cp1258 x-cp1258",
    "cp874": "windows-874 dos-874 iso-8859-11 iso8859-11 iso885911 tis-620",
    "cp866": "ibm866 cp866 866 csibm866",
    "iso8859-2": "iso-8859-2 iso8859-2 iso_8859-2 iso88592 latin2 l2 csisolatin2 iso-ir-101",
    "iso8859-3": "iso-8859-3 iso8859-3 iso_8859-3 iso88593 latin3 l3 csisolatin3 iso-ir-109",
    "iso8859-4": "iso-8859-4 iso8859-4 iso_8859-4 iso88594 latin4 l4 csisolatin4 iso-ir-110",
    "iso8859-5": "iso-8859-5 iso8859-5 iso_8859-5 iso88595 cyrillic csisolatincyrillic iso-ir-144",
    "iso8859-6": "iso-8859-6 iso8859-6 iso_8859-6 iso88596 arabic ecma-114 asmo-708 iso-ir-127",
    "iso8859-7": "iso-8859-7 iso8859-7 iso_8859-7 iso88597 greek greek8 ecma-118 elot_928",
    "iso8859-8": "iso-8859-8 iso8859-8 iso_8859-8 iso88598 hebrew iso-8859-8-i logical visual",
    "iso8859-10": "iso-8859-10 iso8859-10 iso885910 latin6 l6 csisolatin6 iso-ir-157",
    "iso8859-13": "iso-8859-13 iso8859-13 iso885913",
    "iso8859-14": "iso-8859-14 iso8859-14 iso885914",
    "iso8859-15": "iso-8859-15 iso8859-15 iso_8859-15 iso885915 l9 csisolatin9",
    "iso8859-16": "iso-8859-16",
    "koi8-r": "koi8-r koi8_r koi8 koi cskoi8r",
    "koi8-u": "koi8-u koi8-ru",
    "mac-roman": "macintosh mac x-mac-roman csmacintosh",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "gb18030": "gb18030 gbk x-gbk gb2312 gb_2312 gb_2312-80 chinese csgb2312 iso-ir-58",
    "big5hkscs": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc_jp": "euc-jp x-euc-jp cseucpkdfmtjapanese",
    "iso2022_jp": "iso-2022-jp csiso2022jp",
    "cp932": "shift_jis shift-jis sjis x-sjis windows-31j ms_kanji ms932 csshiftjis",
    "cp949": "euc-kr euckr cseuckr korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 windows-949",
}
CODECS = by_word(_LABELS)

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_FIRST_OF_BOM = frozenset(bom[:1] for bom, _ in _BOMS)
SINGLE_BYTE = re.compile(r"cp125\d|cp874|cp866|iso8859-\d+|koi8-.|mac-.+")  # codecs
_CHARSET_PARAMETER = re.compile(r"""charset\s*=\s*(?:["']\s*)?([^\s;"']+)""", re.IGNORECASE)
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_META_CHARSET = re.compile(rb"""<meta\s[^>]*?charset\s*=\s*(?:["']\s*)?([\w.:-]+)""", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"""\s*<\?xml\s[^>]*?encoding\s*=\s*["']([\w.:-]+)""")

_TEXT_TYPE = re.compile(
    r"text/.*|.*\+(?:json|xml)|application/(?:(?:x-)?(?:json|javascript|ecmascript|yaml|toml|sh|sql)"
    r"|xml(?:-dtd)?|ndjson|jsonl|x-ndjson|x-www-form-urlencoded|rtf|graphql|manifest)"
)
_BINARY_TYPE = re.compile(
    r"(?:image|audio|video|font|model)/.*"
    r"|application/(?:pdf|zip|gzip|wasm|vnd\..*|x-(?:gzip|tar|bzip2?|7z.*|rar.*|protobuf))"
)
# Bytes that text has; the others are the "binary data bytes" of the MIME sniffing standard.
_TEXT_BYTES = bytes(b for b in range(256) if b >= 0x20 or b in b"\t\n\f\r\x1b")
_BINARY_SHARE = 32  # of text, at most one byte in so many may be binary


class Decoded(NamedTuple):
    text: str
    utf8: bytes | None  # the same text, where the body has it as valid UTF-8


def decode_body(body: bytes, content_type: str | None) -> str | None:
    """The text of a body, undecodable bytes replaced, or None when it is not text. Never raises."""
    decoded = decode(body, content_type)
    return decoded.text if decoded is not None else None


def decode(body: bytes, content_type: str | None) -> Decoded | None:
    """As `decode_body`.

    The charset is the first known one of: byte order mark, Content-Type, what HTML or XML declare
    within themselves; else UTF-8 when that fits, else windows-1252.
    """
    mime, is_text, declared = _read_content_type((content_type or "")[:_MOST_CONTENT_TYPE])
    if is_text is False:
        return None
    if body[:1] in _FIRST_OF_BOM:
        for bom, codec in _BOMS:
            if body.startswith(bom):
                return _decode(body[len(bom) :], codec)
    if declared is not None and declared.startswith("utf-16"):  # half of its bytes may be NUL
        return _decode(body, declared)
    head = body[:_SNIFFED]
    binary = len(head.translate(None, _TEXT_BYTES))
    if binary and (is_text is None or binary * _BINARY_SHARE > len(head)):
        return None
    if declared is None and (not mime or "html" in mime or "xml" in mime):
        declared = _declared_within(head)
    if declared is not None:
        return _decode(body, declared)
    try:
        return Decoded(body.decode("utf-8"), body)
    except UnicodeDecodeError:
        return _decode(body, "cp1252")


def without_cut_character(body: bytes) -> bytes:
    """A body that was cut off somewhere, without the first bytes of a UTF-8 character at its end:
    by them alone a UTF-8 text would seem to be in another encoding."""
    for length in range(1, min(4, len(body) + 1)):
        byte = body[-length]
        if byte >= 0xC0:  # the lead byte of a character
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return body[:-length] if length < needed else body
        if byte < 0x80:
            break
    return body


def media_type(content_type: str | None) -> str:
    """Without parameters, in lower case; empty where there is none."""
    return (content_type or "").partition(";")[0].strip().lower()


def declared_codec(content_type: str | None) -> str | None:
    """By the charset of a Content-Type header."""
    found = _CHARSET_PARAMETER.search(content_type or "")
    return CODECS.get(found[1].lower()) if found else None


def codec_of(label: bytes) -> str | None:
    return CODECS.get(label.decode("ascii", "replace").lower())


@lru_cache(maxsize=256)
def _read_content_type(content_type: str) -> tuple[str, bool | None, str | None]:
    """The MIME type, whether it is text (None: look at the bytes), and the codec it declares."""
    mime, codec = media_type(content_type), declared_codec(content_type)
    if _TEXT_TYPE.fullmatch(mime):
        return mime, True, codec
    return mime, False if _BINARY_TYPE.fullmatch(mime) else None, codec


def _declared_within(head: bytes) -> str | None:
    if b"<!--" in head:
        head = _COMMENT.sub(b"", head)
    found = _XML_ENCODING.match(head) or _META_CHARSET.search(head)
    if found is None:
        return None
    codec = codec_of(found[1])
    # It was readable as ASCII, so it is not UTF-16, whatever it says.
    return "utf-8" if codec is not None and codec.startswith("utf-16") else codec


def _decode(body: bytes, codec: str) -> Decoded:
    if codec != "utf-8":
        return Decoded(_decode_other(body, codec), None)
    try:
        return Decoded(body.decode("utf-8"), body)
    except UnicodeDecodeError:
        return Decoded(body.decode("utf-8", "replace"), None)


def _decode_other(body: bytes, codec: str) -> str:
    if SINGLE_BYTE.fullmatch(codec):
        return decode_single_byte(body, codec)
    if codec.startswith("utf-16") and len(body) > _SLICE:
        # It is slow on errors, and one call would keep every other thread waiting.
        decoder = codecs.getincrementaldecoder(codec)("replace")
        slices = (body[at : at + _SLICE] for at in range(0, len(body), _SLICE))
        return "".join(decoder.decode(part) for part in slices) + decoder.decode(b"", final=True)
    return body.decode(codec, "replace")


def decode_single_byte(body: bytes, codec: str) -> str:
    """By a table without holes: the codec itself calls its error handler for every bad byte."""
    return codecs.charmap_decode(body, "replace", byte_table(codec))[0]


@cache  # as many as there are single-byte codecs above
def byte_table(codec: str) -> str:
    """The character of each byte."""
    return "".join(bytes([byte]).decode(codec, "replace") for byte in range(256))
