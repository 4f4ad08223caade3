"""A record that is nested or broken -> its elements.

Rules for what is broken, so that a defect costs no more than itself:

- an end tag closes the nearest element of its name, and all that is open within it; one that
  closes nothing gives its name to an open field whose own is unknown (`<tilte>…</title>`), or is
  skipped
- an element of the record that is never closed ends where the next field begins, so that the
  fields behind it belong to the record again
- what is open further down gives its text and children to the element around it
- a blank behind the `<` of a tag does not matter, if the tag fits what is around it
- a `<` that begins no tag is text
- CDATA continues behind a first `]]>` if a second one follows before the end of its element; one
  without `]]>` ends with its element
"""

from __future__ import annotations

import re
from collections.abc import Collection
from html import escape

from webloom.parsing.feeds.element import Element
from webloom.parsing.feeds.repairs import (
    BAD_TAG,
    MISMATCHED_TAG,
    STRAY_CDATA_END,
    STRAY_LESS_THAN,
    UNTERMINATED,
)
from webloom.parsing.feeds.tags import NAME, START, Tags
from webloom.parsing.words import words

CDATA = "<![CDATA["
_CDATA_END = "]]>"
_COMMENT = "<!--"
_COMMENT_END = "-->"
_DEEPEST = 64  # elements within elements; what lies deeper is only in the markup around it
_DEEPEST_MARKUP = 4  # each level holds its text once more
_VOID = frozenset({"br", "hr", "img", "input", "wbr"})
# That no HTML has, so that they begin a field wherever one was left open.
_USUAL_FIELDS = frozenset(
    words(
        "guid pubdate category author comments enclosure encoded creator description published "
        "updated id url company companyname jobtype city state country location salary "
        "referencenumber expirationdate"
    )
)
_END = re.compile(r"</([^\s<>/]++)[^<>]*+>")
_CUT_END = re.compile(r"</([^\s<>/]++)\s*+(?=<)")  # without its bracket
_SPACED = re.compile(rf"<(/\s++|\s++/?\s*+)({NAME})((?:[\s/][^<>]*+)?>)")  # < title>, </ title>
_SPACED_CDATA = re.compile(r"<!\s*+\[\s*+CDATA\s*+\[", re.IGNORECASE)
_MOST_SPACED = 100  # of one record that are looked into
_DECLARATION = re.compile(r"<[?!][^<>]*+>")
_WHOLE_CDATA = re.compile(r"<!\[CDATA\[((?:[^\]]++|\](?!\]>))*+)\]\]>")


class _Open:
    """An element whose end was not met yet."""

    __slots__ = ("element", "inner", "name", "pieces", "starts")

    def __init__(self, element: Element, name: str, inner: int) -> None:
        self.element = element
        self.name = name  # as it is written
        self.inner = inner  # where its content begins
        self.pieces: list[str] = []  # of its text
        self.starts: list[tuple[int, int]] = []  # of each child: place, and pieces before it


class Tree:
    def __init__(
        self, tags: Tags, record: Element, start: re.Match[str], fields: Collection[str]
    ) -> None:
        self._tags = tags
        self._note = tags.repairs.note
        self._text = start.string
        self._fields = fields
        self._spaced_to_read = _MOST_SPACED
        self._stack = [_Open(record, start[1], start.end())]

    def read(self) -> None:
        at = self._stack[0].inner
        while self._stack:
            text = self._text
            bracket = text.find("<", at)
            if bracket < 0:
                bracket = len(text)
            if bracket > at:
                self._add_text(text[at:bracket])
            if bracket == len(text):
                break
            at = self._read_markup(bracket)
        if self._stack:
            self._note(MISMATCHED_TAG, len(self._stack))
            self._close_down_to(0, len(self._text))
            self._close(len(self._text))

    def _add_text(self, piece: str) -> None:
        if _CDATA_END in piece:
            self._note(STRAY_CDATA_END, piece.count(_CDATA_END))
        self._stack[-1].pieces.append(self._tags.resolve(piece) if "&" in piece else piece)

    def _read_markup(self, at: int) -> int:
        """What begins with the `<` there; returns where to continue."""
        text = self._text
        match text[at + 1 : at + 2]:
            case "/":
                if end := _END.match(text, at):
                    return self._read_end(end)
                cut = _CUT_END.match(text, at)
                if cut and any(opened.name == cut[1] for opened in self._stack):
                    self._note(BAD_TAG)
                    return self._read_end(cut)
            case "!":
                if text[at : at + len(CDATA)].upper() == CDATA:
                    return self._read_cdata(at)
                if text.startswith(_COMMENT, at):
                    return self._read_comment(at)
                section = _SPACED_CDATA.match(text, at)
                if section is not None and self._spaced_to_read:
                    self._spaced_to_read -= 1
                    self._note(BAD_TAG)
                    self._text = f"{text[:at]}{CDATA}{text[section.end() :]}"
                    return at
                if declaration := _DECLARATION.match(text, at):
                    self._note(BAD_TAG)
                    return declaration.end()
            case "?":
                return self._read_instruction(at)
            case _:
                if start := START.match(text, at):
                    return self._read_start(start)
        again = self._read_spaced(at)
        return self._keep_bracket(at) if again is None else again

    def _read_spaced(self, at: int) -> int | None:
        """A tag with a blank behind its bracket, if an element of its name is open, or is closed
        before another one begins. It is rewritten, to be read from there."""
        text, spaced = self._text, _SPACED.match(self._text, at)
        if spaced is None or not self._spaced_to_read:
            return None
        self._spaced_to_read -= 1
        name, rest = spaced[2], spaced[3]
        is_end = "/" in spaced[1]
        if is_end:
            fits = any(opened.name == name for opened in self._stack)
        else:
            following = re.compile(rf"<\s*+(/?)\s*+{re.escape(name)}[\s/>]").search(
                text, spaced.end()
            )
            fits = following is not None and bool(following[1])
        if not fits:
            return None
        self._note(BAD_TAG)
        self._text = f"{text[:at]}<{'/' if is_end else ''}{name}{rest}{text[spaced.end() :]}"
        return at

    def _keep_bracket(self, at: int) -> int:
        self._note(STRAY_LESS_THAN)
        self._stack[-1].pieces.append("<")
        return at + 1

    def _read_instruction(self, at: int) -> int:
        following = self._text.find("<", at + 1)
        end = self._text.find("?>", at, following if following >= 0 else len(self._text))
        if end >= 0:
            return end + 2
        if declaration := _DECLARATION.match(self._text, at):
            self._note(BAD_TAG)
            return declaration.end()
        return self._keep_bracket(at)

    def _read_start(self, start: re.Match[str]) -> int:
        if len(self._stack) > _DEEPEST:
            return start.end()
        element, is_empty = self._tags.element(start, self._text)
        parent = self._stack[-1]
        parent.element.children.append(element)
        parent.starts.append((start.start(), len(parent.pieces)))
        if not is_empty and element.name in _VOID and not self._is_closed_at_once(start):
            self._note(MISMATCHED_TAG)
        elif not is_empty:
            self._stack.append(_Open(element, start[1], start.end()))
        return start.end()

    def _is_closed_at_once(self, start: re.Match[str]) -> bool:
        end = _END.match(self._text, start.end())
        return end is not None and end[1] == start[1]

    def _read_end(self, end: re.Match[str]) -> int:
        name = end[1]
        if name == self._stack[-1].name:
            self._close(end.start())
            return end.end()
        self._note(MISMATCHED_TAG)
        lower = name.lower()
        for index in range(len(self._stack) - 1, -1, -1):
            if self._stack[index].name.lower() == lower:
                self._close_down_to(index, end.start())
                self._close(end.start())
                return end.end()
        self._rename_field(name, end.start())
        return end.end()

    def _rename_field(self, name: str, end: int) -> None:
        if len(self._stack) != 2 or self._stack[1].element.name in self._fields:
            return
        local, prefix = self._tags.split(name, self._text)
        if local in self._fields:
            element = self._stack[1].element
            element.name, element.prefix = local, prefix
            self._close(end)

    def _close(self, end: int) -> None:
        opened = self._stack.pop()
        element, text = opened.element, "".join(opened.pieces)
        if not element.children:
            element.text = text
            return
        element.text = text if text.strip() else ""
        if 0 < len(self._stack) <= _DEEPEST_MARKUP:
            element.markup = _without_cdata(self._text[opened.inner : end])

    def _close_down_to(self, index: int, end: int) -> None:
        """Close what is open within the element `index`, and has no end tag."""
        while len(self._stack) > index + 1:
            opened = self._stack.pop()
            parent = self._stack[-1]
            if len(self._stack) == 1:
                self._end_field(opened, parent, end)
            else:
                parent.element.children.extend(opened.element.children)
                parent.pieces.extend(opened.pieces)
                opened.element.children = []

    def _end_field(self, opened: _Open, record: _Open, end: int) -> None:
        children = opened.element.children
        fields = self._fields
        begins = (
            at
            for at, child in enumerate(children)
            if not fields or child.name in fields or child.name in _USUAL_FIELDS
        )
        own = next(begins, len(children))
        if own < len(opened.starts):
            end, pieces = opened.starts[own]
        else:
            pieces = len(opened.pieces)
        record.element.children.extend(children[own:])
        opened.element.children = children[:own]
        opened.element.text = "".join(opened.pieces[:pieces]).rstrip()
        if own:
            opened.element.markup = _without_cdata(self._text[opened.inner : end]).rstrip()

    def _read_cdata(self, at: int) -> int:
        text, inner = self._text, at + len(CDATA)
        end = text.find(_CDATA_END, inner)
        nested = text.find(CDATA, inner, end if end >= 0 else len(text))
        if end < 0 or nested >= 0:
            element_end = self._end_of_element(inner, nested if nested >= 0 else len(text))
            if element_end is not None or end < 0:
                self._note(UNTERMINATED)
                stop = len(text) if element_end is None else element_end
                self._stack[-1].pieces.append(text[inner:stop])
                return stop
        after = end + len(_CDATA_END)
        second = text.find(_CDATA_END, after)
        while (
            second >= 0
            and text.find(CDATA, after, second) < 0
            and self._end_of_element(after, second) is None
        ):
            self._note(STRAY_CDATA_END)
            end, after = second, second + len(_CDATA_END)
            second = text.find(_CDATA_END, after)
        self._stack[-1].pieces.append(text[inner:end])
        return after

    def _read_comment(self, at: int) -> int:
        text, inner = self._text, at + len(_COMMENT)
        end = text.find(_COMMENT_END, inner)
        nested = text.find(_COMMENT, inner, end if end >= 0 else len(text))
        if end < 0 or nested >= 0:
            element_end = self._end_of_element(inner, nested if nested >= 0 else len(text))
            if element_end is not None or end < 0:
                self._note(UNTERMINATED)
                return len(text) if element_end is None else element_end
        return end + len(_COMMENT_END)

    def _end_of_element(self, after: int, before: int) -> int | None:
        """Where the end tag of the innermost element stands, between the two places."""
        pattern = rf"</{re.escape(self._stack[-1].name)}\s*+>"
        found = re.compile(pattern, re.IGNORECASE).search(self._text, after, before)
        return None if found is None else found.start()


def _without_cdata(markup: str) -> str:
    if CDATA not in markup:
        return markup
    return _WHOLE_CDATA.sub(lambda found: escape(found[1], quote=False), markup)
