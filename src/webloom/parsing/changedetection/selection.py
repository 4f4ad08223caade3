"""Filters and ignored texts of changedetection.io -> the parts of a page that count."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from webloom.parsing.changedetection.settings import SharedSettings
from webloom.parsing.changedetection.values import shown, texts
from webloom.parsing.list_entry import Note
from webloom.parsing.pages.selection import MAX_SELECTORS

_NOT_HTML: Final = ("json:", "jq:", "jqraw:")
_XPATH_1: Final = "xpath1:"
_PATTERN: Final = re.compile(r"/(.*?)/([a-z]*)", re.IGNORECASE)  # as Perl writes it
_LINES_TOGETHER: Final = ("s", "m")


def chosen_parts(
    watch: Mapping[str, Any], shared: SharedSettings, notes: list[Note]
) -> dict[str, Any]:
    ignored, patterns = [], []
    for each in [*texts(watch.get("ignore_text")), *shared.ignored]:
        found = _PATTERN.fullmatch(each)
        if found is None:
            ignored.append(each)
        elif any(flag in found[2].lower() for flag in _LINES_TOGETHER):
            notes.append(Note("Patterns over several lines", shown(each)))
        else:
            patterns.append(f"(?{found[2].lower() or 'i'}){found[1]}")
    return {
        "keep": _limited(_selectors(watch, "include_filters", notes), notes),
        "drop": _limited(
            _selectors(watch, "subtractive_selectors", notes) + _css_or_xpath(shared.dropped), notes
        ),
        "ignoreText": _limited(ignored, notes),
        "ignorePattern": _limited(patterns, notes),
        "sortLines": watch.get("sort_text_alphabetically") is True,
        "uniqueLines": watch.get("remove_duplicate_lines") is True,
    }


def _selectors(watch: Mapping[str, Any], name: str, notes: list[Note]) -> list[str]:
    given = texts(watch.get(name))
    for each in given:
        if each.startswith(_NOT_HTML):
            notes.append(Note("JSON filters", shown(each)))
    return _css_or_xpath([each for each in given if not each.startswith(_NOT_HTML)])


def _css_or_xpath(given: list[str]) -> list[str]:
    return [
        f"xpath:{each.removeprefix(_XPATH_1)}" if each.startswith(_XPATH_1) else each
        for each in given
    ]


def _limited(values: list[str], notes: list[Note]) -> list[str]:
    values = list(dict.fromkeys(values))
    if len(values) > MAX_SELECTORS:
        notes.append(Note(f"More than {MAX_SELECTORS} filters or ignored texts of a kind"))
    return values[:MAX_SELECTORS]
