"""Bytes of an XML feed -> the bytes of its records, one after the other, in bounded memory.

A record goes from its start tag to its end tag. The usual one is found by looking for the bytes of
its end tag; anything unusual between them (comments, a record within a record, CDATA that holds an
end tag) is looked at token by token.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from webloom.parsing.feeds.repairs import JUNK, TRUNCATED, UNTERMINATED, Repairs

CHUNK = 256 * 1024
LARGEST_RECORD = 16 * 1024 * 1024
TOO_LARGE = "the record is larger than 16 MB"
CUT_OFF = "the feed ends in the middle of this record"
_NEAR = 64 * 1024  # within which the elements of a record that are named as it is have their end
_FAR = 1024 * 1024  # a section that is open for so long, and has records in it, was never closed
_LONGEST_TAG_NAME = 256
_SAMPLE = 400  # bytes of a record that can't be read
_CLOSERS = {b"<![CDATA[": b"]]>", b"<!--": b"-->"}
_SPACE_AND_INSTRUCTIONS = re.compile(rb"(?:\s++|<\?[^<>]*+>)*+")
_START_TAG_END = re.compile(rb"""(?:[^<>"'/]++|/(?!>)|"[^"<]*+"|'[^'<]*+')*+(/?)>|[^<>]*+>""")
_SECTIONS = re.compile(rb"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)", re.DOTALL)
_TAG = re.compile(rb"<(/?)([^\s<>/!?]++)[^<>]*?(/?)>")


class Unreadable(NamedTuple):
    """A record that can't be read."""

    reason: str  # one of few, so that they can be counted
    sample: str

    @classmethod
    def because(cls, reason: str, record: bytes) -> Unreadable:
        return cls(reason, record[:_SAMPLE].decode("utf-8", "replace"))


class _NeedMore(Exception):
    """What there is in memory does not decide it."""


class Scanner:
    """`read` yields nothing at the end. Afterwards `is_whole` says whether the document was
    closed behind its last record."""

    def __init__(
        self,
        first: bytes,
        read: Callable[[int], bytes],
        *,
        root: str,
        names: Collection[str],
        repairs: Repairs,
        largest: int = LARGEST_RECORD,
    ) -> None:
        self._data = first
        self._at = 0
        self._base = 0  # of the data, in the feed
        self._next_end = -1  # the usual end tag that comes next in the data
        self._read = read
        self._is_final = False
        self._largest = largest
        self._repairs = repairs
        self._found: dict[bytes, tuple[int, int]] = {}  # looked for from, not met before
        self._after_root = False
        self._junk_after = False
        self._has_root = root not in names  # or the document is a row of records, and no more
        self._was_cut_off = False
        self._root = re.escape(root.encode())
        self._is_fixed = False
        self._look_for(b"|".join(re.escape(name.encode()) for name in sorted(names)), None)

    @property
    def is_whole(self) -> bool:
        return not self._was_cut_off and (self._after_root or not self._has_root)

    def _look_for(self, names: bytes, prefix: bytes | None) -> None:
        qualified = rb"(?:(?:[^\s<>/:!?]++:)?(?:%b))" % names
        if prefix is not None:
            qualified = prefix + names
        flags = re.IGNORECASE
        here = rb"<%b(?=[\s/>])" % qualified
        self._start = re.compile(here, flags)
        self._next = re.compile(rb"\s*+(%b)" % here, flags)
        root_end = rb"</(?:[^\s<>/:]++:)?%b\s*+>|<(?:[^\s<>/:]++:)?%b(?:\s[^<>]*)?/>" % (
            self._root,
            self._root,
        )
        spaced = rb"<\s*+%b(?=[\s/>])" % qualified
        self._gap = re.compile(rb"(<!--|<!\[CDATA\[)|(%b)|(%b)" % (spaced, root_end), flags)
        self._token = re.compile(rb"(<!--|<!\[CDATA\[)|<(/?)%b(?=[\s/>])" % qualified, flags)
        self._boundary = re.compile(rb"</%b\s*+>\s*+<%b[\s/>]" % (qualified, qualified), flags)
        self._resync = re.compile(rb"</%b\s*+>\s*+(?=<)" % qualified, flags)
        self._behind = re.compile(
            rb"\s*+(?:(</%b[\s>])|<%b[\s/>]|</|(<[^!?/])|[^\s<]|<)" % (qualified, qualified), flags
        )
        self._own_end = re.compile(rb"</%b\s*+>" % qualified, flags)

    def _fix_name(self, start: int) -> None:
        """All records are called as the first one is."""
        tag = self._data[start + 1 : start + 1 + _LONGEST_TAG_NAME].lstrip()
        name = re.split(rb"[\s/>]", tag)[0]
        prefix, colon, local = name.rpartition(b":")
        self._look_for(re.escape(local), re.escape(prefix + colon))
        self._usual_end = b"</" + name + b">"
        self._usual_start = b"<" + name
        self._plain_start = self._usual_start + b">"
        self._is_fixed = True
        self._containers = self._open_at(start)

    def _open_at(self, start: int) -> re.Pattern[bytes]:
        """End tags of what is open around the first record."""
        opened: list[bytes] = [self._root]
        for end, name, empty in _TAG.findall(_SECTIONS.sub(b"", self._data[:start])):
            if not end and not empty:
                opened.append(re.escape(name))
            elif end and opened[-1] == re.escape(name):
                opened.pop()
        names = b"|".join({self._root, *opened[-8:]})
        return re.compile(rb"</(?:[^\s<>/:]++:)?(?:%b)\s*+>" % names, re.IGNORECASE)

    def records(self) -> Iterator[bytes | Unreadable]:
        while (start := self._find_start()) is not None:
            if not self._is_fixed:
                self._fix_name(start)
            end = self._usual_record(start)
            if end is None:
                record = self._unusual_record(start)
                yield record
                if self._was_cut_off:
                    break
            else:
                self._at = end
                yield self._data[start:end]
        if self._junk_after:
            self._repairs.note(JUNK)
        if not self.is_whole:
            self._repairs.note(TRUNCATED)

    # Reading on

    def _read_more(self) -> bool:
        """As much again as is held, so that scanning it again costs little in sum."""
        held = self._data[self._at :]
        piece = self._read(max(CHUNK, len(held)))
        if not piece:
            self._is_final = True
            return False
        self._base += self._at
        self._data = held + piece
        self._at = 0
        self._next_end = -1
        return True

    # The beginning of a record

    def _find_start(self) -> int | None:
        usual = self._next.match(self._data, self._at)
        if usual is not None and not self._after_root:
            self._at = usual.start(1)
            return self._at
        while True:
            found = self._gap.search(self._data, self._at)
            if found is None:
                if not self._pass_over():
                    return None
                continue
            if self._after_root:
                self._judge_after(self._at, found.start())
            if found[2] is not None:
                self._junk_after = self._junk_after or self._after_root
                self._at = found.start()
                return self._at
            self._at = found.start()
            if found[3] is not None:
                self._junk_after = self._junk_after or self._after_root
                self._after_root = True
                self._at = found.end()
                continue
            self._pass_section(found)

    def _pass_section(self, opened: re.Match[bytes]) -> None:
        try:
            end = self._section_end(opened, opened[1].upper())
        except _NeedMore:
            if len(self._data) - self._at <= self._largest and self._read_more():
                return
            end = None
        if end is None:
            self._repairs.note(UNTERMINATED)
            end = self._at + len(opened[1])
        self._at = end

    def _pass_over(self) -> bool:
        """Nothing begins in what is held, except perhaps at its very end."""
        cut = self._data.rfind(b"<", max(self._at, len(self._data) - _LONGEST_TAG_NAME))
        keep = len(self._data) if cut < 0 or self._is_final else cut
        if self._after_root:
            self._judge_after(self._at, keep)
        self._at = keep
        if self._is_final:
            return False
        if not self._read_more():
            return self._at < len(self._data)
        return True

    def _judge_after(self, start: int, end: int) -> None:
        if _SPACE_AND_INSTRUCTIONS.fullmatch(self._data, start, end) is None:
            self._junk_after = True

    # The end of a record

    def _usual_record(self, start: int) -> int | None:
        data = self._data
        end = self._next_end
        if end < start:
            end = data.find(self._usual_end, start)
            self._next_end = end = end if end >= 0 else len(data)
        if end == len(data):
            return None
        if data.find(self._usual_start, start + 1, end) >= 0 and self._start.search(
            data, start + 1, end
        ):
            return None
        if not data.startswith(self._plain_start, start):
            tag_end = data.find(b">", start)
            if data[tag_end - 1] == 47:  # a slash: empty, or an attribute that looks like it
                return None
        section = data.find(b"<!", start, end)
        if section >= 0 and (
            data.rfind(b"<![CDATA[", section, end) > data.rfind(b"]]>", start, end)
            or data.find(b"<!--", section, end) >= 0
        ):
            return None
        return end + len(self._usual_end)

    def _unusual_record(self, start: int) -> bytes | Unreadable:
        self._at = start
        while True:
            try:
                end = self._find_end()
            except _NeedMore:
                if len(self._data) - self._at <= self._largest:
                    self._read_more()
                    continue
                end = None
            record = self._data[self._at : end if end is not None else self._at + _SAMPLE]
            if end is not None and len(record) <= self._largest:
                self._at = end
                return record
            if self._is_final and end is None:
                self._was_cut_off = True
                return Unreadable.because(CUT_OFF, record)
            self._skip(end)
            return Unreadable.because(TOO_LARGE, record)

    def _skip(self, end: int | None) -> None:
        while end is None:
            found = self._resync.search(self._data, self._at)
            if found is not None:
                self._at = found.end()
                return
            self._at = max(self._at, len(self._data) - _LONGEST_TAG_NAME)
            if not self._read_more():
                self._at = len(self._data)
                return
        self._at = end

    def _find_end(self) -> int | None:
        """Where the record ends that begins here; None: the feed ends within it."""
        data = self._data
        tag = _START_TAG_END.match(data, self._at + len(self._usual_start))
        if tag is None and not self._is_final and data.find(b"<", self._at + 1) < 0:
            raise _NeedMore
        if tag is not None and tag[1]:
            return tag.end()
        at = self._at + len(self._usual_start)
        depth, first_within, within_until = 1, None, 0
        while (token := self._token.search(data, at)) is not None:
            at = token.end()
            if token[1] is not None:
                at = self._section_end(token, token[1].upper()) or at
            elif token[2]:
                depth -= 1
                if depth == 0:
                    return self._end_of_tag(at)
            else:
                inner = _START_TAG_END.match(data, at)
                if inner is not None and inner[1]:
                    continue
                if token.start() >= within_until:
                    within_until = self._within_until(token.start(), at)
                if token.start() >= within_until:
                    return token.start()
                first_within = first_within or token.start()
                depth += 1
        if not self._is_final and len(data) - self._at <= self._largest:
            raise _NeedMore
        if first_within is not None:
            return first_within
        if not self._is_final:
            raise _NeedMore
        container = self._containers.search(data, self._at)
        return None if container is None else container.start()

    def _end_of_tag(self, at: int) -> int:
        end = self._data.find(b">", at)
        other = self._data.find(b"<", at)
        if end >= 0 and (other < 0 or end < other):
            return end + 1
        if end < 0 and other < 0 and not self._is_final:
            raise _NeedMore
        return at

    def _within_until(self, start: int, after: int) -> int:
        """An element with a record's name begins before the record has ended: up to where all
        such are a part of it. 0: it is the next record, and the end tag of this one is missing."""
        data = self._data
        if not self._is_final and len(data) - after < 2 * _NEAR:
            raise _NeedMore
        before = data.rfind(b"<", self._at, start)
        tag = _TAG.match(data, before)
        if before > self._at and tag is not None and not tag[1] and not tag[3]:
            # Within another element: if that one is closed before it is opened again.
            closed = data.find(b"</" + tag[2], after, after + _NEAR)
            again = re.compile(rb"<%b[\s/>]" % re.escape(tag[2])).search(data, after, closed)
            return 0 if closed < 0 or again is not None else closed
        end = self._find_next(b"end", after, lambda at: _start_of(self._own_end.search(data, at)))
        if not 0 <= end <= after + _NEAR:
            return 0
        behind = self._behind.match(data, data.find(b">", end) + 1)
        is_followed_by_a_field = behind is not None and (behind[1] or behind[2])
        return after if is_followed_by_a_field else 0

    def _section_end(self, opened: re.Match[bytes], opener: bytes) -> int | None:
        """Behind a comment or CDATA; None if it is never closed, or only by another's end.

        The next end belongs to another section if that begins before it, in another record.
        """
        closer = _CLOSERS[opener]
        inner = opened.end()
        end = self._find_next(closer, inner, lambda at: self._data.find(closer, at))
        data = self._data
        if end >= 0 and data.find(opener, inner, end) < 0:
            return end + len(closer)
        if end < 0 and self._is_final:
            return None
        boundary = self._find_next(
            b"boundary", inner, lambda at: _start_of(self._boundary.search(data, at))
        )
        has_records = boundary >= 0 and (end < 0 or boundary < end)
        if end < 0 and not (has_records and len(data) - inner > _FAR):
            raise _NeedMore
        return None if has_records else end + len(closer)

    def _find_next(self, what: bytes, at: int, find: Callable[[int], int]) -> int:
        """Remembers what it found, as a feed may open thousands of sections and close none."""
        place = self._base + at
        since, until = self._found.get(what, (0, 0))
        if not since <= place <= until:
            since = until = place
        found = find(max(until - self._base, at))
        reached = found if found >= 0 else max(at, len(self._data) - _LONGEST_TAG_NAME)
        self._found[what] = (since, max(until, self._base + reached))
        return found


def _start_of(found: re.Match[bytes] | None) -> int:
    return -1 if found is None else found.start()
