"""Bytes of a feed in any encoding -> UTF-8, and a record's bytes -> its text.

What is declared is a hint. UTF-8 and the encodings with one byte for a character pass as they are,
and every record is decoded by itself, by what its bytes are; so one wrong byte costs one character.
The others are turned into UTF-8 as they are read.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from functools import cache

from webloom.parsing.feeds.guessing import guessed
from webloom.parsing.feeds.repairs import CONTROL_CHARACTER, WRONG_ENCODING, Repairs
from webloom.parsing.text_decoding import (
    SINGLE_BYTE,
    byte_table,
    codec_of,
    declared_codec,
    decode_single_byte,
)

_DECLARATION = re.compile(rb"""<\?xml\s[^>]{0,200}?encoding\s*=\s*["']?\s*([\w.:-]+)""", re.I)
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# How the first character, which is ASCII, lies in encodings with two and four bytes for each.
_WIDE = (
    (re.compile(rb"[\t\n\r -~]\0\0\0"), "utf-32-le"),
    (re.compile(rb"\0\0\0[\t\n\r -~]"), "utf-32-be"),
    (re.compile(rb"[\t\n\r -~]\0[^\0]"), "utf-16-le"),
    (re.compile(rb"\0[\t\n\r -~]\0"), "utf-16-be"),
)
_CONTROLS = bytes(byte for byte in range(32) if byte not in b"\t\n\r")
_UTF8_OR_STRAY = re.compile(
    rb"((?:[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|\xed[\x80-\x9f][\x80-\xbf]"
    rb"|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xf0[\x90-\xbf][\x80-\xbf]{2}"
    rb"|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2})++)|[\x80-\xff]"
)
_CONTINUED = (  # a byte from 80 to BF, taken for windows-1252 or Latin-1 and written as UTF-8
    rb"(?:\xc2[\x80-\xbf]|\xc5[\x92\x93\xa0\xa1\xb8\xbd\xbe]|\xc6\x92|\xcb[\x86\x9c]"
    rb"|\xe2\x80[\x93-\xba]|\xe2\x82\xac|\xe2\x84\xa2)"
)
# What UTF-8 begins with, so taken as well: rarer letters count if there are two.
_DOUBLED = re.compile(
    rb"\xc3(?:[\x82\x83]%b|[\xa0-\xaf]%b%b"
    rb"|[\x84\x85\x90\x91]%b[\x00-\x7f]{0,200}\xc3[\x84\x85\x90\x91]%b)" % ((_CONTINUED,) * 5)
)


class Encoding:
    """How a feed is encoded, by its first bytes and by what the server said of it."""

    def __init__(self, head: bytes, content_type: str | None) -> None:
        self.bom = b""
        self.transcoded: str | None = None  # the codec that everything goes through
        self.one_byte = "cp1252"  # of what is not UTF-8
        self.says_utf8 = True  # or nothing, which means the same
        self.is_contradicted = False  # by the bytes themselves
        for bom, codec in _BOMS:
            if head.startswith(bom):
                self.bom = bom
                self.transcoded = None if codec == "utf-8" else codec
                return
        for pattern, codec in _WIDE:
            if pattern.match(head):
                self.transcoded = codec
                return
        self._believe(head, [declared_codec(content_type), _declared_in(head)])

    def _believe(self, head: bytes, declared: list[str | None]) -> None:
        known = [codec for codec in declared if codec is not None]
        self.says_utf8 = not known or "utf-8" in known
        for codec in known:
            if codec == "utf-8":
                continue
            if SINGLE_BYTE.fullmatch(codec):
                self.one_byte = codec
                return
            # Readable as ASCII so far, so it is not UTF-16, whatever it says.
            if codec.startswith("utf-16") or _is_utf8_beyond_ascii(head):
                self.is_contradicted = self.says_utf8 = True
                continue
            self.transcoded = codec
            return
        if head.isascii() or (guess := guessed(head)) is None:
            return
        self.is_contradicted = True
        if SINGLE_BYTE.fullmatch(guess):
            self.one_byte = guess
            self.says_utf8 = False
        else:
            self.transcoded = guess


def _declared_in(head: bytes) -> str | None:
    found = _DECLARATION.search(head[:1024])
    return codec_of(found[1]) if found else None


def _is_utf8_beyond_ascii(head: bytes) -> bool:
    if head.isascii():
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True


class Utf8Stream:
    """Reads a feed as UTF-8, as far as that is known before its records are; characters that no
    document may have are left out."""

    def __init__(
        self, read: Callable[[int], bytes], *, head_size: int, content_type: str | None
    ) -> None:
        self.repairs = Repairs()
        self._read = read
        raw = _read_full(read, head_size)
        self.encoding = Encoding(raw, content_type)
        self._decoder: codecs.IncrementalDecoder | None = None
        if self.encoding.transcoded is not None:
            self._decoder = codecs.getincrementaldecoder(self.encoding.transcoded)("replace")
        if self.encoding.is_contradicted:
            self.repairs.note(WRONG_ENCODING)
        self._ended = not raw
        self.head = self._clean(raw[len(self.encoding.bom) :])  # `read` continues behind it

    def read(self, size: int) -> bytes:
        while not self._ended:
            raw = self._read(size)
            self._ended = not raw
            piece = self._clean(raw)
            if piece:
                return piece
        return b""

    def _clean(self, raw: bytes) -> bytes:
        if self._decoder is not None:
            text = self._decoder.decode(raw, final=self._ended)
            if "\ufffd" in text:
                self.repairs.note(WRONG_ENCODING, text.count("\ufffd"))
            raw = text.encode("utf-8", "replace")
        cleaned = raw.translate(None, _CONTROLS)
        if len(cleaned) != len(raw):
            self.repairs.note(CONTROL_CHARACTER, len(raw) - len(cleaned))
        return cleaned


def _read_full(read: Callable[[int], bytes], size: int) -> bytes:
    pieces = []
    while size > 0 and (piece := read(size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


class RecordDecoder:
    """Bytes of a record -> text.

    In a feed that declares an encoding with one byte for a character, a record that is valid UTF-8
    is taken for that, unless most of the feed was not: two letters in a row can look like UTF-8.
    """

    def __init__(self, encoding: Encoding, repairs: Repairs) -> None:
        self._says_utf8 = encoding.says_utf8 or encoding.transcoded is not None
        self._codec = encoding.one_byte
        self._repairs = repairs
        self._as_utf8 = 0
        self._as_other = 0

    def decode(self, record: bytes) -> str:
        if record.isascii():
            return record.decode("ascii")
        if _DOUBLED.search(record) is not None and (text := _undoubled(record)) is not None:
            self._repairs.note(WRONG_ENCODING)
            return text
        return self.decode_part(record)

    def decode_part(self, record: bytes) -> str:
        """Of something that is not whole, and so says less of how it was written."""
        try:
            text = record.decode("utf-8")
        except UnicodeDecodeError:
            return self._decode_other(record)
        if self._says_utf8:
            return text
        self._as_utf8 += 1
        if self._as_utf8 >= self._as_other:
            self._repairs.note(WRONG_ENCODING)
            return text
        self._as_utf8 -= 1
        return decode_single_byte(record, self._codec)

    def _decode_other(self, record: bytes) -> str:
        if not self._says_utf8:
            self._as_other += 1
            if self._as_other > self._as_utf8:
                return decode_single_byte(record, self._codec)
        self._repairs.note(WRONG_ENCODING)
        table = byte_table(self._codec)
        mended = _UTF8_OR_STRAY.sub(
            lambda found: found[0] if found[1] else table[found[0][0]].encode(), record
        )
        return mended.decode("utf-8")


def _undoubled(record: bytes) -> str | None:
    """The text of a record that was made UTF-8 twice ("CafÃ©"); None: not all of it was."""
    try:
        once = codecs.charmap_encode(record.decode("utf-8"), "strict", _bytes_of())[0]
        return once.decode("utf-8")
    except UnicodeError:
        return None


@cache
def _bytes_of() -> dict[int, int]:
    """By character: of Latin-1 and of windows-1252."""
    return {
        **{byte: byte for byte in range(256)},
        **{ord(character): byte for byte, character in enumerate(byte_table("cp1252"))},
    }
