"""A feed in JSON -> its items as elements, one after the other, in bounded memory.

Items are what stands in the feed's array: the document itself, or `items`, `jobs`, `data` and the
like of its object. Without an array, they are objects on lines of their own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from webloom.domain.errors import FeedUnreadable
from webloom.parsing.feeds.element import Element, Head
from webloom.parsing.feeds.encoding import RecordDecoder
from webloom.parsing.feeds.repairs import BAD_JSON, CONTROL_CHARACTER, JUNK, TRUNCATED, Repairs
from webloom.parsing.feeds.scan import CHUNK, CUT_OFF, LARGEST_RECORD, Unreadable
from webloom.parsing.text_decoding import without_cut_character
from webloom.parsing.words import words

_LIST_NAMES = (
    "items jobs data results entries positions postings offers vacancies openings listings"
    " job_listings records hits rows documents"
)
_LISTS = frozenset(words(_LIST_NAMES))
_AROUND = _LISTS.union(
    words("feed response result searchresult rss channel content d _embedded payload body")
)
_LIST = re.compile(  # other names, and what names of lists end in
    r"content|result|list|value|elements|nodes|edges|ads|@graph|resultats|resultados"
    r"|.*(?:items|jobs|jobs?_?posts|postings|positions|offers|vacancies|openings|listings|adverts"
    r"|itemlistelement|angebote|stellen|anzeigen|offres|emplois|ofertas|empleos|vagas|vacatures|offerte)"
)
_NAMED_LIST = re.compile(rf'"(?:{"|".join(sorted(_LISTS))})"\s*+:\s*+\[\s*+\{{', re.I)
_OF_OBJECTS = re.compile(r"\[\s*+\{")
# What the first object of a list by any other name has, if it is of postings.
_TITLES = frozenset(words("title jobtitle positiontitle jobopeningname titel titre titulo titolo"))
_WHICH = frozenset(words("id guid url link joburl jobid reference refnr slug"))
_OF_WORK = frozenset(  # and what categories, pages and people have not
    words(
        "company companyname employer location city salary jobtype employmenttype content "
        "date pubdate publishedat createdat creationdate posteddate dateposted"
    )
)
_MOST_PASSED = 5
_DEEPEST = 16
_SAMPLE = 400  # characters of an item that can't be read
_NO_JSON = "the record is not valid JSON"
_NO_OBJECT = "the record is not a JSON object"
_OVERLAP = 1000  # characters, more than may stand between two items
# A call around the document (JSONP), or what keeps it from being run as a script.
_BEFORE = re.compile(
    r"\s*+(?:/\*\s*+\*/)?\s*+(?:[A-Za-z_$][\w.$]*+\s*+\(|\)\]\}',?|while\s*+\(1\);|for\s*+\(;;\);)"
    r"\s*+(?=[{\[])"
)
_SEPARATORS = re.compile(r"[\s,]*+")
_COLON = re.compile(r"\s*+:\s*+")
_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+"|([{\[])|([}\]])', re.DOTALL)
_NEXT_OBJECT = re.compile(r"\}\s*+,\s*+(?=\{)")
_NEXT_LINE = re.compile(r"[ \t\r]*+\n\s*+(?=\{)")
_DEFECT = re.compile(r'("(?:[^"\\]++|\\.)*+")|,(?=\s*+[}\]])', re.DOTALL)  # in a string, or a comma
_ESCAPE = re.compile(r'\\(["\\/bfnrt]|u[0-9a-fA-F]{4})?')
_TELLING = 16_384
_NO_CHARACTER = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str, strict=False)


def beginning(text: str) -> int | None:
    """Where a JSON document begins; None: it is not JSON."""
    if text.lstrip()[:1] in ("{", "["):
        return 0
    before = _BEFORE.match(text)
    return None if before is None else before.end()


class _Broken(Exception):
    def __init__(self, at: int) -> None:
        self.at = at


class JsonItems:
    """Finds the list when it is made, so that `head` is known. Raises FeedUnreadable."""

    def __init__(
        self,
        first: bytes,
        read: Callable[[int], bytes],
        *,
        decoder: RecordDecoder,
        repairs: Repairs,
        largest: int = LARGEST_RECORD,
    ) -> None:
        self._read = read
        self._decoder = decoder
        self._repairs = repairs
        self._largest = largest
        self._undecoded = b""
        self._text = ""
        self._at = 0
        self._is_final = False
        self.is_whole = False
        self.head = Head("json", {}, [])
        self._open: list[str] = []  # what is to be closed behind the list
        self._has_lines = False  # instead of a list
        self._passed = 0  # lists that may be something else
        self._take(first)
        self._at = beginning(self._text) or 0
        if self._at:
            repairs.note(JUNK)
        try:
            self._find_list()
            peeked = self._peek_keys()
        except _Broken:
            raise FeedUnreadable("The answer begins like JSON but is not valid.") from None
        self.head.names.extend(peeked)

    def items(self) -> Iterator[Element | Unreadable]:
        while True:
            character = self._skip()
            if character == "]":
                self._at += 1
                self._read_end()
                return
            if not character:
                self.is_whole = self._has_lines
                break
            start, text = self._at, self._text
            try:
                value = self._line() if self._has_lines else self._value()
            except _Broken as broken:
                defect = broken.at - self._at
                if self._at > _TELLING:  # the decoder counts the lines before each defect
                    self._text, self._at = self._text[self._at :], 0
                sample = self._text[self._at : self._at + _SAMPLE].encode("utf-8", "replace")
                if (mended := self._mended()) is not None:
                    yield self._element("item", mended, 0, True)
                    continue
                if not self._pass_over(self._at + defect):
                    self._repairs.note(TRUNCATED)
                    yield Unreadable.because(CUT_OFF, sample)
                    return
                yield Unreadable.because(_NO_JSON, sample)
                continue
            if self._text is not text:  # more was read, and what lay before the item dropped
                start = 0
            if isinstance(value, dict):
                has_escapes = self._text.find("\\u", start, self._at) >= 0
                yield self._element("item", value, 0, has_escapes)
            else:
                shown = _text(value)[:_SAMPLE].encode("utf-8", "replace")
                yield Unreadable.because(_NO_OBJECT, shown)
        if not self._has_lines:
            self._repairs.note(TRUNCATED)

    # Text

    def _take(self, raw: bytes) -> None:
        raw = self._undecoded + raw
        whole = raw if self._is_final else without_cut_character(raw)
        self._undecoded = raw[len(whole) :]
        self._text = self._text[self._at :] + self._decoder.decode_part(whole)
        self._at = 0

    def _read_more(self) -> bool:
        if self._is_final:
            return False
        raw = self._read(max(CHUNK, len(self._text) - self._at))
        self._is_final = not raw
        self._take(raw)
        return True

    def _skip(self) -> str:
        """The next character that separates nothing; "" at the end."""
        while True:
            self._at = self._match_end(_SEPARATORS)
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._read_more():
                return ""

    def _match_end(self, pattern: re.Pattern[str]) -> int:
        found = pattern.match(self._text, self._at)
        return self._at if found is None else found.end()

    def _value(self) -> object:
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                is_cut = error.msg.startswith("Unterminated") or error.pos + 12 > len(self._text)
                if is_cut and len(self._text) - self._at <= self._largest and self._read_more():
                    continue
                raise _Broken(error.pos) from None
            except RecursionError:
                raise _Broken(self._at) from None
            if end == len(self._text) and self._read_more():
                continue
            self._at = end
            return value

    def _line(self) -> object:
        while (end := self._text.find("\n", self._at)) < 0:
            if len(self._text) - self._at > self._largest or not self._read_more():
                end = len(self._text)
                break
        try:
            value = _DECODER.decode(self._text[self._at : end].rstrip(" \t\r,"))
        except (json.JSONDecodeError, RecursionError):
            raise _Broken(end) from None
        self._at = end
        return value

    def _pass_over(self, defect: int) -> bool:
        """Go behind an item that is not JSON: where its brackets close, or the next one begins."""
        if self._has_lines:
            self._at = defect
            return True
        defect -= self._at
        while not self._close_brackets():
            if len(self._text) - self._at <= self._largest and self._read_more():
                continue
            while (following := _NEXT_OBJECT.search(self._text, self._at + defect)) is None:
                self._at, defect = max(self._at, len(self._text) - _OVERLAP), 0
                if not self._read_more():
                    return False
            self._at = following.end()
            break
        return True

    def _mended(self) -> dict[str, object] | None:
        """An item with small defects, if its brackets close; the place is behind it then."""
        if self._has_lines or not self._text.startswith("{", self._at):
            return None
        start, text = self._at, self._text
        while not self._close_brackets():
            if len(self._text) - self._at > self._largest or not self._read_more():
                return None
        start = start if self._text is text else 0
        try:
            value = _DECODER.decode(_DEFECT.sub(_meant, self._text[start : self._at]))
        except (json.JSONDecodeError, RecursionError):
            self._at = start
            return None
        self._repairs.note(BAD_JSON)
        return value if isinstance(value, dict) else None

    def _close_brackets(self) -> bool:
        depth = 0
        for found in _BRACKETS.finditer(self._text, self._at):
            depth += (found[1] is not None) - (found[2] is not None)
            if depth <= 0:
                self._at = found.end()
                return True
        return False

    # What is around the list

    def _find_list(self) -> None:
        while True:
            character = self._skip()
            if character == "[":
                self._at += 1
                return
            if character == "{" and not self._open and self._are_lines():
                self._has_lines = True
                return
            if character != "{" or not self._enter():
                raise FeedUnreadable(
                    "The answer is JSON without a list of items or jobs, so it is not a feed."
                )

    def _are_lines(self) -> bool:
        value, end = self._object_at(self._at)
        if value is None or "\n" in self._text[self._at : end]:
            return False
        if _NEXT_LINE.match(self._text, end) is None:
            return False
        return not any(isinstance(value[key], list) for key in value if key.lower() in _LISTS)

    def _enter(self) -> bool:
        """Into an object, up to the value that is or has the list."""
        self._at += 1
        self._open.append("}")
        while self._open:
            character = self._skip()
            if character == "}":  # nothing in what was entered: on behind it
                self._at += 1
                self._open.pop()
                continue
            if character != '"':
                return False
            key = str(self._value()).lower()
            self._at = self._match_end(_COLON)
            opening = self._skip()
            is_list = opening == "[" and (key in _LISTS or self._is_like_a_list(key))
            if is_list or (opening == "{" and key in _AROUND):
                self.head.names.append(key)
                return True
            value = self._value()
            self.head.names.append(key)
            if isinstance(value, str | bool):
                self.head.elements.setdefault(key, _text(value))
        return False

    def _is_like_a_list(self, key: str) -> bool:
        """By another name, or by the object that it begins with."""
        start = _OF_OBJECTS.match(self._text, self._at)
        return (
            start is not None
            and (_LIST.fullmatch(key) is not None or self._is_posting(start.end() - 1))
            and not self._has_list_behind()
        )

    def _is_posting(self, at: int) -> bool:
        value, _ = self._object_at(at)
        names = {key.lower().replace("_", "") for key in value or ()}
        return not any(map(names.isdisjoint, (_TITLES, _WHICH, _OF_WORK)))

    def _object_at(self, at: int) -> tuple[dict[str, object] | None, int]:
        """The object that begins there, and where it ends; None: it is not valid, or cut off."""
        try:
            value, end = _DECODER.raw_decode(self._text, at)
        except (json.JSONDecodeError, RecursionError):
            return None, at
        return (value, end) if isinstance(value, dict) else (None, at)

    def _has_list_behind(self) -> bool:
        if self._passed == _MOST_PASSED:
            return False
        self._passed += 1
        at = self._at
        is_closed = self._close_brackets()
        behind, self._at = self._at, at
        return is_closed and _NAMED_LIST.search(self._text, behind) is not None

    def _peek_keys(self) -> list[str]:
        if self._skip() != "{":
            return []
        self._text, self._at = self._text[self._at :], 0
        try:
            value = self._value()
        except _Broken:
            return []
        finally:
            self._at = 0
        return [key.lower() for key in value] if isinstance(value, dict) else []

    def _read_end(self) -> None:
        try:
            while self._open:
                if self._skip() == "}":
                    self._at += 1
                    self._open.pop()
                elif self._text[self._at : self._at + 1] == '"':
                    self._value()
                    self._at = self._match_end(_COLON)
                    self._skip()
                    self._value()
                else:
                    raise _Broken(self._at)
        except _Broken:
            self._repairs.note(TRUNCATED)
            return
        self.is_whole = True

    # Elements

    def _element(self, name: str, value: object, depth: int, needs_cleaning: bool) -> Element:
        element = Element(name)
        if not isinstance(value, dict):
            element.text = self._clean(_text(value)) if needs_cleaning else _text(value)
            return element
        if depth < _DEEPEST:
            for key, inner in value.items():
                for one in _flat(inner):
                    child = self._element(key.lower(), one, depth + 1, needs_cleaning)
                    element.children.append(child)
        return element

    def _clean(self, text: str) -> str:
        cleaned, times = _NO_CHARACTER.subn("", text)
        if times:
            self._repairs.note(CONTROL_CHARACTER, times)
        return cleaned


def _meant(found: re.Match[str]) -> str:
    string = found[1]
    return _ESCAPE.sub(lambda each: each[0] if each[1] else r"\\", string) if string else ""


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _flat(value: object) -> Iterator[object]:
    """The values of a list, and of the lists in it; nothing for null."""
    waiting = [value]
    while waiting:
        first = waiting.pop()
        if isinstance(first, list):
            waiting.extend(reversed(first))
        elif first is not None:
            yield first
