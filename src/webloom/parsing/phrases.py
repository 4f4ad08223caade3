"""Patterns of many phrases. RE2 looks for all of them at once, where Python tries one by one."""

from __future__ import annotations

import re
from typing import Any, Final

import re2  # type: ignore[import-untyped]  # the package has no types

_SPACE: Final = r"\s\x{a0}\x{1f}"  # the last stands between the texts of two elements


def phrases(text: str) -> Any:
    """One pattern that finds any of the phrases, whatever the case of the letters and the spaces
    between the words. They stand on lines of their own or between " | ", and may have groups and
    classes of patterns in them."""
    found = (one.strip() for one in re.split(r"\s\|\s|\n", text))
    written = "|".join(one for one in found if one)
    written = written.replace("[ -]", f"(?:[-{_SPACE}]+)").replace(" ", f"(?:[{_SPACE}]+)")
    return re2.compile("(?i)" + written)
